// node scripts/count_tests.mjs <folder>: prints "<passed> <failed>", the cases of the JUnit files in it. A case with
// several failures is one case.

import { existsSync, readFileSync, readdirSync } from "node:fs";
import path from "node:path";

const [folder] = process.argv.slice(2);
let passed = 0;
let failed = 0;
for (const name of existsSync(folder) ? readdirSync(folder) : []) {
  const xml = readFileSync(path.join(folder, name), "utf8");
  for (const [, content = ""] of xml.matchAll(/<testcase\b[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g)) {
    if (/<(failure|error)\b/.test(content)) ++failed;
    else if (!/<skipped\b/.test(content)) ++passed;
  }
}
console.log(passed, failed);
