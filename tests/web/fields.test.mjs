import assert from "node:assert/strict";
import { test } from "node:test";

import { fields, keyOfPath, listOf, numberOrText, precisionNamed, requestOf, startState } from "../../web/src/fields.js";

const state = (patch = {}) => ({ ...startState(), ...patch });

test("the start is a whole request", () => {
  assert.deepEqual(requestOf(startState()), {
    version: 1,
    model: "llama-3.1-8b",
    method: { kind: "lora" },
    quantization: { kind: "nf4" },
    hardware: { gpu: "rtx-4090" },
    batch: { sequence_length: 2048, per_device: 1 },
    gradient_checkpointing: "full",
    dataset: { examples: 10000, mean_tokens: 500, epochs: 3 },
  });
});

test("data and prices reach their place, a percentage as a share", () => {
  const request = requestOf(
    state({
      examples: "", mean: "1.200", tokens: "5 000 000", epochs: "1,5", currency: "USD", provider: "Verda (DataCrunch)", term: "spot", hourly: "2,5",
      purchase: "30.000", lifetime: "4", residual: "10 %", utilisation: "40", support: "7,5%", rack: "1,250", electricity: "0.125", pue: "1", grid: "20",
      trials: "2", failed: "5", work: "40", rate: "80",
    }),
  );
  assert.deepEqual(request.dataset, { mean_tokens: 1200, tokens: 5000000, epochs: 1.5 });
  assert.deepEqual(request.pricing, {
    currency: "USD", provider: "Verda (DataCrunch)", term: "spot", hourly_price: 2.5, purchase_price: 30000, lifetime_years: 4, residual_share: 0.1,
    utilisation: 0.4, support_share: 0.075, rack_per_month: 1250, electricity_per_kwh: 0.125, pue: 1, grid_g_co2_per_kwh: 20, trials: 2,
    failed_share: 0.05, data_work: { hours: 40, rate_per_hour: 80 },
  });
});

test("a machine stands beside the card", () => {
  assert.deepEqual(requestOf(state({ server: "sys-421ge-tnrt" })).hardware, { gpu: "rtx-4090", server: "sys-421ge-tnrt" });
});

test("what belongs to another method is left out, not forgotten", () => {
  const typed = state({ method: "full", rank: "64", quant: "int8" });
  assert.equal(requestOf(typed).quantization, undefined);
  assert.deepEqual(requestOf(typed).method, { kind: "full" });
  assert.deepEqual(requestOf({ ...typed, method: "lora" }).method, { kind: "lora", rank: 64 });
  assert.deepEqual(requestOf({ ...typed, method: "qlora" }).quantization, { kind: "int8" });
});

test("every expert field reaches its place", () => {
  const request = requestOf(
    state({
      accumulation: "4", packing: "packed", varies: "true", rank: "16", targets: "q_proj, v_proj", dropout: "0,05", save: "lm_head",
      adapter: "bf16", double: "false", prepare: "trl", precision: "bf16", optimizer: "adamw_torch", attention: "eager", loss: "chunked",
      fused: "rope", version: "2025-06",
    }),
  );
  assert.deepEqual(request, {
    version: 1,
    model: "llama-3.1-8b",
    method: { kind: "lora", rank: 16, target_modules: ["q_proj", "v_proj"], dropout: 0.05, modules_to_save: ["lm_head"], adapter_dtype: "bf16" },
    quantization: { kind: "nf4", double_quant: false, prepare_kbit: "trl" },
    hardware: { gpu: "rtx-4090" },
    batch: { sequence_length: 2048, per_device: 1, gradient_accumulation: 4, packing: "packed", length_varies: true },
    gradient_checkpointing: "full",
    precision: { weights: "bf16", compute: "bf16", autocast: false },
    optimizer: "adamw_torch",
    attention: "eager",
    loss: "chunked",
    fused_kernels: ["rope"],
    stack_version: "2025-06",
    dataset: { examples: 10000, mean_tokens: 500, epochs: 3 },
  });
});

test("several GPUs and what is wished of a plan reach their place; a card is kept by the plan alone", () => {
  const request = requestOf(state({
    stack: "deepspeed", gpus: "16", node: "8", strategy: "zero3", tensor: "2", pipeline: "4", context: "1", expert: "1", states: "cpu", shards: "nvme",
    methods: "lora", acquire: "rent", deadline: "12,5", budget: "30.000", most: "64", update: "128", ecc: "true", house: "true", maker: "true", keep: "true",
  }));
  assert.equal(request.stack, "deepspeed");
  assert.deepEqual(request.parallel, {
    gpus: 16, gpus_per_node: 8, strategy: "zero3", tensor: 2, pipeline: 4, context: 1, expert: 1, offload: { optimizer: "cpu", parameters: "nvme" },
  });
  assert.deepEqual(request.plan, {
    methods: ["lora"], acquire: ["rent"], deadline_hours: 12.5, budget: 30000, max_gpus: 64, global_batch: 128, ecc_required: true, data_in_house: true,
    vendor_only: true,
  });
});

test("all linear layers are a word, not a list", () => {
  assert.equal(requestOf(state({ targets: "all-linear" })).method.target_modules, "all-linear");
});

test("a pasted config takes the model's place; text that is no JSON throws", () => {
  assert.deepEqual(requestOf(state({ config: '{"model_type": "llama", "_name_or_path": "mine"}' })).model, {
    config: { model_type: "llama", _name_or_path: "mine" },
    name: "mine",
  });
  assert.throws(() => requestOf(state({ config: "{" })));
});

test("numbers as people type them", () => {
  const rows = [
    ["2048", "integer", 2048], [" 2048 ", "integer", 2048], ["2.048", "integer", 2048], ["2,048", "integer", 2048], ["16 384", "integer", 16384],
    ["1,048,576", "integer", 1048576], ["-1", "integer", -1], ["1.5", "integer", 1.5], ["0,05", "decimal", 0.05], ["0.05", "decimal", 0.05],
    [".1", "decimal", 0.1], ["2k", "integer", "2k"], ["two", "integer", "two"], ["0x10", "integer", "0x10"], ["NaN", "decimal", "NaN"],
    ["Infinity", "decimal", "Infinity"], ["1e3", "integer", 1000], ["1e999", "integer", "1e999"], ["30.000", "amount", 30000], ["0.125", "amount", 0.125],
    ["487.5", "amount", 487.5], ["2.500", "decimal", 2.5], ["40", "percent", 0.4], ["7,5 %", "percent", 0.075], ["half", "percent", "half"],
  ];
  for (const [text, kind, expected] of rows) assert.equal(numberOrText(text, kind), expected, text);
});

test("lists by comma, space or line", () => assert.deepEqual(listOf(" q_proj,v_proj\n k_proj ,"), ["q_proj", "v_proj", "k_proj"]));

test("an issue is shown at the field that it names", () => {
  const rows = [
    ["batch.sequence_length", false, "length"], ["method.target_modules.3", false, "targets"], ["quantization", false, "quant"],
    ["quantization.bits", false, "quant"], ["precision.weights", false, "precision"], ["method", false, "method"], ["hardware.gpu", false, "gpu"],
    ["hardware.server", false, "server"], ["dataset.mean_tokens", false, "mean"], ["pricing.data_work.rate_per_hour", false, "rate"], ["pricing", false, null],
    ["model", false, "model"], ["model.config.hidden_size", true, "config"], ["model", true, "config"], ["", false, null], ["task", false, null],
    ["parallel.strategy", false, "strategy"], ["parallel.offload.optimizer", false, "states"], ["parallel.shard", false, null], ["stack", false, "stack"],
    ["plan.deadline_hours", false, "deadline"], ["plan.gpus.0", false, "keep"],
  ];
  for (const [path, pasted, key] of rows) assert.equal(keyOfPath(path, pasted), key, path);
});

test("every choice of precision is found again in a resolved request", () => {
  const precision = fields.find(({ key }) => key === "precision");
  for (const name of precision.choices) assert.equal(precisionNamed(requestOf(state({ precision: name })).precision), name);
  assert.equal(precisionNamed(undefined), "");
});
