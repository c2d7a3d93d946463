// The package as it is published, imported by name from a folder that has nothing else, on every Node found here: the
// package supports Node 18, the tools need a newer one.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync, cpSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";

const dist = fileURLToPath(new URL("../../dist/npm/", import.meta.url));
const nodes = [...new Set([process.execPath, "/usr/bin/node"])].filter((node) => existsSync(node));

const script = `
import assert from "node:assert/strict";
import { createTunefit } from "tunefit";

const tunefit = await createTunefit();
assert.equal(typeof tunefit.describe().version, "string");

const report = tunefit.estimate({ version: 1, model: "no/such-model" });
assert.equal(report.status, "invalid");
assert.notEqual(report.issues.length, 0);

for (const odd of [undefined, null, [], 1, "text", {}]) assert.equal(tunefit.estimate(odd).status, "invalid");

const long = tunefit.estimate({ version: 1, model: "x".repeat(300 * 1024) });
assert.equal(long.status, "invalid");
assert.deepEqual(Object.keys(long), Object.keys(report).filter((key) => key !== "sources"));

const request = { version: 1, model: "llama-3.1-8b", hardware: { gpu: "rtx-3090" }, parallel: { gpus: 2 } };
const plan = tunefit.plan(request);
assert.ok(plan.done && plan.best.length > 0);
assert.equal(tunefit.estimate(plan.best[0].request).fit.verdict, plan.best[0].verdict);
const { id } = tunefit.planStart(request);
let step;
do step = tunefit.planStep(id, 0); while (!step.done);
assert.deepEqual(step, plan);
assert.equal(tunefit.planStep(id, 0).issues[0].code, "unknown_plan");
for (const odd of [undefined, null, [], 1, "text", {}]) assert.equal(tunefit.plan(odd).status, "invalid");
assert.equal(tunefit.planStart({ version: 1, model: "x".repeat(300 * 1024) }).issues[0].code, "text_too_long");
console.log(process.version);
`;

let folder;
before(() => {
  folder = mkdtempSync(path.join(tmpdir(), "tunefit-"));
  mkdirSync(path.join(folder, "node_modules"));
  cpSync(dist, path.join(folder, "node_modules/tunefit"), { recursive: true });
  writeFileSync(path.join(folder, "use.mjs"), script);
});
after(() => rmSync(folder, { recursive: true }));

for (const node of nodes) {
  const version = spawnSync(node, ["--version"], { encoding: "utf8" }).stdout.trim();
  test(`works in Node ${version}`, () => {
    const { status, stdout, stderr } = spawnSync(node, ["use.mjs"], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim(), version);
  });
}

for (const file of ["README.md", "wasm/npm/README.md"]) {
  test(`the example of ${file} fits`, () => {
    const readme = readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8");
    const [, example] = /```js\n([\s\S]*?)```/.exec(readme);
    const name = file.replaceAll("/", "-").replace(".md", ".mjs");
    writeFileSync(path.join(folder, name), `${example}\nconsole.log(report.status, report.fit.verdict, report.issues.length);\n`);
    const { status, stdout, stderr } = spawnSync(process.execPath, [name], { cwd: folder, encoding: "utf8" });
    assert.equal(status, 0, stderr);
    assert.equal(stdout.trim().split("\n").at(-1), "ok fits 0");
  });
}

test("provenance is only claimed for a package that names its repository", () => {
  const read = (file) => readFileSync(fileURLToPath(new URL(`../../${file}`, import.meta.url)), "utf8");
  const { repository } = JSON.parse(read("package.json"));
  assert.deepEqual(JSON.parse(readFileSync(path.join(dist, "package.json"), "utf8")).repository, repository);
  const release = read(".github/workflows/release.yml");
  assert.equal(release.includes("--provenance"), repository !== undefined);
  assert.ok(release.indexOf("npm publish") < release.indexOf("gh release create"));
});

test("a page is only deployed from what CI tested", () => {
  const pages = readFileSync(fileURLToPath(new URL("../../.github/workflows/pages.yml", import.meta.url)), "utf8");
  assert.match(pages, /workflow_run\.conclusion == 'success'/);
  assert.doesNotMatch(pages, /^ {2}(push|workflow_dispatch):/m);
});

test("holds what its package.json names, and nothing to install", () => {
  const manifest = JSON.parse(readFileSync(path.join(dist, "package.json"), "utf8"));
  for (const file of [...manifest.files, manifest.types, manifest.exports["."].default, "LICENSE", "README.md"]) {
    assert.ok(existsSync(path.join(dist, file)), file);
  }
  assert.equal(manifest.dependencies, undefined);
});
