import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const web = fileURLToPath(new URL("../../web/", import.meta.url));
const files = ["src", "styles"].flatMap((folder) =>
  readdirSync(`${web}${folder}`, { recursive: true }).filter((name) => /\.(js|css|ts)$/.test(name)).map((name) => `${folder}/${name}`),
);
const linesOf = (name) => readFileSync(web + name, "utf8").split("\n");

test("files stay under 300 lines, and lines of code under 120 columns", () => {
  for (const name of files) {
    assert.ok(linesOf(name).length <= 300, `${name} is long`);
    if (name.startsWith("src/texts/")) continue;
    const wide = linesOf(name).flatMap((line, index) => (line.length > 120 ? [`${name}:${index + 1}`] : []));
    assert.deepEqual(wide, []);
  }
});
