// Every other field of the request that the core models, grouped; each shows the default that was taken.

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import { at, longestOf, planWishes, wishes } from "../fields.js";
import { changed } from "../store.js";
import { choiceField, defaultOption, describedBy, field, isInvalid, entryField, select } from "./field.js";
import { onToggle, onValue } from "./view.js";

/** @typedef {import("./view.js").View} View */

/** Fields that stand elsewhere. */
const elsewhere = [
  "model", "config", "method", "gpu", "server", "length", "batch", "checkpointing", "examples", "mean", "tokens",
  "epochs", ...wishes, ...planWishes,
];
/** Whether a field is one of these here. @param {import("../fields.js").Key} key */
const isExpert = (key) => !elsewhere.includes(key);

/**
 * What of the form is open where a state, that of a link, sets something in it.
 * @param {import("../contract.d.ts").State} state @returns {Partial<import("./view.js").Ui>}
 */
export function openedBy(state) {
  const set = changed(state).map(({ key }) => key);
  const pasting = state.config !== "";
  const own = set.some((key) => wishes.includes(key));
  return { pasting, withConfig: pasting, expert: set.some(isExpert), wishes: own };
}

const attentionTargets = "q_proj,k_proj,v_proj,o_proj";

/** @param {View} view */
function targets(view) {
  const { words, state, ui } = view;
  const presets = ["", "all-linear", attentionTargets];
  const own = ui.ownTargets || !presets.includes(state.targets);
  /** @type {[string, string][]} */
  const options = [
    defaultOption(view, "targets"),
    ["all-linear", words.t("targets.all")],
    [attentionTargets, words.t("targets.qkvo")],
    ["own", words.t("targets.own")],
  ];
  const choose = (/** @type {string} */ value) => {
    view.show({ ownTargets: value === "own" });
    if (value !== "own") return view.set({ targets: value });
    const taken = at(view.answer?.request, "method.target_modules");
    view.set({ targets: Array.isArray(taken) ? taken.join(", ") : attentionTargets });
  };
  return field(
    view,
    "targets",
    html`${select(view, "targets", options, own ? "own" : state.targets, choose)}
    ${own
      ? html`<input
          type="text"
          class="second"
          aria-label=${words.t("targets.own.label")}
          placeholder="q_proj, v_proj"
          spellcheck="false"
          autocomplete="off"
          maxlength=${longestOf("targets")}
          .value=${live(state.targets)}
          aria-invalid=${isInvalid(view, "targets") ? "true" : nothing}
          aria-describedby=${describedBy(view, "targets") || nothing}
          @input=${onValue((text) => view.set({ targets: text }))}
        />`
      : nothing}`,
  );
}

/**
 * A list with a few common values.
 * @param {View} view @param {"save" | "fused"} key @param {[string, string][]} options
 */
function presets(view, key, options) {
  const { words, state } = view;
  const known = options.some(([value]) => value === state[key]);
  /** @type {[string, string]} */
  const other = [state[key], words.t("save.own", { value: state[key] })];
  const all = known ? options : [...options, other];
  return field(view, key, select(view, key, all, state[key], (value) => view.set({ [key]: value })));
}

/** @param {View} view */
const save = (view) =>
  presets(view, "save", [
    ["", view.words.t("save.none")],
    ["lm_head", view.words.t("save.head")],
    ["embed_tokens", view.words.t("save.embed")],
    ["embed_tokens,lm_head", view.words.t("save.both")],
  ]);

/** @param {View} view */
const fused = (view) =>
  presets(view, "fused", [
    ["", view.words.t("fused.none")],
    ["rms_norm,rope,swiglu", view.words.t("fused.liger")],
    ["rms_norm,rope,swiglu,lora", view.words.t("fused.all")],
  ]);

/** @param {string} legend @param {unknown[]} controls */
export const group = (legend, controls) => html`<fieldset class="group">
  <legend>${legend}</legend>
  <div class="group-fields">${controls}</div>
</fieldset>`;

/** @param {View} view */
export function expert(view) {
  const { words, state, told, ui } = view;
  const set = changed(state).filter(({ key }) => isExpert(key));
  const faulty = told.some(({ key }) => key !== null && isExpert(key));
  const toggle = onToggle((open) => view.show({ expert: open }));
  return html`<details class="expert" id=${view.id("expert")} ?open=${ui.expert || faulty} @toggle=${toggle}>
    <summary>${words.t("ask.expert")} ${set.length ? html`<span class="count">${set.length}</span>` : nothing}</summary>
    <p class="hint">${words.t("ask.expert.note")}</p>
    ${group(words.t("ask.group.batch"), [
      entryField(view, "accumulation"),
      choiceField(view, "packing"),
      choiceField(view, "varies"),
    ])}
    ${state.method === "full"
      ? nothing
      : group(words.t("ask.group.adapter"), [
          entryField(view, "rank", [8, 16, 32, 64]),
          targets(view),
          save(view),
          entryField(view, "dropout"),
          choiceField(view, "adapter"),
        ])}
    ${state.method === "qlora"
      ? group(words.t("ask.group.quantization"), [
          choiceField(view, "quant"),
          choiceField(view, "double"),
          choiceField(view, "prepare"),
        ])
      : nothing}
    ${group(words.t("ask.group.numbers"), [choiceField(view, "precision"), choiceField(view, "optimizer")])}
    ${group(words.t("ask.group.kernels"), [
      choiceField(view, "attention"),
      choiceField(view, "loss"),
      fused(view),
      entryField(view, "version"),
    ])}
    ${view.later?.several(view) ?? nothing}
  </details>`;
}
