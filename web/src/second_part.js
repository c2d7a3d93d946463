// What comes after the first answer: servers and prices, and what draws them.

/**
 * @typedef {object} SecondPart
 * @property {import("./facts.js").Facts} facts  the first part's rows, for display
 * @property {import("./catalog.d.ts").Market | null} market  servers and prices
 * @property {typeof import("./later/index.js") | null} later  what draws all of them
 * @property {import("./later/planner.js").Planner | null} planner  what is looked for, and what was found
 * @property {Error | null} marketFailure  why the servers and prices did not come
 */

const noFacts = { gpus: new Map(), models: new Map(), purposes: new Map(), sources: new Map() };

/** @type {SecondPart} */
export const notYet = { facts: noFacts, market: null, later: null, planner: null, marketFailure: null };

/** @param {import("./core_client.js").Core} core @returns {Promise<SecondPart>} */
export async function loadSecondPart(core) {
  const part = { ...notYet };
  try {
    part.later = await import("./later/index.js");
    part.facts = core.facts;
    part.market = await core.loadMarket();
    part.planner = new part.later.Planner(core);
  } catch (error) {
    part.marketFailure = error instanceof Error ? error : new Error(String(error));
  }
  return part;
}

/** Runs when the browser has nothing better to do. @param {() => void} action */
export const whenIdle = (action) =>
  "requestIdleCallback" in globalThis ? requestIdleCallback(action, { timeout: 2000 }) : setTimeout(action, 200);
