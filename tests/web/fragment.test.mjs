import assert from "node:assert/strict";
import { test } from "node:test";

import { fields, startState } from "../../web/src/fields.js";
import { decodeFragment, encodeFragment, langNamed, namesServer } from "../../web/src/fragment.js";
import { description } from "./support.mjs";

const state = (patch = {}) => ({ ...startState(), ...patch });

test("the start needs no link", () => assert.equal(encodeFragment(startState()), ""));

test("a link is readable and holds only what differs", () => {
  const link = encodeFragment(state({ model: "Qwen/Qwen3-8B", method: "lora", targets: "q_proj,v_proj" }), { lang: "nl" });
  assert.equal(link, "v=1&model=Qwen/Qwen3-8B&method=lora&targets=q_proj,v_proj&lang=nl");
});

test("decode(encode(state)) is the state", () => {
  const states = [
    state(), state({ length: "16384", batch: "4", checkpointing: "none" }), state({ method: "full", optimizer: "adamw_torch", precision: "fp32" }),
    state({ targets: "all-linear", save: "embed_tokens,lm_head", rank: "64", dropout: "0.05", quant: "int8", double: "true", varies: "false" }),
    state({ examples: "", mean: "", epochs: "", tokens: "15000000" }), state({ utilisation: "40", provider: "Verda (DataCrunch)", term: "spot", currency: "USD" }),
    state({ model: "a name & 100% = odd/#?+é", fused: "rope,lora", version: "2025-06" }), state({ precision: "fp16" }),
    state({ stack: "megatron", gpus: "8", node: "4", strategy: "zero3", tensor: "2", pipeline: "2", context: "1", expert: "1", states: "cpu", shards: "none" }),
    state({ methods: "lora", acquire: "buy", deadline: "12,5", budget: "30.000", most: "16", update: "128", ecc: "true", house: "true", maker: "true", keep: "true" }),
  ];
  for (const wanted of states) {
    const { state: found, dropped } = decodeFragment(`#${encodeFragment(wanted)}`, description);
    assert.deepEqual(found, wanted);
    assert.deepEqual(dropped, []);
  }
});

test("a pasted config goes into the link only when asked for", () => {
  const pasted = state({ config: '{"model_type": "llama", "hidden_size": 64}' });
  assert.equal(encodeFragment(pasted), "");
  assert.deepEqual(decodeFragment(encodeFragment(pasted, { withConfig: true }), description).state, pasted);
});

test("what cannot be is left out and reported", () => {
  const rows = [
    ["colour=red", "colour", "unknown"], ["__proto__=1", "__proto__", "unknown"], ["constructor=1", "constructor", "unknown"], ["v=2", "v", "version"],
    ["method=magic", "method", "invalid"], ["method=", "method", "invalid"], ["gpu=abacus", "gpu", "invalid"], ["batch=0", "batch", "invalid"],
    ["batch=1.5", "batch", "invalid"], ["batch=many", "batch", "invalid"], ["length=99999999999", "length", "invalid"],
    ["targets=<script>", "targets", "invalid"], ["config={", "config", "invalid"], ["optimizer=sgd", "optimizer", "invalid"],
    ["model=%E0%A4%A", "model", "invalid"], ["version=soon", "version", "invalid"], ["utilisation=150", "utilisation", "invalid"], ["term=monthly", "term", "invalid"], ["rank", "rank", "invalid"],
    ["gpus=0", "gpus", "invalid"], ["strategy=magic", "strategy", "invalid"], ["methods=magic", "methods", "invalid"], ["ecc=false", "ecc", "invalid"], ["budget=-1", "budget", "invalid"],
  ];
  for (const [part, key, reason] of rows) {
    const { state: found, dropped } = decodeFragment(`v=1&${part}&length=512`, description);
    assert.deepEqual(dropped.filter((left) => left.key === key).map((left) => left.reason), [reason], part);
    assert.deepEqual(found, state({ length: "512" }), part);
  }
});

test("a link's language is known before the link is read", () => {
  const links = [["#v=1&lang=nl", "nl"], ["lang=en&lang=nl", "en"], ["v=1&lang=xx&lang=nl", "nl"], ["v=1&model=lang=nl", undefined], ["", undefined]];
  for (const [link, lang] of links) {
    assert.equal(langNamed(link), lang, link);
    assert.equal(decodeFragment(link, description).lang, lang ?? null, link);
  }
});

test("a machine is one of the list, which has to be there", () => {
  const servers = ["sys-421ge-tnrt", "generic-hgx-8"];
  const wanted = state({ server: "sys-421ge-tnrt" });
  const link = encodeFragment(wanted);
  assert.equal(link, "v=1&server=sys-421ge-tnrt");
  assert.deepEqual(decodeFragment(link, description, servers), { state: wanted, lang: null, dropped: [] });
  const left = (reason) => [{ key: "server", value: "sys-421ge-tnrt", reason }];
  assert.deepEqual(decodeFragment(link, description, ["generic-hgx-8"]).dropped, left("invalid"));
  assert.deepEqual(decodeFragment(link, description).dropped, left("unavailable"));
  assert.deepEqual(decodeFragment(link, description).state, startState());
  for (const [text, names] of [["#server=a", true], ["v=1&server=a", true], ["#v=1&server=", false], ["#v=1&model=server=a", false], ["", false]]) {
    assert.equal(namesServer(text), names, text);
  }
});

test("a key that is there twice counts once, and the second is reported", () => {
  const { state: found, dropped } = decodeFragment("#v=1&batch=2&batch=3", description);
  assert.equal(found.batch, "2");
  assert.deepEqual(dropped, [{ key: "batch", value: "3", reason: "repeated" }]);
  assert.deepEqual(decodeFragment("v=1&batch=0&batch=3", description).state.batch, "3"); // the first was not taken
});

test("what is too long never enters a link, nor is it read from one", () => {
  const long = state({ model: "x".repeat(201), rank: "9".repeat(41), targets: "q,".repeat(300), version: "2025-06".repeat(6) });
  assert.equal(encodeFragment(long), "");
  const { state: found, dropped } = decodeFragment(`v=1&model=${"x".repeat(201)}`, description);
  assert.deepEqual(found, startState());
  assert.deepEqual(dropped, [{ key: "model", value: `${"x".repeat(79)}…`, reason: "invalid" }]);
  const config = JSON.stringify({ model_type: "llama", note: "é".repeat(20_000) });
  assert.equal(encodeFragment(state({ config }), { withConfig: true }), "");
});

test("an endless link is not read", () => {
  const { dropped } = decodeFragment(`v=1&model=${"x".repeat(100_000)}`, description);
  assert.equal(dropped[0].reason, "long");
});

test("any text gives a state", () => {
  let seed = 20261130;
  const random = (below) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % below;
  const letters = [..."v=1&#%+<>\"'{}[]/\\ ,.é\u0000\ud800", ...fields.map(({ key }) => `&${key}=`)];
  for (let i = 0; i < 3000; ++i) {
    const text = Array.from({ length: random(30) }, () => letters[random(letters.length)]).join("");
    const { state: found } = decodeFragment(text, description);
    assert.deepEqual(Object.keys(found), Object.keys(startState()), text);
    assert.deepEqual(decodeFragment(encodeFragment(found, { withConfig: true }), description).state, found, text);
  }
});
