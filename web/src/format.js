// Numbers as people read them. The core speaks in bytes; the page shows GiB (2^30), as nvidia-smi and torch do.
// Nothing is calculated here beyond the change of unit.

const KiB = 1024;
const MiB = 1024 * KiB;
const GiB = 1024 * MiB;

/** @typedef {import("./contract.d.ts").Range} Range */
/** @typedef {ReturnType<typeof createFormat>} Format */

/** @param {string} locale e.g. "nl-NL" */
export function createFormat(locale) {
  /** @type {Map<string, Intl.NumberFormat>} */
  const kept = new Map();
  /** @param {number} value @param {Intl.NumberFormatOptions} options */
  const number = (value, options) => {
    const name = JSON.stringify(options);
    // Models are named in B, also where a billion is written bn.
    const own = options.notation && locale === "en-GB" ? "en-US" : locale;
    const formatter = kept.get(name) ?? new Intl.NumberFormat(own, options);
    kept.set(name, formatter);
    return formatter.format(value).replace(/^-/, "−");
  };
  /** @param {number} value @param {number} digits */
  const fixed = (value, digits) => number(value, { minimumFractionDigits: digits, maximumFractionDigits: digits });

  /** The unit a size is shown in, and its digits. @param {number} bytes */
  const unitOf = (bytes) => {
    const size = Math.abs(bytes);
    if (size >= 999.5 * GiB) return { unit: "GiB", scale: GiB, digits: 0 };
    if (size >= 0.0995 * GiB) return { unit: "GiB", scale: GiB, digits: size >= 9.95 * GiB ? 1 : 2 };
    if (size >= 0.0995 * MiB) return { unit: "MiB", scale: MiB, digits: size >= 9.95 * MiB ? 0 : 1 };
    if (size >= KiB) return { unit: "KiB", scale: KiB, digits: 0 };
    return { unit: "B", scale: 1, digits: 0 };
  };

  /** @param {string} iso @param {"long" | "short"} month */
  const date = (iso, month) => {
    const [year, hasMonth, hasDay] = iso.split("-");
    const moment = new Date(`${year}-${hasMonth ?? "01"}-${hasDay ?? "01"}T12:00:00Z`);
    if (Number.isNaN(moment.valueOf())) return iso;
    const parts = { year: "numeric", ...(hasMonth && { month }), ...(hasDay && { day: "numeric" }), timeZone: "UTC" };
    return new Intl.DateTimeFormat(locale, /** @type {Intl.DateTimeFormatOptions} */ (parts)).format(moment);
  };

  return {
    locale,
    /** "17.6 GiB". @param {number} bytes */
    size(bytes) {
      const { unit, scale, digits } = unitOf(bytes);
      return `${fixed(bytes / scale, digits)}\u00a0${unit}`;
    },
    /** "16.4 to 19.0 GiB", by the words of the language. @param {Range} range @param {string} to */
    range({ low, high }, to) {
      const { unit, scale, digits } = unitOf(high);
      return `${fixed(low / scale, digits)} ${to} ${fixed(high / scale, digits)}\u00a0${unit}`;
    },
    /** "19.0", for axes whose unit is said elsewhere. @param {number} bytes */
    gibibytes: (bytes) => number(bytes / GiB, { maximumFractionDigits: 1 }),
    /** "24 GB", as on the box. @param {number} bytes */
    marketed: (bytes) => `${number(bytes / GiB, { maximumFractionDigits: 0 })}\u00a0GB`,
    /** "24,564 MiB", as nvidia-smi prints it. @param {number} bytes */
    mebibytes: (bytes) => `${number(bytes / MiB, { maximumFractionDigits: 0 })}\u00a0MiB`,
    /** "18,897,856,102", to the byte. @param {number} value */
    integer: (value) => number(value, { maximumFractionDigits: 0 }),
    /** "0.516"; what would vanish has its digits. @param {number} value */
    decimal: (value, digits = 3) =>
      number(value, { maximumFractionDigits: value !== 0 && Math.abs(value) < 0.0005 ? 6 : digits }),
    /** "8.03 B" and "8,03 mld.": parameters. @param {number} value */
    compact: (value) => number(value, { notation: "compact", maximumSignificantDigits: 3 }),
    /** "37%"; what is there but too little to say is "< 0.1%". @param {number} share */
    percent: (share) => {
      const shown = share > 0 ? Math.max(share, 0.001) : share;
      const text = number(shown, { style: "percent", maximumFractionDigits: share < 0.0995 ? 1 : 0 });
      return shown > share ? `< ${text}` : text;
    },
    /** "30 November 2026"; of a month "November 2026", of a year "2026". @param {string} iso */
    date: (iso) => date(iso, "long"),
    /** "30 Nov 2026", for tables. @param {string} iso */
    day: (iso) => date(iso, "short"),
    /** "€ 2,49". @param {number} value @param {string} currency @param {number} digits */
    money: (value, currency, digits) =>
      number(value, { style: "currency", currency, minimumFractionDigits: digits, maximumFractionDigits: digits }),
    /** "a, b or c". @param {string[]} items */
    either: (items) => new Intl.ListFormat(locale, { type: "disjunction" }).format(items),
    /** "a, b and c". @param {string[]} items */
    list: (items) => new Intl.ListFormat(locale, { type: "conjunction" }).format(items),
  };
}

/** GiB as bytes, for the ticks of an axis. */
export const bytesPerGibibyte = GiB;
