// The link: state as text after #, readable, holding only what differs from the page's start. Nothing of it ever
// reaches a server. What a link holds and the page does not understand is left out and reported.

import { choicesOf, fieldNamed, fields, numberOrText, startState } from "./fields.js";

/** @typedef {import("./contract.d.ts").State} State */
/** @typedef {import("./contract.d.ts").Description} Description */
/** @typedef {import("./contract.d.ts").Dropped} Dropped */

/** Longest link read: browsers differ, and a pasted config is a few kB. */
const lengthLimit = 64 * 1024;

/** Half a surrogate pair cannot be encoded. @param {string} text */
const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** Percent-encoding that leaves a model's name readable. @param {string} text */
const encode = (text) => encodeURIComponent(wellFormed(text)).replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%3A/g, ":");

/**
 * @param {State} state
 * @param {{lang?: string, withConfig?: boolean}} [options]  `lang` where it was chosen; the config only on request
 * @returns {string} without the #
 */
export function encodeFragment(state, { lang, withConfig = false } = {}) {
  const start = startState();
  const parts = ["v=1"];
  for (const { key } of fields) {
    if (state[key] === start[key] || (key === "config" && !withConfig)) continue;
    parts.push(`${key}=${encode(state[key])}`);
  }
  if (lang) parts.push(`lang=${lang}`);
  return parts.length === 1 ? "" : parts.join("&");
}

/** @param {string} text */
function decode(text) {
  try {
    return wellFormed(decodeURIComponent(text.replaceAll("+", " ")));
  } catch {
    return null;
  }
}

/** Whether a link's value can stand in a field. @param {string} key @param {string} value @param {Description} description */
function valid(key, value, description) {
  const field = fieldNamed(key);
  if (!field) return false;
  if (value === "") return field.start !== "" && key !== "method";
  if (key === "config") {
    try {
      return typeof JSON.parse(value) === "object";
    } catch {
      return false;
    }
  }
  if (field.kind === "choice") return choicesOf(field, description).includes(value);
  if (field.kind === "integer" || field.kind === "decimal") {
    const number = numberOrText(value, field.kind);
    const { low, high } = description.limits[field.path] ?? { low: -Infinity, high: Infinity };
    return typeof number === "number" && number >= low && number <= high && (field.kind === "decimal" || Number.isInteger(number));
  }
  if (key === "gpu") return description.gpus.some(({ id }) => id === value);
  if (key === "version") return /^\d{4}-\d{2}$/.test(value);
  if (key === "model") return value.length <= 200;
  return /^[\w.,\s-]{0,500}$/.test(value);
}

/**
 * @param {string} fragment  with or without the #
 * @param {Description} description
 * @returns {{state: State, lang: string | null, dropped: Dropped[]}}
 */
export function decodeFragment(fragment, description) {
  const state = startState();
  /** @type {Dropped[]} */
  const dropped = [];
  /** @type {string | null} */
  let lang = null;
  const text = fragment.replace(/^#/, "");
  if (text.length > lengthLimit) return { state, lang, dropped: [{ key: "#", value: "", reason: "invalid" }] };
  const parts = text.split("&").filter(Boolean);
  const pairs = parts.map((part) => /** @type {const} */ ([part.split("=", 1)[0], part.slice(part.indexOf("=") + 1)]));
  for (const [key, raw] of pairs) {
    const value = decode(raw);
    if (key === "v" && value === "1") continue;
    if (key === "lang" && (value === "en" || value === "nl")) lang = value;
    else if (value !== null && valid(key, value, description)) state[/** @type {import("./fields.js").Key} */ (key)] = value;
    else dropped.push({ key, value: (value ?? raw).slice(0, 80), reason: fieldNamed(key) ? "invalid" : "unknown" });
  }
  return { state, lang, dropped };
}
