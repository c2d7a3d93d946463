// node scripts/serve.mjs [folder] [port]: a static server for localhost, with the policy that the site ships under.
// Reads every file again at each request, so a rebuild shows at the next reload.

import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

import { site as sitePolicy } from "./csp.mjs";

const contentTypes = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml; charset=utf-8",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webmanifest": "application/manifest+json; charset=utf-8",
  ".xml": "application/xml; charset=utf-8",
};
const alreadyCompressed = new Set([".png", ".ico"]);

/** The file a URL names, or null outside `root`. */
function fileOf(root, url) {
  let name;
  try {
    name = decodeURIComponent(new URL(url, "http://localhost").pathname);
  } catch {
    return null;
  }
  if (name.includes("\0")) return null;
  if (name.endsWith("/")) name += "index.html";
  const file = path.join(root, name);
  return file.startsWith(root + path.sep) ? file : null;
}

/**
 * Serves `root` on localhost, on `port` or the next free one.
 * @param {{root: string, port?: number, policy?: string, intercept?: (request, response) => boolean}} options
 *   `intercept` answers a request itself and returns true: the browser tests collect policy reports with it.
 * @returns {Promise<{address: string, server: import("node:http").Server}>}
 */
export async function serve({ root, port = 8080, policy = sitePolicy, intercept = () => false }) {
  root = path.resolve(root);
  const server = createServer(async (request, response) => {
    if (intercept(request, response)) return;
    const headers = {
      "content-security-policy": policy,
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "cache-control": "no-cache",
    };
    const file = fileOf(root, request.url);
    const body = file && (await readFile(file).catch(() => null));
    if (!body) {
      response.writeHead(404, { ...headers, "content-type": "text/plain; charset=utf-8" }).end("Not found\n");
      return;
    }
    const extension = path.extname(file);
    headers["content-type"] = contentTypes[extension] ?? "application/octet-stream";
    const gzip = !alreadyCompressed.has(extension) && /\bgzip\b/.test(request.headers["accept-encoding"] ?? "");
    if (gzip) Object.assign(headers, { "content-encoding": "gzip", vary: "accept-encoding" });
    response.writeHead(200, headers).end(request.method === "HEAD" ? undefined : gzip ? gzipSync(body) : body);
  });

  const listen = (candidate) =>
    new Promise((resolve, reject) => {
      server.once("error", reject);
      server.listen(candidate, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  for (let candidate = port; ; ++candidate) {
    try {
      await listen(candidate);
      break;
    } catch (error) {
      if (error.code !== "EADDRINUSE" || candidate >= port + 100) throw error;
    }
  }
  return { address: `http://127.0.0.1:${server.address().port}/`, server };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [root = "dist/site", port = "8080"] = process.argv.slice(2);
  const { address } = await serve({ root, port: Number(port) });
  console.log(`Tunefit is at ${address} (stop it with Ctrl-C)`);
}
