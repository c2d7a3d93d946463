// The page's words. English keys are the type: a language that lacks one does not pass the type check or the tests. The
// language that is spoken is loaded, and another one when somebody asks for it.

import { createFormat } from "./format.js";
import { vendor } from "./vendor.js";

/** @typedef {typeof import("./texts/en/index.js").en} FirstTexts */
/** @typedef {typeof import("./texts/en/facts.js").facts} FactTexts */
/** @typedef {typeof import("./texts/en/market.js").market} MarketTexts */
/** @typedef {typeof import("./texts/en/time.js").time} TimeTexts */
/** @typedef {typeof import("./texts/en/cost.js").cost} CostTexts */
/** @typedef {typeof import("./texts/en/wishes.js").wishes} WishTexts */
/** @typedef {typeof import("./texts/en/extras.js").extras} ExtraTexts */
/** @typedef {typeof import("./texts/en/step.js").step} StepTexts */
/** @typedef {typeof import("./texts/en/plan.js").plan} PlanTexts */
/** @typedef {FactTexts & MarketTexts & TimeTexts & CostTexts & WishTexts} RunTexts */
/** @typedef {RunTexts & ExtraTexts & StepTexts & PlanTexts} LaterTexts */
/** @typedef {keyof (FirstTexts & LaterTexts)} TextKey */
/** @typedef {"en" | "nl"} Lang */
/** @typedef {ReturnType<typeof createWords>} Words */

/** Those that are loaded. @type {Record<Lang, Record<string, string>>} */
export const texts = { en: {}, nl: {} };

/** @param {Partial<Record<Lang, Record<string, string>>>} more */
export function addTexts(more) {
  for (const lang of /** @type {const} */ (["en", "nl"])) Object.assign(texts[lang], more[lang]);
}

/** Loads a language, all but what comes after the first answer (later/). @param {Lang} lang */
export const loadTexts = async (lang) =>
  addTexts(lang === "nl" ? await import("./texts/nl/index.js") : await import("./texts/en/index.js"));

/** @type {Record<Lang, string>} */
const locales = { en: "en-GB", nl: "nl-NL" };

/** The languages that the vendor shows. @type {readonly Lang[]} */
export const langs = vendor.languages;

/**
 * The first language of the reader that the page speaks, else the first of the page's own.
 * @param {readonly string[]} preferred e.g. navigator.languages
 * @param {readonly Lang[]} [spoken]
 */
export function pickLang(preferred, spoken = langs) {
  for (const tag of preferred) {
    const lang = spoken.find((known) => tag.toLowerCase().split("-")[0] === known);
    if (lang) return lang;
  }
  return spoken[0];
}

const placeholder = /\{(\w+)\}/;

/** The words of a language that is loaded. @param {Lang} lang */
export function createWords(lang) {
  const own = /** @type {Record<TextKey, string>} */ (texts[lang]);
  const format = createFormat(locales[lang]);
  const plural = new Intl.PluralRules(locales[lang]); // of both languages: one, other

  /** @param {string} key @returns {key is TextKey} */
  const has = (key) => Object.hasOwn(own, key);

  /** @param {TextKey} key @param {Record<string, string | number>} [values] */
  const t = (key, values = {}) =>
    own[key].replace(new RegExp(placeholder, "g"), (whole, name) =>
      String(Object.hasOwn(values, name) ? values[name] : whole),
    );

  return {
    lang,
    format,
    has,
    t,
    /**
     * A text with the form for a number: `key.one`, `key.other`.
     * @param {string} key @param {number} count @param {Record<string, string | number>} [values]
     */
    plural: (key, count, values = {}) =>
      t(/** @type {TextKey} */ (`${key}.${plural.select(count)}`), { ...values, count: format.decimal(count) }),
    /** The noun alone, in the form for a number; "" where there is none. @param {string} key @param {number} count */
    unit: (key, count) => own[/** @type {TextKey} */ (`${key}.${plural.select(count)}`)] ?? "",
    /** The text of a key made at run time, or what to show instead. @param {string} key @param {string} fallback */
    maybe: (key, fallback) => (has(key) ? own[key] : fallback),
    /** The texts under a key and what each needs to be filled with: `prefix` and `prefix.*`. @param {string} prefix */
    variants: (prefix) =>
      /** @type {TextKey[]} */ (Object.keys(own))
        .filter((key) => key === prefix || key.startsWith(`${prefix}.`))
        .map((key) => ({ key, needs: [...own[key].matchAll(new RegExp(placeholder, "g"))].map((match) => match[1]) })),
    /**
     * A sentence in parts, for templates that mark some of them up.
     * @param {TextKey} key @param {Record<string, unknown>} values
     */
    rich: (key, values) => own[key].split(placeholder).map((part, i) => (i % 2 ? (values[part] ?? "") : part)),
    /** @param {import("./contract.d.ts").Range} range */
    range: (range) => format.range(range, own["range.to"]),
  };
}
