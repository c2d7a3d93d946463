// What to buy or rent: found as one looks on, stopped, compared, and taken into the answer; in both languages.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const audit = `async () => {
  ${axe};
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = await axe.run(document, { runOnly: tags });
  return violations.map(({ id, nodes }) => id + ": " + nodes.map(({ target }) => target.join(" ")).join(", "));
}`;

const textOf = (selector) => document.querySelector(selector)?.textContent.replace(/\s+/g, " ").trim() ?? "";
const fill = (key, text) => {
  const input = document.getElementById(`tunefit-${key}`);
  input.value = text;
  input.dispatchEvent(new Event(input.localName === "select" ? "change" : "input", { bubbles: true }));
};
const speak = async (lang) => {
  const button = document.querySelector(`.langs [lang=${lang}]`);
  button.click();
  while (button.ariaPressed !== "true") await new Promise((resolve) => setTimeout(resolve, 10)); // until it is loaded
};
const statusIs = (wanted) => document.querySelector("[data-part=plan]")?.dataset.status === wanted;
const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
const rows = () => document.querySelectorAll("[data-part=plan] tr[data-proposal]").length;

/** Opens a page by its link and waits for the panel. */
async function visit({ tab, url, waitFor }, link) {
  await tab.goto("about:blank");
  await tab.goto(`${url}#v=1${link}`);
  await waitFor(() => document.documentElement.dataset.ready === "true");
  await waitFor(() => document.querySelector("[data-testid=plan-start]") !== null);
}

/** Looks on until a plan is done, which takes a few seconds over the whole catalog. */
async function look({ tab, waitFor }) {
  await tab.click("[data-testid=plan-start]");
  await waitFor(() => ["done", "refused", "failed"].includes(document.querySelector("[data-part=plan]").dataset.status));
}

export default [
  {
    name: "a plan is found as one looks on, and is said in both languages",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=en&most=2&methods=qlora");
      assert.equal(await tab.evaluate(rows), 0);
      await tab.click("[data-testid=plan-start]");
      await waitFor(statusIs, "done");
      assert.match(await tab.evaluate(textOf, ".plan-status"), /^Done: [\d,]+ ways looked at, \d+ kept\.$/);
      assert.match(await tab.evaluate(textOf, "[data-way=rent] tbody tr"), /^(\d+ × )?\S.*QLoRA .*€[\d.]+ .*read \d+ \w+ 20\d\d.* of [\d.]+ GiB/);
      assert.match(await tab.evaluate(textOf, "[data-way=buy] tbody tr"), /cheapest.*€[\d,]+/);
      assert.equal(await tab.evaluate(() => document.querySelector("[data-part=plan] [role=status]").textContent.includes("{")), false);
      await tab.evaluate(speak, "nl");
      assert.match(await tab.evaluate(textOf, ".plan-status"), /^Klaar: [\d.]+ manieren bekeken, \d+ bewaard\.$/);
      assert.match(await tab.evaluate(textOf, "[data-way=buy] tbody tr"), /goedkoopst.*€\s[\d.]+/);
      const listed = await tab.evaluate(rows);
      await tab.evaluate(() => document.querySelector("[data-part=plan] .plan-found > p > .quiet").click());
      assert.ok((await tab.evaluate(rows)) > listed);
    },
  },
  {
    name: "a plan says how far it is, and stops when told",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=en&model=llama-3.1-70b");
      await tab.click("[data-testid=plan-start]");
      // A slow machine may show nothing in between, a fast one may be done: what is there is stopped in the page itself.
      const said = await tab.evaluate(async () => {
        const seen = [];
        for (let tries = 0; tries < 2000; ++tries) {
          const text = document.querySelector("[data-testid=plan-progress]")?.textContent ?? "";
          if (text && text !== seen.at(-1)) seen.push(text);
          if (seen.length > 2) document.querySelector("[data-testid=plan-stop]")?.click();
          if (!document.querySelector("[data-testid=plan-stop]")) return seen;
          await new Promise((resolve) => setTimeout(resolve, 5));
        }
        return seen;
      });
      assert.ok(said.length > 2 && said.every((text) => /^[\d,]+ ways looked at, \d+ kept$/.test(text)), said.join("; "));
      await waitFor(statusIs, "stopped");
      assert.match(await tab.evaluate(textOf, ".plan-status"), /^Stopped/);
      assert.equal(await tab.evaluate(textOf, "[data-testid=plan-start]"), "Look again");
    },
  },
  {
    name: "a proposal that is taken is the page's answer, and is in the link",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=en&most=2&methods=lora&acquire=rent");
      await look(context);
      const row = "[data-way=rent] tbody tr[data-proposal]";
      const [hours, cost] = await tab.evaluate((selector) => [...document.querySelectorAll(`${selector}:first-child strong`)].map(({ textContent }) => textContent), row);
      await tab.evaluate((selector) => document.querySelector(`${selector} .plan-take`).click(), row);
      await waitFor(() => document.querySelector("[data-part=plan] .plan-taken") !== null);
      const outcome = await tab.evaluate(() => [...document.querySelectorAll("[data-testid=outcome] strong")].map(({ textContent }) => textContent));
      assert.deepEqual(outcome.slice(0, 2), [hours, cost]);
      assert.equal(await tab.evaluate(() => document.querySelector("[data-testid=plan-outdated]")), null);
      await waitFor(() => /&stack=/.test(location.hash) && /&gpus=\d/.test(location.hash) && /&strategy=/.test(location.hash));
      await tab.evaluate(() => document.querySelector("[data-part=plan] .plan-actions .quiet").click());
      assert.equal(await tab.evaluate(() => document.activeElement.id), "tunefit-answer");
      await tab.evaluate(fill, "length", "1024");
      await waitFor(() => document.querySelector("[data-testid=plan-outdated]") !== null);
    },
  },
  {
    name: "proposals open, and up to four stand side by side",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=en&most=2&methods=qlora");
      await look(context);
      await tab.evaluate(() => document.querySelector("[data-way=buy] .plan-open").click());
      await waitFor(() => document.querySelector(".plan-details") !== null);
      assert.match(await tab.evaluate(textOf, ".plan-details"), /Error correction \(ECC\).*Made for.*Training stack.*sequences an update.*It no longer fits at/);
      const tick = (at) => document.querySelectorAll("[data-part=plan] .plan-actions input")[at].click();
      await tab.evaluate(tick, 0);
      await waitFor(() => document.getElementById("tunefit-plan-compare") !== null);
      for (const at of [1, 2, 3]) await tab.evaluate(tick, at);
      await waitFor(() => document.querySelectorAll(".plan-compare thead th").length === 4);
      assert.equal(await tab.evaluate(() => document.querySelectorAll("[data-part=plan] .plan-actions input")[4].disabled), true);
      const names = await tab.evaluate(() => [...document.querySelectorAll(".plan-compare tbody th")].map(({ textContent }) => textContent));
      for (const name of ["Time of the run", "Costs", "Memory a card", "Method", "The machine", "Power"]) assert.ok(names.includes(name), name);
      await tab.evaluate(() => document.querySelector(".plan-compare .quiet").click());
      await waitFor(() => document.querySelectorAll(".plan-compare thead th").length === 3);
    },
  },
  {
    name: "wishes come by the link, narrow what is found, and what is wrong with them stands beside the field",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=en&most=4&house=true&ecc=true&budget=20000&keep=true&gpu=l40s");
      assert.deepEqual(
        await tab.evaluate(() => ["house", "ecc", "maker", "keep"].map((key) => document.getElementById(`tunefit-${key}`).checked)),
        [true, true, false, true],
      );
      await look(context);
      const names = await tab.evaluate(() => [...document.querySelectorAll("[data-part=plan] .plan-open")].map(({ textContent }) => textContent));
      assert.ok(names.every((name) => name.endsWith("L40S")), names.join("; "));
      assert.equal(await tab.evaluate(() => document.querySelector("[data-way=rent]")), null);
      await tab.evaluate(fill, "most", "5000");
      await waitFor(() => document.querySelector("[data-field=most] .fault") !== null);
      assert.equal(await tab.evaluate(textOf, "[data-field=most] .fault"), "GPUs (at most) can be 1 to 1,024; 5,000 is outside that.");
      assert.equal(await tab.evaluate(() => document.querySelector("[data-testid=plan-start]").disabled), true);
      await tab.evaluate(fill, "most", "4");
      await tab.evaluate(fill, "budget", "1");
      await waitFor(() => location.hash.includes("budget=1"));
      await look(context);
      assert.match(await tab.evaluate(textOf, ".plan-status"), /^Nothing in the catalog meets these wishes\./);
    },
  },
  {
    name: "several GPUs are set by hand, and what does not go together is said beside the field",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=en&gpu=h100-sxm&gpus=8&strategy=zero3");
      await waitFor(() => document.getElementById("tunefit-strategy")?.value === "zero3");
      assert.match(await tab.evaluate(textOf, "[data-testid=verdict] h2"), /busiest of 8/);
      await tab.evaluate(fill, "tensor", "3");
      await waitFor(() => document.querySelector("[data-field=tensor] .fault") !== null);
      assert.match(await tab.evaluate(textOf, "[data-field=tensor] .fault"), /^32 attention heads cannot be divided among 3 GPUs\./);
      await tab.evaluate(fill, "tensor", "");
      await tab.evaluate(fill, "strategy", "none");
      await waitFor(() => document.querySelector("[data-field=strategy] .fault") !== null);
      assert.match(await tab.evaluate(textOf, "[data-field=strategy] .fault"), /^With 8 GPUs there are several copies/);
    },
  },
  {
    name: "a plan has no accessibility fault that axe finds, nor does it scroll sideways on a narrow screen",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "&lang=nl&most=2&methods=qlora");
      await look(context);
      await tab.evaluate(() => document.querySelector("[data-way=buy] .plan-open").click());
      await tab.evaluate(() => [0, 1].forEach((at) => document.querySelectorAll("[data-part=plan] .plan-actions input")[at].click()));
      await tab.evaluate(() => document.querySelector("[data-part=plan] .plan-take").click());
      await waitFor(() => document.querySelector(".plan-compare") !== null && document.querySelector(".plan-taken") !== null);
      assert.deepEqual(await tab.evaluate(audit), []);
      await tab.resize(320, 640);
      for (const lang of ["nl", "en"]) {
        await tab.evaluate(speak, lang);
        assert.ok((await tab.evaluate(overflow)) <= 0, `${lang} scrolls sideways`);
      }
      assert.deepEqual(await tab.evaluate(audit), []);
    },
  },
];
