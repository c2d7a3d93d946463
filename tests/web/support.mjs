/** A description as small as the page's pure functions need. */
export const description = {
  version: "0.1.0",
  catalog_date: "2026-11-30",
  models: [],
  gpus: [{ id: "rtx-4090" }, { id: "h100-sxm" }],
  stacks: [],
  choices: {
    gradient_checkpointing: ["none", "full"],
    optimizer: ["adamw_torch", "adamw_torch_fused"],
    attention: ["sdpa", "eager"],
    loss: ["standard", "fused_ce"],
    "batch.packing": ["none", "packed"],
    "quantization.kind": ["nf4", "int8"],
    "quantization.prepare_kbit": ["none", "peft"],
    stack: ["transformers", "megatron"],
    "parallel.strategy": ["none", "ddp", "zero3"],
    "parallel.offload.optimizer": ["none", "cpu"],
    "parallel.offload.parameters": ["none", "cpu"],
    "plan.methods": ["full", "lora", "qlora"],
    "plan.acquire": ["rent", "buy"],
    "pricing.currency": ["EUR", "USD"],
    "pricing.term": ["on_demand", "spot"],
  },
  limits: {
    "batch.per_device": { low: 1, high: 65536 },
    "batch.sequence_length": { low: 1, high: 16777216 },
    "method.rank": { low: 1, high: 4096 },
    "parallel.gpus": { low: 1, high: 1000000 },
    "plan.budget": { low: 0, high: 1000000000 },
    "method.dropout": { low: 0, high: 1 },
    "pricing.utilisation": { low: 0.000001, high: 1 },
  },
};

/** What a drawn template reads as: its texts and those within, tags left out. */
export function textOf(part) {
  if (Array.isArray(part)) return part.map(textOf).join("");
  if (part?.strings) {
    const whole = part.strings.map((text, i) => text + (i < part.values.length ? textOf(part.values[i]) : "")).join("");
    return whole.replace(/<[^>]*>/g, "").replace(/\s+/g, " ");
  }
  return typeof part === "string" || typeof part === "number" ? String(part) : "";
}
