// What comes after the first answer: servers and prices, and what draws them.

/**
 * @typedef {object} SecondPart
 * @property {import("./catalog.d.ts").Market | null} market  servers and prices
 * @property {typeof import("./later/index.js") | null} later  what draws them, and the facts of the first part
 * @property {Error | null} marketFailure  why the servers and prices did not come
 */

/** @type {SecondPart} */
export const notYet = { market: null, later: null, marketFailure: null };

/** @param {import("./core_client.js").Core} core @returns {Promise<SecondPart>} */
export async function loadSecondPart(core) {
  const part = { ...notYet };
  try {
    part.later = await import("./later/index.js");
    part.market = await core.loadMarket();
  } catch (error) {
    part.marketFailure = error instanceof Error ? error : new Error(String(error));
  }
  return part;
}

/** Runs when the browser has nothing better to do. @param {() => void} action */
export const whenIdle = (action) =>
  "requestIdleCallback" in globalThis ? requestIdleCallback(action, { timeout: 2000 }) : setTimeout(action, 200);
