// The page's state and the answers to it, in one direction: set -> core -> subscribers. No component keeps a copy.

import { invalid } from "./core_client.js";
import { applies, fields, requestOf, startState } from "./fields.js";

/** @typedef {import("./contract.d.ts").State} State */
/** @typedef {import("./contract.d.ts").Report} Report */
/** @typedef {import("./core_client.js").Core} Core */

/**
 * The run on another card.
 * @typedef {object} CardFit
 * @property {string} id
 * @property {NonNullable<Report["fit"]>["verdict"] | null} verdict  null where the card refuses the run
 * @property {number} headroom
 * @property {string} unsupported  number format that the card does not compute in, or ""
 */

/**
 * What is worth working out after the first answer only: a few dozen estimates.
 * @typedef {{batch: number | null, length: number | null, cards: CardFit[]}} Extras
 */

/** Milliseconds of quiet before the extras are worked out, and of work before the page may draw again. */
const quiet = 120;
const sliceMs = 8;

/** @param {Report | Record<string, unknown>} value @returns {value is Report} */
const isReport = (value) => "status" in value;

export class Store {
  /** @type {Set<() => void>} */
  #listeners = new Set();
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;

  /** @param {Core} core @param {State} state */
  constructor(core, state) {
    this.core = core;
    this.state = state;
    /** The answer to the state as it is, perhaps `invalid`. @type {Report} */
    this.report = invalid([]);
    /** The last answer that was one. @type {Report | null} */
    this.answer = null;
    /** Belongs to `answer`; null until it is worked out. @type {Extras | null} */
    this.extras = null;
    this.#estimate();
  }

  /** Whether the answer shown is of an earlier input. */
  get outdated() {
    return this.answer !== this.report;
  }

  /** @param {() => void} listener @returns {() => void} unsubscribes */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** @param {Partial<State>} patch */
  set(patch) {
    const keys = /** @type {import("./fields.js").Key[]} */ (Object.keys(patch));
    if (keys.every((key) => this.state[key] === patch[key])) return;
    this.state = /** @type {State} */ ({ ...this.state, ...patch });
    this.#estimate();
    this.#notify();
  }

  reset() {
    this.set(startState());
  }

  /** The request for the state, or what is wrong with the pasted config. @returns {Report | Record<string, unknown>} */
  #request() {
    try {
      return requestOf(this.state);
    } catch {
      const issues = this.core.issuesOfText(this.state.config).slice(0, 1);
      return invalid(issues.map((issue) => ({ ...issue, field: "model.config", severity: "error" })));
    }
  }

  /** Asks the same again: the core has read more of the catalog. What fits is as it was. */
  again() {
    this.#ask();
    this.#notify();
  }

  /** @returns {Record<string, unknown> | null} the request, where the answer is one */
  #ask() {
    const request = this.#request();
    this.report = isReport(request) ? request : this.core.estimate({ ...request, include: ["timeline"] });
    if (this.report.status !== "ok" || isReport(request)) return null;
    this.answer = this.report;
    return request;
  }

  #estimate() {
    const request = this.#ask();
    if (!request) return;
    this.extras = null;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#workOutExtras(request), quiet);
  }

  /** In slices, so that typing is never held up. @param {Record<string, unknown>} request */
  #workOutExtras(request) {
    // What fits has nothing to do with data and prices.
    const summary = { ...request, detail: "summary", dataset: undefined, pricing: undefined };
    const { fit } = this.core.estimate({ ...summary, include: ["limits"] });
    const gpus = this.core.description.gpus.map(({ id }) => id);
    /** @type {CardFit[]} */
    const cards = [];
    const slice = () => {
      for (const end = performance.now() + sliceMs; cards.length < gpus.length && performance.now() < end; ) {
        const id = gpus[cards.length];
        const { fit: found, issues } = this.core.estimate({ ...summary, hardware: { gpu: id } });
        const unsupported = issues.find(({ code }) => code === "dtype_unsupported")?.values.value;
        cards.push({
          id,
          verdict: found?.verdict ?? null,
          headroom: found?.headroom_bytes ?? 0,
          unsupported: unsupported === undefined ? "" : String(unsupported),
        });
      }
      if (cards.length < gpus.length) {
        this.#timer = setTimeout(slice);
        return;
      }
      this.extras = { batch: fit?.largest_batch ?? null, length: fit?.longest_sequence_tokens ?? null, cards };
      this.#notify();
    };
    slice();
  }

  #notify() {
    for (const listener of this.#listeners) listener();
  }
}

/** Fields that the reader changed from what the page opens with, and that count. @param {State} state */
export const changed = (state) => fields.filter((field) => state[field.key] !== field.start && applies(field, state));
