// Prints the package.json of the published package. Version, licence and, where it is known, the repository are those of
// the workspace's. npm's provenance statement needs the repository: see .github/workflows/release.yml.

import { readFileSync } from "node:fs";

const { version, license, repository } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const manifest = {
  name: "tunefit",
  version,
  description: "Which GPU a fine-tuning run needs, whether it fits, what fills its memory, how long it takes and what it costs",
  license,
  ...(repository && { repository }),
  type: "module",
  types: "./index.d.ts",
  exports: { ".": { types: "./index.d.ts", default: "./index.mjs" } },
  files: ["index.mjs", "index.d.ts", "request.d.ts", "report.d.ts", "cost.d.ts", "plan.d.ts", "tunefit.mjs", "tunefit.wasm",
    "catalog.json", "market.json"],
  engines: { node: ">=18" },
  sideEffects: false,
  keywords: ["gpu", "fine-tuning", "memory", "llm", "estimate", "wasm"],
};

console.log(JSON.stringify(manifest, null, 2));
