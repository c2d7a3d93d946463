// The rules of the house that no compiler checks.

import assert from "node:assert/strict";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Every file under `folder` whose name ends in one of `extensions`, relative to the root. */
function filesUnder(folder, extensions) {
  if (!existsSync(path.join(root, folder))) return [];
  return readdirSync(path.join(root, folder), { recursive: true })
    .filter((name) => extensions.includes(path.extname(name)) && !name.includes("node_modules"))
    .map((name) => path.join(folder, name));
}
const read = (name) => readFileSync(path.join(root, name), "utf8");

const core = filesUnder("core", [".h", ".cc"]);
const includesOf = (name) => [...read(name).matchAll(/^#include [<"]([^>"]+)[>"]/gm)].map(([, included]) => included);

test("dependencies of the core point one way", () => {
  // A room includes itself and those before it.
  const rooms = ["model", "trace", "memory", "time", "cost", "plan", "codec"];
  const wrong = [];
  for (const name of core) {
    const room = rooms.indexOf(name.split(path.sep)[1]);
    assert.notEqual(room, -1, `${name} is in no room`);
    for (const included of includesOf(name).filter((included) => included.includes("/"))) {
      const target = included.startsWith("core/") ? rooms.indexOf(included.split("/")[1]) : -1;
      const json = included === "nlohmann/json.hpp" && rooms[room] === "codec";
      if (!json && (target === -1 || target > room)) wrong.push(`${name} includes ${included}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("a type has one definition", () => {
  // Two rooms with a struct of one name link without a word, and the wrong constructor runs.
  const names = core
    .filter((name) => name.endsWith(".h"))
    .flatMap((name) => [...read(name).matchAll(/^(?:struct|class|enum class) (\w+)[^;]*\{/gm)].map(([, type]) => type));
  assert.ok(names.length > 50);
  assert.deepEqual(names.filter((type, i) => names.indexOf(type) !== i), []);
});

test("the core has no input, output, clock, thread or locale", () => {
  const forbidden =
    /^(iostream|istream|ostream|fstream|sstream|iomanip|cstdio|stdio\.h|chrono|ctime|time\.h|locale|clocale|thread|mutex|random|filesystem)$/;
  const wrong = core.flatMap((name) => includesOf(name).filter((i) => forbidden.test(i)).map((i) => `${name} includes ${i}`));
  assert.deepEqual(wrong, []);
});

test("native and wasm can agree on every number", () => {
  // Only operations that IEEE 754 rounds exactly: the C libraries differ in the last bit of the others.
  const inexact = /\bstd::(exp|exp2|expm1|log|log2|log10|log1p|pow|cbrt|sin|cos|tan|tanh|lgamma|tgamma|erf)\s*\(/;
  assert.deepEqual(core.filter((name) => inexact.test(read(name))), []);
});

test("no file has outgrown its concept", () => {
  const sources = [
    ...filesUnder("core", [".h", ".cc"]),
    ...filesUnder("wasm", [".cc", ".mjs"]),
    ...filesUnder("web", [".js", ".css"]),
    ...filesUnder("scripts", [".mjs", ".sh"]),
  ];
  const long = sources.map((name) => [name, read(name).split("\n").length]).filter(([, lines]) => lines > 500);
  assert.deepEqual(long, []);
});
