import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { vendor as neutral } from "../../web/src/vendor.js";
import { canSayFits, coloursOf, firstPaint, pageVendor, readVendor } from "../../web/vendor_plugin.js";

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
  assert.equal(parts["%NAME%"], `<img class="logo" src="./a&#34;.svg" alt="">${escaped}`);
  assert.equal(parts["%LEGAL%"], `<p class="legal">${escaped}</p>`);
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
