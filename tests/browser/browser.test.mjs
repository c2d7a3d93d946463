// node --test tests/browser: the shipped site and the offline file in three engines, under the shipped policy.
// TUNEFIT_ENGINES=Chromium,Firefox picks some; TUNEFIT_DIST is another folder than dist/.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { site as sitePolicy } from "../../scripts/csp.mjs";
import { serve } from "../../scripts/serve.mjs";
import { buildVendor } from "../vendor/build.mjs";
import { engines, probe } from "./engines.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
const dist = path.resolve(root, process.env.TUNEFIT_DIST ?? "dist");
const here = fileURLToPath(new URL("./", import.meta.url));
const selected = (process.env.TUNEFIT_ENGINES ?? Object.keys(engines).join(",")).split(",");

const host = await readFile(path.join(here, "host.html"), "utf8");

const checks = [];
for (const file of (await readdir(path.join(here, "checks"))).sort()) {
  checks.push(...(await import(`./checks/${file}`)).default);
}

/** Polls `body` in the page until it is true. */
async function waitFor(tab, body, ...values) {
  const end = Date.now() + 10_000;
  while (!(await tab.evaluate(body, ...values))) {
    if (Date.now() > end) throw new Error(`waited in vain for ${body}; ${await complaints(tab)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const complaints = async (tab) => JSON.stringify([await tab.evaluate(() => tunefitProbe), await tab.consoleErrors()]);

/**
 * What is tested: the delivery's page, and that of another vendor. Checks name neither but mean the first two, unless they
 * say so.
 */
const targets = ["site", "offline", "vendor site", "vendor offline"];
const checksOf = (target) => checks.filter((check) => (check.targets ?? ["site", "offline"]).includes(target));

/** Copies of what is shipped, which load the probe themselves. Only the probe is added, and its hash to the offline policy. */
async function withProbe(shipped, folder) {
  const script = `(${probe})();`;
  const insert = async (file, tag, policy = (text) => text) => {
    const html = await readFile(file, "utf8");
    assert.ok(/<head>/.test(html), `${file} has no <head>`);
    await writeFile(file, policy(html).replace("<head>", () => `<head>${tag}`));
  };
  await cp(path.join(shipped, "site"), path.join(folder, "site"), { recursive: true });
  await writeFile(path.join(folder, "site/probe.js"), script);
  await insert(path.join(folder, "site/index.html"), `<script src="./probe.js"></script>`);
  await cp(path.join(shipped, "tunefit.html"), path.join(folder, "tunefit.html"));
  const hash = createHash("sha256").update(script).digest("base64");
  await insert(path.join(folder, "tunefit.html"), `<script>${script}</script>`, (html) =>
    html.replace("script-src ", `script-src 'sha256-${hash}' `),
  );
}

/** The other vendor's page, built once for all engines. */
const vendors = await mkdtemp(path.join(tmpdir(), "tunefit-vendor-"));
await buildVendor(vendors);
process.on("exit", () => rmSync(vendors, { recursive: true }));

for (const name of selected) {
  describe(name, () => {
    let engine;
    let reports;
    let refused;
    const folders = [];
    const servers = [];
    const urls = {};

    /** Serves a delivery, with the probe in it where the engine does not run it itself. */
    async function deliver(shipped, prefix) {
      if (!engine.runsProbe) {
        const copy = await mkdtemp(path.join(tmpdir(), "tunefit-"));
        folders.push(copy);
        await withProbe(shipped, copy);
        shipped = copy;
      }
      const { address, server } = await serve({
        root: path.join(shipped, "site"),
        port: 18080,
        policy: `${sitePolicy}; report-uri /policy-report`,
        intercept(request, response) {
          if (request.url.startsWith("/lossy/")) {
            // The same page where the second part of the catalog comes at the second request only.
            request.url = request.url.slice("/lossy".length);
            if (request.url === "/core/market.json" && refused++ === 0) {
              response.writeHead(503).end();
              return true;
            }
          }
          if (request.url === "/guide/") {
            // Somebody's page that embeds the element. An engine that does not run the probe finds it in the site.
            const tag = engine.runsProbe ? "" : `<script src="../probe.js"></script>`;
            const headers = { "content-type": "text/html; charset=utf-8", "content-security-policy": sitePolicy };
            response.writeHead(200, headers).end(host.replace("<head>", `<head>${tag}`));
            return true;
          }
          if (request.url !== "/policy-report") return false;
          let body = "";
          request.on("data", (part) => (body += part)).on("end", () => reports.push(body));
          response.writeHead(204).end();
          return true;
        },
      });
      servers.push(server);
      urls[`${prefix}site`] = address;
      urls[`${prefix}offline`] = pathToFileURL(path.join(shipped, "tunefit.html")).href;
    }

    before(async () => {
      engine = await engines[name]();
      await deliver(dist, "");
      await deliver(vendors, "vendor ");
    });

    after(async () => {
      await engine?.close();
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      for (const folder of folders) await rm(folder, { recursive: true });
    });

    for (const target of targets) {
      for (const check of checksOf(target)) {
        test(`${target}: ${check.name}`, { timeout: 60_000 }, async () => {
          reports = [];
          refused = 0;
          const tab = await engine.newTab();
          try {
            await tab.goto(urls[target]);
            await waitFor(tab, () => document.documentElement.dataset.ready === "true");
            await check.run({
              tab,
              target,
              assert,
              url: urls[target],
              policy: sitePolicy,
              waitFor: (body, ...values) => waitFor(tab, body, ...values),
            });
            if (check.provokes) return;
            assert.deepEqual(await tab.evaluate(() => tunefitProbe), { violations: [], errors: [] });
            assert.deepEqual(await tab.consoleErrors(), []);
            assert.deepEqual(reports, []);
            const own = (request) =>
              target.endsWith("site") ? request.startsWith(urls[target]) : request.split("#")[0] === urls[target];
            const asked = (await tab.requests()).filter((request) => /^(https?|wss?|file):/.test(request));
            assert.deepEqual(asked.filter((request) => !own(request)), []);
          } finally {
            await tab.close();
          }
        });
      }
    }
  });
}
