// The link: state as text after #, readable, holding only what differs from the page's start. Nothing of it ever
// reaches a server. What a link holds and the page does not understand is left out and reported.

import { choicesOf, fieldNamed, fields, isNumeric, longestOf, numberOrText, shortened, startState } from "./fields.js";
import { langs } from "./i18n.js";

/** @typedef {import("./contract.d.ts").State} State */
/** @typedef {import("./contract.d.ts").Description} Description */
/** @typedef {import("./contract.d.ts").Dropped} Dropped */

/**
 * Longest link read: browsers differ, and a pasted config is a few kB; the rest of a link needs far less than its
 * share.
 */
const lengthLimit = 64 * 1024;
const configLimit = 56 * 1024;

/** The version of the link's form. */
const version = "1";

/** Half a surrogate pair cannot be encoded. @param {string} text */
const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** Percent-encoding that leaves a model's name readable. @param {string} text */
const encode = (text) =>
  encodeURIComponent(wellFormed(text)).replace(/%2F/g, "/").replace(/%2C/g, ",").replace(/%3A/g, ":");

/** Whether a value is short enough for a link. @param {import("./fields.js").Key} key @param {string} value */
export const enters = (key, value) =>
  key === "config" ? encode(value).length <= configLimit : value.length <= longestOf(key);

/**
 * @param {State} state
 * @param {{lang?: string, withConfig?: boolean}} [options]  `lang` where it was chosen; the config only on request
 * @returns {string} without the #
 */
export function encodeFragment(state, { lang, withConfig = false } = {}) {
  const start = startState();
  const parts = [`v=${version}`];
  for (const { key } of fields) {
    if (state[key] === start[key] || (key === "config" && !withConfig) || !enters(key, state[key])) continue;
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

/**
 * The language that a link asks for: its texts are loaded while the rest of it waits for the core.
 * @param {string} fragment
 */
export const langNamed = (fragment) =>
  [...fragment.matchAll(/(?:^#?|&)lang=([^&]*)/g)]
    .map(([, lang]) => lang)
    .find((lang) => langs.some((known) => known === lang));

/** Whether a link names a server: those have to be loaded before it can be read. @param {string} fragment */
export const namesServer = (fragment) => /(^#?|&)server=[^&]/.test(fragment);

/**
 * Whether a link's value can stand in a field.
 * @param {string} key @param {string} value @param {Description} description @param {readonly string[]} servers
 */
function valid(key, value, description, servers) {
  if (key === "v") return value === version;
  if (key === "lang") return langs.some((lang) => lang === value);
  const field = fieldNamed(key);
  if (!field) return false;
  if (!enters(field.key, value)) return false;
  if (value === "") return field.start !== "" && key !== "method";
  if (key === "config") {
    try {
      return typeof JSON.parse(value) === "object";
    } catch {
      return false;
    }
  }
  if (field.kind === "choice") return choicesOf(field, description).includes(value);
  if (isNumeric(field.kind)) {
    const number = numberOrText(value, field.kind);
    const { low, high } = description.limits[field.path] ?? { low: -Infinity, high: Infinity };
    if (typeof number !== "number" || number < low || number > high) return false;
    return field.kind !== "integer" || Number.isInteger(number);
  }
  if (key === "gpu") return description.gpus.some(({ id }) => id === value);
  if (key === "server") return servers.includes(value);
  if (key === "version") return /^\d{4}-(0[1-9]|1[0-2])$/.test(value);
  return key === "model" || key === "provider" || /^[\w.,\s-]*$/.test(value);
}

/**
 * @param {string} fragment  with or without the #
 * @param {Description} description
 * @param {readonly string[] | null} [servers]  that the vendor shows; null where they could not be had
 * @returns {{state: State, lang: string | null, dropped: Dropped[]}}
 */
export function decodeFragment(fragment, description, servers = null) {
  const state = startState();
  /** @type {Dropped[]} */
  const dropped = [];
  /** @type {string | null} */
  let lang = null;
  const text = fragment.replace(/^#/, "");
  if (text.length > lengthLimit) return { state, lang, dropped: [{ key: "#", value: "", reason: "long" }] };
  const parts = text.split("&").filter(Boolean);
  /** Keys whose value was taken. @type {Set<string>} */
  const taken = new Set();
  for (const part of parts) {
    const key = part.split("=", 1)[0];
    const raw = part.slice(part.indexOf("=") + 1);
    const value = decode(raw);
    const leave = (/** @type {Dropped["reason"]} */ reason) =>
      dropped.push({ key: shortened(key), value: shortened(value ?? raw), reason });
    const known = fieldNamed(key) ?? ["v", "lang"].includes(key);
    const good = value !== null && valid(key, value, description, servers ?? []);
    if (!known) leave("unknown");
    else if (key === "server" && !servers) leave("unavailable");
    else if (!good) leave(key === "v" ? "version" : "invalid");
    else if (taken.has(key)) leave("repeated");
    else {
      taken.add(key);
      if (key === "lang") lang = value;
      else if (key !== "v") state[/** @type {import("./fields.js").Key} */ (key)] = value;
    }
  }
  return { state, lang, dropped };
}
