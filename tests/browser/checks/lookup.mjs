// What is looked up: facts of the card and the model with their sources, the machine around the card, and prices with their
// age by the reader's clock.

import { readFileSync } from "node:fs";

const catalog = (name) => JSON.parse(readFileSync(new URL(`../../../catalog/${name}.json`, import.meta.url), "utf8"));
const rented = catalog("prices").rented.filter(({ gpu }) => gpu === "h100-sxm");

/** The day on which most of its prices were read. */
const dates = rented.map(({ date }) => date).filter((date) => date.length === 10);
const [readOn] = dates.toSorted((a, b) => dates.filter((date) => date === b).length - dates.filter((date) => date === a).length);

const speak = async (lang) => {
  const button = document.querySelector(`.langs [lang=${lang}]`);
  button.click();
  while (button.ariaPressed !== "true") await new Promise((resolve) => setTimeout(resolve, 10)); // until it is loaded
};
const part = (name) => document.querySelector(`[data-part=${name}]`) !== null;
const openPart = (name) => (document.querySelector(`[data-part=${name}] > details`).open = true);
const lines = (name) =>
  Object.fromEntries(
    [...document.querySelectorAll(`[data-part=${name}] .facts > li`)].map((line) => [
      line.querySelector(".fact-name").textContent.trim(),
      line.querySelector(".fact-value").textContent.replace(/\s+/g, " ").trim(),
    ]),
  );

/** Opens a page by its link and waits until servers and prices are there. */
async function visit({ tab, url, waitFor }, link) {
  await tab.goto("about:blank");
  await tab.goto(`${url}#v=1&lang=en&${link}`);
  await waitFor(() => document.documentElement.dataset.ready === "true");
  await waitFor(part, "prices");
}

/** Opens the parts of a page that are named, and what is in them. */
async function look({ tab, waitFor }, name, inside) {
  await tab.evaluate(openPart, name);
  await waitFor((selector) => document.querySelector(selector) !== null, `[data-part=${name}] ${inside}`);
}

const day = 24 * 60 * 60 * 1000;

/** Turns the reader's clock, and draws prices by it. */
const setClock = (time) => {
  Date.now = () => time;
  for (const details of document.querySelectorAll("[data-part=prices] details")) details.open = false;
};

/** Rows of the open list of prices, under the heading of their term. */
const offers = () => {
  let term = "";
  return [...document.querySelectorAll("[data-part=prices] .offers tr")].flatMap((row) => {
    const heading = row.querySelector("[scope=rowgroup]");
    if (heading) term = heading.textContent.trim();
    const time = row.querySelector("time");
    if (!time) return [];
    return {
      term,
      name: row.querySelector("summary").textContent.replace(/\s+/g, " ").trim(),
      amount: row.querySelector(".amount").textContent.replace(/\s+/g, " ").trim(),
      date: time.dateTime,
      age: row.querySelector(".age").textContent.trim(),
      stale: row.querySelector(".age").hasAttribute("data-stale"),
      doubt: row.querySelector("[data-mark=doubt]") !== null,
    };
  });
};

export default [
  {
    name: "the card's numbers open to their sources, and what nobody states is not confirmed",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "gpu=rtx-4090");
      await look(context, "card", ".facts");
      const facts = await tab.evaluate(lines, "card");
      assert.equal(facts["Memory, on the box"], "24 GB GDDR6X");
      assert.equal(facts["Memory, by the driver"], "24,564 MiB");
      assert.equal(facts["Memory bandwidth"], "1,008 GB/s");
      assert.equal(facts["Compute capability"], "8.9");
      assert.equal(facts["Peak rate, fp4"], "not in hardware");
      assert.match(facts["Peak rate, fp16 with fp16 sums"], /, but training gets half computed$/);
      assert.match(facts["Form"], / not confirmed$/); // recalled
      assert.equal(facts["Best measured, fp8"], "not confirmed");
      await tab.evaluate(() => document.querySelectorAll("[data-part=card] details.fact").forEach((line) => (line.open = true)));
      await waitFor(() => {
        const opened = [...document.querySelectorAll("[data-part=card] details.fact")];
        return opened.length > 15 && opened.every((line) => line.querySelector(".fact-body"));
      });
      const opened = await tab.evaluate(() =>
        [...document.querySelectorAll("[data-part=card] details.fact")].map((line) => ({
          name: line.querySelector(".fact-name").textContent.trim(),
          text: line.querySelector(".fact-body").textContent.replace(/\s+/g, " ").trim(),
        })),
      );
      for (const { name, text } of opened) {
        assert.match(text, /read \d{1,2} \w+ 20\d\d/, name);
        assert.match(text, /From the maker|From a table|From an excerpt|Not confirmed: the authors know it/, name);
      }
      const bandwidth = opened.find(({ name }) => name === "Memory bandwidth").text;
      assert.match(bandwidth, /gpu_specs\.csv, read 30 November 2026 From an excerpt/);
      await tab.evaluate(speak, "nl");
      assert.equal((await tab.evaluate(lines, "card"))["Geheugenbandbreedte"], "1.008 GB/s");
    },
  },
  {
    name: "what a card cannot do is said where it is chosen, and nowhere else",
    async run(context) {
      const { tab, assert, waitFor } = context;
      const said = () => document.querySelector("[data-testid=cannot]")?.textContent.replace(/\s+/g, " ").trim() ?? "";
      await visit(context, "gpu=t4");
      assert.equal(
        await tab.evaluate(said),
        "The T4 does not compute in bf16: use fp16. No FP8. " +
          "No FlashAttention 2, which needs compute capability 8.0 where this card has 7.5: use SDPA.",
      );
      await tab.evaluate(speak, "nl");
      assert.match(await tab.evaluate(said), /^De T4 rekent niet in bf16: gebruik fp16\. Geen FP8\. Geen FlashAttention 2: /);
      await visit(context, "gpu=h100-sxm");
      assert.equal(await tab.evaluate(said), "");
      await waitFor(() => document.getElementById("tunefit-gpu").value === "H100 SXM5 80GB");
    },
  },
  {
    name: "a machine is chosen for the card, reaches the request and the link, and is described",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await tab.evaluate(() => (globalThis.copied = null));
      await visit(context, "gpu=l40s");
      await waitFor(() => document.getElementById("tunefit-server") !== null);
      const groups = await tab.evaluate(() =>
        [...document.querySelectorAll("#tunefit-server optgroup")].map((group) => [
          group.label,
          [...group.querySelectorAll("option")].map((option) => option.value),
        ]),
      );
      assert.deepEqual(groups.map(([label]) => label), [
        "Servers that take this card", "Kinds of machines", "Rented", "Not confirmed for this card",
      ]);
      assert.ok(groups[0][1].includes("sys-421ge-tnrt") && groups[3][1].includes("sys-221ge-nr"), JSON.stringify(groups));
      await tab.evaluate(() => {
        const select = document.getElementById("tunefit-server");
        select.value = "sys-421ge-tnrt";
        select.dispatchEvent(new Event("change", { bubbles: true }));
        // The answer as JSON, as its button copies it.
        Object.defineProperty(navigator, "clipboard", { value: { writeText: async (text) => (globalThis.copied = text) } });
      });
      await waitFor(() => location.hash.includes("server=sys-421ge-tnrt"));
      await tab.evaluate(() => [...document.querySelectorAll(".share button")].find((button) => /JSON/.test(button.textContent)).click());
      await waitFor(() => typeof globalThis.copied === "string");
      const report = JSON.parse(await tab.evaluate(() => globalThis.copied));
      assert.equal(report.status, "ok");
      assert.deepEqual(report.request.hardware, { gpu: "l40s", server: "sys-421ge-tnrt" });
      await look(context, "server", ".facts");
      const facts = await tab.evaluate(lines, "server");
      assert.equal(facts["Housing"], "rack, 4U");
      assert.equal(facts["GPUs"], "up to 10 GPUs");
      assert.match(facts["Takes the L40S"], /^yes/);
      assert.match(facts["Path to the processor"], /not confirmed$/);
      assert.equal(facts["Main memory"], "32 slots; not confirmed: the most that it takes");
      assert.match(facts["Power supplies"], /^4 × 2,700 W; not confirmed: redundancy$/);
    },
  },
  {
    name: "a card that the chosen machine does not take is named at the machine, which stays chosen",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "gpu=h100-sxm&server=sys-821ge-tnhr");
      await waitFor(() => document.querySelector(".shortlist button") !== null);
      await tab.evaluate(() => document.querySelector(".shortlist button").click());
      await waitFor(() => document.querySelector("[data-field=server] .fault") !== null);
      const said = () => document.querySelector("[data-field=server] .fault").textContent;
      assert.match(await tab.evaluate(said), /^The SYS-821GE-TNHR does not take the .+\. Choose another machine or another card\.$/);
      await tab.evaluate(speak, "nl");
      assert.match(await tab.evaluate(said), /^De .+ gaat niet in de SYS-821GE-TNHR\./);
      assert.equal(await tab.evaluate(() => document.getElementById("tunefit-server").value), "sys-821ge-tnhr");
    },
  },
  {
    name: "a link with a machine waits for the list, and one that is not in it is left out and said",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "gpu=h100-pcie&server=sys-421ge-tnrt");
      assert.equal(await tab.evaluate(() => document.getElementById("tunefit-server").value), "sys-421ge-tnrt");
      assert.equal(await tab.evaluate(() => document.querySelectorAll(".dropped li").length), 0);
      await look(context, "server", ".doubt");
      assert.match(await tab.evaluate(() => document.querySelector("[data-part=server] .doubt").textContent), /^No source confirms/);
      await visit(context, "gpu=l40s&server=abacus");
      assert.deepEqual(await tab.evaluate(() => [...document.querySelectorAll(".dropped li")].map((item) => item.textContent)), [
        "“abacus” is not possible for “server”.",
      ]);
      await waitFor(() => document.getElementById("tunefit-server")?.value === "");
    },
  },
  {
    name: "every price says how old it is, and warns from the 91st day by the reader's clock",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "gpu=h100-sxm");
      const read = async (time) => {
        await tab.evaluate(setClock, time);
        await waitFor(() => document.querySelector("[data-part=prices] .offers") === null);
        await look(context, "prices", "h4");
        await tab.evaluate(() => (document.querySelector("[data-part=prices] .behind .behind").open = true));
        await waitFor(() => document.querySelector("[data-part=prices] .offers time") !== null);
        return tab.evaluate(offers);
      };
      const noon = Date.parse(readOn) + day / 2;
      const fresh = await read(noon);
      assert.ok(fresh.length > 10);
      assert.ok(fresh.every(({ term, amount }) => term && /^US\$[\d.]+ ≈ €[\d.]+$/.test(amount)), JSON.stringify(fresh));
      for (const [days, stale] of [[0, false], [90, false], [91, true]]) {
        const rows = (await read(noon + days * day)).filter(({ date }) => date === readOn);
        assert.ok(rows.length > 3);
        for (const row of rows) assert.deepEqual([row.age, row.stale], [`${days} days old`, stale], row.name);
      }
      assert.match(await tab.evaluate(() => document.querySelector("[data-testid=stale]").textContent), /prices and figures are over 90 days old/);
      // Of one provider's offer the newest is shown, once: there are fewer rows than prices.
      const offered = new Set(rented.map(({ provider, instance, gpus, term, covers, region }) => [provider, instance, gpus, term, covers, region].join()));
      assert.ok(offered.size < rented.length && fresh.length <= offered.size, `${fresh.length} of ${offered.size}`);
    },
  },
  {
    name: "a price of low confidence is marked, and opens to why and to its source",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "gpu=rtx-4090");
      await look(context, "prices", "h4");
      await tab.evaluate(() => document.querySelectorAll("[data-part=prices] .behind .behind").forEach((list) => (list.open = true)));
      await waitFor(() => document.querySelectorAll("[data-part=prices] .offers").length >= 3);
      const marked = (await tab.evaluate(offers)).filter(({ doubt }) => doubt);
      assert.ok(marked.length > 5);
      for (const { name } of marked) assert.match(name, /low confidence/);
      await tab.evaluate(() => (document.querySelector("[data-part=prices] .offer:has([data-mark=doubt])").open = true));
      await waitFor(() => document.querySelector("[data-part=prices] .offer-body") !== null);
      const body = await tab.evaluate(() => document.querySelector("[data-part=prices] .offer-body").textContent.replace(/\s+/g, " "));
      assert.match(body, /Low confidence: sources disagree, or none of them is the seller\..*Sources .*read \d/);
    },
  },
  {
    name: "machines to buy are told apart by what is in them, and doubt is said while the list is closed",
    async run(context) {
      const { tab, assert, waitFor } = context;
      await visit(context, "gpu=l40s");
      await look(context, "prices", "h4");
      const said = await tab.evaluate(() => {
        const list = document.getElementById("tunefit-machines").closest("details");
        list.open = true;
        return list.querySelector("summary").textContent.replace(/\s+/g, " ").trim();
      });
      assert.match(said, /prices, with 8 GPUs US\$[\d,]+ low confidence; barebone US\$[\d,]+ to US\$[\d,]+ low confidence$/);
      await waitFor(() => document.querySelector("[data-part=prices] .offers") !== null);
      const rows = await tab.evaluate(offers);
      assert.deepEqual([...new Set(rows.map(({ term }) => term))], ["Complete, with 8 GPUs", "Barebone: without GPUs, processors and memory"]);
      const unsure = rows.filter(({ name }) => /this card not confirmed/.test(name));
      assert.ok(unsure.some(({ name }) => name.startsWith("AS-4125GS-TNRT,")) && unsure.length < rows.length, JSON.stringify(rows));
    },
  },
  {
    name: "a model says what it is good for, and one whose shape is recalled says that first",
    async run(context) {
      const { tab, assert } = context;
      await visit(context, "model=llama-3.1-8b");
      assert.equal(await tab.evaluate(() => document.querySelector("[data-testid=model-doubt]")), null);
      await look(context, "model", ".facts");
      const facts = await tab.evaluate(lines, "model");
      assert.ok(facts["Good for"] && facts["Good for"] !== "not confirmed");
      assert.equal(facts["Parameters"], "8,030,261,248");
      assert.match(facts["Licence"], /^Llama 3\.1 Community License/);
      assert.match(facts["How sure is the shape?"], /^Certain: /);
      await visit(context, "model=apertus-70b");
      assert.equal(await tab.evaluate(() => document.querySelector("[data-testid=model-doubt]").textContent), "shape not confirmed");
      await look(context, "model", ".doubt");
      assert.match(await tab.evaluate(() => document.querySelector("[data-part=model] .doubt").textContent), /agrees only with a rounded size/);
      assert.match((await tab.evaluate(lines, "model"))["How sure is the shape?"], /^Weak: the shape is recalled/);
    },
  },
  {
    name: "a list that does not come is said, and comes when asked for again",
    targets: ["site"],
    provokes: true, // the refused request is an error of the console
    async run({ tab, assert, url, waitFor }) {
      const text = (selector) => document.querySelector(selector)?.textContent ?? "";
      await tab.goto(`${url}lossy/#v=1&lang=en`);
      await waitFor(() => document.querySelector(".look-ups > .doubt") !== null);
      assert.match(await tab.evaluate(text, ".look-ups > .doubt"), /^Servers and prices could not be loaded: 503/);
      assert.match(await tab.evaluate(text, ".verdict h2"), /^It fits/);
      assert.equal(await tab.evaluate(part, "card"), true); // what the first part holds is there
      await tab.evaluate(() => document.querySelector(".look-ups .quiet").click());
      await waitFor(part, "prices");
      assert.equal(await tab.evaluate(text, ".look-ups > .doubt"), "");
    },
  },
  {
    name: "a link with a machine is answered without it where the list does not come",
    targets: ["site"],
    provokes: true,
    async run({ tab, assert, url, waitFor }) {
      await tab.goto(`${url}lossy/#v=1&lang=en&gpu=l40s&server=sys-421ge-tnrt`);
      await waitFor(() => document.querySelector(".dropped li") !== null);
      assert.equal(
        await tab.evaluate(() => document.querySelector(".dropped li").textContent),
        "The machine “sys-421ge-tnrt” was left out: the list of servers could not be loaded.",
      );
      assert.match(await tab.evaluate(() => document.querySelector(".verdict h2").textContent), /^It fits\. The L40S/);
    },
  },
];
