// The rules of the catalog's first part that a JSON Schema cannot say, because they look at more than one value.
// Each violation is {code, field}, named as the core's loader names it. laws_market.mjs has those of the second part.

import { order } from "./tables.mjs";

const USABLE_FRACTION = { low: 0.9, high: 1 }; // of the capacity on the box; ECC over GDDR costs 1/16
const FLOPS_PER_BYTE = { low: 20, high: 700 }; // dense bf16 rate over memory bandwidth
const PRINTED_ROUNDING = 0.01; // sizes of cards and papers have two or three digits
const MEASURED_OVER_PEAK = 1.15; // cards clock higher than the rate that their makers print
const MEASURED_OVER_LINK = 1.3; // a switch that adds up moves less than it delivers
const NO_NUMBERS = ["aliases", "supports", "unconfirmed", "derived", "sources"]; // lists and ids
const UNSOURCED = ["devices_per_board"]; // follows from the name

const lower = (text) => text.toLowerCase();
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const outside = (value, { low, high }) => value < low || value > high;

/** Paths of all numbers in a value, a list counting as one. */
function numberPaths(value, path = "") {
  if (typeof value === "number" || Array.isArray(value)) return [path];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => numberPaths(inner, path ? `${path}.${key}` : key));
}

/** Whether objects within objects lead to something. */
const hasField = (row, path) =>
  path.split(".").reduce((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : null), row) !== null;

/** Whether `path` or something that holds it has a source; `row` stands for the whole row, `link` for what describes it. */
export function sourced(path, sources) {
  for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) if (at in sources) return true;
  return "row" in sources || (path.startsWith("link_") && "link" in sources);
}

/** `not_sorted` at the first row that stands before one it should follow. */
export function reportUnsorted(rows, name, report) {
  const row = rows.findIndex((each, i) => i > 0 && order[name](rows[i - 1], each) > 0);
  if (row > 0) report("not_sorted", `${name}[${row}]`);
}

/** `duplicate_id` where an earlier row has the id. */
export function reportTwice(rows, name, report) {
  const seen = new Set();
  rows.forEach(({ id }, i) => {
    if (seen.has(lower(id))) report("duplicate_id", `${name}[${i}].id`);
    seen.add(lower(id));
  });
}

/** `unknown_gpu` unless every id is a GPU's. */
export function reportUnknownGpus(ids, { gpus }, field, report) {
  const known = new Set(gpus.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) report("unknown_gpu", field);
}

/** `unknown_source` for each id that the catalog does not list. */
export function reportUnknownSources(ids, { sources }, field, report) {
  const known = new Set(sources.map(({ id }) => id));
  for (const id of ids) if (!known.has(id)) report("unknown_source", field);
}

function gpuLaws({ gpus }, report) {
  gpus.forEach((gpu, i) => {
    const at = (field) => `gpus[${i}].${field}`;
    const plain = Object.fromEntries(
      Object.entries(gpu).filter(([key]) => ![...NO_NUMBERS, ...UNSOURCED].includes(key)));
    for (const path of numberPaths(plain)) {
      if (!sourced(path, gpu.sources)) report("unsourced", at(path));
    }
    for (const field of ["memory_usable_MiB", "memory_usable_ecc_on_MiB", "memory_usable_ecc_off_MiB"]) {
      const fraction = gpu[field] / (gpu.memory_GiB * 1024);
      if (outside(fraction, USABLE_FRACTION)) report("implausible", at(field));
    }
    const rate = gpu.dense_TFLOPS.bf16 ?? gpu.dense_TFLOPS.fp16;
    const intensity = (rate * 1e12) / (gpu.memory_bandwidth_GBps * 1e9);
    if (outside(intensity, FLOPS_PER_BYTE)) report("implausible", at("dense_TFLOPS"));
    for (const dtype of ["bf16", "fp8", "fp4"]) {
      if (dtype in gpu.dense_TFLOPS && !gpu.supports.includes(dtype)) report("implausible", at("supports"));
    }
    for (const [dtype, measured] of Object.entries(gpu.measured_TFLOPS ?? {})) {
      const most = MEASURED_OVER_PEAK * (gpu.dense_TFLOPS[dtype] ?? 0);
      if (measured > most) report("implausible", at(`measured_TFLOPS.${dtype}`));
    }
    for (const path of gpu.unconfirmed ?? []) if (!hasField(gpu, path)) report("unknown_field", at("unconfirmed"));
    const named = /(\d+) ?GB\b/.exec(gpu.name);
    if (named && Number(named[1]) !== gpu.memory_GiB) report("implausible", at("name"));
    if (gpu.link === "none" && gpu.link_topology) report("implausible", at("link_topology"));
  });
  reportShared(gpus, "gpus", (gpu) => [gpu.id, ...(gpu.aliases ?? [])], report);
  reportUnsorted(gpus, "gpus", report);
}

/** `duplicate_name` at a row one of whose names another row has, without case. */
function reportShared(rows, name, namesOf, report) {
  const names = new Set();
  rows.forEach((row, i) => {
    for (const each of namesOf(row).map(lower)) {
      if (names.has(each)) report("duplicate_name", `${name}[${i}]`);
      names.add(each);
    }
  });
}

function modelLaws({ models, purposes }, report) {
  const known = new Set(purposes.map(({ id }) => id));
  reportShared(models, "models", (model) => [model.id, model.hf_id, ...model.aliases], report);
  models.forEach((model, i) => {
    if (model.good_for?.some((id) => !known.has(id))) report("unknown_value", `models[${i}].good_for`);
    const extra = (model.adjustments ?? []).reduce((sum, { count }) => sum + count, 0);
    const explained = model.parameters + extra;
    if (explained !== (model.hub_total ?? model.parameters)) report("implausible", `models[${i}].hub_total`);
    const printed = model.printed_total ?? model.parameters;
    if (Math.abs(model.parameters - printed) > PRINTED_ROUNDING * printed) {
      report("implausible", `models[${i}].printed_total`);
    }
  });
  reportUnsorted(models, "models", report);
}

function interconnectLaws(catalog, report) {
  catalog.interconnects.forEach((link, i) => {
    const at = `interconnects[${i}]`;
    reportUnknownGpus(link.gpus ?? [], catalog, `${at}.gpus`, report);
    if (!link.one_way_GBps && !link.measured) report("missing_field", `${at}.one_way_GBps`);
    if (link.one_way_GBps && !sourced("one_way_GBps", link.sources)) report("unsourced", `${at}.one_way_GBps`);
    (link.measured ?? []).forEach((measured, j) => {
      const inner = `${at}.measured[${j}]`;
      if (measured.gpu) reportUnknownGpus([measured.gpu], catalog, `${inner}.gpu`, report);
      if (measured.GBps > MEASURED_OVER_LINK * (link.one_way_GBps ?? Infinity)) report("implausible", `${inner}.GBps`);
    });
  });
  reportUnsorted(catalog.interconnects, "interconnects", report);
}

function stackLaws({ stacks }, report) {
  stacks.forEach((stack, i) => {
    stack.versions.forEach((version, v) => {
      const at = `stacks[${i}].versions[${v}]`;
      if (v > 0 && stack.versions[v - 1].since >= version.since) report("not_sorted", at);
      for (const part of ["defaults", "switches"]) {
        for (const key of Object.keys(version[part] ?? {})) {
          if (!sourced(`${part}.${key}`, version.sources)) report("unsourced", `${at}.${part}.${key}`);
        }
      }
    });
  });
}

function idLaws(catalog, report) {
  for (const table of ["gpus", "purposes", "interconnects", "models", "stacks", "sources", "formulas"]) {
    reportTwice(catalog[table], table, report);
  }
}

/** Calls `visit(ids, field)` for every list of source ids in a part. */
export function visitSources(value, visit, field = "") {
  if (value === null || typeof value !== "object") return;
  for (const [key, inner] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${field}[${key}]` : field ? `${field}.${key}` : key;
    if (key !== "sources" || field === "") visitSources(inner, visit, at);
    else if (Array.isArray(inner)) visit(inner, at);
    else for (const [path, ids] of Object.entries(inner)) visit(ids, `${at}.${path}`);
  }
}

function sourceLaws(catalog, report) {
  visitSources(catalog, (ids, field) => reportUnknownSources(ids, catalog, field, report));
  reportUnsorted(catalog.sources, "sources", report);
}

/** `unused_source` for each source that neither part names. */
export function orphans(catalog, market) {
  const used = new Set();
  for (const part of [catalog, market]) visitSources(part, (ids) => ids.forEach((id) => used.add(id)));
  return catalog.sources.flatMap(({ id }, i) => (used.has(id) ? [] : [{ code: "unused_source", field: `sources[${i}].id` }]));
}

function overheadLaws({ overheads }, report) {
  const visit = (value, field) => {
    if (value === null || typeof value !== "object") return;
    const { low, expected, high } = value;
    if (low > expected || expected > high) report("implausible", field);
    for (const [key, inner] of Object.entries(value)) visit(inner, Array.isArray(value) ? `${field}[${key}]` : `${field}.${key}`);
  };
  visit(overheads, "overheads");
  for (const [constant, runs] of Object.entries(overheads.runs)) {
    if (runs.length === 0) report("unsourced", `overheads.${constant}`);
  }
  if (!overheads.contexts.some(({ architecture }) => architecture === "")) report("missing_field", "overheads.contexts");
}

/** All violations of a first part that already fits its schema. */
export function violations(catalog) {
  const found = [];
  const report = (code, field) => found.push({ code, field });
  for (const laws of [idLaws, gpuLaws, interconnectLaws, modelLaws, stackLaws, sourceLaws, overheadLaws]) laws(catalog, report);
  return found;
}
