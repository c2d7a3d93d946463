// The only place that knows how the core is loaded and called. Text in, text out; see wasm/tunefit.d.ts.

/** @typedef {import("./contract.d.ts").TunefitModule} TunefitModule */
/** @typedef {import("./contract.d.ts").Report} Report */
/** @typedef {import("./contract.d.ts").Description} Description */
/** @typedef {(options: {wasmBinary: Uint8Array}) => Promise<TunefitModule>} Factory */

/** Longest request, in UTF-16 units; a longer one is refused before it is copied into the module. */
const requestLimit = 256_000;

/** @param {string} text */
function bytesOf(text) {
  const raw = atob(text.trim());
  return Uint8Array.from(raw, (character) => character.charCodeAt(0));
}

/** @param {string} url */
async function load(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${response.statusText} (${url})`);
  return response;
}

/**
 * The three parts of the core: embedded in the offline file (scripts/pack_offline.mjs), else fetched beside this
 * script.
 */
async function parts() {
  const embedded = /** @type {{tunefitCreateCore?: Factory}} */ (globalThis).tunefitCreateCore;
  const wasm = document.getElementById("tunefit-wasm")?.textContent;
  const catalog = document.getElementById("tunefit-catalog")?.textContent;
  if (embedded && wasm && catalog) return { factory: embedded, wasmBinary: bytesOf(wasm), catalog };
  const base = import.meta.url;
  const url = (/** @type {string} */ name) => new URL(`core/${name}`, base).href;
  const [glue, wasmResponse, catalogResponse] = await Promise.all([
    import(/* @vite-ignore */ url("tunefit.mjs")),
    load(url("tunefit.wasm")),
    load(url("catalog.json")),
  ]);
  const [buffer, text] = await Promise.all([wasmResponse.arrayBuffer(), catalogResponse.text()]);
  return { factory: /** @type {Factory} */ (glue.default), wasmBinary: new Uint8Array(buffer), catalog: text };
}

/** @typedef {Awaited<ReturnType<typeof startCore>>} Core */

/** @type {Promise<Core> | undefined} */
let loading;

/** One core for all calculators of a document: it keeps nothing between two questions. @returns {Promise<Core>} */
export const loadCore = () => (loading ??= startCore());

async function startCore() {
  const { factory, wasmBinary, catalog } = await parts();
  const module = await factory({ wasmBinary });
  const { status, issues } = JSON.parse(module.init(catalog));
  if (status !== "ok") throw new Error(`catalog: ${issues[0]?.message ?? status}`);

  /** @param {string} text @returns {Report} */
  function estimateText(text) {
    if (text.length <= requestLimit) return JSON.parse(module.estimate(text));
    const values = { value: text.length, high: requestLimit };
    const message = `The request is ${text.length} characters long; at most ${requestLimit} are read.`;
    return invalid([{ code: "text_too_long", field: "", severity: "error", message, values }]);
  }

  return {
    /** @type {Description} */
    description: JSON.parse(module.describe()),
    /** @param {Record<string, unknown>} request */
    estimate: (request) => estimateText(JSON.stringify(request)),
    /** What the core says of a text that is no JSON, where in it. @param {string} text */
    issuesOfText: (text) => estimateText(text).issues,
  };
}

/** @param {Report["issues"]} issues @returns {Report} */
export const invalid = (issues) => ({
  version: 1,
  status: "invalid",
  issues,
  assumptions: [],
  request: null,
  model: null,
  recipe: null,
  hardware: null,
  memory: null,
  fit: null,
  time: null,
  cost: null,
  advice: [],
});
