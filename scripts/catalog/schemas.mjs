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

const ajv = new Ajv({ allErrors: true, strict: true, strictRequired: false, verbose: true });
for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema, `${name}.schema.json`);

/** The code by which the core names what a schema refuses. `enum` and `const`: see codeOf. */
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

/** What follows from faults inside, which are told themselves. */
const outer = ["if", "anyOf", "oneOf"];

/** What a text of a pattern must be; of a pattern that is not here the pattern itself is shown. */
const forms = {
  "^[a-z0-9]+([._-][a-z0-9]+)*$": "lower case letters, digits and single signs between them",
  "^[a-z0-9_]+$": "lower case letters, digits and _",
  "^[0-9]{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?)?$": 'a year, month or day as "2026-01-31"',
  "^[0-9]{4}-(0[1-9]|1[0-2])(-(0[1-9]|[12][0-9]|3[01]))?$": 'a month or day as "2026-01-31"',
  "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$": 'a day as "2026-01-31"',
  "^[0-9]{4}-(0[1-9]|1[0-2])$": 'a month as "2026-01"',
  "^#[0-9a-f]{6}$": 'a colour as "#1f6feb"',
  "^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$": 'a name of the hub, "owner/name"',
  "^([0-9]{1,2}\\.[0-9]|gfx[0-9a-f]{3,5})$": 'as "8.9", or as "gfx942" for cards of AMD',
};

/** A value for a sentence, cut to what one holds. */
export const shown = (value) => {
  const text = JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
};

function kindOf(value) {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  return { boolean: "true or false", number: "a number", string: "a text", object: "an object" }[typeof value];
}
const kinds = { boolean: "true or false", number: "a number", integer: "a whole number", string: "a text", array: "a list", object: "an object", null: "null" };
const listed = (values) => values.map(shown).join(", ").replace(/, ([^,]*)$/, " or $1");

/** The sentence of a fault, to follow its field. */
function sentence({ keyword, params, schema, data, parentSchema }) {
  switch (keyword) {
    case "additionalProperties": return "is not a field that is known here";
    case "required": return "is missing";
    case "dependentRequired": return `is missing, which ${params.property} needs`;
    case "type": return `must be ${[schema].flat().map((type) => kinds[type]).join(" or ")}, not ${kindOf(data)} (${shown(data)})`;
    case "enum":
    case "const": return `must be ${listed(keyword === "enum" ? schema : [schema])}, not ${shown(data)}`;
    case "pattern": return `must be ${forms[schema] ?? `of the form ${schema}`}, not ${shown(data)}`;
    case "minimum":
    case "exclusiveMinimum":
    case "maximum": {
      const { minimum, exclusiveMinimum, maximum } = parentSchema;
      return `must be ${minimum === undefined ? `over ${exclusiveMinimum}, up to` : `from ${minimum} to`} ${maximum}, not ${shown(data)}`;
    }
    case "maxLength": return `is longer than ${schema} characters: ${shown(data)}`;
    case "maxItems": return `holds more than ${schema} items`;
    case "uniqueItems": return `names ${shown(data[params.i])} twice`;
    default: return "must not be empty";
  }
}

/** The code of a fault: a value of another type than all that are allowed is that, not an unknown one. */
function codeOf({ keyword, schema, data }) {
  const allowed = keyword === "enum" ? schema : keyword === "const" ? [schema] : null;
  if (allowed && !allowed.some((value) => kindOf(value) === kindOf(data))) return "wrong_type";
  return schemaCode[keyword] ?? keyword;
}

/** Faults of a value against a schema ("catalog", "market"), as {code, field, message}. */
export function schemaFaults(name, value) {
  const fits = ajv.getSchema(`${name}.schema.json`);
  if (fits(value)) return [];
  return fits.errors.filter(({ keyword }) => !outer.includes(keyword)).map((fault) => {
    const child = fault.params.missingProperty ?? fault.params.additionalProperty;
    return { code: codeOf(fault), field: [dotted(fault.instancePath), child].filter(Boolean).join("."), message: sentence(fault) };
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
