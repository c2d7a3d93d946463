// What the visitor is asked: model, method, card, length, batch; the rest behind "expert settings".

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import { gpuNamed } from "../facts.js";
import { changed } from "../store.js";
import { belowControl, describedBy, explainButton, field, isInvalid, entryField } from "./field.js";
import { expert } from "./expert.js";
import { rankIn, usualGpus, usualModels } from "../search.js";
import { onToggle, onValue } from "./view.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("../search.js").Option} Option */

/** @type {WeakMap<object, {models: Option[], gpus: Option[]}>} */
const kept = new WeakMap(); // by the words: each calculator of a document speaks its own language

/** The lists of both comboboxes; made once a language. @param {View} view */
function optionsOf({ description, words }) {
  const known = kept.get(words);
  if (known) return known;
  const { format } = words;
  const models = description.models
    .map((model) => ({
      id: model.id,
      name: model.name,
      detail: [format.compact(model.parameters), model.hf_id ?? ""].filter(Boolean).join(" · "),
      group: model.organisation,
      names: [model.name, model.id, model.hf_id ?? "", ...model.aliases].filter(Boolean),
      about: [model.family, model.organisation],
      usual: rankIn(usualModels, model.id),
    }))
    .sort((a, b) => a.group.localeCompare(b.group, words.lang));
  const order = ["datacenter", "workstation", "desktop", "consumer"];
  const gpus = [...description.gpus]
    .sort((a, b) => b.usable_bytes - a.usable_bytes || a.name.localeCompare(b.name))
    .sort((a, b) => order.indexOf(a.segment) - order.indexOf(b.segment))
    .map((gpu) => ({
      id: gpu.id,
      name: gpu.name,
      detail: words.t("gpu.memory", { size: format.size(gpu.usable_bytes), architecture: gpu.architecture }),
      group: words.maybe(`segment.${gpu.segment}`, gpu.segment),
      names: [gpu.name, gpu.id, ...gpu.aliases],
      about: [gpu.vendor, gpu.architecture, `${format.gibibytes(gpu.memory_bytes)}gb`],
      usual: rankIn(usualGpus, gpu.id),
    }));
  const made = { models, gpus };
  kept.set(words, made);
  return made;
}

/** @param {View} view @param {"model" | "gpu"} key @param {Option[]} options */
function combobox(view, key, options) {
  const { words, description, state } = view;
  const value = key === "gpu" ? (gpuNamed(description, state.gpu)?.id ?? state.gpu) : state.config ? "" : state.model;
  return field(
    view,
    key,
    html`<tunefit-combobox
      name=${view.id(key)}
      label=${words.t(`field.${key}`)}
      .options=${options}
      .value=${value}
      placeholder=${key === "model" && state.config ? "config.json" : ""}
      .words=${words}
      .emptyText=${words.t(key === "model" ? "ask.options.none.model" : "ask.options.none")}
      .invalid=${isInvalid(view, key)}
      .describedby=${describedBy(view, key)}
      @pick=${(/** @type {CustomEvent<string>} */ { detail }) =>
        view.set(key === "model" ? { model: detail, config: "" } : { gpu: detail })}
    ></tunefit-combobox>`,
  );
}

/** @param {View} view */
function config(view) {
  const { words, state } = view;
  return html`<details class="config" ?open=${view.ui.pasting} @toggle=${onToggle((pasting) => view.show({ pasting }))}>
    <summary>${words.t("ask.config.open")}</summary>
    ${field(
      view,
      "config",
      html`<textarea
        id=${view.id("config")}
        rows="6"
        spellcheck="false"
        autocomplete="off"
        placeholder='{"model_type": "llama", …}'
        .value=${live(state.config)}
        aria-invalid=${isInvalid(view, "config") ? "true" : nothing}
        aria-describedby=${describedBy(view, "config") || nothing}
        @input=${onValue((text) => view.set({ config: text }))}
      ></textarea>`,
    )}
    ${state.config ? html`<p class="hint">${words.t("ask.config.used")}</p>` : nothing}
  </details>`;
}

/** @param {View} view */
function method(view) {
  const { words, state } = view;
  const names = /** @type {const} */ ({ full: "Full", lora: "LoRA", qlora: "QLoRA" });
  const described = describedBy(view, "method") || nothing;
  return html`<fieldset class="field method" data-field="method" aria-describedby=${described}>
    <legend>${words.t("field.method")} ${explainButton(view, "method")}</legend>
    <div class="radios">
      ${/** @type {const} */ (["full", "lora", "qlora"]).map(
        (value) => html`<label class="radio">
          <input
            type="radio"
            name=${view.id("method")}
            value=${value}
            .checked=${live(state.method === value)}
            @change=${() => view.set({ method: value })}
          />
          <span class="radio-name">${value === "full" ? words.t("method.full.short") : names[value]}</span>
          <span class="radio-what">${words.t(`method.${value}.what`)}</span>
        </label>`,
      )}
    </div>
    ${belowControl(view, "method")}
  </fieldset>`;
}

/** @param {View} view */
function checkpointing(view) {
  const { words, state } = view;
  return html`<div class="field" data-field="checkpointing">
    <div class="field-head">
      <label class="check">
        <input
          id=${view.id("checkpointing")}
          type="checkbox"
          .checked=${live(state.checkpointing !== "none")}
          aria-describedby=${describedBy(view, "checkpointing") || nothing}
          @change=${(/** @type {Event} */ event) =>
            view.set({ checkpointing: /** @type {HTMLInputElement} */ (event.target).checked ? "full" : "none" })}
        />
        ${words.t("field.checkpointing")}
      </label>
      ${explainButton(view, "checkpointing")}
    </div>
    ${belowControl(view, "checkpointing")}
  </div>`;
}

/** What the card in the form cannot do, said where it is chosen. @param {View} view */
function cannot({ words, description, state }) {
  const gpu = gpuNamed(description, state.gpu);
  if (!gpu || gpu.cannot.length === 0) return nothing;
  const capability = gpu.compute_capability ?? "";
  return html`<p class="cannot" data-testid="cannot">
    ${gpu.cannot.map((what) => words.t(`cannot.${what}`, { gpu: gpu.name, capability })).join(" ")}
  </p>`;
}

/** How much data there is: without it a step has a time, but the run has none. @param {View} view */
const data = (view) => html`<fieldset class="data">
  <legend>${view.words.t("ask.group.data")}</legend>
  <div class="pairs">
    ${entryField(view, "examples")} ${entryField(view, "mean")} ${entryField(view, "epochs")}
    ${entryField(view, "tokens")}
  </div>
</fieldset>`;

/** Faults that belong to no field. @param {View} view */
function elsewhere({ told }) {
  const general = told.filter(({ key }) => key === null);
  if (general.length === 0) return nothing;
  return html`<div class="faults general">
    ${general.map(({ text, severity }) => html`<p class="fault" data-severity=${severity}>${text}</p>`)}
  </div>`;
}

/** @param {View} view */
export function question(view) {
  const { words, state } = view;
  const { models, gpus } = optionsOf(view);
  const stay = (/** @type {Event} */ event) => event.preventDefault();
  return html`<form class="ask" aria-labelledby=${view.id("ask")} @submit=${stay}>
    <div class="ask-head">
      <h2 id=${view.id("ask")}>${words.t("ask.heading")}</h2>
      ${changed(state).length
        ? html`<button type="button" class="quiet" @click=${view.reset}>${words.t("ask.reset")}</button>`
        : nothing}
    </div>
    ${elsewhere(view)} ${combobox(view, "model", models)} ${config(view)} ${method(view)} ${combobox(view, "gpu", gpus)}
    ${cannot(view)} ${view.later?.serverField(view) ?? nothing}
    ${entryField(view, "length", [512, 2048, 8192])} ${entryField(view, "batch", [1, 2, 4, 8])}
    ${checkpointing(view)} ${data(view)} ${view.later?.wishes(view) ?? nothing} ${expert(view)}
  </form>`;
}
