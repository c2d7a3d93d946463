// node scripts/pack_offline.mjs <built page> <core> <output.html>
// Puts a built page into one HTML file that works from disk on a machine without a network.
//
// <built page>  what `vite build web --mode offline` left: index.html, its scripts (no module imports another) and styles
// <core>        tunefit.mjs, tunefit.wasm, catalog.json and market.json, the same files as the site's
//
// The page finds in the file: `globalThis.tunefitCreateCore`, the module's factory; the element #tunefit-wasm, the module
// in base64; the elements #tunefit-catalog and #tunefit-market, the texts of the catalog's two parts. Browsers load no module
// and no fetch from a file: URL, hence everything stands in the one file; and the policy names each script by its hash, with
// no connect-src at all.

import { createHash } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";

import { offline as offlinePolicy } from "./csp.mjs";

const [pageFolder, coreFolder, output] = process.argv.slice(2);
const hashes = { script: [], style: [] };

/** An inline script or style, its hash noted for the policy. The parser must not see its end tag inside, nor a CR. */
function inline(tag, attributes, text) {
  const safe = text
    .replaceAll("\r\n", "\n")
    .replace(new RegExp(`</(${tag})`, "gi"), "<\\/$1")
    .replaceAll("<!--", "<\\!--");
  hashes[tag].push(`sha256-${createHash("sha256").update(safe).digest("base64")}`);
  return `<${tag}${attributes}>${safe}</${tag}>`;
}

/** A data block: never run, so no policy applies to it. */
const data = (id, type, text) => `<script type="${type}" id="${id}">${text}</script>`;

const attribute = (element, name) => element.match(new RegExp(`\\b${name}="([^"]*)"`))?.[1];

/** Replaces every match by what `replacement` resolves to. */
async function replaceAsync(text, pattern, replacement) {
  const parts = await Promise.all([...text.matchAll(pattern)].map((match) => replacement(match[0])));
  return text.replace(pattern, () => parts.shift());
}

const read = (name) => readFile(path.join(pageFolder, name), "utf8");
let html = await read("index.html");

html = await replaceAsync(html, /<link\b[^>]*>/g, async (link) => {
  if (attribute(link, "rel") === "stylesheet") return inline("style", "", await read(attribute(link, "href")));
  if (attribute(link, "rel") === "icon") {
    if (attribute(link, "href").startsWith("data:")) return link;
    const icon = await readFile(path.join(pageFolder, attribute(link, "href")));
    return `<link rel="icon" href="data:image/svg+xml;base64,${icon.toString("base64")}">`;
  }
  return ""; // preloads, the manifest, the canonical address: nothing that a file on disk has
});

const glue = await readFile(path.join(coreFolder, "tunefit.mjs"), "utf8");
const factory = glue.replace(/export default (\w+);?\s*$/, "globalThis.tunefitCreateCore = $1;\n");
if (factory === glue) throw new Error("tunefit.mjs does not end in a default export");
const wasm = await readFile(path.join(coreFolder, "tunefit.wasm"));
const part = async (name) =>
  data(`tunefit-${name}`, "application/json", (await readFile(path.join(coreFolder, `${name}.json`), "utf8")).replaceAll("<", "\\u003c"));
const embedded = [
  data("tunefit-wasm", "text/plain", wasm.toString("base64")),
  await part("catalog"),
  await part("market"),
  inline("script", ' type="module"', factory),
];

const scripts = [];
html = await replaceAsync(html, /<script\b[^>]*><\/script>\s*/g, async (script) => {
  scripts.push(inline("script", ' type="module"', await read(attribute(script, "src"))));
  return "";
});
if (scripts.length === 0) throw new Error("the page has no script");
html = html.replace("</body>", () => [...embedded, ...scripts, "</body>"].join("\n"));

const policy = /(<meta http-equiv="Content-Security-Policy"\s+content=")[^"]*(")/;
if (!policy.test(html)) throw new Error("the page carries no policy");
html = html.replace(policy, (_, before, after) => before + offlinePolicy(hashes.script, hashes.style) + after);

await writeFile(output, html);
