// node tests/bench/estimate_bench.mjs: what a keystroke costs through the module, request text to report text; and what
// the plans of tests/golden/plan cost, from start to end and until they first have something to show.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);
const read = (name) => readFileSync(new URL(name, root));

/** Median and 95th percentile of `runs` calls, in microseconds, after as many for warming up. */
function measure(runs, call) {
  for (let i = 0; i < runs; ++i) call();
  const times = Float64Array.from({ length: runs }, () => {
    const start = performance.now();
    call();
    return (performance.now() - start) * 1000;
  }).sort();
  return { median: times[runs >> 1], p95: times[Math.floor(runs * 0.95)] };
}

const report = (name, { median, p95 }) =>
  console.log(`${name.padEnd(20)} ${median.toFixed(1).padStart(10)} us  p95 ${p95.toFixed(1).padStart(10)} us`);

const { default: createCore } = await import(fileURLToPath(new URL("build/wasm/wasm/tunefit.mjs", root)));
const core = await createCore({ wasmBinary: read("build/wasm/wasm/tunefit.wasm") });
const catalog = read("build/wasm/catalog/catalog.json").toString();
report("InitCatalog", measure(20, () => core.init(catalog)));
const market = read("build/wasm/catalog/market.json").toString();
report("InitMarket", measure(20, () => core.init_market(market)));
read("tests/bench/requests.jsonl")
  .toString()
  .trim()
  .split("\n")
  .forEach((request, index) => report(`EstimateText/${index}`, measure(2000, () => core.estimate(request))));

/** Milliseconds of a plan in steps of 8: until something was found, and in all. */
function planned(request) {
  const start = performance.now();
  const { id } = JSON.parse(core.plan_start(request));
  let first = 0;
  for (;;) {
    const answer = core.plan_step(id, 8);
    if (!first && !answer.includes('"best":[]')) first = performance.now() - start;
    if (answer.startsWith('{"status":"ok","done":true')) return { first, all: performance.now() - start };
  }
}

const workloads = read("tests/golden/plan/workloads.jsonl").toString().trim().split("\n").map((line) => JSON.parse(line));
for (const { request } of workloads) planned(JSON.stringify(request));
const plans = workloads.map(({ name, request }) => ({ name, ...planned(JSON.stringify(request)) }));
for (const what of ["first", "all"]) {
  const sorted = plans.toSorted((a, b) => a[what] - b[what]);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];
  const said = [0.5, 0.95, 1].map((share) => `${(100 * share).toFixed(0)} %: ${at(share)[what].toFixed(1)} ms (${at(share).name})`);
  console.log(`Plan/${what.padEnd(8)} ${said.join(", ")}`);
}
