// The rules of the catalog that a JSON Schema cannot say, because they look at more than one value.
// Each violation is {code, field}, named as the core's loader names it.

const USABLE_FRACTION = { low: 0.9, high: 1 }; // of the capacity on the box; ECC over GDDR costs 1/16
const FLOPS_PER_BYTE = { low: 20, high: 700 }; // dense bf16 rate over memory bandwidth
const PRINTED_ROUNDING = 0.01; // sizes of cards and papers have two or three digits
const UNSOURCED = ["devices_per_board"]; // follows from the name

const lower = (text) => text.toLowerCase();
const outside = (value, { low, high }) => value < low || value > high;

/** Paths of all numbers in a value, a list counting as one. */
function numberPaths(value, path = "") {
  if (typeof value === "number" || Array.isArray(value)) return [path];
  if (value === null || typeof value !== "object") return [];
  return Object.entries(value).flatMap(([key, inner]) => numberPaths(inner, path ? `${path}.${key}` : key));
}

/** Whether `path` or something that holds it has a source. `link` covers the fields that describe it. */
function sourced(path, sources) {
  for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) if (at in sources) return true;
  return path.startsWith("link_") && "link" in sources;
}

const unsorted = (rows, compare) => rows.findIndex((row, i) => i > 0 && compare(rows[i - 1], row) > 0);
const by = (...keys) => (a, b) => {
  for (const key of keys) {
    const [x, y] = [key(a), key(b)];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
};

function gpuLaws({ gpus }, report) {
  gpus.forEach((gpu, i) => {
    const at = (field) => `gpus[${i}].${field}`;
    const plain = Object.fromEntries(
      Object.entries(gpu).filter(([key]) => !["derived", "supports", "sources", ...UNSOURCED].includes(key)));
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
      if (measured > gpu.dense_TFLOPS[dtype]) report("implausible", at(`measured_TFLOPS.${dtype}`));
    }
    const named = /(\d+) ?GB\b/.exec(gpu.name);
    if (named && Number(named[1]) !== gpu.memory_GiB) report("implausible", at("name"));
    if (gpu.link === "none" && gpu.link_topology) report("implausible", at("link_topology"));
  });
  const row = unsorted(gpus, by((gpu) => gpu.id));
  if (row > 0) report("not_sorted", `gpus[${row}]`);
}

function modelLaws({ models }, report) {
  const names = new Map();
  models.forEach((model, i) => {
    for (const name of [model.id, model.hf_id, ...model.aliases].map(lower)) {
      if (names.has(name)) report("duplicate_name", `models[${i}]`);
      names.set(name, i);
    }
    const extra = (model.adjustments ?? []).reduce((sum, { count }) => sum + count, 0);
    const explained = model.parameters + extra;
    if (explained !== (model.hub_total ?? model.parameters)) report("implausible", `models[${i}].hub_total`);
    const printed = model.printed_total ?? model.parameters;
    if (Math.abs(model.parameters - printed) > PRINTED_ROUNDING * printed) {
      report("implausible", `models[${i}].printed_total`);
    }
  });
  const row = unsorted(models, by((model) => model.family, (model) => model.parameters, (model) => model.id));
  if (row > 0) report("not_sorted", `models[${row}]`);
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
  for (const table of ["gpus", "models", "stacks", "sources", "formulas"]) {
    const seen = new Set();
    catalog[table].forEach(({ id }, i) => {
      if (seen.has(lower(id))) report("duplicate_id", `${table}[${i}].id`);
      seen.add(lower(id));
    });
  }
}

function sourceLaws(catalog, report) {
  const known = new Set(catalog.sources.map(({ id }) => id));
  const used = new Set();
  const visit = (sources, field) => {
    for (const [path, ids] of Object.entries(sources)) {
      for (const id of ids) {
        used.add(id);
        if (!known.has(id)) report("unknown_source", `${field}.sources.${path}`);
      }
    }
  };
  catalog.gpus.forEach((gpu, i) => visit(gpu.sources, `gpus[${i}]`));
  catalog.models.forEach((model, i) => visit(model.sources, `models[${i}]`));
  catalog.stacks.forEach(({ versions }, i) => {
    versions.forEach((version, v) => visit(version.sources, `stacks[${i}].versions[${v}]`));
  });
  catalog.formulas.forEach(({ sources }, i) => visit({ sources }, `formulas[${i}]`));
  catalog.sources.forEach(({ id }, i) => {
    if (!used.has(id)) report("unused_source", `sources[${i}].id`);
  });
  const row = unsorted(catalog.sources, by(({ id }) => id));
  if (row > 0) report("not_sorted", `sources[${row}]`);
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

/** All violations of a catalog that already fits its schema. */
export function violations(catalog) {
  const found = [];
  const report = (code, field) => found.push({ code, field });
  for (const laws of [idLaws, gpuLaws, modelLaws, stackLaws, sourceLaws, overheadLaws]) laws(catalog, report);
  return found;
}
