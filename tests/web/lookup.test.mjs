// What is looked up: facts and their sources, machines, prices.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { createTunefit } from "../../dist/npm/index.mjs";
import { gpuNamed, readFacts, shownServers } from "../../web/src/facts.js";
import { createWords, loadTexts } from "../../web/src/i18n.js";
import { cardFacts } from "../../web/src/later/card.js";
import "../../web/src/later/index.js";
import {
  ageOf, boughtCards, boughtServers, converted, defaultsOf, exchangeOf, isDay, rentedWith, staleAfter, terms,
} from "../../web/src/later/offers.js";
import { modelFacts } from "../../web/src/later/origin.js";
import { isDerived, isDoubtful, isRecalled, serversFor, sourceIdsOf } from "../../web/src/later/rows.js";
import { serverFacts } from "../../web/src/later/server.js";

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
  const doubted = { unconfirmed: ["dense_TFLOPS", "measured_TFLOPS.fp8"] };
  const paths = ["dense_TFLOPS.bf16", "measured_TFLOPS.fp8", "measured_TFLOPS.bf16", "tdp_W"];
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

test("the vendor's own prices stand first, and its machines alone have a price", () => {
  const cards = boughtCards({ ...market, vendor: own }, "l40s");
  assert.deepEqual([cards[0].own, cards[0].kind, cards[0].low], [true, "quoted", 8450]);
  assert.ok(cards.length > 1 && cards.slice(1).every((row) => !row.own));
  const servers = boughtServers({ ...market, vendor: own }, "l40s");
  assert.deepEqual(servers.slice(0, 2).map(({ what }) => what), ["SYS-421GE-TNRT", "SYS-521GE-TNRT"]);
  assert.ok(servers.every(({ server }) => !server || own.servers.includes(server)));
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
