// Durations and amounts of money as people say them. The core speaks in hours, seconds and whole amounts; only the unit
// changes here.

/** @typedef {import("../i18n.js").Words} Words */
/** @typedef {import("../contract.d.ts").Range} Range */

/** Seconds in each, and from how many on it is used. */
const units = /** @type {const} */ ([
  ["days", 86_400, 48 * 3600],
  ["hours", 3600, 90 * 60],
  ["minutes", 60, 90],
  ["seconds", 1, 0],
]);

/** Two figures, and whole from ten on. @param {number} value */
const digitsOf = (value) => (value >= 9.95 ? 0 : value >= 0.995 ? 1 : value >= 0.0995 ? 2 : 3);

/** What was rounded to the same is said once. @param {Words} words @param {string[]} ends */
const joined = (words, ends) => [...new Set(ends)].join(` ${words.t("range.to")} `);

/**
 * A count of something with its noun. @param {Words} words @param {string} key @param {number} value
 * @param {number} [digits]
 */
export function counted(words, key, value, digits = digitsOf(value)) {
  const text = words.format.decimal(value, digits);
  return `${text}\u00a0${words.unit(key, Number(value.toFixed(digits)))}`;
}

/**
 * "9.5 hours" and "6.6 to 12.8". @param {Words} words @param {Range} seconds
 */
export function duration(words, { low, expected, high }) {
  const [name, scale] = units.find(([, , from]) => expected >= from) ?? units[3];
  const digits = digitsOf(low / scale);
  return {
    amount: counted(words, `duration.${name}`, expected / scale, digitsOf(expected / scale)),
    range: joined(words, [low, high].map((end) => words.format.decimal(end / scale, digits))),
  };
}

/** @param {Words} words @param {Range} hours */
export const hoursOf = (words, { low, expected, high }) =>
  duration(words, { low: low * 3600, expected: expected * 3600, high: high * 3600 });

/** @param {Words} words @param {number} value @param {string} currency */
export function money(words, value, currency) {
  if (value > 0 && value < 0.005) return `< ${words.format.money(0.01, currency, 2)}`;
  return words.format.money(value, currency, value < 99.995 ? 2 : 0);
}

/** @param {Words} words @param {{low: number, high: number}} range @param {string} currency */
export const moneyRange = (words, { low, high }, currency) =>
  joined(words, [low, high].map((end) => money(words, end, currency)));

/** Rounded to so many figures. @param {number} value @param {number} count */
const rounded = (value, count) => Number(value.toPrecision(count));

/** "1,790" and "1,330 to 2,600". @param {Words} words @param {Range} range */
export function figures(words, { low, expected, high }) {
  const digits = digitsOf(low);
  return {
    amount: words.format.decimal(rounded(expected, 3), digitsOf(expected)),
    range: joined(words, [low, high].map((end) => words.format.decimal(rounded(end, 3), digits))),
  };
}

/**
 * When something is reached, which may be never: "8,100 hours" and "6,100 to 11,000".
 * @param {Words} words @param {string} key
 * @param {{low: number | null, expected: number | null, high: number | null}} reach
 */
export function reached(words, key, { low, expected, high }) {
  const never = words.t("duration.never");
  const end = (/** @type {number | null} */ value) =>
    value === null ? never : words.format.decimal(rounded(value, 2), digitsOf(value));
  return {
    amount: expected === null ? never : counted(words, key, rounded(expected, 2)),
    range: joined(words, [end(low), end(high)]),
  };
}

/** The oldest of several dates; null where there are none. @param {(string | null)[]} dates */
export const oldest = (dates) => dates.filter((date) => date !== null).sort()[0] ?? null;
