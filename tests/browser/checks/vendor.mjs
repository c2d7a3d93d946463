// Another vendor's page: name, logo, colours, contact, legal text, languages and prices, under the shipped policy.

import { vendor } from "../../vendor/build.mjs";

const targets = ["vendor site", "vendor offline"];

/** `#rrggbb` as browsers compute it. */
const rgb = (colour) => `rgb(${[1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).join(", ")})`;

export default [
  {
    name: "shows name, logo, colours, contact and legal text, in its only language",
    targets,
    async run({ tab, assert, target, waitFor }) {
      const found = await tab.evaluate(() => {
        const text = (selector) => document.querySelector(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "";
        const logo = document.querySelector("h1 img.logo");
        const dark = matchMedia("(prefers-color-scheme: dark)").matches;
        return {
          title: document.title,
          lang: document.documentElement.lang,
          name: text("h1"),
          logo: logo.src.slice(0, 26),
          alt: logo.alt,
          icon: document.querySelector("link[rel=icon]").href === logo.src,
          legal: text(".foot .legal"),
          contact: [...document.querySelectorAll(".foot .contact a")].map((link) => link.href),
          person: text(".foot .contact span"),
          langs: document.querySelectorAll(".langs").length,
          theme: dark ? "dark" : "light",
          link: getComputedStyle(document.querySelector(".expert > summary")).color,
          pressed: getComputedStyle(document.querySelector(".common [aria-pressed=true]")).backgroundColor,
          on: getComputedStyle(document.querySelector(".common [aria-pressed=true]")).color,
          fits: getComputedStyle(document.querySelector(".verdict[data-verdict=fits] .badge")).color,
          verdict: text(".verdict h2"),
        };
      });
      const { accent, on_accent: on } = vendor.colours[found.theme];
      const { url } = vendor.contact;
      assert.equal(found.title, "Voorbeeld Systemen: past deze finetuning op je kaart?");
      assert.equal(found.lang, "nl");
      assert.equal(found.name, vendor.name);
      assert.ok(target === "vendor site" ? found.logo.startsWith("http") : found.logo === "data:image/svg+xml;base64,", found.logo);
      assert.equal(found.alt, ""); // its name stands beside it
      assert.ok(found.icon, "its logo is not the sign on the tab");
      assert.equal(found.legal, vendor.legal.nl);
      assert.deepEqual(found.contact, ["tel:+310205550123", `mailto:${vendor.contact.email}`, url]);
      assert.equal(found.person, "Vragen? Afdeling AI & advies");
      assert.equal(found.langs, 0);
      assert.deepEqual([found.link, found.pressed, found.on, found.fits], [accent, accent, on, accent].map(rgb));
      assert.match(found.verdict, /^Het past/);
      await waitFor(() => document.querySelector("h1 img.logo").naturalWidth > 0);
    },
  },
  {
    name: "sells its own machines alone, at its own prices, and rents from whom it chose",
    targets,
    async run({ tab, assert, url, waitFor }) {
      await tab.goto("about:blank");
      await tab.goto(`${url}#v=1&gpu=l40s`);
      await waitFor(() => document.querySelector("[data-part=prices]") !== null);
      const machines = await tab.evaluate(() => [...document.querySelectorAll("#tunefit-server option")].map(({ value }) => value));
      assert.deepEqual(machines.filter(Boolean).toSorted(), ["sys-421ge-tnrt", "sys-521ge-tnrt"]);
      await tab.evaluate(() => (document.querySelector("[data-part=prices] > details").open = true));
      await waitFor(() => document.querySelector("[data-part=prices] h4") !== null);
      await tab.evaluate(() => document.querySelectorAll("[data-part=prices] .behind .behind").forEach((list) => (list.open = true)));
      await waitFor(() => document.querySelectorAll("[data-part=prices] .offers").length === 4);
      const rows = await tab.evaluate(() =>
        [...document.querySelectorAll("[data-part=prices] .offers")].map((table) =>
          [...table.querySelectorAll("tr:has(summary)")].map((row) => ({
            name: row.querySelector("summary").textContent.replace(/\s+/g, " ").trim(),
            amount: row.querySelector(".amount").textContent.replace(/\s+/g, " ").trim(),
          })),
        ),
      );
      const [rent, buy, built, running] = rows; // no services: none is of its providers
      assert.ok(rent.length > 1 && rent.every(({ name }) => /^(Nebius|Verda)/.test(name)), JSON.stringify(rent));
      assert.deepEqual(buy, [{ name: "Onze prijs Voorbeeld Systemen", amount: "€ 8.450" }]);
      assert.deepEqual(built, [
        { name: "SYS-421GE-TNRT 4 × L40S Voorbeeld Systemen", amount: "€ 61.500 tot € 68.000" },
        { name: "SYS-521GE-TNRT 8 × L40S Voorbeeld Systemen", amount: "€ 98.000 tot € 112.000" },
      ]);
      assert.deepEqual(running[0], { name: "Elektriciteit Voorbeeld Systemen", amount: "€ 0,24 per kWh" });
    },
  },
  {
    name: "does not take a link into a language that it does not show",
    targets,
    async run({ tab, assert, url, waitFor }) {
      await tab.goto("about:blank");
      await tab.goto(`${url}#v=1&lang=en&length=512`);
      await waitFor(() => document.getElementById("tunefit-length")?.value === "512");
      assert.equal(await tab.evaluate(() => document.documentElement.lang), "nl");
      assert.equal(await tab.evaluate(() => document.querySelectorAll(".dropped li").length), 1);
    },
  },
];
