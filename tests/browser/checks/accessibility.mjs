// What axe-core finds against WCAG 2.2 AA.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const source = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** A function for Tab.evaluate, as text: axe brings its own source into the page. */
const audit = `async () => {
  ${source};
  const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = await axe.run(document, { runOnly: tags });
  return violations.map(({ id, help, nodes }) => id + ": " + help + " " + nodes.map(({ target }) => target.join(" ")).join(", "));
}`;

export default [
  {
    name: "has no accessibility fault that axe finds",
    targets: ["site", "offline", "vendor site"],
    async run({ tab, assert }) {
      assert.deepEqual(await tab.evaluate(audit), []);
    },
  },
  {
    name: "has none on a narrow screen",
    async run({ tab, assert }) {
      await tab.resize(320, 640);
      assert.deepEqual(await tab.evaluate(audit), []);
    },
  },
];
