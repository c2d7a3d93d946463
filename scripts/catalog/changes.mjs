// What differs between two states of the catalog, row by row and field by field.

import { files, keyOf, listOf, order } from "./tables.mjs";

/** What a list's items are called in a path: what names them where that is unique, else their places. */
function namesOf(items) {
  const names = items.map((item) => String(item.since ?? item.id ?? item.gpu ?? item.what));
  return new Set(names).size === items.length ? names : items.map((_, i) => String(i));
}

/** A value's parts by their names; null for what is shown whole: one value, or a list of such. */
function partsOf(value) {
  if (value === null || typeof value !== "object" || Object.keys(value).length === 0) return null;
  if (!Array.isArray(value)) return Object.entries(value);
  const isRows = value.every((item) => item !== null && typeof item === "object" && !Array.isArray(item));
  return isRows ? namesOf(value).map((name, i) => [name, value[i]]) : null;
}

/** Leaves of a value by their dotted path. */
function flat(value, path = "") {
  const parts = partsOf(value);
  if (!parts) return { [path]: JSON.stringify(value) };
  return Object.assign({}, ...parts.map(([key, inner]) => flat(inner, path ? `${path}.${key}` : key)));
}

function fieldChanges(before, after) {
  const [old, now] = [flat(before), flat(after)];
  const paths = [...new Set([...Object.keys(old), ...Object.keys(now)])];
  return paths.filter((path) => old[path] !== now[path])
    .map((path) => `    ${path}: ${old[path] ?? "(absent)"} -> ${now[path] ?? "(absent)"}`);
}

/** Lines that say what changed from `before` to `after`, contents of all files as readAll gives them. */
export function changes(before, after) {
  const lines = [];
  for (const name of Object.keys(order)) {
    const old = new Map((listOf(before, name) ?? []).map((row) => [keyOf(row, name), row]));
    const now = new Map((listOf(after, name) ?? []).map((row) => [keyOf(row, name), row]));
    for (const [key, row] of now) {
      if (!old.has(key)) lines.push(`+ ${name}: ${key}`);
      else {
        const fields = fieldChanges(old.get(key), row);
        if (fields.length > 0) lines.push(`~ ${name}: ${key}`, ...fields);
      }
    }
    for (const key of old.keys()) if (!now.has(key)) lines.push(`- ${name}: ${key}`);
  }
  // Files without rows: the date, the vendor, the fitted constants.
  for (const name of files.filter((file) => !Object.keys(order).some((list) => list.split(".")[0] === file))) {
    const fields = fieldChanges(before[name], after[name]);
    if (fields.length > 0) lines.push(`~ ${name}`, ...fields);
  }
  return lines;
}
