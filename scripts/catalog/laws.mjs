// The rules of the catalog's first part that a JSON Schema cannot say, because they look at more than one value.
// Each violation is {code, field, message}: code and field as the core's loader has them, and what follows the field's
// name in a sentence. laws_market.mjs has those of the second part.

import { identity, keyOf, order } from "./tables.mjs";

const USABLE_FRACTION = { low: 0.9, high: 1 }; // of the capacity on the box; ECC over GDDR costs 1/16
const FLOPS_PER_BYTE = { low: 20, high: 700 }; // dense bf16 rate over memory bandwidth
const PRINTED_ROUNDING = 0.01; // sizes of cards and papers have two or three digits
const MEASURED_OVER_PEAK = 1.15; // cards clock higher than the rate that their makers print
const MEASURED_OVER_LINK = 1.3; // a switch that adds up moves less than it delivers
const UNSOURCED = ["devices_per_board"]; // follows from the name

const lower = (text) => text.toLowerCase();
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const outside = (value, { low, high }) => value < low || value > high;
const rounded = (value) => Number(value.toPrecision(4));

/** Paths of all numbers in a value. */
function numberPaths(value, path = "") {
  if (typeof value === "number") return [path];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => numberPaths(inner, path ? `${path}.${key}` : key));
}

/** Whether objects within objects lead to something. */
const hasField = (row, path) =>
  path.split(".").reduce((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : null), row) !== null;

/** Whether `path` or something that holds it has a source; `row` stands for the whole row, `link` for what describes it. */
function sourced(path, sources) {
  for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) if (at in sources) return true;
  return "row" in sources || (path.startsWith("link_") && "link" in sources);
}

/** `unsourced` for a path of a row that no source states. */
export function needSource(path, { sources }, at, report) {
  if (!sourced(path, sources)) report("unsourced", `${at}.${path}`, "has no source: name one in sources, or leave the number out");
}

/** What `sources` and those lists of a row name must be there. */
export function reportAbsent(row, at, report, lists = ["derived"]) {
  const isThere = (path) => hasField(row, path);
  for (const path of Object.keys(row.sources)) {
    if (path !== "row" && !isThere(path)) report("unknown_field", `${at}.sources.${path}`, "is the source of a field that the row does not have");
  }
  for (const list of lists) {
    for (const path of row[list] ?? []) {
      if (!isThere(path)) report("unknown_value", `${at}.${list}`, `names "${path}", which the row does not have`);
    }
  }
}

/** `not_sorted` at the first row that stands before one it should follow. */
export function reportUnsorted(rows, name, report) {
  const row = rows.findIndex((each, i) => i > 0 && order[name](rows[i - 1], each) > 0);
  if (row > 0) report("not_sorted", `${name}[${row}]`, `stands after "${keyOf(rows[row - 1], name)}": make catalog sorts the rows`);
}

/** `duplicate_id` where an earlier row has the id, or agrees in all that makes a row another one. */
export function reportTwice(rows, name, report) {
  const seen = new Map();
  const fields = identity[name];
  rows.forEach((row, i) => {
    const key = JSON.stringify(fields ? fields.map((field) => row[field] ?? null) : lower(row.id));
    const said = fields ? `agrees with ${name}[${seen.get(key)}] in ${fields.join(", ")}` : `is the id of ${name}[${seen.get(key)}] too`;
    if (seen.has(key)) report("duplicate_id", fields ? `${name}[${i}]` : `${name}[${i}].id`, said);
    else seen.set(key, i);
  });
}

/** `unknown_gpu` unless every id is a GPU's. */
export function reportUnknownGpus(ids, { gpus }, field, report) {
  const known = new Set(gpus.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) report("unknown_gpu", field, `names "${id}", which is no id in gpus.json`);
}

/** `unknown_source` for each id that the catalog does not list. */
function reportUnknownSources(ids, known, field, report) {
  for (const id of ids) if (!known.has(id)) report("unknown_source", field, `names "${id}", which is no id in sources.json: add the document there`);
}

function usableLaw(gpu, at, report) {
  for (const field of ["memory_usable_MiB", "memory_usable_ecc_on_MiB", "memory_usable_ecc_off_MiB"]) {
    const fraction = gpu[field] / (gpu.memory_GiB * 1024);
    if (outside(fraction, USABLE_FRACTION)) {
      report("implausible", `${at}.${field}`, `is ${gpu[field]} MiB, ${rounded(fraction)} of memory_GiB (${gpu.memory_GiB}); cards show ${USABLE_FRACTION.low} to ${USABLE_FRACTION.high}`);
    }
  }
}

function rateLaws(gpu, at, report) {
  const rate = gpu.dense_TFLOPS.bf16 ?? gpu.dense_TFLOPS.fp16;
  const intensity = (rate * 1e12) / (gpu.memory_bandwidth_GBps * 1e9);
  if (outside(intensity, FLOPS_PER_BYTE)) {
    report("implausible", `${at}.dense_TFLOPS`, `does not go with the memory bandwidth: ${rate} TFLOPS over ${gpu.memory_bandwidth_GBps} GB/s are ${rounded(intensity)} operations a byte, and cards have ${FLOPS_PER_BYTE.low} to ${FLOPS_PER_BYTE.high}`);
  }
  for (const dtype of ["bf16", "fp8", "fp4"]) {
    if (dtype in gpu.dense_TFLOPS && !gpu.supports.includes(dtype)) report("implausible", `${at}.supports`, `lacks ${dtype}, which has a rate in dense_TFLOPS`);
  }
  for (const [dtype, measured] of Object.entries(gpu.measured_TFLOPS ?? {})) {
    const peak = gpu.dense_TFLOPS[dtype] ?? 0;
    if (measured > MEASURED_OVER_PEAK * peak) {
      report("implausible", `${at}.measured_TFLOPS.${dtype}`, `is ${measured}, more than ${MEASURED_OVER_PEAK} times the peak, ${peak || "which is not given"}`);
    }
  }
}

function gpuLaws({ gpus }, report) {
  gpus.forEach((gpu, i) => {
    const at = `gpus[${i}]`;
    const plain = Object.fromEntries(Object.entries(gpu).filter(([key]) => key !== "sources" && !UNSOURCED.includes(key)));
    for (const path of numberPaths(plain)) needSource(path, gpu, at, report);
    reportAbsent(gpu, at, report, ["derived", "unconfirmed"]);
    usableLaw(gpu, at, report);
    rateLaws(gpu, at, report);
    const named = /(\d+) ?GB\b/.exec(gpu.name);
    if (named && Number(named[1]) !== gpu.memory_GiB) {
      report("implausible", `${at}.name`, `says ${named[0]}, and memory_GiB is ${gpu.memory_GiB}`);
    }
    if (gpu.link === "none" && gpu.link_topology) {
      report("implausible", `${at}.link_topology`, `is "${gpu.link_topology}", of a link that is "none"`);
    }
  });
  reportShared(gpus, "gpus", (gpu) => [gpu.id, ...(gpu.aliases ?? [])], report);
  reportUnsorted(gpus, "gpus", report);
}

/** `duplicate_name` at a row one of whose names another row has, without case. */
function reportShared(rows, name, namesOf, report) {
  const names = new Map();
  rows.forEach((row, i) => {
    for (const each of namesOf(row)) {
      const other = names.get(lower(each));
      if (other !== undefined) {
        const whose = other === i ? "this row twice" : `${name}[${other}] (${rows[other].id}) too`;
        report("duplicate_name", `${name}[${i}]`, `has "${each}" as id or alias, a name of ${whose}`);
      } else names.set(lower(each), i);
    }
  });
}

function modelLaws({ models, purposes }, report) {
  const known = new Set(purposes.map(({ id }) => id));
  reportShared(models, "models", (model) => [model.id, model.hf_id, ...model.aliases], report);
  models.forEach((model, i) => {
    const at = `models[${i}]`;
    for (const id of model.good_for ?? []) {
      if (!known.has(id)) report("unknown_value", `${at}.good_for`, `names "${id}", which is no id in purposes.json`);
    }
    const extra = (model.adjustments ?? []).reduce((sum, { count }) => sum + count, 0);
    const explained = model.parameters + extra;
    if (explained !== (model.hub_total ?? model.parameters)) {
      report("implausible", `${at}.hub_total`, `is ${model.hub_total}, and parameters and adjustments add up to ${explained}`);
    }
    const printed = model.printed_total ?? model.parameters;
    if (Math.abs(model.parameters - printed) > PRINTED_ROUNDING * printed) {
      report("implausible", `${at}.printed_total`, `is ${printed}, more than a hundredth away from the parameters, ${model.parameters}`);
    }
  });
  reportUnsorted(models, "models", report);
}

function interconnectLaws(catalog, report) {
  catalog.interconnects.forEach((link, i) => {
    const at = `interconnects[${i}]`;
    const rate = link.one_way_GBps;
    reportAbsent(link, at, report);
    reportUnknownGpus(link.gpus ?? [], catalog, `${at}.gpus`, report);
    if (!rate && !link.measured) report("missing_field", `${at}.one_way_GBps`, "is missing, and nothing was measured");
    if (rate) needSource("one_way_GBps", link, at, report);
    (link.measured ?? []).forEach((measured, j) => {
      const inner = `${at}.measured[${j}]`;
      if (measured.gpu) reportUnknownGpus([measured.gpu], catalog, `${inner}.gpu`, report);
      if (measured.GBps > MEASURED_OVER_LINK * (rate ?? Infinity)) {
        report("implausible", `${inner}.GBps`, `is ${measured.GBps}, more than ${MEASURED_OVER_LINK} times the link's rate, ${rate}`);
      }
    });
  });
  reportUnsorted(catalog.interconnects, "interconnects", report);
}

function stackLaws({ stacks }, report) {
  stacks.forEach((stack, i) => {
    stack.versions.forEach((version, v) => {
      const at = `stacks[${i}].versions[${v}]`;
      const before = stack.versions[v - 1];
      if (before && before.since >= version.since) report("not_sorted", at, `is of ${version.since} and stands after ${before.since}: oldest first`);
      for (const part of ["defaults", "switches"]) {
        for (const key of Object.keys(version[part] ?? {})) needSource(`${part}.${key}`, version, at, report);
      }
      reportAbsent(version, at, report);
    });
  });
}

function idLaws(catalog, report) {
  for (const table of ["gpus", "purposes", "interconnects", "models", "stacks", "sources", "formulas"]) {
    reportTwice(catalog[table], table, report);
  }
}

/** Calls `visit(ids, field)` for every list of source ids in a part. */
function visitSources(value, visit, field = "") {
  if (value === null || typeof value !== "object") return;
  for (const [key, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${field}[${key}]` : field ? `${field}.${key}` : key;
    if (key !== "sources" || field === "") visitSources(inner, visit, at);
    else if (Array.isArray(inner)) visit(inner, at);
    else for (const [path, ids] of Object.entries(inner)) visit(ids, `${at}.${path}`);
  }
}

/** `unknown_source` for every id of a part that the catalog does not list. */
export function sourceLaws(part, { sources }, report) {
  const known = new Set(sources.map(({ id }) => id));
  visitSources(part, (ids, field) => reportUnknownSources(ids, known, field, report));
}

/** `unused_source` for each source that neither part names. */
export function orphans(catalog, market) {
  const used = new Set();
  for (const part of [catalog, market]) visitSources(part, (ids) => ids.forEach((id) => used.add(id)));
  return catalog.sources.flatMap(({ id }, i) =>
    used.has(id) ? [] : [{ code: "unused_source", field: `sources[${i}].id`, message: `is "${id}", which no row names` }]);
}

/**
 * What tests/golden/published_params.json must hold of the models: a row for each, in the same order, which says where
 * the count was published. It is not bundled, so the core does not look at it.
 */
export function publishedFaults({ models }, published) {
  const found = [];
  const report = (code, field, message) => found.push({ code, field, message: `${message} (tests/golden/published_params.json)` });
  const rows = new Map(published.map((row) => [row.id, row]));
  models.forEach((model, i) => {
    const row = rows.get(model.id);
    if (!row) return report("missing_field", `models[${i}]`, "has no row among the published counts");
    const [key, wanted] = model.printed_total ? ["printed", model.printed_total] : ["published", model.hub_total ?? model.parameters];
    if (row[key] !== wanted) report("implausible", `models[${i}]`, `has ${wanted} as its published count, and ${key} there is ${row[key]}`);
    for (const [field, value, there] of [["adjustments", model.adjustments ?? [], row.adjustments ?? []], ["sources", model.sources.parameters, row.sources]]) {
      if (JSON.stringify(value) !== JSON.stringify(there)) report("implausible", `models[${i}]`, `has other ${field} there: ${JSON.stringify(there)}`);
    }
  });
  const known = new Map(models.map(({ id }, i) => [id, i]));
  published.forEach(({ id }, i) => {
    const before = known.get(published[i - 1]?.id) ?? -1;
    if (!known.has(id)) report("unknown_model", `published_params[${i}]`, `is of "${id}", which is no id in models.json`);
    else if (known.get(id) <= before) report("not_sorted", `models[${known.get(id)}]`, `stands after "${published[i - 1].id}" there`);
  });
  return found;
}

/** `unknown_value` where a row is of an architecture that no GPU has; empty is any. */
function architectureLaw(rows, name, gpus, report) {
  const known = new Set(["", ...gpus.map(({ architecture }) => architecture)]);
  rows.forEach(({ architecture }, i) => {
    if (!known.has(architecture)) report("unknown_value", `${name}[${i}].architecture`, `is "${architecture}", which no row of gpus.json has`);
  });
}

/** `implausible` at every range of a value that is not in order. */
function rangeLaw(value, field, report) {
  if (value === null || typeof value !== "object") return;
  const { low, expected, high } = value;
  if (low > expected || expected > high) report("implausible", field, "must have low, expected and high in this order");
  for (const [key, inner] of Object.entries(value)) rangeLaw(inner, Array.isArray(value) ? `${field}[${key}]` : `${field}.${key}`, report);
}

const outsideLaws = ({ outside_steps: outside }, report) => rangeLaw(outside, "outside_steps", report);

function overheadLaws({ gpus, overheads }, report) {
  rangeLaw(overheads, "overheads", report);
  architectureLaw(overheads.contexts, "overheads.contexts", gpus, report);
  reportTwice(overheads.contexts, "overheads.contexts", report);
  if (!overheads.contexts.some(({ architecture }) => architecture === "")) {
    report("missing_field", "overheads.contexts", "must hold one without an architecture, for any GPU");
  }
}

function efficiencyLaws({ gpus, efficiencies }, report) {
  architectureLaw(efficiencies.architectures, "efficiencies.architectures", gpus, report);
  for (const list of ["architectures", "runs"]) reportTwice(efficiencies[list], `efficiencies.${list}`, report);
  if (efficiencies.architectures[0].architecture !== "") {
    report("missing_field", "efficiencies.architectures", "must begin with one without a name, for any GPU");
  }
}

/** All violations of a first part that already fits its schema. */
export function violations(catalog) {
  const found = [];
  const report = (code, field, message) => found.push({ code, field, message });
  for (const laws of [idLaws, gpuLaws, interconnectLaws, modelLaws, stackLaws, overheadLaws, efficiencyLaws, outsideLaws]) laws(catalog, report);
  sourceLaws(catalog, catalog, report);
  reportUnsorted(catalog.sources, "sources", report);
  return found;
}
