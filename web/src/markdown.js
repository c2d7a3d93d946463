// The answer as Markdown, for a ticket or a colleague.

import { recipeSentences } from "./views/recipe.js";
import { basisText, verdictText } from "./views/verdict.js";
import { byFamily } from "./views/view.js";

/** @typedef {import("./contract.d.ts").Report} Report */
/** @typedef {import("./i18n.js").Words} Words */

/** A cell may hold no line break and no bar. @param {string} text */
const cell = (text) => text.replace(/[\r\n]+/g, " ").replaceAll("|", "\\|");

/** @param {string[]} head @param {string[][]} rows */
const table = (head, rows) =>
  [head, head.map((_, i) => (i ? "--:" : "---")), ...rows].map((row) => `| ${row.map(cell).join(" | ")} |`).join("\n");

/**
 * @param {Report} answer @param {Words} words @param {string} link
 * @param {(view: {words: Words, answer: Report}) => string} [outcome]  time and cost in sentences
 * @returns {string}
 */
export function markdown(answer, words, link, outcome = () => "") {
  const { format } = words;
  const view = { words, answer };
  const memory = answer.memory?.per_gpu;
  const parts = [
    `# Tunefit: ${answer.model?.name ?? ""}, ${answer.hardware?.name ?? ""}`,
    `**${verdictText(view)}** ${basisText(view)}`,
    outcome(view),
  ];
  if (memory) {
    parts.push(
      table(
        [words.t("figure.measure"), words.t("figure.expected"), words.t("figure.range")],
        /** @type {const} */ (["allocated", "reserved", "device"]).map((name) => [
          words.t(`figure.${name}`),
          format.size(memory[name].expected),
          words.range(memory[name]),
        ]),
      ),
      `## ${words.t("terms.heading")}`,
      table(
        [words.t("figure.measure"), words.t("figure.expected"), words.t("terms.formula")],
        [
          ...byFamily(memory.terms ?? []).map(({ id, bytes, formula_id }) => [
            words.maybe(`term.${id}`, id),
            format.size(bytes),
            formula_id,
          ]),
          ...(memory.overheads ?? []).map(({ id, bytes, formula_id }) => [
            words.maybe(`overhead.${id}`, id),
            format.size(bytes.expected),
            formula_id,
          ]),
        ],
      ),
    );
  }
  parts.push(`## ${words.t("recipe.heading")}`, recipeSentences(view).join(" "), link);
  return `${parts.filter(Boolean).join("\n\n")}\n`;
}
