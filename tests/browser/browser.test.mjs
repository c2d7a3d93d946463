// node --test tests/browser: the shipped site and the offline file in three engines, under the shipped policy.
// TUNEFIT_ENGINES=Chromium,Firefox picks some.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, mkdtemp, readFile, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

import { site as sitePolicy } from "../../scripts/csp.mjs";
import { serve } from "../../scripts/serve.mjs";
import { engines, probe } from "./engines.mjs";

const root = fileURLToPath(new URL("../../", import.meta.url));
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

/** Copies of what is shipped, which load the probe themselves. Only the probe is added, and its hash to the offline policy. */
async function withProbe(folder) {
  const script = `(${probe})();`;
  const insert = async (file, tag, policy = (text) => text) => {
    const html = await readFile(file, "utf8");
    assert.ok(/<head>/.test(html), `${file} has no <head>`);
    await writeFile(file, policy(html).replace("<head>", () => `<head>${tag}`));
  };
  await cp(path.join(root, "dist/site"), path.join(folder, "site"), { recursive: true });
  await writeFile(path.join(folder, "site/probe.js"), script);
  await insert(path.join(folder, "site/index.html"), `<script src="./probe.js"></script>`);
  await cp(path.join(root, "dist/tunefit.html"), path.join(folder, "tunefit.html"));
  const hash = createHash("sha256").update(script).digest("base64");
  await insert(path.join(folder, "tunefit.html"), `<script>${script}</script>`, (html) =>
    html.replace("script-src ", `script-src 'sha256-${hash}' `),
  );
}

for (const name of selected) {
  describe(name, () => {
    let engine;
    let folder;
    let server;
    let reports;
    const urls = {};

    before(async () => {
      engine = await engines[name]();
      let shipped = path.join(root, "dist");
      if (!engine.runsProbe) {
        shipped = folder = await mkdtemp(path.join(tmpdir(), "tunefit-"));
        await withProbe(folder);
      }
      const served = await serve({
        root: path.join(shipped, "site"),
        port: 18080,
        policy: `${sitePolicy}; report-uri /policy-report`,
        intercept(request, response) {
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
      server = served.server;
      urls.site = served.address;
      urls.offline = pathToFileURL(path.join(shipped, "tunefit.html")).href;
    });

    after(async () => {
      await engine?.close();
      server?.closeAllConnections();
      server?.close();
      if (folder) await rm(folder, { recursive: true });
    });

    for (const target of ["site", "offline"]) {
      for (const check of checks.filter(({ targets }) => !targets || targets.includes(target))) {
        test(`${target}: ${check.name}`, { timeout: 60_000 }, async () => {
          reports = [];
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
            const own = (request) => (target === "site" ? request.startsWith(urls.site) : request.split("#")[0] === urls.offline);
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
