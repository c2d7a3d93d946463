// A row's numbers and where each was read, and which rows belong together.

import { shownServers } from "../facts.js";

/** @typedef {import("../catalog.d.ts").Source} Source */
/** @typedef {import("../catalog.d.ts").Sourced} Sourced */
/** @typedef {import("../catalog.d.ts").Market} Market */

/** The paths that hold a field, from itself outwards. @param {string} path */
function* outwards(path) {
  for (let at = path; at; at = at.slice(0, Math.max(0, at.lastIndexOf(".")))) yield at;
}

/**
 * Ids of the sources of a field: its own, else those of what holds it. `link` stands for all that describes the link,
 * `row` for whatever is not named.
 * @param {Sourced} row @param {string} path
 */
export function sourceIdsOf({ sources }, path) {
  for (const at of outwards(path)) if (sources[at]) return sources[at];
  return (path.startsWith("link_") && sources.link) || sources.row || [];
}

/** Whether a field was computed from what its sources state. @param {Sourced} row @param {string} path */
export const isDerived = ({ derived = [] }, path) => [...outwards(path)].some((at) => derived.includes(at));

/** @param {Sourced} row @param {string} path */
const isThere = (row, path) =>
  path.split(".").reduce((at, key) => /** @type {any} */ (at)?.[key], /** @type {unknown} */ (row)) !== undefined;

/** @param {Sourced} row @param {string} path */
const isQuestioned = ({ unconfirmed = [] }, path) => [...outwards(path)].some((at) => unconfirmed.includes(at));

/**
 * Of what `unconfirmed` names, a field that is there is to be checked: sources differ on it, or none confirms it.
 * @param {Sourced} row @param {string} path
 */
export const isDoubtful = (row, path) => isQuestioned(row, path) && isThere(row, path);

/** And one that is absent was looked for in vain. @param {Sourced} row @param {string} path */
export const isUnknown = (row, path) => isQuestioned(row, path) && !isThere(row, path);

/** @param {string[]} ids @param {Map<string, Source>} sources @returns {Source[]} */
export const sourcesNamed = (ids, sources) => ids.flatMap((id) => sources.get(id) ?? []);

/** Whether all that is known of a number is somebody's memory. @param {Source[]} sources */
export const isRecalled = (sources) => sources.length > 0 && sources.every(({ grade }) => grade === "D");

/**
 * The servers that a vendor shows and that take a card: those that a source confirms, and those of the card's form that
 * none does.
 * @param {Market} market @param {string} gpu
 */
export function serversFor(market, gpu) {
  const ids = shownServers(market);
  const shown = market.servers.filter(({ id }) => ids.includes(id));
  return {
    confirmed: shown.filter(({ gpus }) => gpus.includes(gpu)),
    unconfirmed: shown.filter(({ gpus_unconfirmed: gpus }) => gpus?.includes(gpu)),
  };
}
