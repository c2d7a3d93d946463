// Native and WebAssembly give the same bytes: every request of tests/golden/requests, of the benchmark and of the
// validation rows through tunefit_cli and through the module, and every plan of tests/golden/plan. TUNEFIT_WASM names
// the folder of the module under test, TUNEFIT_PLANS_OF_EVERY how many plans one stands for; ctest sets both.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const wasm = process.env.TUNEFIT_WASM ?? path.join(root, "build/wasm/wasm");
const native = path.join(root, "build/native");
const catalog = path.join(native, "catalog/catalog.json");

/** Request texts of a file, one a line, as tunefit_cli reads them. A .json file is one request over several lines; the
 *  rows of tests/validation hold theirs beside what was measured. */
function requestsOf(file) {
  const text = readFileSync(file, "utf8");
  if (file.endsWith(".json")) return [text.trim().replaceAll("\n", " ")];
  const lines = text.split("\n").filter((line) => line !== "");
  if (!file.includes("validation")) return lines;
  // A report that no request was read in has only the reason.
  return lines.map((line) => JSON.parse(line).request).filter(Boolean).map((request) => JSON.stringify(request));
}

function nativeAnswers(requests) {
  const { status, stdout, stderr, error } = spawnSync(path.join(native, "tests/support/tunefit_cli"), [catalog], {
    input: requests.map((request) => request + "\n").join(""),
    encoding: "utf8",
    maxBuffer: 2 ** 31,
  });
  assert.equal(status, 0, error?.message ?? stderr);
  const [init, description, ...reports] = stdout.trimEnd().split("\n");
  return { init, description, reports };
}

/** The module is built for pages and workers. It starts in Node all the same, but a build with assertions looks round. */
async function start(name) {
  const { default: createCore } = await import(pathToFileURL(path.join(wasm, `${name}.mjs`)));
  const wasmBinary = readFileSync(path.join(wasm, `${name}.wasm`));
  const { process } = globalThis;
  globalThis.window = globalThis;
  delete globalThis.process;
  try {
    return await createCore({ wasmBinary });
  } finally {
    globalThis.process = process;
    delete globalThis.window;
  }
}

/** The whole module, and the one that a page's first answer waits for. */
let core, first;
before(async () => {
  core = await start("tunefit");
  first = await start("first");
});

test("init and describe", () => {
  const expected = nativeAnswers([]);
  for (const module of [core, first]) {
    const answer = module.init(readFileSync(catalog, "utf8"));
    assert.equal(answer, expected.init);
    assert.equal(JSON.parse(answer).status, "ok", answer);
    assert.equal(module.describe(), expected.description);
  }
});

test("the first module answers as the whole one, and plans nothing", () => {
  for (const request of requestsOf(path.join(root, "tests/bench/requests.jsonl"))) {
    assert.equal(first.estimate(request), core.estimate(request));
  }
  assert.equal(first.plan_start, undefined);
});

const requestFolder = path.join(root, "tests/golden/requests");
const files = readdirSync(requestFolder).sort().map((name) => path.join(requestFolder, name));
const rowFolder = path.join(root, "tests/validation/rows");
const rows = readdirSync(rowFolder).filter((name) => name.endsWith(".jsonl")).sort();
files.push(path.join(root, "tests/bench/requests.jsonl"), ...rows.map((name) => path.join(rowFolder, name)));
for (const file of files) {
  test(path.relative(root, file), () => {
    const requests = requestsOf(file);
    assert.notEqual(requests.length, 0);
    const { reports } = nativeAnswers(requests);
    requests.forEach((request, index) => assert.equal(core.estimate(request), reports[index], request.slice(0, 1000)));
  });
}

test("plans", () => {
  const file = path.join(root, "tests/golden/plan/workloads.jsonl");
  const every = Number(process.env.TUNEFIT_PLANS_OF_EVERY ?? 1);
  const lines = readFileSync(file, "utf8").trim().split("\n").filter((_, index) => index % every === 0);
  const requests = lines.map((line) => JSON.stringify(JSON.parse(line).request));
  const market = path.join(native, "catalog/market.json");
  const { status, stdout, stderr } = spawnSync(
    path.join(native, "tests/support/plan_cli"),
    [catalog, market, "--prints"],
    { input: requests.join("\n"), encoding: "utf8", maxBuffer: 2 ** 31 },
  );
  assert.equal(status, 0, stderr);
  const expected = stdout.trimEnd().split("\n");
  assert.equal(JSON.parse(core.init_market(readFileSync(market, "utf8"))).status, "ok");
  requests.forEach((request, index) => {
    const { id } = JSON.parse(core.plan_start(request));
    for (;;) {
      const answer = core.plan_step(id, 20);
      if (!JSON.parse(answer).done) continue;
      assert.equal(answer, expected[index], request);
      break;
    }
  });
});

test("texts that only JavaScript can make get a report", () => {
  for (const request of ["\ud800", '{"version":1,"model":"\udfff"}', "\0", '{"version":1}\0']) {
    assert.equal(JSON.parse(core.estimate(request)).status, "invalid", JSON.stringify(request));
    assert.equal(JSON.parse(core.plan_start(request)).status, "invalid", JSON.stringify(request));
  }
});
