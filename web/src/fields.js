// Every field that a person can set: its name in the state and in the link, and its place in the request. A value is
// the text as typed or chosen, "" where it is left to the stack's default. What a text means is decided here once;
// whether it is possible is the core's to say.

/** @typedef {import("./contract.d.ts").State} State */
/** @typedef {import("./contract.d.ts").Request} Request */
/** @typedef {import("./contract.d.ts").Description} Description */

/**
 * @typedef {"model" | "config" | "method" | "gpu" | "server" | "length" | "batch" | "checkpointing" | "accumulation" |
 *   "packing" | "varies" | "rank" | "targets" | "dropout" | "save" | "adapter" | "quant" | "double" | "prepare" |
 *   "precision" | "optimizer" | "attention" | "loss" | "fused" | "version" | "examples" | "mean" | "tokens" |
 *   "epochs" | "currency" | "provider" | "term" | "hourly" | "purchase" | "lifetime" | "residual" | "utilisation" |
 *   "support" | "rack" | "electricity" | "pue" | "grid" | "trials" | "failed" | "work" | "rate" | "stack" | "gpus" |
 *   "node" | "strategy" | "tensor" | "pipeline" | "context" | "expert" | "states" | "shards" | "methods" | "acquire" |
 *   "deadline" | "budget" | "most" | "update" | "ecc" | "house" | "maker" | "keep"} Key
 */

/**
 * An amount may be large and have a fraction; a percent is a share in the request.
 * @typedef {"text" | "integer" | "amount" | "decimal" | "percent" | "choice" | "list"} Kind
 */

/**
 * @typedef {object} Field
 * @property {Key} key
 * @property {string} path  where the core's issues and limits name it
 * @property {Kind} kind
 * @property {string} start  what the page opens with
 * @property {string[]} [choices]  the values of a choice; default: what the core models (Description.choices)
 * @property {"lora" | "qlora"} [only]  the method it belongs to
 * @property {string} [taken]  where the report says what was taken for a field left open; default: in its request
 */

/** @type {Field[]} */
export const fields = [
  { key: "model", path: "model", kind: "text", start: "llama-3.1-8b" },
  { key: "config", path: "model.config", kind: "text", start: "" },
  { key: "method", path: "method.kind", kind: "choice", start: "qlora", choices: ["full", "lora", "qlora"] },
  { key: "gpu", path: "hardware.gpu", kind: "text", start: "rtx-4090" },
  { key: "server", path: "hardware.server", kind: "text", start: "" },
  { key: "length", path: "batch.sequence_length", kind: "integer", start: "2048" },
  { key: "batch", path: "batch.per_device", kind: "integer", start: "1" },
  { key: "checkpointing", path: "gradient_checkpointing", kind: "choice", start: "full" },
  { key: "accumulation", path: "batch.gradient_accumulation", kind: "integer", start: "" },
  { key: "packing", path: "batch.packing", kind: "choice", start: "" },
  { key: "varies", path: "batch.length_varies", kind: "choice", start: "", choices: ["true", "false"] },
  { key: "rank", path: "method.rank", kind: "integer", start: "", only: "lora" },
  { key: "targets", path: "method.target_modules", kind: "list", start: "", only: "lora" },
  { key: "dropout", path: "method.dropout", kind: "decimal", start: "", only: "lora" },
  { key: "save", path: "method.modules_to_save", kind: "list", start: "", only: "lora" },
  {
    key: "adapter", path: "method.adapter_dtype", kind: "choice", start: "", only: "lora",
    choices: ["fp32", "bf16", "fp16"],
  },
  { key: "quant", path: "quantization.kind", kind: "choice", start: "", only: "qlora" },
  {
    key: "double", path: "quantization.double_quant", kind: "choice", start: "", only: "qlora",
    choices: ["true", "false"],
  },
  { key: "prepare", path: "quantization.prepare_kbit", kind: "choice", start: "", only: "qlora" },
  {
    key: "precision", path: "precision", kind: "choice", start: "",
    choices: ["bf16-autocast", "fp32-autocast", "bf16", "fp16-autocast", "fp16", "fp32"],
  },
  { key: "optimizer", path: "optimizer", kind: "choice", start: "" },
  { key: "attention", path: "attention", kind: "choice", start: "" },
  { key: "loss", path: "loss", kind: "choice", start: "" },
  { key: "fused", path: "fused_kernels", kind: "list", start: "" },
  { key: "version", path: "stack_version", kind: "text", start: "" },
  { key: "stack", path: "stack", kind: "choice", start: "" },
  { key: "gpus", path: "parallel.gpus", kind: "integer", start: "" },
  { key: "node", path: "parallel.gpus_per_node", kind: "integer", start: "" },
  { key: "strategy", path: "parallel.strategy", kind: "choice", start: "" },
  { key: "tensor", path: "parallel.tensor", kind: "integer", start: "" },
  { key: "pipeline", path: "parallel.pipeline", kind: "integer", start: "" },
  { key: "context", path: "parallel.context", kind: "integer", start: "" },
  { key: "expert", path: "parallel.expert", kind: "integer", start: "" },
  { key: "states", path: "parallel.offload.optimizer", kind: "choice", start: "" },
  { key: "shards", path: "parallel.offload.parameters", kind: "choice", start: "" },
  { key: "examples", path: "dataset.examples", kind: "integer", start: "10000" },
  {
    key: "mean", path: "dataset.mean_tokens", kind: "amount", start: "500",
    taken: "request.batch.sequence_length",
  },
  { key: "tokens", path: "dataset.tokens", kind: "integer", start: "" },
  { key: "epochs", path: "dataset.epochs", kind: "decimal", start: "3" },
  { key: "currency", path: "pricing.currency", kind: "choice", start: "", taken: "cost.currency" },
  { key: "provider", path: "pricing.provider", kind: "text", start: "" },
  { key: "term", path: "pricing.term", kind: "choice", start: "" },
  { key: "hourly", path: "pricing.hourly_price", kind: "decimal", start: "", taken: "cost.break_even.rent_per_hour" },
  { key: "purchase", path: "pricing.purchase_price", kind: "amount", start: "", taken: "cost.bought.price.expected" },
  {
    key: "lifetime", path: "pricing.lifetime_years", kind: "decimal", start: "",
    taken: "cost.bought.lifetime_years.expected",
  },
  { key: "residual", path: "pricing.residual_share", kind: "percent", start: "", taken: "cost.bought.residual_share" },
  { key: "utilisation", path: "pricing.utilisation", kind: "percent", start: "", taken: "cost.bought.utilisation" },
  { key: "support", path: "pricing.support_share", kind: "percent", start: "" },
  { key: "rack", path: "pricing.rack_per_month", kind: "amount", start: "" },
  {
    key: "electricity", path: "pricing.electricity_per_kwh", kind: "decimal", start: "",
    taken: "cost.energy.price_per_kwh.expected",
  },
  { key: "pue", path: "pricing.pue", kind: "decimal", start: "", taken: "cost.energy.pue.expected" },
  {
    key: "grid", path: "pricing.grid_g_co2_per_kwh", kind: "decimal", start: "",
    taken: "cost.energy.g_co2_per_kwh.expected",
  },
  { key: "trials", path: "pricing.trials", kind: "integer", start: "" },
  { key: "failed", path: "pricing.failed_share", kind: "percent", start: "" },
  { key: "work", path: "pricing.data_work.hours", kind: "amount", start: "" },
  { key: "rate", path: "pricing.data_work.rate_per_hour", kind: "decimal", start: "" },
  { key: "methods", path: "plan.methods", kind: "choice", start: "" },
  { key: "acquire", path: "plan.acquire", kind: "choice", start: "" },
  { key: "deadline", path: "plan.deadline_hours", kind: "decimal", start: "" },
  { key: "budget", path: "plan.budget", kind: "amount", start: "" },
  { key: "most", path: "plan.max_gpus", kind: "integer", start: "" },
  { key: "update", path: "plan.global_batch", kind: "integer", start: "" },
  { key: "ecc", path: "plan.ecc_required", kind: "choice", start: "", choices: ["true"] },
  { key: "house", path: "plan.data_in_house", kind: "choice", start: "", choices: ["true"] },
  { key: "maker", path: "plan.vendor_only", kind: "choice", start: "", choices: ["true"] },
  { key: "keep", path: "plan.gpus", kind: "choice", start: "", choices: ["true"] },
];

/** @param {string} start */
const under = (start) => fields.filter(({ path }) => path.startsWith(start)).map(({ key }) => key);

/** Fields of prices and wishes, and of what is wished of a plan: they come with the second part. */
export const wishes = under("pricing.");
export const planWishes = under("plan.");

/** @param {Kind | undefined} kind */
export const isNumeric = (kind) => ["integer", "amount", "decimal", "percent"].includes(kind ?? "");

/** What a typed number of a field is in the request, as a factor. @param {Key | null} key */
export const scaleOf = (key) => (key && fieldNamed(key)?.kind === "percent" ? 100 : 1);

/** @type {Record<string, Field>} */
const byKey = Object.fromEntries(fields.map((field) => [field.key, field]));

/** @param {string} key @returns {Field | undefined} */
export const fieldNamed = (key) => (Object.hasOwn(byKey, key) ? byKey[key] : undefined);

/**
 * Longest text that a field takes, in UTF-16 units; what is pasted as a config is the core's to judge.
 * @param {Key} key
 */
export function longestOf(key) {
  const kind = fieldNamed(key)?.kind;
  if (key === "config") return Infinity;
  return key === "version" || isNumeric(kind) ? 40 : kind === "list" ? 500 : 200;
}

/** Typed text as a message repeats it. @param {string} text */
export function shortened(text) {
  const letters = Array.from(text);
  return letters.length > 80 ? `${letters.slice(0, 79).join("")}…` : text;
}

/** @type {Record<string, NonNullable<Request["precision"]>>} */
const precisions = {
  "bf16-autocast": { weights: "bf16", compute: "bf16", autocast: true },
  "fp32-autocast": { weights: "fp32", compute: "bf16", autocast: true },
  bf16: { weights: "bf16", compute: "bf16", autocast: false },
  "fp16-autocast": { weights: "fp32", compute: "fp16", autocast: true },
  fp16: { weights: "fp16", compute: "fp16" },
  fp32: { weights: "fp32", compute: "fp32", autocast: false },
};

/** The named precision that a resolved request has, or "". @param {Request["precision"]} precision */
export const precisionNamed = (precision) =>
  Object.keys(precisions).find((name) => {
    const found = /** @type {Record<string, unknown>} */ (precision ?? {});
    return Object.entries(precisions[name]).every(([part, value]) => found[part] === value);
  }) ?? "";

/** @returns {State} what the page opens with */
export const startState = () => /** @type {State} */ (Object.fromEntries(fields.map(({ key, start }) => [key, start])));

/** Whether a field says anything under the method chosen. @param {Field} field @param {State} state */
export const applies = (field, state) =>
  !field.only || state.method === "qlora" || (field.only === "lora" && state.method === "lora");

/** The values a choice offers. @param {Field} field @param {Description} description */
export const choicesOf = (field, description) => field.choices ?? description.choices[field.path] ?? [];

/**
 * A typed number as the request carries it: "2 048", "2.048" and "2,048" are one number where it may be large, "0,05"
 * is a fraction. Text that is no number stays text, for the core to name as such.
 * @param {string} text @param {Kind} kind
 * @returns {number | string}
 */
export function numberOrText(text, kind) {
  let plain = text.trim().replace(kind === "percent" ? /\s*%$/ : "", "");
  const grouped = kind === "integer" || kind === "amount";
  if (grouped && /^[1-9]\d{0,2}([.,'’\s]\d{3})+$/.test(plain)) plain = plain.replace(/\D/g, "");
  if (/^[-+]?\d*,\d+$/.test(plain)) plain = plain.replace(",", ".");
  if (!/^[-+]?(\d+\.?\d*|\.\d+)(e\d{1,2})?$/i.test(plain)) return text;
  return kind === "percent" ? Number(plain) / 100 : Number(plain);
}

/** @param {string} text */
export const listOf = (text) => text.split(/[\s,;]+/).filter(Boolean);

/** @param {Field} field @param {string} text @returns {unknown} */
function valueOf({ key, kind, choices }, text) {
  if (isNumeric(kind)) return numberOrText(text, kind);
  if (kind === "list") return key === "targets" && text === "all-linear" ? text : listOf(text);
  if (key === "methods" || key === "acquire") return [text];
  return choices?.includes("true") ? text === "true" : text;
}

/**
 * The model as the request names it: a pasted config.json where there is one, else the name.
 * @param {State} state
 * @returns {Request["model"]}
 */
function modelOf({ model, config }) {
  if (!config.trim()) return model.trim();
  /** @type {Record<string, unknown>} */
  const parsed = JSON.parse(config);
  const name = parsed?._name_or_path;
  return { config: parsed, ...(typeof name === "string" && name ? { name } : {}) };
}

/** Fields that reach the request by a way of their own; what a plan keeps is its own matter (later/plan_request.js). */
const elsewhere = ["model", "config", "method", "keep"];

/**
 * The request for what was typed: only what differs from the stack's defaults. A config that is no JSON throws.
 * @param {State} state
 * @returns {Record<string, unknown>}
 */
export function requestOf(state) {
  /** @type {Record<string, any>} */
  const request = { version: 1, model: modelOf(state), method: { kind: state.method === "full" ? "full" : "lora" } };
  if (state.method === "qlora") request.quantization = { kind: "nf4" };
  for (const field of fields) {
    const { key, path } = field;
    const text = state[key];
    if (text.trim() === "" || elsewhere.includes(key) || !applies(field, state)) continue;
    if (key === "precision") {
      request.precision = precisions[text];
      continue;
    }
    const names = path.split(".");
    let holder = request;
    for (const name of names.slice(0, -1)) holder = holder[name] ??= {};
    holder[names[names.length - 1]] = valueOf(field, text);
  }
  return request;
}

/**
 * The field that a path of the core belongs to: the deepest one at or above it, else the one that shows it.
 * @param {string} path
 * @param {boolean} pasted  the model comes from a pasted config
 * @returns {Key | null}
 */
export function keyOfPath(path, pasted) {
  if (pasted && (path === "model" || path.startsWith("model."))) return "config";
  for (let part = path; part; part = part.slice(0, Math.max(0, part.lastIndexOf(".")))) {
    const found = fields.find((field) => field.path === part);
    if (found && found.key !== "config") return found.key;
  }
  if (path.startsWith("quantization")) return "quant";
  if (path.startsWith("method")) return "method";
  if (path.startsWith("hardware")) return "gpu";
  return null;
}

/** What stands at a dotted path. @param {unknown} value @param {string} path @returns {unknown} */
export function at(value, path) {
  for (const name of path.split(".")) value = /** @type {any} */ (value)?.[name];
  return value;
}
