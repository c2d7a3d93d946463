// The catalog against its schemas and its laws, and catalogs that must be refused.
// Exact parameter counts are the business of the core's own tests: there is one implementation of a formula.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

import { changes } from "../../scripts/catalog/changes.mjs";
import { pageThemes } from "../../scripts/catalog/contrast.mjs";
import { orphans, publishedFaults } from "../../scripts/catalog/laws.mjs";
import { catalogFaults, marketFaults, schemaFaults, schemas } from "../../scripts/catalog/schemas.mjs";
import { canonical, files, listOf, partOf, parts, readAll, textFault } from "../../scripts/catalog/tables.mjs";

const root = new URL("../../", import.meta.url);
const text = (path) => readFileSync(new URL(path, root), "utf8");
const json = (path) => JSON.parse(text(path));
const filesIn = (path) => readdirSync(new URL(path, root)).sort();

const contents = readAll();
const [catalog, market] = [partOf(contents, "catalog"), partOf(contents, "market")];

/** A small catalog is about its rows: what it leaves out of constants and formulas is ours, as far as it has the cards, with a source of its own. */
function completed(small) {
  const source = small.sources?.[0]?.id ?? "table";
  const formulas = catalog.formulas.map((formula) => ({ ...formula, sources: [source] }));
  const architectures = new Set(["", ...(small.gpus ?? []).map((gpu) => gpu.architecture)]);
  const known = (rows) => rows.filter(({ architecture }) => architectures.has(architecture));
  const overheads = { ...catalog.overheads, contexts: known(catalog.overheads.contexts) };
  const efficiencies = { ...catalog.efficiencies, architectures: known(catalog.efficiencies.architectures) };
  const outside_steps = Object.fromEntries(Object.entries(catalog.outside_steps).map(([name, figure]) => [name, { ...figure, sources: [source] }]));
  return { formulas, overheads, efficiencies, outside_steps, ...small };
}

test("both parts keep their schemas and their laws", () => {
  assert.deepEqual(catalogFaults(catalog), []);
  assert.deepEqual(marketFaults(catalog, market, pageThemes()), []);
});

test("no source is there for nothing", () => {
  assert.deepEqual(orphans(catalog, market), []);
  const [one, ...rest] = catalog.sources;
  const idle = { ...one, id: "idle" };
  const found = orphans({ ...catalog, sources: [idle, one, ...rest] }, market);
  assert.deepEqual(found, [{ code: "unused_source", field: "sources[0].id", message: 'is "idle", which no row names' }]);
});

test("the catalog is what the core needs: nothing may be left out", () => {
  for (const [part, value] of Object.entries({ catalog, market })) {
    for (const name of parts[part]) {
      const { [name]: left, ...rest } = value;
      assert.ok(left, name);
      assert.deepEqual(schemaFaults(part, rest).map(({ code, field }) => ({ code, field })), [{ code: "missing_field", field: name }]);
    }
  }
  const bundled = text("cmake/Catalog.cmake");
  for (const [part, names] of Object.entries(parts)) {
    const [, tables] = bundled.match(new RegExp(`set\\(${part}_tables ([^)]*)\\)`));
    assert.deepEqual(tables.split(/\s+/).sort(), [...names].sort(), `cmake/Catalog.cmake: ${part}`);
  }
  const present = filesIn("catalog").filter((name) => name.endsWith(".json")).map((name) => name.replace(".json", ""));
  assert.deepEqual([...files].sort(), present);
});

test("one row stands on one line, sorted, its keys in the order of the schema", () => {
  for (const name of files) {
    const wanted = canonical(name, contents[name], schemas[name]);
    if (wanted !== null) assert.equal(text(`catalog/${name}.json`), wanted, `${name}.json: make catalog formats it`);
  }
});

test("every formula stands in METHOD.md", () => {
  const method = text("core/METHOD.md");
  for (const { id } of catalog.formulas) assert.ok(method.includes(id), id);
});

// Pairs that tables get wrong: sparse rates, links and memories of a sister card, GB for GiB.
const known = [
  ["a100-sxm4-80gb", "dense_TFLOPS.bf16", 312],
  ["h100-sxm", "dense_TFLOPS.bf16", 989],
  ["h100-sxm", "dense_TFLOPS.fp8", 1979],
  ["h200-sxm", "memory_bandwidth_GBps", 4800],
  ["b200", "memory_usable_MiB", 183359],
  ["b300", "memory_usable_MiB", 275040],
  ["rtx-4090", "dense_TFLOPS.bf16", 165.2],
  ["rtx-4090", "fp16_accumulate_TFLOPS", 330.3],
  ["l40s", "dense_TFLOPS.bf16", 362],
  ["l40", "dense_TFLOPS.bf16", 181.05],
  ["a10g", "dense_TFLOPS.bf16", 70],
  ["a10", "dense_TFLOPS.bf16", 125],
  ["t4", "memory_usable_MiB", 15360],
  ["l4", "memory_usable_MiB", 23034],
  ["a40", "memory_usable_MiB", 46068],
  ["rtx-a6000", "memory_usable_ecc_on_MiB", 46068],
];
for (const [id, path, value] of known) {
  test(`${id} has ${path} ${value}`, () => {
    const gpu = catalog.gpus.find((row) => row.id === id);
    assert.equal(path.split(".").reduce((at, key) => at[key], gpu), value);
  });
}

test("what a card cannot do is known of the cards that cannot", () => {
  const supports = (id) => catalog.gpus.find((row) => row.id === id).supports;
  for (const id of ["t4", "v100-sxm2-16gb", "v100-sxm2-32gb"]) assert.ok(!supports(id).includes("bf16"), id);
  for (const gpu of catalog.gpus) {
    if (gpu.architecture === "Ampere") assert.deepEqual(gpu.supports, ["bf16"], gpu.id);
  }
  const halved = catalog.gpus.filter((gpu) => gpu.name.startsWith("GeForce"));
  assert.ok(halved.length >= 10);
  for (const { id, dense_TFLOPS: dense, fp16_accumulate_TFLOPS: doubled } of halved) {
    assert.ok(Math.abs(doubled / dense.fp16 - 2) < 0.01, id);
  }
});

test("every GPU and model that measured runs name is in the catalog", () => {
  const lower = (name) => name.toLowerCase();
  const gpus = new Set(catalog.gpus.flatMap(({ id, aliases = [] }) => [id, ...aliases]).map(lower));
  const models = new Set(catalog.models.flatMap(({ id, hf_id, aliases }) => [id, hf_id, ...aliases]).map(lower));
  let named = 0;
  for (const file of filesIn("tests/validation/rows").filter((name) => name.endsWith(".jsonl"))) {
    for (const line of text(`tests/validation/rows/${file}`).trimEnd().split("\n")) {
      const { id, request } = JSON.parse(line);
      if (!request) continue;
      if (request.hardware?.gpu) assert.ok(gpus.has(lower(request.hardware.gpu)), `${id}: ${request.hardware.gpu}`);
      if (typeof request.model === "string") assert.ok(models.has(lower(request.model)), `${id}: ${request.model}`);
      named += 1;
    }
  }
  assert.ok(named > 1000);
});

test("every constant of overheads names the measured runs that it was fitted on", () => {
  const { contexts, collectives, ...fitted } = json("tests/validation/overhead_runs.json");
  assert.deepEqual(Object.keys({ ...fitted, contexts, collectives }).sort(), Object.keys(catalog.overheads).sort());
  const rows = filesIn("tests/validation/rows").filter((name) => name.endsWith(".jsonl"))
    .flatMap((file) => text(`tests/validation/rows/${file}`).trimEnd().split("\n").map((line) => JSON.parse(line).id));
  const known = new Set(rows);
  assert.ok(contexts.length > 0 && collectives.length > 0, "of which few runs tell: these say what they were read from");
  for (const [constant, ids] of Object.entries(fitted)) {
    assert.ok(ids.length > 0, constant);
    for (const id of ids) assert.ok(known.has(id), `${constant}: ${id}`);
  }
});

test("published counts list every model once, in order", () => {
  const published = json("tests/golden/published_params.json");
  assert.deepEqual(publishedFaults(catalog, published), []);
  const found = (rows) => publishedFaults(catalog, rows).map(({ code, field }) => `${code} ${field}`);
  const [first, second, ...rest] = published;
  assert.deepEqual(found([first, ...rest]), ["missing_field models[1]"]);
  assert.deepEqual(found([second, first, ...rest]), ["not_sorted models[0]"]);
  assert.deepEqual(found([{ ...first, published: 1 }, second, ...rest]), ["implausible models[0]"]);
  assert.deepEqual(found([{ ...first, sources: [] }, second, ...rest]), ["implausible models[0]"]);
  assert.deepEqual(found([...published, { id: "nobody" }]), [`unknown_model published_params[${published.length}]`]);
});

test("the golden configs and their expectations belong together", () => {
  const expected = json("tests/golden/configs/expected.json");
  const files = filesIn("tests/golden/configs").filter((name) => name !== "expected.json");
  assert.deepEqual(expected.map(({ file }) => file), files);
  for (const row of expected) {
    assert.equal(json(`tests/golden/configs/${row.file}`).model_type, row.model_type, row.file);
    assert.ok(Number.isSafeInteger(row.parameters), row.file);
  }
  const modelled = new Set(catalog.models.map(({ config }) => config.model_type));
  for (const row of expected) assert.ok(row.modelled || !modelled.has(row.model_type), row.file);
});

const minimal = completed(json("tests/catalog/minimal.json"));

/** A small market is about its prices, machines and vendor: what it does not say of switches is as in the minimal one. */
const completedMarket = (small) => ({ switches: json("tests/catalog/minimal_market.json").switches, ...small });

test("a minimal catalog is accepted, in both parts", () => {
  assert.deepEqual(catalogFaults(minimal), []);
  assert.deepEqual(marketFaults(minimal, json("tests/catalog/minimal_market.json"), pageThemes()), []);
});

for (const file of filesIn("tests/catalog/broken")) {
  const broken = json(`tests/catalog/broken/${file}`);
  if (broken.laws === false) continue; // only the core knows what a config needs, and counts
  test(`refused: ${broken.name}`, () => {
    const found = broken.market
      ? marketFaults(minimal, completedMarket(broken.market), pageThemes())
      : [...catalogFaults(completed(broken.catalog)), ...orphans(completed(broken.catalog), {})];
    assert.ok(found.some(({ code, field }) => code === broken.expected_code && field === broken.field),
      `expected ${broken.expected_code} at ${broken.field}, found ${JSON.stringify(found)}`);
  });
}

test("every fault has a sentence", () => {
  for (const file of filesIn("tests/catalog/broken")) {
    const { catalog: first, market: second } = json(`tests/catalog/broken/${file}`);
    const found = second ? marketFaults(minimal, completedMarket(second), pageThemes()) : catalogFaults(completed(first));
    for (const { code, field, message } of found) assert.match(message, /\S+ \S/, `${file}: ${code} ${field}`);
  }
});

test("a text is refused that JSON.parse takes and the core does not", () => {
  const faults = (text) => (({ code, field }) => `${code} ${field}`)(textFault(text) ?? { code: "none", field: "" });
  assert.equal(faults('[{"a":{"b":1,"c":[1,2]},"b":"a\\":"},{"a":1}]'), "none ");
  assert.equal(faults('[{"a":1},{"a":1,"b":{"a":2},"a":3}]'), "duplicate_key a");
  assert.equal(faults('{"a":1,"\\u0061" :2}'), "duplicate_key a");
  assert.match(faults('{"a":["\\ud800"]}'), /^invalid_utf8 /);
  assert.equal(faults('{"a":"\\ud83d\\ude00"}'), "none ");
});

test("the made-up vendor of the tests keeps every rule", () => {
  const vendor = partOf(readAll(undefined, new URL("tests/vendor/vendor.json", root)), "market");
  assert.deepEqual(marketFaults(catalog, vendor, pageThemes()), []);
});

test("what changed is told by row and field, also within lists", () => {
  const before = readAll();
  const after = structuredClone(before);
  const stack = listOf(after, "stacks")[0];
  stack.versions.push({ since: "2099-01", switches: { lends_keys: false } });
  stack.versions[0].defaults.batch.per_device = 77;
  const gone = listOf(after, "gpus").pop();
  after.meta.date = "2099-01-31";
  after.vendor.name = "Somebody";
  const was = listOf(before, "stacks")[0].versions[0].defaults.batch.per_device;
  assert.deepEqual(changes(before, after), [
    `- gpus: ${gone.id}`,
    `~ stacks: ${stack.id}`,
    `    versions.${stack.versions[0].since}.defaults.batch.per_device: ${was} -> 77`,
    '    versions.2099-01.since: (absent) -> "2099-01"',
    "    versions.2099-01.switches.lends_keys: (absent) -> false",
    "~ meta",
    `    date: "${before.meta.date}" -> "2099-01-31"`,
    "~ vendor",
    `    name: "${before.vendor.name}" -> "Somebody"`,
  ]);
  assert.deepEqual(changes(before, structuredClone(before)), []);
});
