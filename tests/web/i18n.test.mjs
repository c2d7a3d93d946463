import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

import { fields } from "../../web/src/fields.js";
import { createWords, langs, loadTexts, pickLang, texts } from "../../web/src/i18n.js";
import "../../web/src/later/index.js"; // brings its own texts
import { facts as factTexts } from "../../web/src/texts/en/facts.js";
import { market as marketTexts } from "../../web/src/texts/en/market.js";
import { firstTexts } from "../../web/src/texts/first.js";

await Promise.all(langs.map(loadTexts));

const root = fileURLToPath(new URL("../../", import.meta.url));
const read = (name) => readFileSync(path.join(root, name), "utf8");

test("every language has every text", () => {
  for (const lang of langs) {
    assert.deepEqual(Object.keys(texts[lang]).sort(), Object.keys(texts.en).sort(), lang);
    for (const [key, text] of Object.entries(texts[lang])) assert.ok(text || key.startsWith("unit."), `${lang} ${key} is empty`);
  }
});

test("what is said before the script runs is said in every language", () => {
  const [en, nl] = ["en", "nl"].map((lang) => Object.entries(firstTexts[lang]));
  assert.deepEqual(nl.map(([key]) => key), en.map(([key]) => key));
  assert.ok(nl.every(([key, text]) => text && text !== firstTexts.en[key]));
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
    "Embedding", "Embeddings", "FP4 (4 bits)", "FlashAttention 2", "FlashAttention 3", "FlexAttention", "GPU", "Gradient checkpointing", "INT8 (8 bits)", "Logits", "Loss", "MLP",
    "Model", "Moment", "Optimizer", "NF4 (4 bits)", "Packing", "PyTorch SDPA", "Tensor", "backward", "config.json", "exact", "forward", "loss", "nvidia-smi", "optimizer", "token", "tokens", "xFormers",
    "Community", "Compute capability", "Hardware", "Infinity Fabric", "LoRA", "Machine", "Machines", "NVLink", "PCIe", "Parameters", "Processor", "QLoRA", "Spot", "Xe Link", "rack",
    "Data", "Epochs", "Euro", "PUE", "g/kWh", "run", "runs", "{currency}", "{currency}/kWh", "{value} W", "{value} g", "$ {value}", "{form} redundant", "barebone {amounts}", "{count} GPU", "{count} slot", "{count} socket", "{count} sockets", "{value}", "torch.compile", "{count} byte", "{count} bytes", "{count} token", "{count} tokens", "{size}, {architecture}", "",
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

test("every part of a step, bound, note, extra and state of a cost has its words", () => {
  const listed = (name, pattern) => [...read(name).match(pattern)[1].matchAll(/"([a-z_]+)"/g)].map(([, id]) => id);
  const kinds = [
    ["time.term", listed("core/time/step_time.h", /kTimeTermNames = \{([^}]*)\}/), 12],
    ["time.bound", listed("core/time/efficiencies.h", /kBoundNames = \{([^}]*)\}/), 4],
    ["cost.note", listed("core/cost/notes.cc", /kNames = \{([^}]*)\}/), 13],
    ["cost.extra", listed("core/cost/extras.cc", /kNames = \{([^}]*)\}/), 3],
    ["cost.even", listed("core/cost/break_even.cc", /kNames = \{([^}]*)\}/), 3],
    ["cost.part", listed("core/codec/report_cost.cc", /> parts\[\] = \{([^;]*)\};/), 4],
  ];
  for (const [prefix, ids, least] of kinds) {
    assert.ok(ids.length >= least, `${prefix}: ${ids}`);
    for (const id of ids) assert.ok(createWords("nl").has(`${prefix}.${id}`), `${prefix}.${id}`);
  }
  const families = listed("web/src/later/time.js", /families = \{([^}]*)\}/);
  assert.deepEqual(families.toSorted(), kinds[0][1].toSorted());
});

test("whatever a plan names has its words", () => {
  const [, reasons] = read("wasm/plan.d.ts").match(/PlanReason =([^;]*);/);
  const why = [...reasons.matchAll(/"([a-z_]+)"/g)].map(([, id]) => id);
  const segments = new Set(JSON.parse(read("catalog/gpus.json")).map(({ segment }) => segment));
  const [, strategies] = read("wasm/request.d.ts").match(/strategy\?: ([^;]*);/);
  const kinds = [["plan.why", why], ["plan.duty", [...segments]], ["choice.strategy", [...strategies.matchAll(/"([a-z0-9_]+)"/g)].map(([, id]) => id)]];
  for (const lang of langs) {
    for (const [prefix, ids] of kinds) {
      assert.ok(ids.length > 3, prefix);
      for (const id of ids) assert.ok(createWords(lang).has(`${prefix}.${id}`), `${lang} ${prefix}.${id}`);
    }
  }
});

test("“degene” is somebody: no run and no setting is called so", () => {
  const texts = readdirSync(path.join(root, "web/src/texts/nl")).map((name) => read(`web/src/texts/nl/${name}`)).join("");
  assert.doesNotMatch(texts, /\bdegenen?\b/);
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
  assert.equal(pickLang(["de", "en-US"], ["nl"]), "nl");
  assert.equal(pickLang(["fr"], ["nl", "en"]), "nl");
});

test("sentences are filled, and unknown holes stay visible", () => {
  const words = createWords("en");
  assert.equal(words.t("ask.default", { value: "16" }), "16, the default");
  assert.equal(words.t("ask.default", {}), "{value}, the default");
  assert.equal(words.t("ask.default", { value: "{value} $& $1" }), "{value} $& $1, the default");
});

test("what is said before the second part is there has its texts by then", () => {
  const first = readdirSync(path.join(root, "web/src"), { recursive: true })
    .filter((name) => name.endsWith(".js") && !/^(texts|later)/.test(name))
    .map((name) => read(`web/src/${name}`))
    .join("\n");
  assert.deepEqual(Object.keys({ ...factTexts, ...marketTexts }).filter((key) => first.includes(`"${key}"`)), []);
});

test("every text is used: its key stands in the source, or it is of a kind that is put together at run time", () => {
  const sources = readdirSync(path.join(root, "web/src"), { recursive: true })
    .filter((name) => name.endsWith(".js") && !name.startsWith("texts"))
    .map((name) => read(`web/src/${name}`))
    .join("\n");
  /** Kinds, and what may stand in the place of the star: everything, where the core names it. */
  const core = ["choice.*", "path.*", "reason.*", "segment.*", "issue.*", "about.*", "form.*"];
  const words = createWords("en");
  const kinds = [
    ...core, "wish.*", "field.*", "help.*", "unit.*", "method.*.what", "expected.*", "moment.*", "phase.*", "term.*", "overhead.*", "kind.*",
    "family.*", "verdict.word.*", "figure.*", "limits.*", "share.*", "link.dropped.*", "recipe.*", "count.*", "cards.show.*",
    "ask.options.*", "grade.*", "confidence.*", "cannot.*", "card.*", "server.*", "machine.*", "price.*",
    "duration.*", "outcome.bought.*", "time.steps.*", "time.saves.*", "time.failures.*", "time.bound.*", "time.family.*", "time.term.*", "cost.bought.*", "cost.machines.*",
    "plan.loading", "plan.looking", "plan.done", "plan.stopped", "plan.way.*", "plan.method.*", "plan.cost.*", "plan.bare.*", "plan.rented.*", "plan.why.*",
    "plan.duty.*", "plan.free.some.*", "plan.rank.*", "cost.part.*", "cost.figure.*", "cost.value.*", "cost.extra.*", "cost.note.*", "cost.even.*",
  ];
  const made = (key) => kinds.some((kind) => new RegExp(`^${kind.replaceAll(".", "\\.").replace("*", "[A-Za-z0-9_.-]+")}$`).test(key));
  const unused = Object.keys(texts.en).filter((key) => !sources.includes(`"${key}"`) && !made(key));
  assert.deepEqual(unused, []);
  // Of the kinds, those whose names the page knows or the core's sources list.
  const lists = read("core/trace/moment.h") + read("core/codec/catalog_formulas.cc") + read("core/codec/report_model.cc") + sources;
  const named = (name) => lists.includes(`"${name}"`) || lists.includes(`${name}:`);
  for (const key of Object.keys(texts.en).filter((key) => /^(term|overhead|moment|recipe|family|figure|share|limits)\./.test(key))) {
    const [, name] = key.split(".");
    assert.ok(named(name) || sources.includes(`"${key}"`) || sources.includes(`"${key.replace(/\.(one|other|what)$/, "")}`), `${key} is not used`);
  }
  // Of time and cost, those that the core's sources or the page's name.
  const rooms = ["core/cost/notes.cc", "core/cost/extras.cc", "core/cost/break_even.cc", "core/codec/report_cost.cc", "core/time/step_time.h", "core/time/efficiencies.h"];
  const costs = rooms.map(read).join("\n") + sources;
  const told = Object.keys(texts.en).filter((key) => /^(time\.(bound|family|term)|cost\.(part|figure|value|extra|note|even|bought)|outcome\.bought|duration)\./.test(key));
  for (const key of told.filter((name) => !sources.includes(`"${name}"`))) {
    const name = key.replace(/\.(one|other|what)$/, "").split(".").at(-1);
    assert.ok(new RegExp(`["\\s.]${name}[":]`).test(costs), `${key} is not used`);
  }
  // Of what is looked up: a field or a value of the catalog, or a name in the page's source.
  const schemas = ["gpus", "servers", "prices"].map((name) => read(`catalog/schema/${name}.schema.json`)).join("\n");
  const ids = read("catalog/servers.json") + schemas + sources;
  for (const key of Object.keys(texts.en).filter((key) => /^(card|server|machine|price)\./.test(key))) {
    const parts = key.replace(/^machine\./, "").split(".").slice(key.startsWith("machine.") ? 0 : 1);
    const known = (part) => ["one", "other", "what"].includes(part) || new RegExp(`\\b${part}\\b`).test(ids);
    assert.ok(parts.every(known) || sources.includes(`"${key.replace(/\.(one|other)$/, "")}"`), `${key} is not used`);
  }
  for (const key of ["targets.qv", "recipe.counts", "overhead.library_buffers"]) assert.ok(!words.has(key), key);
});

test("numbers bring the form of their noun, in both languages", () => {
  for (const [lang, one, many] of [["en", "1 token", "2,048 tokens"], ["nl", "1 token", "2.048 tokens"]]) {
    const words = createWords(lang);
    assert.equal(words.plural("count.tokens", 1), one);
    assert.equal(words.plural("count.tokens", 2048), many);
    assert.match(words.plural("limits.batch.unit", 382091, { length: words.plural("count.tokens", 1) }), /^sequen(ces at|ties van) 1 token$/);
  }
  assert.equal(createWords("en").plural("count.bytes", 0.516), "0.516 bytes");
  assert.deepEqual([0, 1, 2].map((count) => createWords("nl").unit("unit.batch", count)), ["sequenties", "sequentie", "sequenties"]);
  assert.equal(createWords("nl").unit("unit.rank", 1), "");
});

test("quotation marks are one kind a language, and Dutch words are one for a thing", () => {
  for (const [key, text] of Object.entries(texts.nl)) assert.doesNotMatch(text, /[“”"]|eerlijk|gecomprimeerd|Normen|normen|taten/, key);
  for (const [key, text] of Object.entries(texts.en)) assert.doesNotMatch(text, /‘|"(?!, )|[Ss]afely/, key);
});
