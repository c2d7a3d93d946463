// What ajv says of a part of the catalog, in the words of the core's loader.

import { readFileSync, readdirSync } from "node:fs";
import Ajv from "ajv/dist/2020.js";

import { violations } from "./laws.mjs";
import { marketViolations } from "./laws_market.mjs";
import { root } from "./tables.mjs";

const folder = new URL("catalog/schema/", root);

/** The schemas by the table they describe. */
export const schemas = Object.fromEntries(
  readdirSync(folder).sort().map((file) => [file.replace(".schema.json", ""), JSON.parse(readFileSync(new URL(file, folder), "utf8"))]));

const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false });
for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, `${name}.schema.json`);

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
  minLength: "malformed",
  maxLength: "too_long",
  minItems: "empty_list",
  minProperties: "empty_list",
  maxItems: "too_long",
  uniqueItems: "duplicate_key",
};

/** `/gpus/0/memory_GiB` as `gpus[0].memory_GiB`. */
const dotted = (pointer) => pointer.slice(1).replace(/\/(\d+)/g, "[$1]").replaceAll("/", ".");

/** Faults of a value against a schema ("catalog", "market"), as {code, field, message}. */
export function schemaFaults(name, value) {
  const fits = ajv.getSchema(`${name}.schema.json`);
  if (fits(value)) return [];
  return fits.errors.map(({ keyword, instancePath, params, message }) => {
    const child = params.missingProperty ?? params.additionalProperty;
    return { code: schemaCode[keyword] ?? keyword, field: [dotted(instancePath), child].filter(Boolean).join("."), message };
  });
}

/** All faults of the first part; the rules that look at several values only where the schema is kept. */
export function catalogFaults(catalog) {
  const faults = schemaFaults("catalog", catalog);
  return faults.length > 0 ? faults : violations(catalog);
}

/** All faults of the second part beside a first part without faults. `themes`: see marketViolations. */
export function marketFaults(catalog, market, themes = null) {
  const faults = schemaFaults("market", market);
  return faults.length > 0 ? faults : marketViolations(catalog, market, themes);
}
