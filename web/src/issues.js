// The core's issues in the reader's language, at the field they name.

import { applies, fieldNamed, keyOfPath, scaleOf, shortened } from "./fields.js";

/** @typedef {import("./contract.d.ts").Issue} Issue */
/** @typedef {import("./contract.d.ts").State} State */
/** @typedef {import("./i18n.js").Words} Words */
/** @typedef {import("./i18n.js").TextKey} TextKey */
/** @typedef {{key: import("./fields.js").Key | null, severity: Issue["severity"], code: string, text: string}} Told */

/**
 * What a path is called: the field's label, else the last name in it, as a config.json has it.
 * @param {string} path @param {Words} words @param {boolean} pasted
 */
export function labelOf(path, words, pasted = false) {
  const key = keyOfPath(path, pasted);
  if (key && key !== "config" && !path.startsWith("model.")) {
    return words.maybe(`path.${path}`, words.maybe(`field.${key}`, path));
  }
  const last = path.split(".").filter((name) => !/^\d+$/.test(name)).at(-1);
  return words.maybe(`path.${path}`, shortened(last || "JSON"));
}

/**
 * Numbers as the language writes them and as the field takes them; other values as they are.
 * @param {string | number} value @param {Words} words @param {number} scale
 */
function shown(value, words, scale) {
  const text = String(value);
  return /^-?\d{1,18}(\.\d+)?(e-\d+)?$/.test(text) ? words.format.decimal(Number(text) * scale) : text;
}

/** What a wish, or what there is instead, is called. @param {string} field @param {Words} words */
const namer = (field, words) => (/** @type {string} */ text) =>
  field === "pricing.term" ? words.maybe(`price.term.${text}`, text) : text;

/**
 * One issue as a sentence: one for this very field where there is one, else of the texts of its code the one with the
 * most placeholders that can all be filled. A code that the page does not know falls back on the core's own English.
 * @param {Issue} issue @param {Words} words
 * @param {{label: string, typed?: string, scale?: number, provider?: string}} at  `provider`: who was wished for
 * @returns {string}
 */
export function sentence(issue, words, { label, typed, scale = 1, provider }) {
  const own = issue.severity === "note" ? words.maybe(`about.${issue.code}.${issue.field}`, "") : "";
  if (own) return own;
  const wish = issue.severity === "warning" && words.variants(`wish.${issue.field}`).length > 0;
  const prefix = wish ? `wish.${issue.field}` : `issue.${issue.code}`;
  /** @type {Record<string, string>} */
  const values = { field: label };
  for (const [name, value] of Object.entries(issue.values ?? {})) {
    values[name] = name === "known" ? String(value) : shortened(shown(value, words, scale));
  }
  if (typed && (issue.code === "wrong_type" || !values.value)) values.value = shortened(typed);
  const form = words.maybe(`form.${issue.field}`, "");
  if (form) values.form = form;
  const named = namer(issue.field, words);
  if (wish) values.value = named(values.value);
  if (wish && provider) values.provider = provider;
  if (values.known) values.known = words.format.either(values.known.split(/, | or /).map(named));
  const { expected } = values;
  if (expected) values.expected = words.maybe(`expected.${expected.replaceAll(" ", "_")}`, expected);
  const variants = words.variants(prefix).filter(({ needs }) => needs.every((name) => Object.hasOwn(values, name)));
  const best = variants.sort((a, b) => b.needs.length - a.needs.length)[0];
  return best ? words.t(best.key, values) : issue.message;
}

/**
 * @param {Issue[]} issues @param {State} state @param {Words} words
 * @returns {Told[]}
 */
export function tell(issues, state, words) {
  const pasted = state.config.trim() !== "";
  return issues.map((issue) => {
    const named = keyOfPath(issue.field, pasted);
    const shows = named === null || applies(/** @type {import("./fields.js").Field} */ (fieldNamed(named)), state);
    const key = shows ? named : "method";
    const typed = key && key !== "config" && key !== "targets" ? state[key] : undefined;
    const at = { label: labelOf(issue.field, words, pasted), typed, scale: scaleOf(named), provider: state.provider };
    const text = sentence(issue, words, at);
    return { key, severity: issue.severity, code: issue.code, text };
  });
}
