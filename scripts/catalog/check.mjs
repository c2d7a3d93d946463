// node scripts/catalog/check.mjs [--write] [--core <tunefit_cli>] [--vendor <vendor.json>]
// Checks the catalog against its schemas and laws and says what changed since the last commit.
//
// --write    first sorts and formats the files that have rows
// --core     also asks the core, by the native program of that path: it counts every model's parameters
// --vendor   another vendor's file in place of catalog/vendor.json

import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { changes } from "./changes.mjs";
import { pageThemes } from "./contrast.mjs";
import { orphans, publishedFaults } from "./laws.mjs";
import { catalogFaults, marketFaults, schemas } from "./schemas.mjs";
import { canonical, files, keyOf, listOf, partOf, readAll, root } from "./tables.mjs";

const { values: options } = parseArgs({
  options: { write: { type: "boolean" }, core: { type: "string" }, vendor: { type: "string" } },
});
const folder = new URL("catalog/", root);
const vendor = options.vendor ? pathToFileURL(path.resolve(options.vendor)) : new URL("vendor.json", folder);

/** The files as the last commit has them; a file that it lacks is empty. */
function committed() {
  const show = (name) => {
    try {
      const options = { cwd: root, encoding: "utf8", maxBuffer: 1e9, stdio: ["ignore", "pipe", "ignore"] };
      return JSON.parse(execFileSync("git", ["show", `HEAD:catalog/${name}.json`], options));
    } catch {
      return Array.isArray(contents[name]) ? [] : {};
    }
  };
  return Object.fromEntries(files.map((name) => [name, show(name)]));
}

/** A line for each fault, with what names its row: `gpus[3].tdp_W (a30): unsourced, has no source ...`. */
function described({ code, field, message }, contents) {
  const row = field.match(/^([\w.]+)\[(\d+)\]/);
  const there = row && listOf(contents, row[1])?.[row[2]];
  return `${field}${there ? ` (${keyOf(there, row[1])})` : ""}: ${code}, ${message}`;
}

function unformatted(contents) {
  return files.flatMap((name) => {
    const wanted = canonical(name, contents[name], schemas[name]);
    if (wanted === null || readFileSync(new URL(`${name}.json`, folder), "utf8") === wanted) return [];
    if (!options.write) return [`${name}.json is not formatted: make catalog does it`];
    writeFileSync(new URL(`${name}.json`, folder), wanted);
    return [];
  });
}

/** What the core says of both parts, as its loader's issues. */
function coreFaults(contents) {
  const scratch = mkdtempSync(path.join(tmpdir(), "tunefit-catalog-"));
  try {
    const paths = ["catalog", "market"].map((part) => {
      const file = path.join(scratch, `${part}.json`);
      writeFileSync(file, JSON.stringify(partOf(contents, part)));
      return file;
    });
    const { stdout, stderr } = spawnSync(options.core, paths, { input: "", encoding: "utf8", maxBuffer: 1e9 });
    const first = JSON.parse(stdout.split("\n")[0]).issues;
    // The second part is only read beside a first one without faults.
    return (first.length > 0 || !stderr ? first : JSON.parse(stderr).issues)
      .map(({ code, field, message }) => described({ code, field: field.replace(/\.(\d+)/g, "[$1]"), message }, contents));
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** As readAll, but what is no JSON ends the check with a sentence. */
function read(...from) {
  try {
    return readAll(...from);
  } catch ({ message }) {
    console.error(message);
    process.exit(1);
  }
}

const faults = unformatted(read(folder));
const contents = read(folder, vendor);
const [catalog, market] = [partOf(contents, "catalog"), partOf(contents, "market")];
const found = catalogFaults(catalog);
if (found.length === 0) found.push(...marketFaults(catalog, market, pageThemes()));
// What is no fault to the core does not keep it from being asked: it says what a config counts.
const toCore = options.core && found.length === 0;
if (found.length === 0) {
  const published = JSON.parse(readFileSync(new URL("tests/golden/published_params.json", root), "utf8"));
  found.push(...orphans(catalog, market), ...publishedFaults(catalog, published));
}
faults.push(...found.map((fault) => described(fault, contents)));
if (contents.vendor.logo && !existsSync(new URL(contents.vendor.logo, vendor))) faults.push(`vendor.logo: no such file beside ${options.vendor}`);
if (toCore) faults.push(...coreFaults(contents));

if (!options.vendor) console.log(changes(committed(), contents).join("\n") || "Nothing changed since the last commit.");
if (faults.length > 0) {
  console.error(`\n${faults.join("\n")}\n\n${faults.length} fault${faults.length > 1 ? "s" : ""}`);
  process.exitCode = 1;
}
