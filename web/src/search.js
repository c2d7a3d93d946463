// What a search box finds, the likeliest first. Pure; combobox.js draws it.

import { groups } from "d3-array";

/**
 * @typedef {object} Option
 * @property {string} id
 * @property {string} name
 * @property {string} detail
 * @property {string} group
 * @property {string[]} names  what it may be called: name, id, Hugging Face id, aliases
 * @property {string[]} about  what else finds it: maker, family, architecture
 * @property {number} usual  the smaller, the more people ask for it
 */

/** What most people fine-tune, and on what: only the order in which equal matches are shown. */
export const usualModels = [
  "llama-3.1-8b", "qwen3-8b", "qwen2.5-7b", "mistral-7b-v0.3", "llama-3.3-70b", "llama-3.2-3b", "llama-3.2-1b",
  "qwen3-32b",
  "qwen3-14b", "qwen3-4b", "gemma-2-9b", "llama-3.1-70b", "qwen2.5-coder-7b", "mistral-nemo-12b", "mistral-small-24b",
];
export const usualGpus = [
  "h100-sxm", "rtx-4090", "a100-sxm4-80gb", "rtx-3090", "h200-sxm", "rtx-5090", "a100-pcie-80gb", "l40s",
  "a100-sxm4-40gb", "h100-pcie",
  "b200", "mi300x", "rtx-a6000", "rtx-6000-ada", "rtx-pro-6000-blackwell-ws", "l4", "t4", "v100-sxm2-16gb",
];

/** The place of an id in such a list; those that are not in it come last. @param {string[]} list @param {string} id */
export const rankIn = (list, id) => (list.includes(id) ? list.indexOf(id) : list.length);

/** @param {string} text */
const plain = (text) => text.trim().toLowerCase();

/** "RTX 4090", "rtx-4090" and "rtx4090" are one. @param {string} text */
const squeezed = (text) => plain(text).replace(/[\s_-]+/g, "");

/** @param {string} text */
const wordsOf = (text) => plain(text).split(/[^\p{L}\p{N}.]+/u).filter(Boolean);

/**
 * The option that a text names in full.
 * @param {string} text @param {readonly Option[]} options
 * @returns {Option | undefined}
 */
export function named(text, options) {
  const wanted = plain(text);
  return wanted ? options.find(({ names }) => names.some((name) => plain(name) === wanted)) : undefined;
}

/**
 * How well an option answers a query: 0 it is named in full, 1 a name begins so, 2 each word of the query begins a
 * word, 3 each stands somewhere in it, -1 not at all.
 * @param {string} query @param {Option} option
 */
export function matchOf(query, { names, about }) {
  const wanted = plain(query);
  if (names.some((name) => plain(name) === wanted)) return 0;
  const close = squeezed(query);
  const wholes = names.flatMap((name) => [name, name.split("/")[1] ?? ""]);
  if (wholes.some((name) => squeezed(name).startsWith(close))) return 1;
  const words = wanted.split(/[\s/_-]+/).filter(Boolean);
  const starts = [...names, ...about].flatMap(wordsOf);
  if (words.every((word) => starts.some((start) => start.startsWith(word)))) return 2;
  const text = plain([...names, ...about].join("\n"));
  return words.every((word) => text.includes(word)) ? 3 : -1;
}

/**
 * The options that a query finds, group by group as they are shown: the group of the best first. Where words begin so,
 * those that only hold the letters somewhere are left out.
 * @param {string} query @param {readonly Option[]} options @returns {Option[]}
 */
export function search(query, options) {
  if (plain(query) === "") return [...options];
  const found = options.map((option) => ({ option, match: matchOf(query, option) })).filter(({ match }) => match >= 0);
  const begins = found.some(({ match }) => match < 3);
  const ranked = found
    .filter(({ match }) => !begins || match < 3)
    .sort((a, b) => a.match - b.match || a.option.usual - b.option.usual)
    .map(({ option }) => option);
  return groups(ranked, ({ group }) => group).flatMap(([, members]) => members);
}

/**
 * The option that a typed text stands for without a choice: named in full, or the only one found.
 * @param {string} text @param {readonly Option[]} options
 */
export function meant(text, options) {
  const found = search(text, options);
  return named(text, options) ?? (plain(text) && found.length === 1 ? found[0] : undefined);
}
