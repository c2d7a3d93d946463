// The only place that knows how the core is loaded and called. Text in, text out; see wasm/tunefit.d.ts. The catalog
// comes in two parts: what an estimate needs, and, when the first answer stands, what can be bought or rented. So does
// the module: one that estimates, and, when somebody asks for a plan, one that plans too.

import { readFacts, readMarket } from "./facts.js";

/** @typedef {import("./contract.d.ts").TunefitModule} TunefitModule */
/** @typedef {import("./contract.d.ts").Report} Report */
/** @typedef {import("./contract.d.ts").Description} Description */
/** @typedef {import("./facts.js").Facts} Facts */
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

const base = import.meta.url;

/** A file beside this script. @param {string} name */
const url = (name) => new URL(`core/${name}`, base).href;

/** The module's factory, in the offline file (scripts/pack_offline.mjs) alone. */
const embedded = () => /** @type {{tunefitCreateCore?: Factory}} */ (globalThis).tunefitCreateCore;

/** What the offline file holds besides. @param {"wasm" | "catalog" | "market"} name */
const embeddedText = (name) => (embedded() && document.getElementById(`tunefit-${name}`)?.textContent) || "";

/** A part of the catalog: embedded in the offline file, else beside this script. @param {"catalog" | "market"} name */
const textNamed = async (name) => embeddedText(name) || (await load(url(`${name}.json`))).text();

/** A module, which the offline file has one of. @param {"first" | "tunefit"} name @returns {Promise<TunefitModule>} */
async function moduleNamed(name) {
  const factory = embedded();
  if (factory) return factory({ wasmBinary: bytesOf(embeddedText("wasm")) });
  const [glue, response] = await Promise.all([
    import(/* @vite-ignore */ url(`${name}.mjs`)),
    load(url(`${name}.wasm`)),
  ]);
  return glue.default({ wasmBinary: new Uint8Array(await response.arrayBuffer()) });
}

/** @typedef {Awaited<ReturnType<typeof startCore>>} Core */

/** @type {Promise<Core> | undefined} */
let loading;

/** One core for all calculators of a document: it keeps nothing between two questions. @returns {Promise<Core>} */
export const loadCore = () => (loading ??= startCore());

/** A part of the catalog that the core refuses. */
export class Refused extends Error {
  /** @param {string} part @param {import("./contract.d.ts").Issue | undefined} issue */
  constructor(part, issue) {
    super(`${part}: ${issue?.message ?? "refused"}`);
    this.issue = issue;
  }
}

/** Throws what the core says against a part of the catalog. @param {string} part @param {string} answer */
function accept(part, answer) {
  const { status, issues } = JSON.parse(answer);
  if (status !== "ok") throw new Refused(part, issues[0]);
}

/** Does something once; what failed may be tried again. @template T @param {() => Promise<T>} action */
function once(action) {
  /** @type {Promise<T> | undefined} */
  let done;
  return () =>
    (done ??= action().catch((error) => {
      done = undefined;
      throw error;
    }));
}

async function startCore() {
  const [module, catalog] = await Promise.all([moduleNamed("first"), textNamed("catalog")]);
  accept("catalog", module.init(catalog));

  /** @param {string} text @returns {Report} */
  function estimateText(text) {
    if (text.length <= requestLimit) return JSON.parse(module.estimate(text));
    const values = { value: text.length, high: requestLimit };
    const message = `The request is ${text.length} characters long; at most ${requestLimit} are read.`;
    return invalid([{ code: "text_too_long", field: "", severity: "error", message, values }]);
  }

  const loadMarketText = once(async () => {
    const text = await textNamed("market");
    accept("market", module.init_market(text));
    return text;
  });
  /** @type {Facts | undefined} */
  let facts;

  return {
    /** @type {Description} */
    description: JSON.parse(module.describe()),
    /** What the first part says for display. */
    get facts() {
      return (facts ??= readFacts(catalog));
    },
    /** Servers and prices. */
    loadMarket: once(async () => readMarket(await loadMarketText())),
    /** The module that plans, both parts of the catalog read: in the offline file the one that is there. */
    loadPlanner: once(async () => {
      const market = await loadMarketText();
      if (embedded()) return module;
      const full = await moduleNamed("tunefit");
      accept("catalog", full.init(catalog));
      accept("market", full.init_market(market));
      return full;
    }),
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
