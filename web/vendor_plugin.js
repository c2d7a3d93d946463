// Puts a vendor (catalog/vendor.json, or the file that TUNEFIT_VENDOR names) into the page as it is built: title, name,
// logo, colours, legal text and languages are there at the first paint. What is for sale comes with core/market.json.

import { readFileSync } from "node:fs";
import path from "node:path";

import { isolated } from "./src/isolated.js";
import { en } from "./src/texts/en/index.js";
import { nl } from "./src/texts/nl/index.js";
import { firstTexts } from "./src/texts/first.js";

/** @typedef {import("./src/catalog.d.ts").PageVendor} PageVendor */
/** @typedef {{accent: string, on_accent: string, accent_soft: string}} Colours */
/** @typedef {PageVendor & {colours?: {light: Colours, dark: Colours}}} Vendor */

const titles = { en: en["page.title"], nl: nl["page.title"] };

/** @param {string} text */
const escape = (text) =>
  text.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);

/** Hue in degrees and chroma from 0 to 1 of `#rrggbb`. @param {string} colour */
function hueOf(colour) {
  const [r, g, b] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255);
  const high = Math.max(r, g, b);
  const chroma = high - Math.min(r, g, b);
  if (chroma === 0) return { hue: 0, chroma };
  const sixth = high === r ? (g - b) / chroma : high === g ? 2 + (b - r) / chroma : 4 + (r - g) / chroma;
  return { hue: (360 + 60 * sixth) % 360, chroma };
}

/**
 * Whether a verdict that a run fits may be said in an accent: not where that is a grey, or one of the yellows and reds
 * that say "tight" and "does not fit".
 * @param {string} accent
 */
export function canSayFits(accent) {
  const { hue, chroma } = hueOf(accent);
  return chroma > 0.15 && hue > 75 && hue < 285;
}

/** @param {Colours} colours */
const rule = ({ accent, on_accent: on, accent_soft: soft }) => `body:has(> tunefit-calculator[page]), tunefit-calculator {
  --accent: ${accent};
  --on-accent: ${on};
  --accent-soft: ${soft};${canSayFits(accent) ? `\n  --fits: ${accent};` : ""}
}
`;

/** The stylesheet's last word, "" for the page's own colours. @param {Vendor} vendor */
export const coloursOf = ({ colours }) =>
  colours ? `${rule(colours.light)}@media screen and (prefers-color-scheme: dark) {\n${rule(colours.dark)}}\n` : "";

/**
 * The page's head and what stands in it until the calculator does, in the vendor's first language.
 * @param {Vendor} vendor @returns {Record<string, string>}
 */
export function firstPaint({ name, logo, languages: [lang], legal }) {
  const image = logo ? `<img class="logo" src="${escape(logo)}" alt="">` : "";
  const texts = firstTexts[lang];
  return {
    "%LANG%": lang,
    "%TITLE%": escape(titles[lang].replace("{name}", () => isolated(name))),
    "%DESCRIPTION%": escape(texts.description),
    "%NAME%": `${image}<bdi>${escape(name)}</bdi>`,
    "%WAITING%": escape(texts.waiting),
    "%NOSCRIPT%": escape(texts.noscript),
    "%LEGAL%": legal?.[lang] ? `<p class="legal">${escape(legal[lang])}</p>` : "",
  };
}

/**
 * The sign of the page on its tab: the vendor's logo, else what stands there.
 * @param {Pick<Vendor, "logo">} vendor @param {string} link
 */
export function iconLink({ logo }, link) {
  if (!logo) return link;
  const type = /^data:image\/png|\.png$/.test(logo) ? "image/png" : "image/svg+xml";
  return `<link rel="icon" type="${type}" href="${escape(logo)}">`;
}

/** What src/vendor.js says of a vendor. @param {Vendor} vendor @returns {PageVendor} */
export const pageVendor = ({ name, url, logo, contact, languages, currency, legal }) =>
  ({ name, url, logo, contact, languages, currency, legal });

/** Its logo lies beside its file. @param {string} file @param {boolean} offline as a data: address */
export function readVendor(file, offline) {
  /** @type {Vendor} */
  const vendor = JSON.parse(readFileSync(file, "utf8"));
  if (!vendor.logo) return { vendor, image: null };
  const extension = path.extname(vendor.logo).slice(1);
  const type = { svg: "image/svg+xml", png: "image/png" }[extension];
  const source = readFileSync(path.join(path.dirname(file), vendor.logo));
  const fileName = `logo.${extension}`;
  const logo = offline ? `data:${type};base64,${source.toString("base64")}` : `./${fileName}`;
  return { vendor: { ...vendor, logo }, image: offline ? null : { fileName, source } };
}

/** @param {string} file @param {boolean} offline @returns {import("vite").Plugin} */
export function vendorPlugin(file, offline) {
  const { vendor, image } = readVendor(file, offline);
  return {
    name: "vendor",
    enforce: "pre",
    transform(code, id) {
      if (id.endsWith("/src/vendor.js")) return `export const vendor = ${JSON.stringify(pageVendor(vendor))};`;
      if (id.endsWith("/styles/index.css")) return code + coloursOf(vendor);
    },
    generateBundle() {
      if (image) this.emitFile({ type: "asset", ...image });
    },
    transformIndexHtml: {
      order: "post",
      handler: (html) => {
        const parts = firstPaint(vendor);
        return html
          .replace(/%[A-Z]+%/g, (whole) => parts[whole] ?? whole)
          .replace(/<link rel="icon"[^>]*>/, (link) => iconLink(vendor, link));
      },
    },
  };
}
