// What to buy or rent: the request of a plan, what a proposal makes of the state, the plan under way, and the panel.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { createTunefit } from "../../dist/npm/index.mjs";
import { requestOf, startState } from "../../web/src/fields.js";
import { createWords, loadTexts } from "../../web/src/i18n.js";
import "../../web/src/later/index.js";
import { details } from "../../web/src/later/plan_details.js";
import { isTaken, leavesAdaptersOut, planRequest, taken } from "../../web/src/later/plan_request.js";
import { firstOf } from "../../web/src/later/plan_table.js";
import { plan as panel } from "../../web/src/later/plan.js";
import { nameOf, plan, Planner } from "../../web/src/later/planner.js";
import { several } from "../../web/src/later/several.js";
import { startUi } from "../../web/src/views/view.js";
import { textOf } from "./support.mjs";

const servers = JSON.parse(readFileSync(new URL("../../catalog/servers.json", import.meta.url), "utf8"));
const tunefit = await createTunefit();
const description = tunefit.describe();
await Promise.all(["en", "nl"].map(loadTexts));
const [en, nl] = ["en", "nl"].map(createWords);
const state = (patch = {}) => ({ ...startState(), ...patch });
const plain = (text) => text.replaceAll("\u00a0", " ").replace(/\s+/g, " ").trim();
/** Text of the module as the page calls it. */
const module = {
  plan_start: (text) => JSON.stringify(tunefit.planStart(JSON.parse(text))),
  plan_step: (id, ms) => JSON.stringify(tunefit.planStep(id, ms)),
};
const found = new Map();
/** The proposals to a state, planned once. */
function proposalsFor(patch) {
  const key = JSON.stringify(patch);
  if (!found.has(key)) found.set(key, tunefit.plan(planRequest(state(patch))));
  return found.get(key);
}
/** Few cards, for speed. */
const small = { most: "2", methods: "qlora" };

test("a plan is asked for the model, the data, the length and the wishes, not for what it chooses", () => {
  assert.deepEqual(planRequest(startState()), {
    version: 1, model: "llama-3.1-8b", batch: { sequence_length: 2048 }, dataset: { examples: 10000, mean_tokens: 500, epochs: 3 },
  });
  const typed = state({
    optimizer: "adamw_bnb_8bit", attention: "sdpa", packing: "packed", accumulation: "4", version: "2025-06", stack: "megatron", gpus: "8", strategy: "zero3",
    server: "sys-421ge-tnrt", provider: "RunPod", deadline: "24", ecc: "true",
  });
  assert.deepEqual(planRequest(typed), {
    version: 1, model: "llama-3.1-8b", optimizer: "adamw_bnb_8bit", attention: "sdpa", batch: { sequence_length: 2048, packing: "packed" },
    dataset: { examples: 10000, mean_tokens: 500, epochs: 3 }, pricing: { provider: "RunPod" }, plan: { deadline_hours: 24, ecc_required: true },
  });
});

test("settings of adapters stay with a method that has them, and are left out while any may come", () => {
  const typed = { rank: "64", quant: "int8", dropout: "0.1" };
  assert.equal(planRequest(state(typed)).method, undefined);
  assert.equal(planRequest(state(typed)).quantization, undefined);
  assert.deepEqual(planRequest(state({ ...typed, methods: "lora" })).method, { kind: "lora", rank: 64, dropout: 0.1 });
  assert.equal(planRequest(state({ ...typed, methods: "lora" })).quantization, undefined);
  assert.deepEqual(planRequest(state({ ...typed, methods: "qlora" })).quantization, { kind: "int8" });
  assert.deepEqual(planRequest(state({ ...typed, methods: "full" })).method, { kind: "full" });
  assert.deepEqual([{}, typed, { ...typed, methods: "lora" }].map((patch) => leavesAdaptersOut(state(patch))), [false, true, false]);
});

test("prices of one's own for one machine are not those of every machine; a card is kept where that is wished", () => {
  assert.equal(planRequest(state({ hourly: "2.5", purchase: "30000" })).pricing, undefined);
  assert.deepEqual(planRequest(state({ hourly: "2.5", currency: "USD" })).pricing, { currency: "USD" });
  assert.deepEqual(planRequest(state({ keep: "true", gpu: " t4 ", server: "x" })).hardware, { gpu: "t4" });
});

test("a proposal that is taken is the answer: the same request, verdict, hours and cost, and it asks for the same plan", () => {
  const cases = [
    small, { ...small, methods: "" }, { ...small, rank: "64", methods: "lora" }, { keep: "true", gpu: "t4", most: "4" }, { most: "1", rank: "8", quant: "int8" },
    { model: "llama-3.1-70b", acquire: "rent" }, { model: "mixtral-8x7b", methods: "full", acquire: "buy" }, { most: "1", hourly: "3", purchase: "9000", version: "2025-06" },
    { most: "1", examples: "", mean: "", epochs: "", optimizer: "adamw_bnb_8bit" },
  ];
  const near = (value, wanted, what) => assert.ok(Math.abs(value / wanted - 1) < 1e-9, `${what}: ${value}, not ${wanted}`);
  for (const patch of cases) {
    const before = state(patch);
    const { best } = proposalsFor(patch);
    assert.ok(best.length > 0, JSON.stringify(patch));
    for (const proposal of best) {
      const what = `${JSON.stringify(patch)} ${nameOf(proposal)}`;
      const after = { ...before, ...taken(proposal, before) };
      const answer = tunefit.estimate(requestOf(after));
      assert.equal(answer.status, "ok", what);
      const { plan: wished, ...request } = answer.request;
      assert.deepEqual(wished ?? {}, requestOf(before).plan ?? {}, what);
      assert.deepEqual(request, proposal.request, what);
      assert.equal(answer.fit.verdict, proposal.verdict, what);
      near(3600 * answer.time.total_hours.expected, proposal.total_seconds.expected, what);
      const cost = proposal.acquire === "rent" ? answer.cost.rented.find(({ reference }) => reference).cost : answer.cost.bought.price;
      near(cost.expected, proposal.cost.expected, what);
      assert.ok(isTaken(proposal, after) && !isTaken(proposal, before), what);
      if (patch.gpu !== "t4" && patch.examples !== "") assert.deepEqual(planRequest(after), planRequest(before), what);
    }
  }
});

test("a plan is worked at in slices and reports each; to cancel is not to go on", async () => {
  const seen = [];
  const last = await plan(module, planRequest(state(small)), { onStep: (step) => seen.push(step.seen), signal: new AbortController().signal });
  assert.ok(last.done && seen.length > 1 && seen.every((count, i) => i === 0 || count >= seen[i - 1]), seen.join());
  assert.deepEqual(last.best.map(nameOf), proposalsFor(small).best.map(nameOf));
  const life = new AbortController();
  let steps = 0;
  const stopped = await plan(module, planRequest(startState()), { onStep: () => ++steps === 2 && life.abort(), signal: life.signal });
  assert.equal(steps, 2);
  assert.equal(stopped.done, false);
  const refused = await plan(module, { ...planRequest(startState()), plan: { budget: -1 } }, { onStep: assert.fail, signal: new AbortController().signal });
  assert.deepEqual([refused.status, refused.issues[0].field], ["invalid", "plan.budget"]);
});

test("the planner says how it stands, stops, and knows when the question is another", async () => {
  const planner = new Planner({ loadPlanner: async () => module });
  const said = [];
  await planner.start(state(small), () => said.push(planner.status));
  assert.deepEqual([...new Set(said)], ["loading", "looking", "done"]);
  assert.ok(said.length < 40, `drawn ${said.length} times`);
  const { best } = planner.step;
  assert.equal(planner.isOutdated(state({ ...small, gpu: "t4", batch: "4" })), false);
  assert.equal(planner.isOutdated(state({ ...small, length: "512" })), true);
  planner.adopt(state({ length: "512" }));
  assert.equal(planner.isOutdated(state({ length: "512" })), false);
  planner.compare(nameOf(best[0]), true);
  planner.compare(nameOf(best[0]), true);
  assert.equal(planner.compared.length, 1);
  const running = planner.start(startState(), () => planner.status === "looking" && planner.step && planner.stop());
  await running;
  assert.equal(planner.status, "stopped");
  assert.deepEqual(planner.compared, []);
  const broken = new Planner({ loadPlanner: async () => Promise.reject(new Error("offline")) });
  await broken.start(startState(), () => {});
  assert.deepEqual([broken.status, broken.failure], ["failed", "offline"]);
});

test("the first rows are six, with a reason before without, in the plan's own order", () => {
  const { best } = proposalsFor({ ...small, methods: "" });
  const bought = best.filter(({ acquire }) => acquire === "buy");
  const first = firstOf(bought);
  assert.ok(bought.length > 6 && first.length === 6);
  assert.deepEqual(first, bought.filter((proposal) => first.includes(proposal)));
  for (const reason of ["cheapest", "fastest"]) assert.ok(first.some(({ why }) => why.includes(reason)), reason);
  const bare = bought.map((proposal) => ({ ...proposal, why: [] }));
  assert.equal(new Set(firstOf(bare)).size, 6);
  assert.deepEqual(firstOf(bought.slice(0, 3)), bought.slice(0, 3));
});

/** The panel's view, with a plan that is done. */
async function viewOf(words, patch, ui = {}) {
  const planner = new Planner({ loadPlanner: async () => module });
  await planner.start(state(patch), () => {});
  const market = { servers, prices: {}, vendor: { currency: "EUR" } };
  return {
    words, planner, market, description, state: state(patch), answer: tunefit.estimate(requestOf(state(patch))), told: [], outdated: false, set() {}, show() {},
    id: (name) => name, ui: { ...startUi, ...ui },
  };
}

test("the panel says what was found in both languages, with nothing left unfilled", async () => {
  const view = await viewOf(en, { ...small, methods: "" });
  view.planner.step.best.slice(0, 2).forEach((proposal) => view.planner.compare(nameOf(proposal), true));
  for (const words of [en, nl]) {
    const all = view.planner.step.best;
    const text = plain(textOf(panel({ ...view, words })) + all.map((proposal) => textOf(details({ ...view, words }, proposal))).join(" "));
    assert.doesNotMatch(text, /undefined|NaN|\{\w+\}|null|\[object/);
    assert.match(text, words === en ? /Done: [\d,]+ ways looked at, \d+ kept\./ : /Klaar: [\d.]+ manieren bekeken, \d+ bewaard\./);
    assert.match(text, words === en ? /cheapest .* 24 GiB/ : /goedkoopst .* 24 GiB/);
    assert.match(text, words === en ? /Side by side/ : /Naast elkaar/);
    assert.match(text, words === en ? /It no longer fits at sequences of [\d,]+ tokens or/ : /Het past niet meer bij sequenties van [\d.]+ tokens of/);
  }
});

test("what nothing meets, what rules renting out and what is left out is said", async () => {
  const said = async (patch) => plain(textOf(panel(await viewOf(en, patch))));
  assert.match(await said({ most: "1", budget: "0", methods: "full" }), /Nothing in the catalog meets these wishes/);
  assert.match(await said({ acquire: "rent", house: "true" }), /rule out renting/);
  assert.match(await said({ most: "1", rank: "64", acquire: "rent" }), /settings for adapters and quantization are left out/);
  const view = await viewOf(nl, { ...small, acquire: "rent" });
  assert.match(plain(textOf(panel({ ...view, state: state({ ...small, acquire: "rent", length: "4096" }) }))), /hoort bij de vorige/);
});

test("a vendor's page names no machine but the vendor's", async () => {
  const view = await viewOf(en, { most: "1", acquire: "buy", methods: "lora" });
  const { best } = view.planner.step;
  const shown = best.find(({ server }) => server?.name.startsWith("SYS-")).server.id;
  const text = textOf(panel({ ...view, ui: { ...startUi, open: ["plan-buy"] }, market: { ...view.market, vendor: { currency: "EUR", servers: [shown] } } }));
  const kept = best.filter(({ server }) => server === null || server.id === shown);
  assert.ok(kept.length < best.length && text.includes(`, ${kept.length} kept.`), text);
  assert.equal(text.match(/[A-Z]{2,3}-\d{3,4}\w+-\w+/g)?.every((name) => name.toLowerCase() === shown), true);
});

test("several GPUs are asked for by name, and the stack's default is said", async () => {
  const view = await viewOf(nl, { ...small, acquire: "rent" });
  const text = plain(textOf(several(view)));
  assert.match(text, /Meerdere GPU’s.*Aantal GPU’s.*Trainingssoftware.*Transformers, TRL and PEFT, standaard.*ZeRO-3: alles verdeeld.*Tensorparallelle GPU’s/);
});
