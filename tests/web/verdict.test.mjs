import assert from "node:assert/strict";
import { test } from "node:test";

import { createWords, loadTexts } from "../../web/src/i18n.js";
import { recipeSentences } from "../../web/src/views/recipe.js";
import { verdictOf, verdictText } from "../../web/src/views/verdict.js";

await Promise.all(["en", "nl"].map(loadTexts));
const en = createWords("en");
const nl = createWords("nl");
const answer = (verdict, headroom_bytes) => ({ hardware: { name: "T4" }, fit: { verdict, headroom_bytes } });

test("a card that is filled to the byte has its own sentence", () => {
  assert.match(verdictText({ words: en, answer: answer("fits", 0) }), /^It fits\. The allocator will fill the T4/);
  assert.match(verdictText({ words: en, answer: answer("tight", 0) }), /^Tight\. The allocator will fill the T4/);
  assert.match(verdictText({ words: nl, answer: answer("fits", 0) }), /^Het past\. De allocator vult de T4/);
  assert.match(verdictText({ words: nl, answer: answer("tight", 0) }), /^Krap\. De allocator vult de T4/);
  assert.match(verdictText({ words: en, answer: answer("fits", 2 ** 30) }), /keeps about/);
  assert.match(verdictText({ words: en, answer: answer("tight", -1) }), /short/);
});

test("of several cards the busiest is spoken of", () => {
  const several = { ...answer("fits", 2 ** 30), request: { parallel: { gpus: 8 } } };
  assert.match(verdictText({ words: en, answer: several }), /^It fits\. The busiest of 8 T4 keeps about/);
  assert.match(verdictText({ words: nl, answer: several }), /^Het past\. Op de volste van 8 T4 /);
});

test("an input without an answer is never said to fit", () => {
  const told = [{ key: null, severity: "warning", code: "x", text: "Slow." }, { key: "batch", severity: "error", code: "y", text: "Batch is wrong." }];
  const view = { words: en, answer: answer("fits", 1), outdated: true, told };
  assert.deepEqual(verdictOf(view), { verdict: "none", headline: "Not answered: Batch is wrong." });
  assert.equal(verdictOf({ ...view, words: nl }).headline, "Niet beantwoord: Batch is wrong.");
  assert.equal(verdictOf({ ...view, outdated: false }).verdict, "fits");
});

test("adapters are counted beside the model's parameters", () => {
  const report = (kind, trainable_parameters) => ({
    request: { method: { kind } },
    model: { parameters: 8030261248, trainable_parameters },
    recipe: {
      code: "lora",
      bytes_per_trainable_parameter: { weights: 4, gradients: 4, optimizer_states: 8, optimizer_transient: 0 },
      bytes_per_frozen_parameter: kind === "lora" ? 0.516 : null,
    },
  });
  const said = (words, ...of) => recipeSentences({ words, answer: report(...of) }).join(" ");
  assert.ok(said(en, "lora", 3407872).endsWith("8,030,261,248 parameters, and 3,407,872 trained beside them."));
  assert.ok(said(en, "full", 8030261248).endsWith("8,030,261,248 parameters, all trained."));
  assert.ok(said(en, "freeze", 5).endsWith("of which 5 are trained."));
  assert.match(said(en, "lora", 1), /Each frozen parameter takes on average 0\.516 bytes/);
  assert.match(said(nl, "lora", 1), /kost gemiddeld 0,516 bytes/);
});
