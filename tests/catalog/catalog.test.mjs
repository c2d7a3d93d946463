// The catalog against its schemas and its laws, and catalogs that must be refused.
// Exact parameter counts are the business of the core's own tests: there is one implementation of a formula.

import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import Ajv from "ajv/dist/2020.js";
import { violations } from "./laws.mjs";

const root = new URL("../../", import.meta.url);
const text = (path) => readFileSync(new URL(path, root), "utf8");
const json = (path) => JSON.parse(text(path));
const filesIn = (path) => readdirSync(new URL(path, root)).sort();

const tables = ["gpus", "models", "stacks", "sources", "formulas"];
const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false });
for (const name of filesIn("catalog/schema")) ajv.addSchema(json(`catalog/schema/${name}`));
const fits = ajv.getSchema("catalog.schema.json");
const catalog = Object.fromEntries(["meta", ...tables, "overheads"].map((name) => [name, json(`catalog/${name}.json`)]));

/** A small catalog is about its rows: what it leaves out of constants and formulas is ours, with a source of its own. */
function completed(small) {
  const source = small.sources?.[0]?.id ?? "table";
  const formulas = catalog.formulas.map((formula) => ({ ...formula, sources: [source] }));
  return { formulas, overheads: catalog.overheads, ...small };
}

/** The code by which the core names what a schema refuses. */
const schemaCode = {
  additionalProperties: "unknown_field",
  required: "missing_field",
  dependentRequired: "missing_field",
  type: "wrong_type",
  enum: "unknown_value",
  const: "unknown_value",
  pattern: "malformed",
  minimum: "out_of_range",
  maximum: "out_of_range",
  exclusiveMinimum: "out_of_range",
};

/** `/gpus/0/memory_GiB` as `gpus[0].memory_GiB`. */
const dotted = (pointer) => pointer.slice(1).replace(/\/(\d+)/g, "[$1]").replaceAll("/", ".");

function refusals(candidate) {
  if (fits(candidate)) return violations(candidate);
  return fits.errors.filter(({ keyword }) => keyword in schemaCode).map(({ keyword, instancePath, params }) => {
    const child = params.missingProperty ?? params.additionalProperty;
    return { code: schemaCode[keyword], field: [dotted(instancePath), child].filter(Boolean).join(".") };
  });
}

test("the catalog fits its schemas", () => {
  assert.ok(fits(catalog), ajv.errorsText(fits.errors, { separator: "\n" }));
});

test("the catalog is what the core needs: nothing may be left out", () => {
  for (const name of Object.keys(catalog)) {
    const { [name]: left, ...rest } = catalog;
    assert.ok(left && !fits(rest), name);
  }
  const files = filesIn("catalog").filter((name) => name.endsWith(".json")).map((name) => name.replace(".json", ""));
  assert.deepEqual(Object.keys(catalog).sort(), files);
});

test("every formula stands in METHOD.md", () => {
  const method = text("core/METHOD.md");
  for (const { id } of catalog.formulas) assert.ok(method.includes(id), id);
});

test("the catalog keeps its laws", () => {
  assert.deepEqual(violations(catalog), []);
});

test("one row stands on one line", () => {
  for (const name of tables) {
    const lines = text(`catalog/${name}.json`).split("\n");
    assert.equal(lines.shift(), "[", name);
    assert.deepEqual(lines.splice(-2), ["]", ""], name);
    const rows = lines.map((line) => JSON.parse(line.replace(/,$/, "")));
    assert.deepEqual(rows, catalog[name], name);
  }
});

test("derived fields exist and have a source", () => {
  for (const gpu of catalog.gpus) {
    for (const path of gpu.derived ?? []) {
      const value = path.split(".").reduce((at, key) => at?.[key], gpu);
      assert.notEqual(value, undefined, `${gpu.id}: ${path}`);
    }
    for (const path of Object.keys(gpu.sources)) {
      const value = path.split(".").reduce((at, key) => at?.[key], gpu);
      assert.notEqual(value, undefined, `${gpu.id}: source of an absent ${path}`);
    }
  }
});

test("published counts list every model once, in order", () => {
  const published = json("tests/golden/published_params.json");
  assert.deepEqual(published.map(({ id }) => id), catalog.models.map(({ id }) => id));
  published.forEach((row, i) => {
    const model = catalog.models[i];
    if (model.printed_total) {
      assert.equal(row.printed, model.printed_total, row.id);
    } else {
      assert.equal(row.published, model.hub_total ?? model.parameters, row.id);
      assert.deepEqual(row.adjustments, model.adjustments ?? [], row.id);
    }
    assert.deepEqual(row.sources, model.sources.parameters, row.id);
  });
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

test("a minimal catalog is accepted", () => {
  assert.deepEqual(refusals(completed(json("tests/catalog/minimal.json"))), []);
});

for (const file of filesIn("tests/catalog/broken")) {
  const broken = json(`tests/catalog/broken/${file}`);
  if (broken.expected_code === "parameters_mismatch") continue; // only the core counts
  test(`refused: ${broken.name}`, () => {
    const found = refusals(completed(broken.catalog));
    assert.ok(found.some(({ code, field }) => code === broken.expected_code && field === broken.field),
      `expected ${broken.expected_code} at ${broken.field}, found ${JSON.stringify(found)}`);
  });
}
