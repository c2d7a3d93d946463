// The files of the catalog: which part each belongs to, how its rows are sorted, and how it is written.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The repository. */
export const root = new URL("../../", import.meta.url);

/** Compares by several keys in turn; numbers by size, texts by code unit. */
export const by = (...keys) => (a, b) => {
  for (const key of keys) {
    const [x, y] = [key(a), key(b)];
    if (x !== y) return x < y ? -1 : 1;
  }
  return 0;
};

const text = (row, key) => row[key] ?? "";
const byFields = (...fields) => by(...fields.map((field) => (row) => text(row, field)));
const byId = byFields("id");

/** How the rows of every list are sorted; null where their order means something. `a.b` is list b of file a. */
export const order = {
  gpus: byId,
  interconnects: byId,
  purposes: byId,
  models: by((row) => row.family, (row) => row.parameters, (row) => row.id),
  stacks: null,
  sources: byId,
  formulas: byId,
  servers: byId,
  "prices.rented": byFields("gpu", "provider", "term", "region", "date", "instance", "gpus"),
  "prices.gpus": byFields("gpu", "kind", "date", "low"),
  "prices.servers": byFields("what", "date", "low"),
  "prices.services": byFields("provider", "models"),
  "prices.defaults": byId,
};

const tablesOf = (part) =>
  Object.keys(JSON.parse(readFileSync(new URL(`catalog/schema/${part}.schema.json`, root), "utf8")).properties);

/** The first part is read before the first answer, the second after it. */
export const parts = { catalog: tablesOf("catalog"), market: tablesOf("market") };

/** Every file once. */
export const files = [...new Set(Object.values(parts).flat())];

/** The list under `name` ("gpus", "prices.rented") of the files' contents. */
export const listOf = (contents, name) => name.split(".").reduce((at, key) => at?.[key], contents);

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The contents of every file, by its name. `vendor` is another vendor's file. Throws an Error that names the file. */
export function readAll(folder = new URL("catalog/", root), vendor = new URL("vendor.json", folder)) {
  const read = (name) => {
    const file = name === "vendor" ? vendor : new URL(`${name}.json`, folder);
    const text = readFileSync(file, "utf8");
    try {
      return JSON.parse(text);
    } catch (cause) {
      // One row stands on one line: the first that is no JSON by itself is the one to look at.
      const line = text.split("\n").findIndex((row) => row.startsWith('{"') && row.endsWith("},") && !isJson(row.slice(0, -1)));
      throw new Error(`${fileURLToPath(file)}${line < 0 ? "" : `, line ${line + 1}`}: ${cause.message}`, { cause });
    }
  };
  return Object.fromEntries(files.map((name) => [name, read(name)]));
}

/** One part, as it is bundled. */
export const partOf = (contents, part) => Object.fromEntries(parts[part].map((name) => [name, contents[name]]));

/** The row with its keys in the order of the schema; what the schema does not know comes last. */
function ordered(row, schema) {
  const known = Object.keys(schema?.properties ?? {}).filter((key) => key in row);
  const rest = Object.keys(row).filter((key) => !known.includes(key));
  return Object.fromEntries([...known, ...rest].map((key) => [key, row[key]]));
}

const lines = (rows, schema) =>
  rows.length === 0 ? "[]" : `[\n${rows.map((row) => JSON.stringify(ordered(row, schema))).join(",\n")}\n]`;

const sorted = (rows, name) => (order[name] ? [...rows].sort(order[name]) : rows);

/**
 * The text of a file as it has to stand in the repository: one row on one line, sorted. Null for files that have no
 * rows and are written by hand or by a script.
 */
export function canonical(name, content, schema) {
  if (name === "prices") {
    const sections = Object.keys(schema.properties).map((key) => {
      return `${JSON.stringify(key)}:${lines(sorted(content[key], `prices.${key}`), schema.properties[key].items)}`;
    });
    return `{\n${sections.join(",\n")}\n}\n`;
  }
  return Array.isArray(content) ? `${lines(sorted(content, name), schema.items)}\n` : null;
}
