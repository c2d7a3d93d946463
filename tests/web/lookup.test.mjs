// What is looked up: facts and their sources, machines, prices.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { createTunefit } from "../../dist/npm/index.mjs";
import { gpuNamed, readFacts, shownServers } from "../../web/src/facts.js";
import { createWords, loadTexts } from "../../web/src/i18n.js";
import { cardFacts, linkText } from "../../web/src/later/card.js";
import "../../web/src/later/index.js";
import { factList } from "../../web/src/later/fact.js";
import {
  ageOf, boughtCards, boughtServers, builtAlike, comparable, converted, defaultsOf, exchangeOf, isDay, offerId, rentedWith, servicesOf, spanOf, staleAfter, terms,
} from "../../web/src/later/offers.js";
import { modelFacts } from "../../web/src/later/origin.js";
import { prices } from "../../web/src/later/prices.js";
import { isDerived, isDoubtful, isRecalled, serversFor, sourceIdsOf } from "../../web/src/later/rows.js";
import { serverFacts, takesFact } from "../../web/src/later/server.js";
import { textOf } from "./support.mjs";

const json = (name) => JSON.parse(readFileSync(new URL(`../../catalog/${name}.json`, import.meta.url), "utf8"));
const facts = readFacts(JSON.stringify(Object.fromEntries(["gpus", "models", "purposes", "sources"].map((name) => [name, json(name)]))));
const market = { servers: json("servers"), prices: json("prices"), vendor: json("vendor") };
const description = (await createTunefit()).describe();
const own = JSON.parse(readFileSync(new URL("../vendor/vendor.json", import.meta.url), "utf8"));
await Promise.all(["en", "nl"].map(loadTexts));
const [en, nl] = ["en", "nl"].map(createWords);

test("a field's sources are its own, else those of what holds it", () => {
  const row = { sources: { dense_TFLOPS: ["a"], "dense_TFLOPS.fp16": ["b"], link: ["c"] }, derived: ["dense_TFLOPS"] };
  const rows = [["dense_TFLOPS.fp16", ["b"]], ["dense_TFLOPS.bf16", ["a"]], ["link_GBps", ["c"]], ["host_link_GBps", []], ["tdp_W", []]];
  for (const [path, ids] of rows) assert.deepEqual(sourceIdsOf(row, path), ids, path);
  assert.deepEqual(sourceIdsOf({ sources: { row: ["d"] } }, "cpu"), ["d"]);
  assert.ok(isDerived(row, "dense_TFLOPS.bf16") && !isDerived(row, "link") && !isDerived({ sources: {} }, "link"));
  const doubted = { dense_TFLOPS: { bf16: 2 }, measured_TFLOPS: { fp8: 3, bf16: 1 }, tdp_W: 400, unconfirmed: ["dense_TFLOPS", "measured_TFLOPS.fp8", "form"] };
  const paths = ["dense_TFLOPS.bf16", "measured_TFLOPS.fp8", "measured_TFLOPS.bf16", "tdp_W", "form"];
  assert.deepEqual(paths.filter((path) => isDoubtful(doubted, path)), paths.slice(0, 2));
  assert.ok(isRecalled([{ grade: "D" }]) && !isRecalled([{ grade: "D" }, { grade: "C" }]) && !isRecalled([]));
});

test("a card goes by its id and its aliases, in any case", () => {
  for (const name of ["rtx-4090", " RTX 4090", "nvidia geforce rtx 4090"]) assert.equal(gpuNamed(description, name)?.id, "rtx-4090", name);
  for (const name of ["4090", "", "abacus"]) assert.equal(gpuNamed(description, name), undefined, name);
});

test("what a card cannot do is the core's to say", () => {
  const missing = (id) => gpuNamed(description, id).cannot;
  assert.deepEqual(missing("t4"), ["bf16", "fp8", "flash_attention_2"]);
  assert.deepEqual(missing("v100-sxm2-32gb"), ["bf16", "fp8", "flash_attention_2"]);
  assert.deepEqual(missing("a100-sxm4-80gb"), ["fp8"]);
  assert.deepEqual(missing("mi300x"), []);
  assert.deepEqual(missing("b200"), []); // 10.0 is newer than 8.0
});

test("every number of every card has a source to open, unless it is absent or follows from the name", () => {
  for (const gpu of facts.gpus.values()) {
    for (const words of [en, nl]) {
      for (const { id, name, value, sources } of cardFacts(words, gpu, facts.sources)) {
        assert.ok(name && !/[{}_]/.test(name), `${gpu.id} ${id}: ${name}`);
        const plain = value === null || value === words.t("card.lacks") || id === "devices_per_board" || id === "note";
        assert.ok(plain || sources.length > 0, `${gpu.id} ${id} has no source`);
        if (typeof value === "string") assert.doesNotMatch(value, /undefined|NaN|\{|\}/, `${gpu.id} ${id}`);
      }
    }
  }
});

test("how cards and machines are joined is said as it is, in both languages", () => {
  const card = (words, id) => linkText(words, facts.gpus.get(id)).replace(/, [\d.,]+ GB\/s.*/, "");
  const rows = {
    "rtx-3090": ["NVLink, by a bridge between two", "NVLink, met een brug tussen twee"],
    "h200-nvl": ["NVLink, by bridges, up to 4 GPUs", "NVLink, met bruggen, tot 4 GPU’s"],
    "mi210": ["Infinity Fabric, by bridges, up to 4 GPUs", "Infinity Fabric, met bruggen, tot 4 GPU’s"],
    "gb200": ["NVLink, through switches, up to 72 GPUs", "NVLink, via switches, tot 72 GPU’s"],
    "mi300x": ["Infinity Fabric, each with each, up to 8 GPUs", "Infinity Fabric, elk met elk, tot 8 GPU’s"],
    "mi250x": ["Infinity Fabric, directly", "Infinity Fabric, rechtstreeks"],
    "l40s": ["none: over PCIe alone", "geen: alleen via PCIe"],
    "gb10-dgx-spark": ["none: it is the only GPU of its machine", "geen: het is de enige GPU van zijn machine"],
  };
  for (const [id, [english, dutch]] of Object.entries(rows)) assert.deepEqual([card(en, id), card(nl, id)], [english, dutch], id);
  for (const gpu of facts.gpus.values()) {
    const text = linkText(en, gpu);
    if (/between two/.test(text)) assert.equal(gpu.link_gpus, 2, gpu.id);
    assert.ok(!/two.*up to/.test(text), `${gpu.id}: ${text}`);
  }
  for (const server of market.servers) {
    for (const words of [en, nl]) {
      const lines = serverFacts(words, server, facts.sources);
      const said = (name) => lines.filter(({ id }) => id === name).map((fact) => readLine(words, "server", fact)).join();
      if (server.link === "direct") assert.doesNotMatch(said("link"), /pairs|per twee/, server.id);
      if (server.link !== "none") assert.doesNotMatch(said("link"), /one GPU|één GPU/, server.id);
      if (/both|beide/.test(said("topology"))) assert.equal(server.sockets, 2, server.id);
      assert.doesNotMatch(said("topology"), /one processor|één processor/, server.id);
    }
  }
});

test("GeForce cards are said to halve fp16, others not", () => {
  const rate = (id) => cardFacts(en, facts.gpus.get(id), facts.sources).find((fact) => fact.id === "fp16_accumulate_TFLOPS")?.value;
  assert.match(rate("rtx-4090"), /training gets half$/);
  assert.doesNotMatch(rate("l40s") ?? "", /half/);
});

test("models and machines are described in both languages", () => {
  for (const words of [en, nl]) {
    for (const model of facts.models.values()) {
      const lines = modelFacts({ words, facts }, model, 4096);
      assert.ok(lines.every(({ name }) => name && !name.includes("_")), model.id);
      assert.ok(lines.find(({ id }) => id === "shape").value, model.id);
    }
    for (const server of market.servers) {
      for (const { id, name, sources } of serverFacts(words, server, facts.sources)) {
        assert.ok(name && name !== id && !name.includes("_"), `${server.id} ${id}`);
        assert.ok(sources.length > 0, `${server.id} ${id} has no source`);
      }
    }
  }
});

/** A line of facts as it reads when it is closed. */
const readLine = (words, scope, fact) =>
  textOf(factList({ words, ui: { open: [] } }, scope, [fact])).replace(/\s+/g, " ").replace(fact.name, "").trim();

test("a card that a source names for a machine is confirmed, whatever else of that machine is not", () => {
  let named = 0;
  // A list of cards that is not known to be whole leaves those in it as they are.
  const [first] = market.servers;
  for (const server of [...market.servers, { ...first, unconfirmed: ["gpus"] }]) {
    for (const id of server.gpus) {
      const fact = takesFact(en, server, facts.gpus.get(id), facts.sources);
      assert.match(readLine(en, "server", fact), /^yes(, by a source that says so|: this stands for .*)$/, `${server.id} ${id}`);
      if (server.unconfirmed) named += 1;
    }
    for (const id of server.gpus_unconfirmed ?? []) {
      assert.equal(takesFact(en, server, facts.gpus.get(id), facts.sources).value, null, `${server.id} ${id}`);
    }
  }
  assert.ok(named > 4);
});

test("a number is doubted only where it is there and in doubt, and what is unknown beside it is named", () => {
  const line = (words, server, id) => readLine(words, "server", serverFacts(words, server, facts.sources).find((fact) => fact.id === id));
  const base = { maker: "M", kind: "server", gpus: [], gpus_max: 10, mount: "pcie", sources: { row: ["tpd"] } };
  const known = { dimm_slots: 32, psu_count: 4, psu_W: 2700, form: "rack", height_U: 4, sockets: 1, cpu: "EPYC" };
  const server = { ...base, ...known, unconfirmed: ["memory_max_GB", "psu_redundancy", "height_U", "sockets"] };
  assert.equal(line(en, server, "memory"), "32 slots; not confirmed: the most that it takes");
  assert.equal(line(nl, server, "memory"), "32 sloten; niet bevestigd: hoeveel er ten hoogste in gaat");
  assert.equal(line(en, server, "psu"), "4 × 2,700\u00a0W; not confirmed: redundancy".replace("\u00a0", " "));
  assert.equal(line(en, server, "form"), "rack, 4U not confirmed");
  assert.equal(line(en, server, "cpu"), "1 socket not confirmed, EPYC");
  const bare = { ...base, unconfirmed: ["psu_count", "psu_W", "price"] };
  assert.equal(line(en, bare, "psu"), "not confirmed");
  assert.equal(line(en, bare, "price"), "not confirmed");
  assert.equal(line(en, { ...base, psu_W: 3000, unconfirmed: ["psu_count"] }, "psu"), "3,000 W; not confirmed: number of supplies");
});

test("of every machine each field that is not confirmed is marked if it is there, and else named or a line of its own", () => {
  let [marks, names] = [0, 0];
  for (const server of market.servers) {
    for (const words of [en, nl]) {
      for (const fact of serverFacts(words, server, facts.sources)) {
        const text = readLine(words, "server", fact);
        const doubted = (fact.parts ?? []).filter((part) => part.doubtful).length;
        const tags = text.split(words.t("fact.unconfirmed")).length - 1;
        assert.doesNotMatch(text, /[a-z]_[a-zA-Z]|undefined|\[object/, `${server.id} ${fact.id}: ${text}`);
        if (fact.value === null) assert.equal(text, words.t("fact.unconfirmed"));
        else if (fact.unknown.length === 0 && !["note", "cooling", "storage"].includes(fact.id)) {
          const recalled = fact.parts.filter(({ sources, doubtful }) => !doubtful && isRecalled(sources)).length;
          assert.equal(tags, doubted + recalled, `${server.id} ${fact.id}: ${text}`);
        } else if (fact.unknown.length) names += 1;
        marks += doubted;
      }
    }
  }
  assert.ok(marks > 20 && names > 20, `${marks} ${names}`);
});

test("machines are those that the vendor shows and that take the card, the confirmed ones apart", () => {
  const ids = (rows) => rows.map(({ id }) => id).sort();
  const all = serversFor(market, "l40s");
  assert.ok(ids(all.confirmed).includes("sys-421ge-tnrt") && ids(all.unconfirmed).includes("sys-221ge-nr"));
  const few = serversFor({ ...market, vendor: own }, "l40s");
  assert.deepEqual([ids(few.confirmed), ids(few.unconfirmed)], [["sys-421ge-tnrt", "sys-521ge-tnrt"], []]);
  assert.deepEqual(shownServers({ ...market, vendor: own }), own.servers);
  assert.equal(shownServers(market).length, market.servers.length);
});

test("a price is as old as its date allows, by the reader's clock", () => {
  const now = Date.UTC(2026, 11, 2, 15);
  const rows = [["2026-12-02", 0], ["2026-12-01", 1], ["2026-09-03", 90], ["2026-09-02", 91], ["2026-11", 31], ["2026", 335], ["2027-01-01", 0]];
  for (const [date, days] of rows) assert.equal(ageOf(date, now), days, date);
  assert.ok(isDay("2026-12-02") && !isDay("2026-12"));
  assert.equal(staleAfter, 90);
});

const offer = (provider, date, per_gpu_hour, more = {}) =>
  ({ provider, gpu: "l4", gpus: 1, per_gpu_hour, currency: "USD", term: "on_demand", covers: "machine", date, sources: [], ...more });
const only = (rented, vendor = { prices: { gpus: [], servers: [] } }) => ({ servers: [], prices: { rented, gpus: [], servers: [] }, vendor });

test("of a provider's offer the newest price is shown; cheap ones first, doubtful ones last, by term", () => {
  const groups = rentedWith(only([
    offer("A", "2026-05-01", 1, { region: "x" }), offer("A", "2026-08-01", 2, { region: "x" }), offer("A", "2026-06-01", 1.5, { region: "y" }),
    offer("B", "2026-08-01", 0.1, { confidence: "low" }), offer("C", "2026-08-01", 1.6), offer("D", "2026-08-01", 1, { gpu: "t4" }),
    offer("A", "2026-08-01", 0.5, { term: "spot" }),
  ]), "l4");
  assert.deepEqual(groups.map(([term, rows]) => [term, rows.map(({ provider, per_gpu_hour }) => `${provider} ${per_gpu_hour}`)]), [
    ["on_demand", ["A 1.5", "C 1.6", "A 2", "B 0.1"]], ["spot", ["A 0.5"]],
  ]);
});

test("an older price without a region gives way to a newer one of the same machine", () => {
  const shown = (rows) => rentedWith(only(rows), "l4").flatMap(([, members]) => members.map(({ per_gpu_hour }) => per_gpu_hour));
  assert.deepEqual(shown([offer("A", "2026-05-01", 1), offer("A", "2026-08-01", 2, { region: "EU" })]), [2]);
  assert.deepEqual(shown([offer("A", "2026-08-01", 1), offer("A", "2026-05-01", 2, { region: "EU" })]), [1, 2]);
  assert.deepEqual(shown([offer("A", "2026-05-01", 1, { term: "spot" }), offer("A", "2026-08-01", 2, { region: "EU" })]), [2, 1]);
});

test("every offer of the catalog is under a term, and only chosen providers appear", () => {
  assert.deepEqual([...new Set(market.prices.rented.map(({ term }) => term))].filter((term) => !terms.includes(term)), []);
  const providers = new Set(rentedWith({ ...market, vendor: own }, "h100-sxm").flatMap(([, rows]) => rows.map(({ provider }) => provider)));
  assert.ok(providers.size > 0 && [...providers].every((provider) => own.providers.includes(provider)));
});

test("a machine with another number of GPUs, or a price that covers something else, is another offer", () => {
  const shown = (rows) => rentedWith(only(rows), "l4").flatMap(([, members]) => members.map(({ per_gpu_hour }) => per_gpu_hour));
  assert.deepEqual(shown([offer("A", "2026-05-01", 1, { gpus: 8 }), offer("A", "2026-08-01", 2)]), [1, 2]);
  assert.deepEqual(shown([offer("A", "2026-05-01", 1, { covers: "gpu" }), offer("A", "2026-08-01", 2)]), [1, 2]);
  for (const gpu of facts.gpus.keys()) {
    const names = rentedWith(market, gpu).flatMap(([, rows]) => rows.map(offerId));
    assert.equal(new Set(names).size, names.length, gpu);
  }
});

test("the vendor's own price takes the place of all others of the same card or machine", () => {
  const cards = boughtCards({ ...market, vendor: own }, "l40s");
  assert.deepEqual(cards.map(({ own, kind, low }) => [own, kind, low]), [[true, "quoted", 8450]]);
  assert.ok(boughtCards({ ...market, vendor: own }, "l4").length > 1); // which it does not price
  assert.ok(boughtCards(market, "l40s").length > 1);
  const servers = boughtServers({ ...market, vendor: own }, "l40s");
  assert.deepEqual(servers.map(({ what, own, low }) => [what, own, low]), [["SYS-421GE-TNRT", true, 61500], ["SYS-521GE-TNRT", true, 98000]]);
  // For a card that it sells no such machine with, what others ask for the bare one stays.
  assert.deepEqual(boughtServers({ ...market, vendor: { ...own, servers: undefined } }, "h100-pcie").filter(({ own }) => own), []);
});

test("on a vendor's page stand its machines alone, and the services of its providers", () => {
  const sold = (vendor, gpu) => boughtServers({ ...market, vendor: { ...own, ...vendor } }, gpu);
  assert.ok(boughtServers(market, "h200-sxm").some(({ server }) => server === undefined)); // somebody's complete machine
  assert.deepEqual(sold({}, "h200-sxm"), []);
  assert.deepEqual(sold({ servers: [] }, "l40s"), []);
  assert.ok(sold({ servers: undefined }, "h200-sxm").length > 1);
  const services = (providers) => servicesOf({ ...market, vendor: { ...own, providers } }).map(({ provider }) => provider);
  assert.equal(services(undefined).length, market.prices.services.length);
  assert.deepEqual(services([]), []);
  assert.deepEqual(services(["Ori", "Nebius"]), ["Ori"]);
  assert.deepEqual(rentedWith({ ...market, vendor: { ...own, providers: [] } }, "h100-sxm"), []);
});

test("machines stand together with those that hold the same, and are marked where none confirms the card", () => {
  const rows = boughtServers(market, "l40s");
  const groups = builtAlike(rows);
  assert.deepEqual(groups.map(({ built, gpus }) => [built, gpus]), [["complete", 8], ["barebone", 0]]);
  assert.equal(groups.flatMap((group) => group.rows).length, rows.length);
  const taking = (id) => market.servers.find((server) => server.id === id).gpus.includes("l40s");
  for (const row of rows) assert.equal(row.unconfirmed, !taking(row.server), row.what);
  assert.ok(rows.some(({ unconfirmed }) => unconfirmed) && rows.some(({ unconfirmed }) => !unconfirmed));
  const some = [{ kind: "quoted", own: true }, { kind: "complete", gpus: 8 }, { kind: "quoted", gpus: 2 }, { kind: "barebone", gpus: 8 }];
  assert.deepEqual(builtAlike(some).map(({ built, gpus }) => [built, gpus]), [["complete", 2], ["complete", 8], ["unsaid", 0], ["barebone", 0]]);
});

test("prices come to the vendor's own, else to the least doubtful, and the doubt is kept", () => {
  const row = (low, more = {}) => ({ low, high: low + 1, currency: "USD", ...more });
  const sure = { doubtful: false, unconfirmed: false };
  assert.equal(spanOf([]), null);
  assert.equal(spanOf([row(1), row(2, { currency: "EUR" })]), null);
  assert.deepEqual(spanOf([row(1, { confidence: "low" }), row(4), row(6)]), { currency: "USD", low: 4, high: 7, ...sure });
  assert.deepEqual(spanOf([row(1, { own: true }), row(4)]), { currency: "USD", low: 1, high: 2, ...sure });
  const low = row(1, { confidence: "low" });
  assert.deepEqual(spanOf([low, { ...low, low: 0, unconfirmed: true }]), { currency: "USD", low: 1, high: 2, ...sure, doubtful: true });
  assert.deepEqual(spanOf([row(1, { unconfirmed: true })]), { currency: "USD", low: 1, high: 2, ...sure, unconfirmed: true });
});

/** The closed lines under the prices of a card, by what they begin with. */
function closedLines(words, gpu, vendor = market.vendor) {
  const view = { words, facts, market: { ...market, vendor }, answer: { hardware: { gpu } }, ui: { open: ["prices"] }, id: (name) => name };
  const text = textOf(prices(view));
  const rows = Object.entries({ rent: "price.rent", buy: "price.buy", machines: "price.machines", services: "price.services", running: "price.running" })
    .map(([id, key]) => [id, text.indexOf(` ${words.t(key)} `)]).filter(([, at]) => at >= 0).sort(([, a], [, b]) => a - b);
  return { text, ...Object.fromEntries(rows.map(([id, at], i) => [id, text.slice(at, rows[i + 1]?.[1]).trim()])) };
}

test("a closed list says low confidence wherever what it comes to rests on that alone, in every list of every card", () => {
  let marked = 0;
  for (const gpu of facts.gpus.keys()) {
    const lists = {
      rent: comparable(rentedWith(market, gpu).find(([term]) => term === "on_demand")?.[1] ?? []),
      buy: boughtCards(market, gpu),
      machines: boughtServers(market, gpu),
    };
    for (const words of [en, nl]) {
      const lines = closedLines(words, gpu);
      for (const [id, rows] of Object.entries(lists)) {
        const groups = id === "machines" ? builtAlike(rows).map((group) => group.rows) : [rows];
        const alone = groups.filter((group) => group.length && group.every(({ confidence }) => confidence === "low")).length;
        const amounts = /[$€]/.test(lines[id] ?? "");
        assert.equal((lines[id] ?? "").split(words.t("price.low")).length - 1, amounts ? alone : 0, `${gpu} ${id}: ${lines[id]}`);
        if (amounts) marked += alone;
      }
    }
  }
  assert.ok(marked >= 80, `${marked}`); // in two languages
});

test("what renting comes to is told with the machine, and where none is in it that is said", () => {
  const rows = [["machine", 2], ["gpu", 1], ["machine", 3]].map(([covers, price]) => offer("A", "2026-08-01", price, { covers }));
  assert.deepEqual(comparable(rows).map(({ per_gpu_hour }) => per_gpu_hour), [2, 3]);
  assert.equal(comparable(rows.slice(1, 2)).length, 1);
  for (const gpu of facts.gpus.keys()) {
    const told = comparable(rentedWith(market, gpu).find(([term]) => term === "on_demand")?.[1] ?? []);
    const line = closedLines(en, gpu).rent ?? "";
    const bare = /US\$/.test(line) && told.some(({ covers }) => covers === "gpu");
    assert.equal(/machine not included/.test(line), bare, `${gpu}: ${line}`);
  }
});

test("what a machine for a card costs is told apart by what is in it", () => {
  assert.match(closedLines(en, "l40s").machines,
    /^Buy a machine for it \d+ prices, with 8 GPUs US\$[\d,]+ low confidence; barebone US\$[\d,]+ to US\$[\d,]+ low confidence$/);
  assert.match(closedLines(nl, "l40s").machines, /prijzen, met 8 GPU’s .* onzeker; barebone .* onzeker$/);
});

test("all that is shown is counted where it is said how much of it is old", () => {
  const now = Date.now;
  Date.now = () => Date.UTC(2027, 11, 1);
  try {
    const { prices: { services, defaults } } = market;
    const rented = rentedWith(market, "l40s").flatMap(([, rows]) => rows).length;
    const all = rented + boughtCards(market, "l40s").length + boughtServers(market, "l40s").length + services.length + defaults.length;
    assert.ok(closedLines(en, "l40s").text.includes(`${all} of these ${all} prices and figures are over 90 days old`));
    // The vendor's own electricity has no day, and its providers train by no token.
    const few = defaults.length - 1 + boughtCards(market, "rtx-3060-12gb").length;
    assert.ok(closedLines(en, "rtx-3060-12gb", own).text.includes(`${few} of these ${few} prices`));
  } finally {
    Date.now = now;
  }
});

test("a machine that takes the card unconfirmed has a price too, and the vendor's electricity has its own", () => {
  assert.ok(boughtServers(market, "l40s").some(({ server }) => server === "as-4125gs-tnrt")); // which takes it, unconfirmed
  assert.deepEqual(boughtServers(market, "rtx-3060-12gb"), []);
  assert.equal(defaultsOf({ ...market, vendor: own }).find(({ id }) => id === "electricity").expected, 0.24);
  assert.notEqual(defaultsOf(market).find(({ id }) => id === "electricity").expected, 0.24);
});

test("an amount is converted only into another currency, and only at a known rate", () => {
  const rate = exchangeOf(market);
  assert.ok(rate.expected > 0.5 && rate.expected < 1.5);
  assert.equal(converted(10, "USD", "USD", rate), null);
  assert.equal(converted(10, "USD", "EUR", undefined), null);
  assert.equal(converted(10, "USD", "EUR", { expected: 0.8 }), 8);
  assert.equal(converted(8, "EUR", "USD", { expected: 0.8 }), 10);
});
