import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { matchOf, meant, named, rankIn, search, usualGpus, usualModels } from "../../web/src/search.js";

const json = (name) => JSON.parse(readFileSync(new URL(`../../catalog/${name}.json`, import.meta.url), "utf8"));
const rows = (name) => Object.values(json(name)).find(Array.isArray) ?? json(name);
const gpu = (id, name, about = ["NVIDIA"]) => ({ id, name, detail: "", group: "g", names: [name, id], about, usual: rankIn(usualGpus, id) });
const gpus = [
  gpu("h100-nvl", "H100 NVL 94GB"), gpu("h100-pcie", "H100 PCIe 80GB"), gpu("h100-sxm", "H100 SXM5 80GB"), gpu("gh100", "GH100 96GB"),
  gpu("rtx-4090", "GeForce RTX 4090"), gpu("l4", "L4"), gpu("l40s", "L40S"),
];
const model = (id, hub, name = id) => ({ id, name, detail: "", group: hub.split("/")[0], names: [name, id, hub], about: [], usual: rankIn(usualModels, id) });
const found = (query, options = gpus) => search(query, options).map(({ id }) => id);

test("the most usual of those that begin so comes first; letters inside a word do not count beside them", () => {
  assert.deepEqual(found("h100"), ["h100-sxm", "h100-pcie", "h100-nvl"]);
  assert.deepEqual(found("100"), ["h100-sxm", "h100-pcie", "h100-nvl", "gh100"]);
  assert.deepEqual(found("80gb h100"), ["h100-sxm", "h100-pcie"]);
});

test("a name in full stands before those that begin with it", () => assert.deepEqual(found("l4"), ["l4", "l40s"]));

test("signs and spaces do not matter", () => {
  for (const query of ["RTX 4090", "rtx-4090", "rtx4090", " 4090 "]) assert.deepEqual(found(query), ["rtx-4090"], query);
});

test("the part of a Hugging Face id after the maker is a beginning too", () => {
  assert.equal(matchOf("Llama-3.1", model("llama-3.1-8b", "meta-llama/Llama-3.1-8B")), 1);
  assert.equal(matchOf("meta-llama/Lla", model("llama-3.1-8b", "meta-llama/Llama-3.1-8B")), 1);
});

test("only a name in full or a single hit is taken without a choice", () => {
  assert.equal(meant("h100", gpus), undefined);
  assert.equal(meant("NVIDIA", gpus), undefined);
  assert.equal(meant("", gpus), undefined);
  assert.equal(meant("l4", gpus)?.id, "l4");
  assert.equal(meant("4090", gpus)?.id, "rtx-4090");
  assert.equal(meant("abacus", gpus), undefined);
  assert.equal(named("H100 sxm5 80gb", gpus)?.id, "h100-sxm");
});

test("what is found is in the order in which its groups are shown", () => {
  const models = [model("a-1", "one/a-1"), model("a-2", "two/a-2"), model("a", "two/a"), model("a-3", "one/a-3")];
  assert.deepEqual(found("a", models), ["a", "a-2", "a-1", "a-3"]);
});

test("what is usual is in the catalog", () => {
  const ids = (name) => new Set(rows(name).map(({ id }) => id));
  assert.deepEqual(usualGpus.filter((id) => !ids("gpus").has(id)), []);
  assert.deepEqual(usualModels.filter((id) => !ids("models").has(id)), []);
});
