// Which prices are shown, in what order, and how old each is by the reader's clock. Amounts stay as their sources give
// them; only the rate of exchange is applied, where an amount is in another currency than the vendor's.

import { shownServers } from "../facts.js";

/** @typedef {import("../catalog.d.ts").Market} Market */
/** @typedef {import("../catalog.d.ts").Rented} Rented */
/** @typedef {import("../catalog.d.ts").Bought} Bought */
/** @typedef {import("../catalog.d.ts").BoughtServer} BoughtServer */
/** @typedef {import("../catalog.d.ts").Currency} Currency */

/** Days after which a price has to be asked for again. */
export const staleAfter = 90;

const dayMs = 24 * 60 * 60 * 1000;

/**
 * Days since a date. A month or a year counts from its first day: the price may be as old as that.
 * @param {string} date "2026-08-22", "2026-10" or "2026" @param {number} now milliseconds, as Date.now() gives them
 */
export function ageOf(date, now) {
  const [year, month = 1, day = 1] = date.split("-").map(Number);
  return Math.max(0, Math.floor((now - Date.UTC(year, month - 1, day)) / dayMs));
}

/** Whether a date is so old that its price has to be asked for again. @param {string | null} date */
export const isStale = (date) => date !== null && ageOf(date, Date.now()) > staleAfter;

/** Whether a date names a day. @param {string} date */
export const isDay = (date) => date.split("-").length === 3;

/** The order in which terms are shown: what anybody can have now, then what may be taken away, then what binds. */
export const terms = [
  "on_demand", "spot", "community", "marketplace", "flex_start", "calendar", "one_year", "three_years",
];

/**
 * The rented machines with a card: of each provider's machine, term and region the newest price, the cheapest first and
 * what is doubtful last, term by term.
 * @param {Market} market @param {string} gpu @returns {[string, Rented[]][]}
 */
export function rentedWith({ prices, vendor }, gpu) {
  /** @type {Map<string, Rented>} */
  const newest = new Map();
  for (const offer of prices.rented) {
    if (offer.gpu !== gpu || (vendor.providers && !vendor.providers.includes(offer.provider))) continue;
    const name = offerId(offer);
    const known = newest.get(name);
    if (!known || known.date < offer.date) newest.set(name, offer);
  }
  // A price that names no region gives way to a newer one of the same machine that does.
  const regional = (/** @type {Rented} */ offer) => offerId({ ...offer, region: "" });
  const outdone = (/** @type {Rented} */ offer) => !offer.region && [...newest.values()].some(
    (other) => other.region && other.date > offer.date && regional(other) === regional(offer),
  );
  const offers = [...newest.values()]
    .filter((offer) => !outdone(offer))
    .sort((a, b) => doubt(a) - doubt(b) || a.per_gpu_hour - b.per_gpu_hour);
  return terms
    .map((term) => /** @type {[string, Rented[]]} */ ([term, offers.filter((offer) => offer.term === term)]))
    .filter(([, members]) => members.length > 0);
}

/**
 * What makes a rented machine the same one on another day: the catalog refuses two of them on one.
 * @param {Rented} offer
 */
export const offerId = ({ provider, instance = "", gpus, term, covers, region = "" }) =>
  [provider, instance, gpus, term, covers, region].join("|");

/**
 * The offers that a span is told of: with their machine, or where there are none of these without.
 * @param {Rented[]} offers
 */
export function comparable(offers) {
  const whole = offers.filter(({ covers }) => covers === "machine");
  return whole.length ? whole : offers;
}

/** What a price is told apart by. @typedef {{confidence?: "low", own?: boolean, unconfirmed?: boolean}} Standing */

/** A price may be doubtful, and so may the card's place in the machine. @param {Standing} offer */
const doubt = ({ confidence, unconfirmed }) => (confidence === "low" ? 1 : 0) + (unconfirmed ? 1 : 0);

/** @template {Standing & {low: number}} Row @param {Row[]} rows */
const ordered = (rows) =>
  rows.sort((a, b) => Number(b.own ?? false) - Number(a.own ?? false) || doubt(a) - doubt(b) || a.low - b.low);

/**
 * From what to what prices go: the vendor's own where there are any, else the least doubtful ones, and what has to be
 * said of these; null where there are none, or in several currencies.
 * @param {(Standing & {low: number, high: number, currency: Currency})[]} rows
 */
export function spanOf(rows) {
  const own = rows.filter((row) => row.own);
  const least = Math.min(...rows.map(doubt));
  const counted = own.length ? own : rows.filter((row) => doubt(row) === least);
  const [currency, other] = new Set(counted.map((row) => row.currency));
  if (!currency || other) return null;
  return {
    currency,
    low: Math.min(...counted.map(({ low }) => low)),
    high: Math.max(...counted.map(({ high }) => high)),
    doubtful: counted.some(({ confidence }) => confidence === "low"),
    unconfirmed: counted.some(({ unconfirmed }) => unconfirmed),
  };
}

/**
 * What a card costs to buy: the vendor's own price, or else everybody's.
 * @param {Market} market @param {string} gpu @returns {(Bought & {own?: boolean})[]}
 */
export function boughtCards({ prices, vendor }, gpu) {
  const own = vendor.prices.gpus
    .filter((row) => row.gpu === gpu)
    .map((row) => ({ ...row, kind: "quoted", sources: [], own: true }));
  return ordered(own.length ? own : prices.gpus.filter((row) => row.gpu === gpu));
}

/** @typedef {BoughtServer & {own?: boolean, unconfirmed?: boolean}} Machine */

/**
 * What machines with a card cost. Of those in the catalog the ones that the vendor shows and that take the card, at the
 * vendor's own price where it has one; those that others sell complete only where the vendor chose no machines.
 * @param {Market} market @param {string} gpu @returns {Machine[]}
 */
export function boughtServers(market, gpu) {
  const { servers, prices, vendor } = market;
  const byId = new Map(servers.map((server) => [server.id, server]));
  const shown = shownServers(market);
  const fits = (/** @type {{server?: string, gpu?: string}} */ row) => {
    const server = byId.get(row.server ?? "");
    if (!server ? vendor.servers : !shown.includes(server.id)) return false;
    if (row.gpu) return row.gpu === gpu;
    return server !== undefined && [...server.gpus, ...(server.gpus_unconfirmed ?? [])].includes(gpu);
  };
  const own = vendor.prices.servers.filter(fits).map((row) => ({
    ...row, what: byId.get(row.server)?.name ?? row.server, kind: "quoted", sources: [], own: true,
  }));
  const priced = new Set(own.map(({ server }) => server));
  const others = prices.servers.filter((row) => fits(row) && !(row.server && priced.has(row.server)));
  const confirmed = (/** @type {{server?: string}} */ { server = "" }) => byId.get(server)?.gpus.includes(gpu) ?? true;
  return ordered([...own, ...others].map((row) => ({ ...row, unconfirmed: !confirmed(row) })));
}

/** @typedef {{built: "complete" | "barebone" | "unsaid", gpus: number, rows: Machine[]}} Built */

/**
 * Machines by what is in them: complete ones by their number of cards, those whose number nobody says, and barebones.
 * @param {Machine[]} rows @returns {Built[]}
 */
export function builtAlike(rows) {
  /** @type {Map<string, Built>} */
  const groups = new Map();
  for (const row of rows) {
    const built = row.kind === "barebone" ? "barebone" : row.gpus ? "complete" : "unsaid";
    const gpus = built === "complete" ? (row.gpus ?? 0) : 0;
    const group = groups.get(`${built} ${gpus}`) ?? { built, gpus, rows: [] };
    groups.set(`${built} ${gpus}`, { ...group, rows: [...group.rows, row] });
  }
  const place = (/** @type {Built} */ { built }) => ["complete", "unsaid", "barebone"].indexOf(built);
  return [...groups.values()].sort((a, b) => place(a) - place(b) || a.gpus - b.gpus);
}

/** Services that train by the token: those of the providers that the vendor shows. @param {Market} market */
export const servicesOf = ({ prices, vendor }) =>
  prices.services.filter(({ provider }) => !vendor.providers || vendor.providers.includes(provider));

/** Euros for a dollar, with its date. @param {Market} market */
export const exchangeOf = ({ prices }) => prices.defaults.find(({ id }) => id === "eur_per_usd");

/**
 * An amount in another currency; null where it is in that already, or no rate is known.
 * @param {number} amount @param {Currency} from @param {Currency} to @param {{expected: number} | undefined} rate
 */
export function converted(amount, from, to, rate) {
  if (from === to || !rate) return null;
  return from === "USD" ? amount * rate.expected : amount / rate.expected;
}

/**
 * The figures that running costs rest on; the vendor's own electricity before Europe's.
 * @param {Market} market @returns {(import("../catalog.d.ts").Default & {own?: boolean})[]}
 */
export function defaultsOf({ prices, vendor }) {
  const own = vendor.prices.electricity_EUR_per_kWh;
  return prices.defaults.map((row) =>
    row.id === "electricity" && own !== undefined
      ? { id: row.id, unit: row.unit, low: own, expected: own, high: own, date: "", sources: [], own: true }
      : row,
  );
}
