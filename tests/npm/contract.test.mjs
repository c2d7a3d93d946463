// The contract says what the core answers: real reports and the real description, written out as TypeScript values of
// the types in tunefit.d.ts, pass the strict compiler.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { createTunefit } from "../../dist/npm/index.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Compiles one source text beside the contract; gives the compiler's complaints. */
function complaints(source) {
  const folder = mkdtempSync(path.join(tmpdir(), "tunefit-contract-"));
  try {
    const file = path.join(folder, "answers.ts");
    writeFileSync(file, source);
    const options = ["--noEmit", "--strict", "--exactOptionalPropertyTypes", "--target", "es2022", "--types", ""];
    const compiler = path.join(root, "node_modules/typescript/bin/tsc");
    return spawnSync(process.execPath, [compiler, ...options, file], { encoding: "utf8" }).stdout;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const contract = JSON.stringify(path.join(root, "wasm/tunefit.d.ts"));

test("reports and the description are what tunefit.d.ts says", async () => {
  const tunefit = await createTunefit();
  const requests = readFileSync(path.join(root, "tests/golden/requests/varied.jsonl"), "utf8").trim().split("\n");
  const bad = [{}, { version: 1, model: "nobody/knows" }, { version: 1, model: 3, colour: "red" }];
  const reports = [...requests.map((text) => JSON.parse(text)), ...bad].map((request) => tunefit.estimate(request));
  const lines = reports.map((report) => `  ${JSON.stringify(report)},`);
  const source = [
    `import type { Description, PlanStarted, PlanStep, Report } from ${contract};`,
    `export const reports: Report[] = [\n${lines.join("\n")}\n];`,
    `export const description: Description = ${JSON.stringify(tunefit.describe())};`,
    `export const plan: PlanStep = ${JSON.stringify(tunefit.plan({ version: 1, model: "gpt2" }))};`,
    `export const started: PlanStarted[] = ${JSON.stringify([{}, { version: 1, model: "gpt2" }].map(tunefit.planStart))};`,
  ].join("\n");
  assert.equal(complaints(source), "");
});

test("the compiler would have complained", () => {
  const source = `import type { Report } from ${contract};\nexport const report: Report = { version: 1, status: "fine" };`;
  assert.match(complaints(source), /"fine"/);
});

test("a key that nobody knows is named where a request is written out, and a value that was parsed passes", () => {
  const source = `
import type { Request, Tunefit } from ${contract};
declare const tunefit: Tunefit;
declare const given: unknown;
tunefit.estimate({ version: 1, model: "gpt2", batch: { per_device: 1 }, pricing: { term: "spot" } });
// @ts-expect-error
tunefit.estimate({ version: 1, model: "gpt2", batchs: { per_device: 1 } });
// @ts-expect-error
tunefit.estimate({ version: 1, model: "gpt2", batch: { per_devcie: 1 } });
// @ts-expect-error
tunefit.estimate({ version: 1, model: "gpt2", pricing: { term: "monthly" } });
// @ts-expect-error
tunefit.estimate({ model: "gpt2" });
// @ts-expect-error
tunefit.estimate(given);
tunefit.estimate(given as Request);
tunefit.estimate(JSON.parse("{}"));
const request = { version: 1, model: "gpt2", method: { kind: "full" } } satisfies Request;
tunefit.estimate(request);
`;
  assert.equal(complaints(source), "");
});
