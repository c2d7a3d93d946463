// The recipe said aloud, and every default that was taken.

import { html, nothing } from "lit";

import { keyOfPath } from "../fields.js";
import { labelOf } from "../issues.js";
import { valueText } from "./field.js";

/** @typedef {import("./view.js").View} View */

/** What is trained of the parameters: adapters stand beside them. @param {import("../contract.d.ts").Report} answer */
function countsKey({ request, model }) {
  const kind = request?.method?.kind;
  if (kind === "lora" || kind === "ia3" || kind === "prompt_tuning") return "recipe.counts.beside";
  return model?.parameters === model?.trainable_parameters ? "recipe.counts.all" : "recipe.counts.some";
}

/** The recipe in sentences. @param {Pick<View, "words" | "answer">} view @returns {string[]} */
export function recipeSentences({ words, answer }) {
  const recipe = answer?.recipe;
  const model = answer?.model;
  if (!recipe || !model) return [];
  const { format } = words;
  const bytesOf = (/** @type {number} */ count) => words.plural("count.bytes", count);
  const { weights, gradients, optimizer_states, optimizer_transient } = recipe.bytes_per_trainable_parameter;
  const bytes = {
    weights: bytesOf(weights),
    gradients: format.decimal(gradients),
    states: format.decimal(optimizer_states),
  };
  const frozen = recipe.bytes_per_frozen_parameter;
  return [
    words.maybe(`recipe.${recipe.code}`, ""),
    words.t("recipe.trained", bytes),
    optimizer_transient ? words.t("recipe.transient", { transient: format.decimal(optimizer_transient) }) : "",
    frozen ? words.t("recipe.frozen", { frozen: bytesOf(frozen) }) : "",
    words.t(countsKey(answer), {
      parameters: format.integer(model.parameters),
      trainable: format.integer(model.trainable_parameters),
    }),
  ].filter(Boolean);
}

/** @param {View} view */
export function recipe(view) {
  const [title, ...rest] = recipeSentences(view);
  if (!title) return nothing;
  return html`<section class="recipe">
    <h3>${view.words.t("recipe.heading")}</h3>
    <p class="spoken"><strong>${title}</strong> ${rest.join(" ")}</p>
  </section>`;
}

/** @param {View} view */
export function assumed(view) {
  const { words, answer } = view;
  if (!answer?.assumptions.length) return nothing;
  return html`<section class="assumed">
    <details class="behind">
      <summary>
        <h3>${words.t("assumed.heading")}</h3>
        <span class="count">${words.format.integer(answer.assumptions.length)}</span>
      </summary>
      <p class="caption">${words.t("assumed.intro")}</p>
      <div class="scroll" tabindex="0" role="group" aria-label=${words.t("assumed.heading")}>
        <table>
          <thead>
            <tr>
              <th scope="col">${words.t("assumed.field")}</th>
              <th scope="col">${words.t("assumed.value")}</th>
              <th scope="col">${words.t("assumed.reason")}</th>
            </tr>
          </thead>
          <tbody>
            ${answer.assumptions.map(
              ({ field, value, reason }) => html`<tr>
                <th scope="row">${labelOf(field, words)}</th>
                <td>${valueText(view, keyOfPath(field, false) ?? "model", value)}</td>
                <td>${words.maybe(`reason.${reason}`, reason)}</td>
              </tr>`,
            )}
          </tbody>
        </table>
      </div>
    </details>
  </section>`;
}
