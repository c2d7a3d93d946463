// The building blocks of the form: a field with its label, unit, explanation, default and faults; and the controls.

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import { at, choicesOf, fieldNamed, longestOf, numberOrText, precisionNamed, scaleOf } from "../fields.js";
import { listed, onValue } from "./view.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("../fields.js").Key} Key */

/** What a telephone shows to type on. @type {Record<string, string>} */
const keyboards = { integer: "numeric", amount: "decimal", decimal: "decimal", percent: "decimal" };

/** The ids of what explains a control, for aria-describedby. @param {View} view @param {Key} key */
export function describedBy(view, key) {
  const ids = [];
  if (faultsOf(view, key).length) ids.push(view.id(`${key}-fault`));
  if (view.ui.help.includes(key)) ids.push(view.id(`${key}-help`));
  return ids.join(" ");
}

/** @param {View} view @param {Key} key */
export const faultsOf = (view, key) => view.told.filter((told) => told.key === key);

/** @param {View} view @param {Key} key */
export const isInvalid = (view, key) => faultsOf(view, key).some(({ severity }) => severity === "error");

/** @param {View} view @param {Key} key */
export function explainButton(view, key) {
  const { words, ui } = view;
  const open = ui.help.includes(key);
  const label = words.t(/** @type {import("../i18n.js").TextKey} */ (`field.${key}`));
  return html`<button
    type="button"
    class="explain"
    aria-expanded=${open ? "true" : "false"}
    aria-controls=${view.id(`${key}-help`)}
    aria-label=${words.t("ask.explain", { label })}
    @click=${() => view.show((now) => ({ help: listed(now.help, key, !now.help.includes(key)) }))}
  >?</button>`;
}

/** Explanation and faults under a control. @param {View} view @param {Key} key */
export function belowControl(view, key) {
  const { words, ui, description } = view;
  const faults = faultsOf(view, key);
  const limits = description.limits[fieldNamed(key)?.path ?? ""];
  const format = (/** @type {number} */ limit) => words.format.decimal(limit * scaleOf(key));
  return html`
    <p class="help" id=${view.id(`${key}-help`)} ?hidden=${!ui.help.includes(key)}>
      ${words.t(/** @type {import("../i18n.js").TextKey} */ (`help.${key}`))}
      ${limits ? words.t("ask.limits", { low: format(limits.low), high: format(limits.high) }) : nothing}
    </p>
    ${faults.length
      ? html`<div class="faults" id=${view.id(`${key}-fault`)}>
          ${faults.map(({ text, severity }) => html`<p class="fault" data-severity=${severity}>${text}</p>`)}
        </div>`
      : nothing}
  `;
}

/** @param {View} view @param {Key} key @param {unknown} control */
export function field(view, key, control) {
  return html`<div class="field" data-field=${key}>
    <div class="field-head">
      <label for=${view.id(key)}>${view.words.t(/** @type {import("../i18n.js").TextKey} */ (`field.${key}`))}</label>
      ${explainButton(view, key)}
    </div>
    ${control} ${belowControl(view, key)}
  </div>`;
}

/** How a value of the request reads. @param {View} view @param {Key} key @param {unknown} value @returns {string} */
export function valueText({ words }, key, value) {
  if (value === true || value === false) return words.t(value ? "yes" : "no");
  if (typeof value === "number") return words.format.decimal(value * scaleOf(key), Math.abs(value) < 100 ? 3 : 0);
  if (value === null || value === undefined) return words.t("value.none");
  if (Array.isArray(value)) return value.length ? value.join(", ") : words.t("value.empty");
  if (typeof value === "object") return JSON.stringify(value);
  return words.maybe(`choice.${key}.${value}`, String(value));
}

/**
 * The default that the answer took for a field left open, as text; "" where it is not known.
 * @param {View} view @param {Key} key
 */
export function defaultText(view, key) {
  const { path = "", taken = `request.${path}` } = fieldNamed(key) ?? {};
  const request = view.answer?.request;
  if (!request || view.state[key] !== "") return "";
  if (key === "precision") {
    const name = precisionNamed(request.precision);
    return name ? valueText(view, key, name) : "";
  }
  const value = at(view.answer, taken);
  return value === undefined || value === null ? "" : valueText(view, key, value);
}

/**
 * A field to type in, its unit in the box and common values below.
 * @param {View} view @param {Key} key @param {number[]} [common] @param {string} [ownUnit]
 */
export function entryField(view, key, common = [], ownUnit = "") {
  const { words, state } = view;
  const count = numberOrText(state[key], "integer");
  const noun = () => words.unit(`unit.${key}`, typeof count === "number" ? count : 0);
  const unit = ownUnit || words.maybe(`unit.${key}`, "") || noun();
  const label = words.t(/** @type {import("../i18n.js").TextKey} */ (`field.${key}`));
  return field(
    view,
    key,
    html`<div class="entry"><div class="box">
        <input
          id=${view.id(key)}
          type="text"
          inputmode=${keyboards[fieldNamed(key)?.kind ?? ""] ?? "text"}
          autocomplete="off"
          maxlength=${longestOf(key)}
          .value=${live(state[key])}
          placeholder=${defaultText(view, key) || nothing}
          aria-invalid=${isInvalid(view, key) ? "true" : nothing}
          aria-describedby=${describedBy(view, key) || nothing}
          @input=${onValue((text) => view.set({ [key]: text }))}
        />
        ${unit ? html`<span class="unit">${unit}</span>` : nothing}
      </div>
      ${common.length
        ? html`<div class="common" role="group" aria-label=${words.t("ask.quick", { label })}>
            ${common.map(
              (value) => html`<button
                type="button"
                aria-pressed=${state[key].trim() === String(value) ? "true" : "false"}
                @click=${() => view.set({ [key]: String(value) })}
              >${words.format.integer(value)}</button>`,
            )}
          </div>`
        : nothing}</div>`,
  );
}

/**
 * @param {View} view @param {Key} key @param {[string, string][]} options value and text @param {string} value
 * @param {(value: string) => void} choose
 */
export function select(view, key, options, value, choose) {
  return html`<select
    id=${view.id(key)}
    aria-invalid=${isInvalid(view, key) ? "true" : nothing}
    aria-describedby=${describedBy(view, key) || nothing}
    @change=${(/** @type {Event} */ event) => choose(/** @type {HTMLSelectElement} */ (event.target).value)}
  >
    ${options.map(([id, text]) => html`<option value=${id} .selected=${live(id === value)}>${text}</option>`)}
  </select>`;
}

/**
 * The first option of a field that may be left open.
 * @param {View} view @param {Key} key
 * @returns {[string, string]}
 */
export function defaultOption(view, key) {
  const text = defaultText(view, key);
  return ["", text ? view.words.t("ask.default", { value: text }) : view.words.t("ask.default.plain")];
}

/** A field with the choices that the core models. @param {View} view @param {Key} key */
export function choiceField(view, key) {
  const known = fieldNamed(key);
  const choices = known ? choicesOf(known, view.description) : [];
  /** @type {[string, string][]} */
  const options = choices.map((value) => {
    const meant = value === "true" ? true : value === "false" ? false : value;
    return [value, valueText(view, key, meant)];
  });
  const choose = (/** @type {string} */ value) => view.set({ [key]: value });
  return field(view, key, select(view, key, [defaultOption(view, key), ...options], view.state[key], choose));
}
