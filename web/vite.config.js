// `vite build web` makes the page of the site; `--mode offline` the same page for scripts/pack_offline.mjs, which needs
// every script and style under the name that index.html gives it and no module that imports another. TUNEFIT_VENDOR
// names the vendor's file, from the root of the repository.

import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

import { site as sitePolicy } from "../scripts/csp.mjs";
import { vendorPlugin } from "./vendor_plugin.js";

/** What Vite wraps around an import that comes later, to preload its styles: here it has none. */
const bareImports = {
  name: "bare-imports",
  enforce: "pre",
  load: (id) => (id.includes("vite/preload-helper") ? "export const __vitePreload = (load) => load();" : null),
};

const vendor = process.env.TUNEFIT_VENDOR ?? fileURLToPath(new URL("../catalog/vendor.json", import.meta.url));

/** What every first answer takes: all but the entry, the languages, and what comes later. @param {string} id */
const isFirst = (id) => !/\/(index\.html|src\/(main\.js|later\/|texts\/)|d3-(shape|path)\/)/.test(id);

/**
 * The script that somebody's page names. It holds nothing itself: that page may put a version behind its address, and what
 * comes later, which imports the calculator by its plain name, would then find a second one.
 */
const entry = {
  name: "entry",
  // After index.html took the calculator in the entry's place.
  generateBundle: {
    order: "post",
    handler() {
      this.emitFile({ type: "asset", fileName: "tunefit.js", source: 'import "./calculator.js";\n' });
    },
  },
};

export default defineConfig(({ mode }) => ({
  base: "./",
  plugins: [
    {
      name: "policy",
      transformIndexHtml: { order: "post", handler: (html) => html.replace("%POLICY%", sitePolicy) },
    },
    bareImports,
    vendorPlugin(vendor, mode === "offline"),
    mode === "offline" ? null : entry,
  ],
  build: {
    target: ["chrome105", "firefox115", "safari16.4"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    rolldownOptions: {
      output: {
        entryFileNames: "tunefit.js",
        chunkFileNames: "[name].js",
        assetFileNames: "[name][extname]",
        codeSplitting: mode === "offline" ? false : { groups: [{ name: "calculator", test: isFirst }] },
      },
    },
  },
}));
