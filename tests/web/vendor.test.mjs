import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { createWords, loadTexts } from "../../web/src/i18n.js";
import { isolated } from "../../web/src/isolated.js";
import { vendor as neutral } from "../../web/src/vendor.js";
import { contact, legal } from "../../web/src/views/brand.js";
import { canSayFits, coloursOf, firstPaint, iconLink, pageVendor, readVendor } from "../../web/vendor_plugin.js";
import { textOf } from "./support.mjs";

const file = (name) => fileURLToPath(new URL(`../../${name}`, import.meta.url));
const plain = (value) => JSON.parse(JSON.stringify(value));

test("the page's source has the vendor of the catalog", () => {
  const { vendor, image } = readVendor(file("catalog/vendor.json"), false);
  assert.deepEqual(plain(pageVendor(vendor)), neutral);
  assert.equal(image, null);
  assert.equal(coloursOf(vendor), "");
});

test("a logo is a file of the site, and within the offline file", () => {
  const site = readVendor(file("tests/vendor/vendor.json"), false);
  assert.equal(site.vendor.logo, "./logo.svg");
  assert.deepEqual(site.image.source, readFileSync(file("tests/vendor/logo.svg")));
  const offline = readVendor(file("tests/vendor/vendor.json"), true);
  assert.match(offline.vendor.logo, /^data:image\/svg\+xml;base64,/);
  assert.equal(offline.image, null);
});

test("what a vendor writes is text, whatever it looks like", () => {
  const odd = `<b title="x">A&B</b> '$&`;
  const parts = firstPaint({ name: odd, logo: `./a".svg`, languages: ["en"], currency: "EUR", legal: { nl: odd, en: odd } });
  const escaped = "&#60;b title=&#34;x&#34;&#62;A&#38;B&#60;/b&#62; &#39;$&#38;";
  assert.equal(parts["%TITLE%"], `${escaped}: does this fine-tuning run fit?`);
  assert.equal(parts["%NAME%"], `<img class="logo" src="./a&#34;.svg" alt=""><bdi>${escaped}</bdi>`);
  assert.equal(parts["%LEGAL%"], `<p class="legal">${escaped}</p>`);
});

test("the sign on the tab is the vendor's logo where there is one", () => {
  const [, ours] = readFileSync(file("web/index.html"), "utf8").match(/(<link rel="icon"[^>]*>)/);
  const sign = (name, offline) => iconLink(readVendor(file(name), offline).vendor, ours);
  assert.equal(sign("catalog/vendor.json", false), ours);
  assert.equal(sign("tests/vendor/vendor.json", false), '<link rel="icon" type="image/svg+xml" href="./logo.svg">');
  assert.match(sign("tests/vendor/vendor.json", true), /^<link rel="icon" type="image\/svg\+xml" href="data:image\/svg\+xml;base64,[^"]+">$/);
  assert.equal(iconLink({ logo: "./logo.png" }, ours), '<link rel="icon" type="image/png" href="./logo.png">');
  assert.match(iconLink({ logo: "data:image/png;base64,c3Zn" }, ours), /type="image\/png"/);
});

test("a name that turns the direction of what it says keeps that to itself", () => {
  for (const name of ["Tunefit", "Voorbeeld Systemen", "A&B – ’s Škoda 日本"]) assert.equal(isolated(name), name);
  for (const name of ["Shop\u202e", "שלום", "متجر", "A\u2067B"]) {
    assert.equal(isolated(name), `\u2068${name}\u2069`);
    const parts = firstPaint({ name, languages: ["en"], currency: "EUR" });
    assert.equal(parts["%TITLE%"], `\u2068${name}\u2069: does this fine-tuning run fit?`);
    assert.equal(parts["%NAME%"], `<bdi>${name}</bdi>`);
  }
});

test("a vendor is reached by what leads somewhere, and its legal text stands in the languages that it has", async () => {
  await loadTexts("en");
  const words = createWords("en");
  const links = (phone) => textOf(contact(words, { ...neutral, contact: { name: "Desk", phone, email: "a@b.example" } }));
  assert.match(links("+31 (0)20 555"), /Questions\? Desk.*\+31 \(0\)20 555.*a@b\.example/);
  for (const phone of ["()", "+", "- -"]) assert.doesNotMatch(links(phone), /[()+-]/, phone);
  assert.equal(textOf(legal(words, { ...neutral, legal: { en: "No offer." } })), "No offer.");
  assert.equal(textOf(legal(words, { ...neutral, legal: { nl: "Geen aanbod." } })), "");
  assert.equal(firstPaint({ ...neutral, legal: { nl: "Geen aanbod." } })["%LEGAL%"], "");
});

test("the first language is that of the first paint", () => {
  const parts = firstPaint({ name: "N", languages: ["nl", "en"], currency: "EUR" });
  assert.equal(parts["%LANG%"], "nl");
  assert.match(parts["%TITLE%"], /^N: past deze/);
  assert.equal(parts["%LEGAL%"], "");
  const html = readFileSync(file("web/index.html"), "utf8");
  const holes = [...html.matchAll(/%[A-Z]+%/g)].map(([hole]) => hole).filter((hole) => hole !== "%POLICY%");
  assert.deepEqual(holes.filter((hole) => !(hole in parts)), []);
});

test("an accent says that a run fits unless it looks like a warning or like nothing", () => {
  for (const colour of ["#0d5c56", "#1f4b99", "#2e7d32", "#5b2a86"]) assert.ok(canSayFits(colour), colour);
  for (const colour of ["#a2351f", "#b8860b", "#c2185b", "#333333", "#d0d3d4"]) assert.ok(!canSayFits(colour), colour);
  const colours = (accent) => ({ accent, on_accent: "#ffffff", accent_soft: "#eeeeee" });
  const text = coloursOf({ colours: { light: colours("#1f4b99"), dark: colours("#f0907a") } });
  assert.match(text, /--accent: #1f4b99;[^}]*--fits: #1f4b99;/);
  assert.match(text, /@media screen and \(prefers-color-scheme: dark\) \{[^}]*--accent: #f0907a;(?![^}]*--fits)/);
});
