// What a visitor does with the page: the answer follows, nothing typed is lost, faults are said in both languages, and the
// page works by keyboard alone, on a narrow screen and with assistive technology.

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";

const axePath = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const verdict = () => document.querySelector("[data-testid=verdict] h2").textContent;
const earlier = () => document.querySelector(".verdict .earlier").textContent.replace(/\s+/g, " ").trim();
const fill = (key, text) => {
  const input = document.getElementById(`tunefit-${key}`);
  input.value = text;
  input.dispatchEvent(new Event("input", { bubbles: true }));
};
const valueOf = (key) => document.getElementById(`tunefit-${key}`).value;
const speak = async (lang) => {
  const button = document.querySelector(`.langs [lang=${lang}]`);
  button.click();
  while (button.ariaPressed !== "true") await new Promise((resolve) => setTimeout(resolve, 10)); // until it is loaded
};
const faultOf = (key) => document.querySelector(`[data-field=${key}] .fault`)?.textContent.trim() ?? "";
const isOutdated = () => document.querySelector(".answer").hasAttribute("data-outdated");
const openAll = () => document.querySelectorAll("details").forEach((details) => (details.open = true));
/** What opens holds what opens, in turn. */
const allDrawn = () => {
  const closed = [...document.querySelectorAll("details:not([open])")];
  closed.forEach((details) => (details.open = true));
  return closed.length === 0 && document.querySelector(".all-cards") !== null &&
    [...document.querySelectorAll(".term")].every((term) => term.querySelector(".term-body"));
};
const lookUps = () => document.querySelector(".cards") !== null && document.querySelector("[data-part=prices]") !== null;
/** Figures of the memory chart's axis that the card's line is drawn through. */
const struckFigures = () => {
  const { left: line } = document.querySelector(".plot > .limit").getBoundingClientRect();
  const struck = [...document.querySelectorAll(".axis > *")].filter((figure) => {
    const { left, right } = figure.getBoundingClientRect();
    return left < line && line < right;
  });
  return struck.map(({ textContent }) => textContent);
};
const overflow = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;

/** Field, text typed, and what is said of it in English and in Dutch. */
const badInputs = [
  ["length", "0", "Sequence length can be 1 to", "Sequentielengte mag 1 tot"],
  ["length", "two thousand", "Sequence length takes a whole number; “two thousand” is something else.", "Bij Sequentielengte hoort een heel getal; ‘two thousand’ is iets anders."],
  ["length", "999999999999", "Sequence length can be 1 to", "Sequentielengte mag 1 tot"],
  ["batch", "-1", "Batch per GPU can be 1 to", "Batch per GPU mag 1 tot"],
  ["batch", "1.5", "Batch per GPU takes a whole number; “1.5” is something else.", "Bij Batch per GPU hoort een heel getal; ‘1.5’ is iets anders."],
  ["rank", "100000", "Rank can be 1 to", "Rang mag 1 tot"],
  ["dropout", "2", "Dropout can be 0 to", "Dropout mag 0 tot"],
  ["accumulation", "none", "Gradient accumulation takes a whole number", "Bij Gradiëntaccumulatie hoort een heel getal"],
  ["version", "last year", "Version of the libraries takes a month such as 2025-06; “last year” is something else.", "Bij Versie van de software hoort een maand, zoals 2025-06; ‘last year’ is iets anders."],
  ["length", "x".repeat(300), `Sequence length takes a whole number; “${"x".repeat(79)}…” is`, `Bij Sequentielengte hoort een heel getal; ‘${"x".repeat(79)}…’ is`],
  ["config", "{", "This is not valid JSON", "Dit is geen geldige JSON"],
  ["config", "{}", "model_type is missing.", "model_type ontbreekt."],
  ["config", '{"model_type": "toaster"}', "The calculator does not cover this yet: model_type “toaster”.", "Dit rekent de rekenhulp nog niet door: model_type ‘toaster’."],
];

const llama = JSON.stringify({
  model_type: "llama", hidden_size: 2048, intermediate_size: 8192, num_hidden_layers: 16, num_attention_heads: 32, num_key_value_heads: 8,
  head_dim: 64, vocab_size: 128256, max_position_embeddings: 131072, tie_word_embeddings: true,
});

/** Presses Tab until the element with `id` has the focus. */
async function tabTo(tab, assert, id) {
  for (let presses = 0; presses < 40; ++presses) {
    if ((await tab.evaluate(() => document.activeElement.id)) === id) return;
    await tab.press("Tab");
  }
  assert.fail(`Tab does not reach ${id}`);
}

export default [
  {
    name: "every bad input is named at its field in both languages, and the last answer stays",
    async run({ tab, assert }) {
      await tab.evaluate(speak, "en");
      const before = await tab.evaluate(verdict);
      for (const [key, text, english, dutch] of badInputs) {
        const start = await tab.evaluate(valueOf, key);
        await tab.evaluate(fill, key, text);
        const said = [await tab.evaluate(faultOf, key)];
        await tab.evaluate(speak, "nl");
        said.push(await tab.evaluate(faultOf, key));
        await tab.evaluate(speak, "en");
        assert.ok(said[0].startsWith(english), `${key} ${text}: ${said[0]}`);
        assert.ok(said[1].startsWith(dutch), `${key} ${text}: ${said[1]}`);
        assert.equal(await tab.evaluate(valueOf, key), text);
        assert.equal(await tab.evaluate(isOutdated), true);
        assert.equal(await tab.evaluate(verdict), `Not answered: ${said[0]}`);
        assert.match(await tab.evaluate(earlier), /^Earlier answer, to your last valid input\./);
        assert.ok((await tab.evaluate(earlier)).includes(before.replace(/\s+/g, " ")), `${key} ${text}: the earlier answer is gone`);
        await tab.evaluate(fill, key, start);
        assert.equal(await tab.evaluate(isOutdated), false, `${key} is still outdated`);
      }
    },
  },
  {
    name: "a pasted config.json is answered, and is in the link only when ticked",
    async run({ tab, assert, waitFor }) {
      const before = await tab.evaluate(verdict);
      await tab.evaluate(fill, "config", llama);
      assert.notEqual(await tab.evaluate(verdict), before);
      await tab.evaluate(fill, "batch", "2");
      await waitFor(() => location.hash.includes("batch=2"));
      assert.equal(await tab.evaluate(() => location.hash.includes("config")), false);
    },
  },
  {
    name: "the link carries the state, and what it cannot carry is said",
    async run({ tab, assert, url, waitFor }) {
      await tab.evaluate(fill, "length", "4096");
      await waitFor(() => location.hash === "#v=1&length=4096");
      await tab.goto(`${url}#v=1&method=full&gpu=h100-sxm&length=512&batch=0&colour=red`);
      await waitFor(() => document.getElementById("tunefit-length")?.value === "512");
      const read = await tab.evaluate(() => ({
        gpu: document.getElementById("tunefit-gpu").value,
        method: document.querySelector("[name=tunefit-method]:checked").value,
        batch: document.getElementById("tunefit-batch").value,
        dropped: document.querySelectorAll(".dropped li").length,
      }));
      assert.deepEqual(read, { gpu: "H100 SXM5 80GB", method: "full", batch: "1", dropped: 2 });
      await tab.evaluate(speak, "en");
      await tab.goto(`${url}#v=2&batch=2&batch=3&version=soon&lang=en`);
      await waitFor(() => document.getElementById("tunefit-batch")?.value === "2");
      assert.deepEqual(await tab.evaluate(() => [...document.querySelectorAll(".dropped li")].map((item) => item.textContent)), [
        "The link has version “2”, which this page does not know: it may mean something else than is read here.",
        "“batch” is named more than once: the first value is taken, “3” is not.",
        "“soon” is not possible for “version”, which takes a month such as 2025-06.",
      ]);
      await tab.evaluate(fill, "model", "x".repeat(10));
      await tab.evaluate(fill, "rank", "9".repeat(100));
      await tab.evaluate(fill, "length", "1024");
      await waitFor(() => location.hash.includes("length=1024"));
      assert.equal(await tab.evaluate(() => location.hash.includes("999")), false);
    },
  },
  {
    name: "a card that does not compute in the run's number format is marked and not recommended",
    async run({ tab, assert, waitFor }) {
      await tab.evaluate(speak, "en");
      await tab.evaluate(fill, "length", "128");
      await waitFor(() => document.querySelector(".cards .shortlist") !== null);
      await tab.evaluate(openAll);
      await waitFor(allDrawn);
      const marked = await tab.evaluate(() =>
        [...document.querySelectorAll(".all-cards tr:has([data-unsupported])")].map((row) => ({
          name: row.querySelector("th").textContent.trim(),
          said: row.querySelector("small").textContent,
          hollow: row.querySelector(".sign").hasAttribute("data-hollow"),
        })),
      );
      const named = await tab.evaluate(() => document.querySelector(".cards > p").textContent);
      const short = await tab.evaluate(() => [...document.querySelectorAll(".shortlist button span")].map((name) => name.textContent));
      assert.ok(marked.some(({ name }) => /T4|V100/.test(name)), JSON.stringify(marked));
      for (const { name, said, hollow } of marked) {
        assert.match(said, /^but no bf16/);
        assert.ok(hollow && !short.includes(name) && !named.includes(`the ${name},`), name);
      }
    },
  },
  {
    name: "works by keyboard alone",
    async run({ tab, assert, waitFor }) {
      const before = await tab.evaluate(verdict);
      await tabTo(tab, assert, "tunefit-model");
      await tab.type("qwen3 32b");
      await waitFor(() => document.getElementById("tunefit-model").getAttribute("aria-activedescendant") !== null);
      await tab.press("ArrowDown");
      await tab.press("ArrowUp");
      await tab.press("Enter");
      await waitFor(() => document.getElementById("tunefit-model").value === "Qwen3 32B");
      assert.equal(await tab.evaluate(() => document.getElementById("tunefit-model").getAttribute("aria-expanded")), "false");
      assert.notEqual(await tab.evaluate(verdict), before);
      await tabTo(tab, assert, "tunefit-gpu");
      for (const text of ["no such card", "a100"]) {
        await tab.evaluate(() => document.getElementById("tunefit-gpu").select());
        await tab.type(text);
        await tab.press("Enter");
        await waitFor((typed) => document.querySelector("[data-field=gpu] .fault")?.textContent.includes(typed), text);
        assert.equal(await tab.evaluate(valueOf, "gpu"), text); // of several cards none is guessed at
      }
      await tab.evaluate(() => document.getElementById("tunefit-gpu").select());
      await tab.type("a100");
      await waitFor(() => document.querySelector("[data-field=gpu] .option .option-name")?.textContent === "A100 SXM4 80GB");
      await tab.press("ArrowDown");
      await tab.press("Enter");
      await waitFor(() => document.getElementById("tunefit-gpu").value === "A100 SXM4 80GB");
      await tab.evaluate(() => document.getElementById("tunefit-gpu").select());
      await tab.type("nvidia h100 80gb hbm3"); // as the driver calls it
      await tab.press("Enter");
      await waitFor(() => document.getElementById("tunefit-gpu").value === "H100 SXM5 80GB");
      await tab.evaluate(() => document.getElementById("tunefit-gpu").select());
      await tab.type("4090");
      await tab.press("Tab");
      await waitFor(() => document.getElementById("tunefit-gpu").value === "GeForce RTX 4090");
      await tabTo(tab, assert, "tunefit-batch");
    },
  },
  {
    name: "speaks Dutch and English, and says so to the browser",
    async run({ tab, assert, waitFor }) {
      await tab.evaluate(speak, "nl");
      await waitFor(() => document.documentElement.lang === "nl");
      assert.match(await tab.evaluate(verdict), /^(Het past|Krap)/);
      assert.match(await tab.evaluate(() => document.title), /past deze/);
      await tab.evaluate(speak, "en");
      await waitFor(() => document.documentElement.lang === "en");
      assert.match(await tab.evaluate(verdict), /^(It |Tight)/);
    },
  },
  {
    name: "fits 320 pixels, with everything open, in both languages",
    async run({ tab, assert, waitFor }) {
      await tab.resize(320, 640);
      await waitFor(lookUps);
      for (const lang of ["en", "nl"]) {
        await tab.evaluate(speak, lang);
        await tab.evaluate(openAll);
        await waitFor(allDrawn);
        assert.ok((await tab.evaluate(overflow)) <= 0, `${lang} scrolls sideways`);
        assert.deepEqual(await tab.evaluate(struckFigures), [], `${lang}: the card's line is drawn through the axis`);
      }
    },
  },
  {
    name: "axe finds nothing wrong, closed and open, valid and not",
    async run({ tab, assert, waitFor }) {
      // One engine is enough for what axe looks at, and its own script asks for more than some of them allow.
      if (!(await tab.evaluate(() => navigator.userAgent.includes("Chrome")))) return;
      await tab.evaluate(`() => { ${await readFile(axePath, "utf8")}; }`);
      const faults = async () =>
        tab.evaluate(async () => {
          const { violations } = await globalThis.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
          return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ target, failureSummary }) => `${target} ${failureSummary}`).join("; ")}`);
        });
      await waitFor(lookUps);
      assert.deepEqual(await faults(), []);
      await tab.evaluate(openAll);
      await waitFor(allDrawn);
      await tab.evaluate(() => document.querySelectorAll(".explain").forEach((button) => button.click()));
      await tab.evaluate(fill, "length", "0");
      await tab.click("#tunefit-model");
      assert.deepEqual(await faults(), []);
    },
  },
];
