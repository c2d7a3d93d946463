import assert from "node:assert/strict";
import { test } from "node:test";

import { startState } from "../../web/src/fields.js";
import { createWords, loadTexts } from "../../web/src/i18n.js";
import { tell } from "../../web/src/issues.js";

await Promise.all(["en", "nl"].map(loadTexts));
const en = createWords("en");
const nl = createWords("nl");
const state = (patch = {}) => ({ ...startState(), ...patch });
const issue = (code, field, values = {}) => ({ code, field, severity: "error", message: "The core's own sentence.", values });
const told = (words, one, patch) => tell([one], state(patch), words)[0];

test("a limit is said with both ends, in the language's numbers", () => {
  const one = issue("out_of_range", "batch.sequence_length", { value: "99999999", low: "1", high: "16777216" });
  assert.deepEqual(told(en, one), {
    key: "length", severity: "error", code: "out_of_range", text: "Sequence length can be 1 to 16,777,216; 99,999,999 is outside that.",
  });
  assert.equal(told(nl, one).text, "Sequentielengte mag 1 tot 16.777.216 zijn; 99.999.999 valt daarbuiten.");
});

test("the fullest text that the values can fill is taken", () => {
  assert.equal(told(en, issue("out_of_range", "model.config.hidden_size", { value: "0", low: "1" }), { config: "{}" }).text,
    "hidden_size must be at least 1; 0 is too little.");
  assert.equal(told(en, issue("unknown_model", "model", { value: "lama" })).text.includes("Did you mean"), false);
  assert.equal(told(en, issue("unknown_model", "model", { value: "lama", nearest: "llama" })).text.includes("Did you mean llama?"), true);
});

test("what was typed is quoted where the core names only its type", () => {
  const one = issue("wrong_type", "batch.per_device", { expected: "a whole number", found: "a text" });
  assert.equal(told(nl, one, { batch: "twee" }).text, "Bij Batch per GPU hoort een heel getal; ‘twee’ is iets anders.");
});

test("choices are listed as the language lists them", () => {
  const one = issue("unknown_target_module", "method.target_modules.0", { value: "q", known: "q_proj, k_proj or v_proj" });
  assert.match(told(nl, one).text, /q_proj, k_proj of v_proj/);
});

test("a fault of a pasted config is shown at the box it was pasted in", () => {
  assert.equal(told(en, issue("missing_field", "model.config.vocab_size"), { config: "{}" }).key, "config");
  assert.equal(told(en, issue("missing_field", "model.config.vocab_size"), { config: "{}" }).text, "vocab_size is missing.");
});

test("a fault of a field that is not shown goes to the method", () => {
  assert.equal(told(en, issue("quantized_full_training", "quantization"), { method: "full" }).key, "method");
});

test("prices that nothing uses say what they wait for, and a machine that takes no such card is named", () => {
  const one = { ...issue("not_modelled", "pricing"), severity: "note" };
  assert.equal(told(en, one).text, "Prices count once you say how much data you have: how many examples, or how many tokens in all.");
  const wrong = issue("gpu_not_in_server", "hardware.server", { value: "T4", server: "SYS-821GE-TNHR" });
  assert.equal(told(nl, wrong).text, "De T4 gaat niet in de SYS-821GE-TNHR. Kies een andere machine of een andere kaart.");
});

test("a percentage is named as it was typed, and a limit that is nearly nothing keeps its digits", () => {
  const share = issue("out_of_range", "pricing.utilisation", { value: "1.5", low: "1e-06", high: "1" });
  assert.equal(told(en, share, { utilisation: "150" }).text, "pricing.utilisation can be 0.0001 to 100; 150 is outside that.");
  const rate = issue("missing_field", "pricing.data_work.rate_per_hour");
  assert.equal(told(nl, rate).key, "rate");
});

test("what has no time says so in words of its own, a fault at the same place does not", () => {
  const note = { ...issue("not_modelled", "hardware.gpu"), severity: "note" };
  assert.match(told(nl, note).text, /^Hoe snel deze kaart rekent/);
  assert.doesNotMatch(told(nl, issue("not_modelled", "hardware.gpu", { value: "x" })).text, /Hoe snel/);
});

test("a machine has no room for so many GPUs, whether it takes one or eight", () => {
  const [one, eight] = ["1", "8"].map((high) => issue("too_many_gpus_in_server", "parallel.gpus_per_node", { value: "9", high, server: "BOX" }));
  assert.equal(told(en, one).text, "The BOX has no room for 9 GPUs: it takes 1 at most.");
  assert.equal(told(en, eight).text, "The BOX has no room for 9 GPUs: it takes 8 at most.");
  assert.equal(told(nl, one).text, "In de BOX is geen plaats voor 9 GPU’s, ten hoogste voor 1.");
});

test("a wish that nobody meets says whose it is, and what there is instead by its name", async () => {
  await import("../../web/src/later/index.js"); // its texts come with the prices
  const warned = (field, values) => ({ ...issue("unknown_value", field, values), severity: "warning" });
  const term = warned("pricing.term", { value: "spot", known: "on_demand, one_year" });
  assert.equal(told(en, term, { provider: "Lambda" }).text,
    "As far as the catalog knows, Lambda does not rent this card out on the terms “Spot”. It has: On demand or One year.");
  assert.equal(told(nl, term).text,
    "Voor zover de catalogus weet, verhuurt niemand deze kaart op de voorwaarde ‘Spot’. Wel op: Op afroep of Eén jaar.");
  const provider = warned("pricing.provider", { value: "AWS", known: "Lambda, RunPod" });
  assert.equal(told(nl, provider, { provider: "AWS" }).text, "Voor zover de catalogus weet, verhuurt AWS deze kaart niet. Wel: Lambda of RunPod.");
  const faulty = issue("unknown_value", "pricing.term", { value: "monthly", known: "on_demand, spot" });
  assert.match(told(en, faulty).text, /^On what terms: “monthly” is not one of the choices: On demand or Spot\.$/);
});

test("an unknown code falls back on the core's sentence", () => {
  assert.equal(told(nl, issue("never_heard_of", "batch.per_device")).text, "The core's own sentence.");
});

test("a version is told which form it takes", () => {
  const one = issue("malformed", "stack_version", { value: "last year" });
  assert.equal(told(en, one).text, "Version of the libraries takes a month such as 2025-06; “last year” is something else.");
  assert.equal(told(nl, one).text, "Bij Versie van de software hoort een maand, zoals 2025-06; ‘last year’ is iets anders.");
  assert.match(told(en, issue("too_long", "stack_version", { value: "9", high: "8" })).text, /takes a month such as 2025-06/);
});

test("what was typed is repeated in part where it is long", () => {
  const text = told(en, issue("wrong_type", "batch.per_device", { expected: "a whole number" }), { batch: "9x".repeat(200) }).text;
  assert.ok(text.length < 160 && text.includes("…”"), text);
  const pasted = issue("unknown_field", `model.config.${"k".repeat(500)}`, { value: "k".repeat(500) });
  assert.ok(told(en, pasted, { config: "{}" }).text.length < 160);
  assert.equal(told(en, issue("unknown_model", "model", { value: "😀".repeat(90) })).text.includes("\ufffd"), false);
});
