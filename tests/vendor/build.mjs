// Builds the page of the vendor beside this file from the core of dist/, as scripts/dist.sh does it for a whole delivery.

import { execFile } from "node:child_process";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const root = fileURLToPath(new URL("../../", import.meta.url));
const dist = path.resolve(root, process.env.TUNEFIT_DIST ?? "dist");
const file = fileURLToPath(new URL("vendor.json", import.meta.url));
const run = promisify(execFile);

export const vendor = JSON.parse(await readFile(file, "utf8"));

/** Leaves `site/` and `tunefit.html` in a folder. */
export async function buildVendor(folder) {
  const env = { ...process.env, TUNEFIT_VENDOR: file };
  const vite = (...options) =>
    run(process.execPath, [path.join(root, "node_modules/vite/bin/vite.js"), "build", path.join(root, "web"), ...options], { env });
  const core = path.join(folder, "core");
  await cp(path.join(dist, "site/core"), core, { recursive: true });
  const market = JSON.parse(await readFile(path.join(core, "market.json"), "utf8"));
  await writeFile(path.join(core, "market.json"), JSON.stringify({ ...market, vendor }));
  await mkdir(path.join(folder, "offline"));
  await vite("--outDir", path.join(folder, "site"));
  await vite("--mode", "offline", "--outDir", path.join(folder, "offline"));
  await cp(core, path.join(folder, "site/core"), { recursive: true });
  const pack = ["offline", "core", "tunefit.html"].map((name) => path.join(folder, name));
  await run(process.execPath, [path.join(root, "scripts/pack_offline.mjs"), ...pack]);
}
