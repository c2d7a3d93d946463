// What a plan is asked for a state, and what a proposal makes of it: pure functions, each other's way back. A plan
// chooses how a model is trained and on what; what is trained, on which data and at whose prices is the visitor's.

import { precisionNamed, requestOf } from "../fields.js";

/** @typedef {import("../contract.d.ts").State} State */
/** @typedef {import("../contract.d.ts").Proposal} Proposal */
/** @typedef {import("../contract.d.ts").Request} Request */

/** Settings of adapters and of what they stand on: they say nothing while the method is open. */
const ofAdapters = /** @type {const} */ ([
  "rank", "targets", "dropout", "save", "adapter", "quant", "double", "prepare",
]);

/** The adapters of every plan that is told nothing of them: told so, it is told nothing. */
const usual = /** @type {const} */ ({ rank: "16", targets: "all-linear", dropout: "0" });

/** @param {State} state @returns {State} */
function withoutUsual(state) {
  const left = { ...state };
  for (const key of /** @type {const} */ (["rank", "targets", "dropout"])) if (left[key] === usual[key]) left[key] = "";
  return left;
}

/**
 * Whether a plan leaves settings of adapters out: any method may come, and no request is of all three.
 * @param {State} state
 */
export function leavesAdaptersOut(state) {
  const said = withoutUsual(state);
  return said.methods === "" && ofAdapters.some((key) => said[key] !== "");
}

/**
 * The request of a plan: that of the state without what a plan chooses. Left out besides: the version of the libraries,
 * which is of the one stack, and prices of one's own for the machines of one run. A config that is no JSON throws.
 * @param {State} state
 * @returns {Record<string, unknown>}
 */
export function planRequest(state) {
  const request = /** @type {Record<string, any>} */ (requestOf({
    ...withoutUsual(state), method: state.methods || "full",
  }));
  if (state.methods === "") delete request.method;
  const chosen = ["hardware", "gradient_checkpointing", "stack", "stack_version", "parallel"];
  for (const name of chosen) delete request[name];
  for (const name of ["per_device", "gradient_accumulation"]) delete request.batch?.[name];
  for (const name of ["hourly_price", "purchase_price"]) delete request.pricing?.[name];
  if (state.keep) request.hardware = { gpu: state.gpu.trim() };
  for (const name of ["batch", "pricing"]) {
    if (request[name] && Object.keys(request[name]).length === 0) delete request[name];
  }
  return request;
}

/** @param {unknown} value */
const textOf = (value) => (value === undefined || value === null ? "" : String(value));

/**
 * What of a state a proposal replaces, so that the state's request is the proposal's.
 * @param {Proposal} proposal @param {State} state
 * @returns {Partial<State>}
 */
export function taken({ request, method, gpu }, state) {
  const { batch = {}, parallel = {}, dataset = {}, hardware } = request;
  /** @type {Partial<State>} */
  const patch = {
    method,
    gpu: gpu.id,
    server: textOf(hardware?.server),
    batch: textOf(batch.per_device),
    accumulation: textOf(batch.gradient_accumulation),
    checkpointing: textOf(request.gradient_checkpointing),
    stack: textOf(request.stack),
    gpus: textOf(parallel.gpus),
    node: textOf(parallel.gpus_per_node),
    strategy: textOf(parallel.strategy),
    tensor: textOf(parallel.tensor),
    pipeline: textOf(parallel.pipeline),
    context: textOf(parallel.context),
    expert: textOf(parallel.expert),
    states: textOf(parallel.offload?.optimizer),
    shards: textOf(parallel.offload?.parameters),
    version: "",
    hourly: "",
    purchase: "",
  };
  if (leavesAdaptersOut(state)) for (const key of ofAdapters) patch[key] = "";
  if (method !== "full") {
    const { rank, target_modules: targets, dropout } = request.method ?? {};
    patch.rank = textOf(rank);
    patch.targets = Array.isArray(targets) ? targets.join(" ") : textOf(targets);
    patch.dropout = textOf(dropout);
  }
  // A card without bf16 is planned for in fp16, which nobody has to have asked for.
  if (state.precision === "" && request.precision?.compute === "fp16") {
    patch.precision = precisionNamed(request.precision);
  }
  if (state.examples.trim() === "" && state.tokens.trim() === "") {
    patch.examples = textOf(dataset.examples);
    patch.mean = textOf(dataset.mean_tokens);
  }
  return patch;
}

/** Whether a state is already as a proposal would make it. @param {Proposal} proposal @param {State} state */
export const isTaken = (proposal, state) =>
  Object.entries(taken(proposal, state)).every(([key, value]) => state[/** @type {keyof State} */ (key)] === value);
