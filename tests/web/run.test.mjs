// Time and cost of the run: sentences, amounts, notes, the chart. The reports are the module's own.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { createTunefit } from "../../dist/npm/index.mjs";
import { fields, isNumeric, requestOf, startState, wishes as wishKeys } from "../../web/src/fields.js";
import { readFacts } from "../../web/src/facts.js";
import { createWords, loadTexts } from "../../web/src/i18n.js";
import { counted, duration, figures, money, moneyRange, oldest, reached } from "../../web/src/later/amounts.js";
import { breakEven, evenText } from "../../web/src/later/break_even.js";
import { cost, notesOf, withoutMarkets } from "../../web/src/later/cost.js";
import "../../web/src/later/index.js";
import { isStale } from "../../web/src/later/offers.js";
import { outcomeText, reference, sentences } from "../../web/src/later/outcome.js";
import { time } from "../../web/src/later/time.js";
import { wishes } from "../../web/src/later/wishes.js";
import { markdown } from "../../web/src/markdown.js";
import { startUi } from "../../web/src/views/view.js";
import { textOf } from "./support.mjs";

const json = (name) => JSON.parse(readFileSync(new URL(`../../catalog/${name}.json`, import.meta.url), "utf8"));
const facts = readFacts(JSON.stringify(Object.fromEntries(["gpus", "models", "purposes", "sources"].map((name) => [name, json(name)]))));
const market = { servers: json("servers"), prices: json("prices"), vendor: json("vendor") };
const tunefit = await createTunefit();
const description = tunefit.describe();
await Promise.all(["en", "nl"].map(loadTexts));
const [en, nl] = ["en", "nl"].map(createWords);
const plain = (text) => text.replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim();

const state = (patch = {}) => ({ ...startState(), ...patch });
const ask = (patch) => tunefit.estimate(requestOf(state(patch)));
/** What the parts are drawn from, everything open. */
const view = (words, patch = {}) => ({
  words, facts, market, description, state: state(patch), answer: ask(patch), told: [], set() {}, show() {}, id: (name) => name,
  ui: { ...startUi, wishes: true, open: ["time-parts", "time-use", "run-rent", "run-services", "run-buy", "run-figures", "even-table"] },
});

test("durations are said in the unit that people would take, and what rounds to one thing is said once", () => {
  const rows = [
    [{ low: 0.2, expected: 0.25, high: 0.3 }, "0.25 seconds", "0.2 to 0.3"], [{ low: 6.4, expected: 8, high: 12.34 }, "8 seconds", "6.4 to 12.3"],
    [{ low: 100, expected: 120, high: 150 }, "2 minutes", "1.7 to 2.5"], [{ low: 3000, expected: 3600, high: 4000 }, "60 minutes", "50 to 67"],
    [{ low: 23602, expected: 34267, high: 46220 }, "9.5 hours", "6.6 to 12.8"], [{ low: 8e5, expected: 864000, high: 9e5 }, "10 days", "9.3 to 10.4"],
    [{ low: 172800, expected: 172800, high: 172800 }, "2 days", "2"],
  ];
  for (const [seconds, amount, range] of rows) {
    const said = duration(en, seconds);
    assert.deepEqual([plain(said.amount), said.range], [amount, range]);
  }
  assert.equal(plain(duration(nl, rows[4][0]).amount), "9,5 uur");
  assert.equal(plain(counted(en, "duration.hours", 1)), "1 hour");
  assert.equal(plain(counted(en, "duration.hours", 1.04)), "1 hour");
});

test("amounts keep cents below a hundred, and almost nothing is not nothing", () => {
  assert.equal(plain(money(nl, 4.4751, "EUR")), "€ 4,48");
  assert.equal(money(en, 99.996, "EUR"), "€100");
  assert.equal(money(en, 0.0001, "EUR"), "< €0.01");
  assert.equal(money(en, 0, "USD"), "US$0.00");
  assert.equal(moneyRange(en, { low: 3.08, high: 120.4 }, "EUR"), "€3.08 to €120");
  assert.deepEqual(figures(en, { low: 1329.3, expected: 1792.98, high: 2603.04 }), { amount: "1,790", range: "1,330 to 2,600" });
});

test("what is never reached is said so", () => {
  const said = (words, hours) => Object.values(reached(words, "duration.hours", hours)).map(plain);
  assert.deepEqual(said(en, { low: 6125.6, expected: 8078.5, high: null }), ["8,100 hours", "6,100 to never"]);
  assert.deepEqual(said(nl, { low: null, expected: null, high: null }), ["nooit", "nooit"]);
});

test("a price is old from the 91st day, and of several the oldest day counts", () => {
  const daysAgo = (days) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10);
  assert.deepEqual([null, daysAgo(90), daysAgo(91)].map(isStale), [false, false, true]);
  assert.equal(oldest(["2026-08-22", null, "2026-05"]), "2026-05");
  assert.equal(oldest([null]), null);
});

test("the page opens with hours, a rented price and a bought one, each with its range, and prices with their dates", () => {
  const said = plain(outcomeText(view(en)));
  const shape = /^About [\d.]+ hours \([\d.]+ to [\d.]+\)\. About €[\d.]+ rented \(€[\d.]+ to €[\d.]+\), at .+’s price of \d+ \w+ 20\d\d\. About €[\d.]+ of depreciation and power on a card of your own \(€[\d.]+ to €[\d.]+\), at a price of \d+ \w+ 20\d\d\.$/;
  assert.match(said, shape);
  assert.match(plain(outcomeText(view(nl))), /^Ongeveer [\d,]+ uur \([\d,]+ tot [\d,]+\)\. Huren kost ongeveer € [\d,]+ \(/);
  assert.ok(plain(markdown(view(en).answer, en, "", outcomeText)).includes(said));
});

test("the amount rented is of the line that the core names, as a summary holds it alone", () => {
  for (const patch of [{}, { gpu: "h100-sxm" }, { gpu: "h100-sxm", term: "spot" }, { hourly: "2" }, { gpu: "l40s", provider: "RunPod" }]) {
    const whole = ask(patch);
    const { rented } = tunefit.estimate({ ...requestOf(state(patch)), detail: "summary" }).cost;
    assert.deepEqual(reference(whole.cost)?.cost, rented[0]?.cost, JSON.stringify(patch));
    assert.equal(whole.cost.rented.filter((line) => line.reference).length, rented.length);
  }
});

test("without data a step has a time and the run has none; own prices have no date; what does not fit is said first", () => {
  const bare = { examples: "", mean: "", epochs: "" };
  assert.match(plain(outcomeText(view(en, bare))), /^About [\d.]+ seconds a step \(.*\)\. Say how much data you have/);
  const own = sentences(view(en, { hourly: "2", purchase: "9000" }));
  assert.deepEqual(own.map(({ key, date }) => [key, date]), [["outcome.hours", null], ["outcome.rented.own", null], ["outcome.bought.own", null]]);
  assert.match(outcomeText(view(en, { method: "full" })), /^If it did fit, this is the estimate\. About/);
  assert.match(outcomeText(view(nl, { method: "full" })), /^Als het wel paste, is dit de schatting\. Ongeveer/);
});

test("what has no time says why where the time would stand", () => {
  const issue = { code: "not_modelled", field: "hardware.gpu", severity: "note", message: "English.", values: {} };
  const none = { ...view(en), answer: { ...ask({}), time: null, cost: null, issues: [issue] } };
  assert.match(textOf(time(none)), /How fast this card computes is not known, so there is no time and no cost\./);
  assert.match(outcomeText(none), /^How fast this card computes/);
  assert.equal(textOf(cost(none)), "");
});

test("the parts of a step are all told, and sum to it", () => {
  for (const words of [en, nl]) {
    const { answer } = view(words);
    const text = plain(textOf(time(view(words))));
    assert.doesNotMatch(text, /undefined|NaN|[{}]/);
    const sum = answer.time.terms.reduce((seconds, term) => seconds + term.seconds, 0);
    assert.ok(Math.abs(sum - answer.time.step_seconds.expected) < 1e-9);
    for (const { id } of answer.time.terms) assert.ok(text.includes(words.t(`time.term.${id}`)), id);
    assert.match(text, /MFU/);
    assert.match(text, /HFU/);
  }
});

test("padding is told where it is more than a little, and not where nothing is padded", () => {
  const told = (patch) => textOf(time(view(en, patch))).includes("Padding is computed too");
  assert.deepEqual([{}, { packing: "packed" }, { mean: "2000" }, { examples: "", mean: "", epochs: "" }].map((patch) => told({ batch: "8", ...patch })), [true, false, false, false]);
  assert.equal(told({}), false, "one example takes no padding");
});

test("what the run waits for beside its steps is told, and failures where they are to be expected", () => {
  const told = (words, patch) => plain(textOf(time(view(words, patch))));
  assert.match(told(en), /include about [\d.]+ \w+ for reading the model and [\d.]+ \w+ for writing checkpoints \(\d+ times?\)\. Evaluations between epochs/);
  assert.match(told(nl), /zitten ongeveer [\d,]+ \w+ voor het lezen van het model en [\d,]+ \w+ voor het wegschrijven van checkpoints \(\d+ keer\)/);
  assert.doesNotMatch(told(en), /Machines break down/);
  assert.match(told(en, { gpu: "t4", precision: "fp32", examples: "30000000" }), /about [\d.]+ failures?\. Restarts, and steps that are made again, take [\d.]+ \w+/);
  assert.doesNotMatch(told(en, { examples: "", mean: "", epochs: "" }), /reading the model/);
});

test("every way to pay is told in both languages, whatever is asked", () => {
  const asked = [
    {}, { gpu: "h100-sxm", server: "sys-821ge-tnhr" }, { gpu: "l40s", currency: "USD", utilisation: "40", residual: "10", support: "5", rack: "100" },
    { gpu: "t4", precision: "fp32" }, { hourly: "0.01", purchase: "100000", pue: "1", electricity: "0.3", grid: "20", lifetime: "4" }, { gpu: "mi300x" },
    { gpu: "h100-sxm", trials: "2", failed: "10", work: "40", rate: "80" }, { gpu: "h200", provider: "Verda (DataCrunch)", term: "spot" },
  ];
  for (const patch of asked) {
    for (const words of [en, nl]) {
      const drawn = view(words, patch);
      const text = plain(textOf(cost(drawn)));
      const name = `${words.lang} ${JSON.stringify(patch)}`;
      assert.ok(drawn.answer.cost, name);
      assert.doesNotMatch(text, /undefined|NaN|null|[{}]/, name);
      for (const line of drawn.answer.cost.rented) assert.ok(text.includes(line.provider ?? words.t("cost.own")), name);
      for (const service of drawn.answer.cost.token_services) assert.ok(text.includes(service.provider), name);
      for (const note of notesOf(words, drawn.answer.cost)) assert.ok(text.includes(note), `${name}: ${note}`);
      for (const { id } of drawn.answer.cost.extras) assert.ok(text.includes(words.t(`cost.extra.${id}`)), name);
    }
  }
});

test("the amount rented says that it leaves marketplaces out, where there are any and none was asked for", () => {
  const rows = [[{}, true], [{ term: "marketplace" }, false], [{ hourly: "2" }, false], [{ provider: "Lambda", gpu: "h100-sxm" }, false]];
  for (const [patch, left] of rows) {
    for (const [words, said] of [[en, "marketplaces left out"], [nl, "marktplaatsen niet meegeteld"]]) {
      const drawn = view(words, patch);
      assert.ok(reference(drawn.answer.cost), JSON.stringify(patch));
      assert.equal(withoutMarkets(drawn.answer.cost), left, JSON.stringify(patch));
      assert.equal(plain(textOf(cost(drawn))).includes(said), left, JSON.stringify(patch));
    }
  }
});

test("GPUs that stand idle are said of machines rented and bought alike", () => {
  for (const words of [en, nl]) assert.doesNotMatch(words.t("cost.note.gpus_idle"), /rent|huu?r/i);
});

test("every price in the list has its day and its source, but the reader's own", () => {
  const { answer } = view(en, { gpu: "h100-sxm", hourly: "2" });
  const [own, ...others] = answer.cost.rented;
  assert.deepEqual([own.provider, own.date], [null, null]);
  for (const line of [...others, ...answer.cost.token_services, ...answer.cost.bought.prices]) {
    assert.ok(line.date && line.source_ids.every((id) => facts.sources.has(id)) && line.source_ids.length > 0, JSON.stringify(line));
  }
});

test("where buying pays is said in words and drawn, reached or not", () => {
  const rows = [
    [{ purchase: "30000", hourly: "2.5", utilisation: "30" }, "reached", /^From about [\d,]+ hours of work on \(.+\), buying is cheaper than renting at €2\.50 an hour\. In use 30% of all hours, that is after [\d.]+ years \(.+\)\.$/],
    [{ purchase: "60000", hourly: "0.6", utilisation: "20" }, "after_lifetime", /^Renting at €0\.60 an hour is cheaper\. Buying would pay from about/],
    [{ purchase: "60000", hourly: "0.01" }, "never", /^Renting is cheaper, however long you go on/],
    [{ gpu: "rtx-4090" }, "reached", /months.*The price is for the GPU alone: the machine around it comes on top\.$/],
  ];
  for (const [patch, even, said] of rows) {
    const drawn = view(en, { gpu: "h100-sxm", ...patch });
    const { cost: known } = drawn.answer;
    assert.equal(known.break_even.state, even);
    assert.equal(known.break_even.cost === null, even === "never");
    assert.match(plain(evenText(en, known, known.break_even)), said);
    const text = plain(textOf(breakEven(drawn, known)));
    assert.ok(text.includes("Rented") && text.includes("Bought") && text.includes("Save the chart as SVG"));
    assert.doesNotMatch(text, /undefined|NaN|[{}]/);
    assert.doesNotMatch(plain(evenText(nl, known, known.break_even)), /undefined|NaN|[{}]/);
  }
});

test("every number of data and prices has the core's limits, and every price a place in the form", () => {
  for (const { key, path, kind } of fields.filter(({ path: at }) => /^(dataset|pricing)\./.test(at))) {
    assert.equal(description.limits[path] !== undefined, isNumeric(kind), key);
  }
  for (const words of [en, nl]) {
    const text = plain(textOf(wishes(view(words))));
    for (const key of wishKeys) assert.ok(text.includes(words.t(`field.${key}`)), `${words.lang} ${key}`);
    assert.doesNotMatch(text, /undefined|NaN|[{}]/);
  }
});
