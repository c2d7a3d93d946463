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
  switches: byFields("stack", "change"),
  "prices.rented": byFields("gpu", "provider", "term", "region", "date", "instance", "gpus"),
  "prices.gpus": byFields("gpu", "kind", "date", "low"),
  "prices.servers": byFields("what", "date", "low"),
  "prices.services": byFields("provider", "models"),
  "prices.defaults": byId,
};

/** What makes a row another one, in lists whose rows have no id. No two rows agree in all of these. */
export const identity = {
  "overheads.contexts": ["architecture"],
  "efficiencies.architectures": ["architecture"],
  "efficiencies.runs": ["source"],
  "prices.rented": ["provider", "instance", "gpu", "gpus", "term", "region", "date"],
  "prices.gpus": ["gpu", "kind", "currency", "date"],
  "prices.servers": ["what", "server", "gpu", "gpus", "kind", "currency", "date"],
  "prices.services": ["provider", "method", "models", "currency", "date"],
  switches: ["stack", "change"],
  "vendor.prices.gpus": ["gpu"],
  "vendor.prices.servers": ["server", "gpu", "gpus"],
};

/** What names a row of the list under `name`: its id, or what makes it another one. */
export function keyOf(row, name) {
  const fields = identity[name];
  if (!fields) return String(row.id);
  return fields.map((field) => (field === "gpus" && row.gpus ? `x${row.gpus}` : row[field])).filter(Boolean).join(" ");
}

const tablesOf = (part) =>
  Object.keys(JSON.parse(readFileSync(new URL(`catalog/schema/${part}.schema.json`, root), "utf8")).properties);

/** The first part is read before the first answer, the second after it. */
export const parts = { catalog: tablesOf("catalog"), market: tablesOf("market") };

/** Every file once. */
export const files = [...new Set(Object.values(parts).flat())];

/** The list under `name` ("gpus", "prices.rented") of the files' contents. */
export const listOf = (contents, name) => name.split(".").reduce((at, key) => at?.[key], contents);

/**
 * What JSON.parse takes and the core refuses, as {code, field, at}, the first of it: a key twice in one object, of which
 * JSON.parse keeps the last, and half a pair of surrogates. `at` is its place in the text, which is JSON.
 */
export function textFault(text) {
  const open = []; // the keys of each object around, null for a list
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else {
      const value = token.includes("\\") ? JSON.parse(token) : token.slice(1, -1);
      if (!value.isWellFormed()) return { code: "invalid_utf8", field: value, at: index };
      if (!/^\s*:/.test(text.slice(index + token.length, index + token.length + 40))) continue;
      if (open.at(-1).has(value)) return { code: "duplicate_key", field: value, at: index };
      open.at(-1).add(value);
    }
  }
  return null;
}

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
      const value = JSON.parse(text);
      const fault = textFault(text);
      if (!fault) return value;
      const line = text.slice(0, fault.at).split("\n").length;
      const said = fault.code === "duplicate_key" ? "is given more than once in one object" : "holds half a character";
      throw new Error(`${fileURLToPath(file)}, line ${line}: ${JSON.stringify(fault.field)} ${said}`);
    } catch (cause) {
      if (!(cause instanceof SyntaxError)) throw cause;
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
