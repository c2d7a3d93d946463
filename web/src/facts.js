// The catalog's rows for display, from the same two texts that the core reads. Nothing is calculated with them here.
// What is said of them in full comes after the first answer: later/.

/** @typedef {import("./catalog.d.ts").GpuRow} GpuRow */
/** @typedef {import("./catalog.d.ts").ModelRow} ModelRow */
/** @typedef {import("./catalog.d.ts").Source} Source */
/** @typedef {import("./catalog.d.ts").Market} Market */
/** @typedef {{id: string, en: string, nl: string}} Phrase */

/**
 * @typedef {object} Facts
 * @property {Map<string, GpuRow>} gpus
 * @property {Map<string, ModelRow>} models
 * @property {Map<string, Phrase>} purposes
 * @property {Map<string, Source>} sources
 */

/** @template {{id: string}} Row @param {Row[]} rows @returns {Map<string, Row>} */
const byId = (rows) => new Map(rows.map((row) => [row.id, row]));

/** @param {string} text the first part of the catalog @returns {Facts} */
export function readFacts(text) {
  const { gpus, models, purposes, sources } = JSON.parse(text);
  return { gpus: byId(gpus), models: byId(models), purposes: byId(purposes), sources: byId(sources) };
}

/** @param {string} text the second part @returns {Market} */
export const readMarket = (text) => JSON.parse(text);

/**
 * The card that a text names as the core reads it: by id or alias, in any case.
 * @param {Pick<import("./contract.d.ts").Description, "gpus">} description @param {string} text
 */
export function gpuNamed({ gpus }, text) {
  const wanted = text.trim().toLowerCase();
  return gpus.find(({ id, aliases }) => [id, ...aliases].some((name) => name.toLowerCase() === wanted));
}

/** Ids of the servers that a vendor shows. @param {Market} market */
export const shownServers = ({ servers, vendor }) => vendor.servers ?? servers.map(({ id }) => id);
