// `vite build web` makes the page of the site; `--mode offline` the same page for scripts/pack_offline.mjs, which needs
// every script and style under the name that index.html gives it and no module that imports another.

import { defineConfig } from "vite";

import { site as sitePolicy } from "../scripts/csp.mjs";

export default defineConfig({
  base: "./",
  plugins: [
    {
      name: "policy",
      transformIndexHtml: { order: "post", handler: (html) => html.replace("%POLICY%", sitePolicy) },
    },
  ],
  build: {
    target: ["chrome105", "firefox115", "safari16.4"],
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    rolldownOptions: {
      output: { entryFileNames: "tunefit.js", assetFileNames: "[name][extname]", codeSplitting: false },
    },
  },
});
