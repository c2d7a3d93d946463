// The rules of the catalog's second part: servers, prices, and the vendor whose page it is. Its GPUs and sources are
// those of the first part. Each violation is {code, field, message}, as in laws.mjs.

import { contrast } from "./contrast.mjs";
import { needSource, reportAbsent, reportTwice, reportUnknownGpus, reportUnsorted, sourceLaws } from "./laws.mjs";

const SERVER_NUMBERS = ["gpus_max", "link_gpus", "pcie_gen", "sockets", "dimm_slots", "memory_max_GB", "nic_count", "nic_Gbps",
  "psu_count", "psu_W", "power_W", "height_U", "weight_kg"];
const DEFAULTS = ["electricity", "eur_per_usd", "gpu_waiting", "gpu_working", "grid_co2", "lifetime", "pue", "rdimm_64GB", "support_share"];
const WEAK_GRADES = ["C", "D"];
const LEAST_CONTRAST = 4.5; // of text, WCAG 2.2, 1.4.3

function supplyLaws(server, at, report) {
  const { psu_count: count, psu_W: watts, power_W: power, psu_redundancy: redundancy = "" } = server;
  const [needed, spare] = redundancy.split("+").map(Number);
  if (spare !== undefined && count && needed + spare !== count) {
    report("implausible", `${at}.psu_redundancy`, `is "${redundancy}", of ${needed + spare} supplies, and psu_count is ${count}`);
  }
  if (power > count * watts) report("implausible", `${at}.power_W`, `is ${power}, more than its supplies give, ${count * watts}`);
}

function serverLaws(catalog, { servers }, report) {
  reportTwice(servers, "servers", report);
  servers.forEach((server, i) => {
    const at = `servers[${i}]`;
    reportUnknownGpus(server.gpus, catalog, `${at}.gpus`, report);
    reportUnknownGpus(server.gpus_unconfirmed ?? [], catalog, `${at}.gpus_unconfirmed`, report);
    for (const id of server.gpus_unconfirmed ?? []) {
      if (server.gpus.includes(id)) report("implausible", `${at}.gpus_unconfirmed`, `holds "${id}", which gpus has as confirmed`);
    }
    for (const field of SERVER_NUMBERS) if (field in server) needSource(field, server, at, report);
    reportAbsent(server, at, report);
    if (server.link === "none" && server.gpus_max > 1) report("implausible", `${at}.link`, `is "none", between ${server.gpus_max} GPUs`);
    supplyLaws(server, at, report);
  });
  reportUnsorted(servers, "servers", report);
}

/** `later` than `date` as far as both are told: a month holds all of its days. */
const isLater = (later, date) => later.slice(0, date.length) > date.slice(0, later.length);

function machineLaws(row, at, servers, report) {
  if (!row.server) return;
  const server = servers.find(({ id }) => id === row.server);
  if (!server) return report("unknown_server", `${at}.server`, `names "${row.server}", which is no id in servers.json`);
  if (row.gpu && ![...server.gpus, ...(server.gpus_unconfirmed ?? [])].includes(row.gpu)) {
    report("gpu_not_in_server", `${at}.gpu`, `is "${row.gpu}", which ${server.id} does not take: name it in its gpus or gpus_unconfirmed first`);
  }
  if (row.gpus > server.gpus_max) report("too_many_gpus_in_server", `${at}.gpus`, `is ${row.gpus}, and ${server.id} takes at most ${server.gpus_max}`);
}

/** What holds for every price, wherever it stands. */
function priceLaws(row, at, catalog, { servers, meta }, report) {
  if (row.gpu) reportUnknownGpus([row.gpu], catalog, `${at}.gpu`, report);
  machineLaws(row, at, servers, report);
  if (row.low > row.high) report("implausible", `${at}.high`, `is ${row.high}, under the lowest, ${row.low}`);
  if (row.expected < row.low || row.expected > row.high) report("implausible", `${at}.expected`, `is ${row.expected}, not from ${row.low} to ${row.high}`);
  if (isLater(row.date, meta.date)) {
    report("implausible", `${at}.date`, `is ${row.date}, later than the catalog's date, ${meta.date}: move the date in catalog/meta.json to the day of the newest price`);
  }
}

function listLaws(catalog, market, report) {
  const grades = new Map(catalog.sources.map(({ id, grade }) => [id, grade]));
  for (const [table, rows] of Object.entries(market.prices)) {
    rows.forEach((row, i) => {
      const at = `prices.${table}[${i}]`;
      priceLaws(row, at, catalog, market, report);
      const weak = row.sources.every((id) => WEAK_GRADES.includes(grades.get(id)));
      if (weak && !row.confidence) {
        report("missing_field", `${at}.confidence`, `is missing: it must be "low", as every source (${row.sources.join(", ")}) is of grade C or D`);
      }
    });
    reportTwice(rows, `prices.${table}`, report);
    reportUnsorted(rows, `prices.${table}`, report);
  }
  for (const id of DEFAULTS) {
    if (!market.prices.defaults.some((row) => row.id === id)) report("missing_field", "prices.defaults", `lacks ${id}`);
  }
}

/** A stack says of every change how it is told, or by a row without a setting that it cannot be. */
function switchLaws({ switches }, report) {
  reportTwice(switches, "switches", report);
  reportUnsorted(switches, "switches", report);
}

function vendorLaws(catalog, market, report) {
  const { vendor, servers, prices } = market;
  const known = new Set(servers.map(({ id }) => id));
  const providers = new Set([...prices.rented, ...prices.services].map(({ provider }) => provider));
  for (const id of vendor.servers ?? []) {
    if (!known.has(id)) report("unknown_server", "vendor.servers", `names "${id}", which is no id in servers.json`);
  }
  for (const name of vendor.providers ?? []) {
    if (!providers.has(name)) report("unknown_value", "vendor.providers", `names "${name}", of whom prices.json has no machine and no service`);
  }
  for (const language of vendor.legal ? vendor.languages : []) {
    if (!(language in vendor.legal)) report("missing_field", `vendor.legal.${language}`, "is a language of the page");
  }
  for (const table of ["gpus", "servers"]) {
    const name = `vendor.prices.${table}`;
    vendor.prices[table].forEach((row, i) => priceLaws(row, `${name}[${i}]`, catalog, market, report));
    reportTwice(vendor.prices[table], name, report);
  }
}

/** What a vendor's colours must be told from, on the page or among themselves. */
function colourLaws({ vendor }, themes, report) {
  for (const [theme, colours] of Object.entries(vendor.colours ?? {})) {
    const page = { ...themes[theme], ...colours };
    // What stands on the soft accent: all that a chosen or pointed-at option says, and buttons under the pointer.
    const pairs = [["accent", "paper"], ["accent", "panel"], ["on_accent", "accent"], ["accent_soft", "ink"],
      ["accent_soft", "ink_2"], ["accent_soft", "accent"]];
    for (const [colour, other] of pairs) {
      const ratio = contrast(page[colour], page[other]);
      if (ratio >= LEAST_CONTRAST) continue;
      report("low_contrast", `vendor.colours.${theme}.${colour}`,
        `is ${page[colour]}, ${ratio.toFixed(2)} to 1 against ${other} (${page[other]}); text needs ${LEAST_CONTRAST}`);
    }
  }
}

/**
 * All violations of a second part that already fits its schema, beside a first part that keeps its rules. `themes` are
 * the page's own colours, light and dark; without them contrast is not looked at, as the core does not.
 */
export function marketViolations(catalog, market, themes = null) {
  const found = [];
  const report = (code, field, message) => found.push({ code, field, message });
  if (market.meta.date !== catalog.meta.date) report("parts_differ", "meta.date", `is ${market.meta.date}, and that of the first part ${catalog.meta.date}`);
  sourceLaws(market, catalog, report);
  serverLaws(catalog, market, report);
  listLaws(catalog, market, report);
  switchLaws(market, report);
  vendorLaws(catalog, market, report);
  if (themes) colourLaws(market, themes, report);
  return found;
}
