import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { fields } from "../../web/src/fields.js";
import { createWords, langs, pickLang, texts } from "../../web/src/i18n.js";

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (name) => readFileSync(path.join(root, name), "utf8");

test("every language has every text", () => {
  for (const lang of langs) {
    assert.deepEqual(Object.keys(texts[lang]).sort(), Object.keys(texts.en).sort(), lang);
    for (const [key, text] of Object.entries(texts[lang])) assert.ok(text || key.startsWith("unit."), `${lang} ${key} is empty`);
  }
});

test("translations keep the placeholders", () => {
  const holes = (text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();
  for (const [key, text] of Object.entries(texts.en)) assert.deepEqual(holes(texts.nl[key]), holes(text), key);
});

test("no text is left in the other language", () => {
  // Names and terms of the trade that are the same in both.
  const same = new Set(Object.keys(texts.en).filter((key) => texts.en[key] === texts.nl[key]).map((key) => texts.en[key]));
  const known = [
    "Adapter (LoRA)", "Adapters", "Attention", "AdamW (PyTorch, foreach)", "Autocast", "Batch", "Batch per GPU", "Buffers", "Checkpoints", "DoRA", "Dropout", "Eager",
    "Embedding", "Embeddings", "FP4 (4 bits)", "FlashAttention 2", "FlashAttention 3", "GPU", "Gradient checkpointing", "INT8 (8 bits)", "Logits", "Loss", "MLP",
    "Model", "Moment", "Optimizer", "NF4 (4 bits)", "Packing", "PyTorch SDPA", "Tensor", "backward", "config.json", "exact", "forward", "loss", "nvidia-smi", "optimizer", "tokens",
    "torch.compile", "{bytes} bytes", "{size}, {architecture}", "",
  ];
  assert.deepEqual([...same].filter((text) => !known.includes(text)), []);
});

test("every field has a label and an explanation", () => {
  for (const lang of langs) {
    for (const { key } of fields) {
      assert.ok(createWords(lang).has(`field.${key}`), `${lang} field.${key}`);
      assert.ok(createWords(lang).has(`help.${key}`), `${lang} help.${key}`);
    }
  }
});

test("every issue of a request has a text in every language, for whatever values it brings", () => {
  const [list] = read("core/codec/issue_codes.h").split("// the catalog");
  const rows = [...list.matchAll(/\{"([a-z0-9_]+)",\s*"[^"]*",\s*"([^"]*)"\}/g)];
  assert.ok(rows.length > 25);
  for (const lang of langs) {
    const words = createWords(lang);
    for (const [, code, values] of rows) {
      const always = ["field", ...values.split(" ").filter((name) => name && !name.endsWith("?"))];
      const plain = words.variants(`issue.${code}`).filter(({ needs }) => needs.every((name) => always.includes(name)));
      assert.ok(plain.length > 0, `${lang} ${code}`);
    }
  }
});

test("every term, moment and phase of the contract has a name", () => {
  const header = read("core/trace/moment.h");
  const names = [...header.matchAll(/return "([a-z_]+)"/g)].map(([, name]) => name);
  const words = createWords("nl");
  assert.ok(names.length > 15);
  for (const name of names) assert.ok(words.has(`term.${name}`) || words.has(`moment.${name}`), name);
});

test("every recipe of the core is said", () => {
  const [, body] = read("core/codec/report_model.cc").match(/RecipeCode\b[^{]*\{([\s\S]*?)\n\}/);
  const codes = [...body.matchAll(/"([a-z0-9_]+)"/g)].map(([, code]) => code);
  assert.ok(codes.length > 4);
  assert.deepEqual(codes.filter((code) => !createWords("nl").has(`recipe.${code}`)), []);
});

test("the reader's first language that the page speaks", () => {
  assert.equal(pickLang(["fr-FR", "nl-BE", "en"]), "nl");
  assert.equal(pickLang(["de"]), "en");
  assert.equal(pickLang([]), "en");
});

test("sentences are filled, and unknown holes stay visible", () => {
  const words = createWords("en");
  assert.equal(words.t("ask.default", { value: "16" }), "16, the default");
  assert.equal(words.t("ask.default", {}), "{value}, the default");
  assert.equal(words.t("ask.default", { value: "{value} $& $1" }), "{value} $& $1, the default");
});
