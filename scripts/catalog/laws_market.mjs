// The rules of the catalog's second part: servers, prices, and the vendor whose page it is. Its GPUs and sources are
// those of the first part. Each violation is {code, field}, named as the core's loader names it.

import { contrast } from "./contrast.mjs";
import { reportTwice, reportUnknownGpus, reportUnknownSources, reportUnsorted, sourced, visitSources } from "./laws.mjs";

const SERVER_NUMBERS = ["gpus_max", "link_gpus", "pcie_gen", "sockets", "dimm_slots", "memory_max_GB", "nic_count", "nic_Gbps",
  "psu_count", "psu_W", "power_W", "height_U", "weight_kg"];
const WEAK_GRADES = ["C", "D"];

function serverLaws(catalog, { servers }, report) {
  reportTwice(servers, "servers", report);
  servers.forEach((server, i) => {
    const at = (field) => `servers[${i}].${field}`;
    reportUnknownGpus(server.gpus, catalog, at("gpus"), report);
    reportUnknownGpus(server.gpus_unconfirmed ?? [], catalog, at("gpus_unconfirmed"), report);
    if (server.gpus_unconfirmed?.some((id) => server.gpus.includes(id))) report("implausible", at("gpus_unconfirmed"));
    for (const field of SERVER_NUMBERS) {
      if (field in server && !sourced(field, server.sources)) report("unsourced", at(field));
    }
    if (server.link === "none" && server.gpus_max > 1) report("implausible", at("link"));
    const { psu_count: count, psu_W: watts, power_W: power, psu_redundancy: redundancy = "" } = server;
    const [needed, spare] = redundancy.split("+").map(Number);
    if (spare !== undefined && count && needed + spare !== count) report("implausible", at("psu_redundancy"));
    if (power > count * watts) report("implausible", at("power_W"));
  });
  reportUnsorted(servers, "servers", report);
}

/** `later` than `date` as far as both are told: a month holds all of its days. */
const isLater = (later, date) => later.slice(0, date.length) > date.slice(0, later.length);

function rangeLaws(row, field, report) {
  if (row.low > row.high) report("implausible", `${field}.high`);
  if (row.expected < row.low || row.expected > row.high) report("implausible", `${field}.expected`);
}

/** What holds for every price, wherever it stands. */
function priceLaws(catalog, market, report) {
  const grades = new Map(catalog.sources.map(({ id, grade }) => [id, grade]));
  const servers = new Set(market.servers.map(({ id }) => id));
  for (const [table, rows] of Object.entries(market.prices)) {
    rows.forEach((row, i) => {
      const at = `prices.${table}[${i}]`;
      if (row.gpu) reportUnknownGpus([row.gpu], catalog, `${at}.gpu`, report);
      if (row.server && !servers.has(row.server)) report("unknown_server", `${at}.server`);
      rangeLaws(row, at, report);
      const weak = row.sources.every((id) => WEAK_GRADES.includes(grades.get(id)));
      if (weak && !row.confidence) report("missing_field", `${at}.confidence`);
      if (isLater(row.date, market.meta.date)) report("implausible", `${at}.date`);
    });
    reportUnsorted(rows, `prices.${table}`, report);
  }
}

function rentedLaws({ prices }, report) {
  const seen = new Set();
  prices.rented.forEach(({ provider, instance, gpu, gpus, term, region, date }, i) => {
    const offer = JSON.stringify([provider, instance, gpu, gpus, term, region, date]);
    if (seen.has(offer)) report("duplicate_id", `prices.rented[${i}]`);
    seen.add(offer);
  });
}

function defaultLaws({ prices }, report) {
  reportTwice(prices.defaults, "prices.defaults", report);
  for (const id of ["electricity", "eur_per_usd", "pue", "rdimm_64GB", "support_share"]) {
    if (!prices.defaults.some((row) => row.id === id)) report("missing_field", "prices.defaults");
  }
}

function vendorLaws(catalog, { vendor, servers, prices }, report) {
  const known = new Set(servers.map(({ id }) => id));
  const providers = new Set(prices.rented.map(({ provider }) => provider));
  if (vendor.servers?.some((id) => !known.has(id))) report("unknown_server", "vendor.servers");
  if (vendor.providers?.some((name) => !providers.has(name))) report("unknown_value", "vendor.providers");
  for (const table of ["gpus", "servers"]) {
    vendor.prices[table].forEach((row, i) => {
      const at = `vendor.prices.${table}[${i}]`;
      if (row.gpu) reportUnknownGpus([row.gpu], catalog, `${at}.gpu`, report);
      if (row.server && !known.has(row.server)) report("unknown_server", `${at}.server`);
      rangeLaws(row, at, report);
    });
  }
}

/** Text needs 4.5 to 1 (WCAG 2.2, 1.4.3) on what the page puts it on. */
function colourLaws({ vendor }, themes, report) {
  for (const [theme, colours] of Object.entries(vendor.colours ?? {})) {
    const page = { ...themes[theme], ...colours };
    // What stands on the soft accent: all that a chosen or pointed-at option says, and buttons under the pointer.
    const pairs = { accent: ["paper", "panel"], on_accent: ["accent"], accent_soft: ["ink", "ink_2", "accent"] };
    for (const [colour, others] of Object.entries(pairs)) {
      const weak = others.some((other) => contrast(page[colour], page[other]) < 4.5);
      if (weak) report("low_contrast", `vendor.colours.${theme}.${colour}`);
    }
  }
}

/**
 * All violations of a second part that already fits its schema, beside a first part that keeps its rules. `themes` are
 * the page's own colours, light and dark; without them contrast is not looked at, as the core does not.
 */
export function marketViolations(catalog, market, themes = null) {
  const found = [];
  const report = (code, field) => found.push({ code, field });
  if (market.meta.date !== catalog.meta.date) report("parts_differ", "meta.date");
  visitSources(market, (ids, field) => reportUnknownSources(ids, catalog, field, report));
  serverLaws(catalog, market, report);
  priceLaws(catalog, market, report);
  rentedLaws(market, report);
  defaultLaws(market, report);
  vendorLaws(catalog, market, report);
  if (themes) colourLaws(market, themes, report);
  return found;
}
