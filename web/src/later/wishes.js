// Prices of one's own, and what is wished for: each optional, with what the answer took instead.

import { html, nothing } from "lit";

import { wishes as keys } from "../fields.js";
import { changed } from "../store.js";
import { group } from "../views/expert.js";
import { choiceField, entryField, field, select } from "../views/field.js";
import { onToggle } from "../views/view.js";
import { terms as allTerms } from "./offers.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../fields.js").Key} Key */
/** @typedef {import("../i18n.js").TextKey} TextKey */

/** Names in the order of the alphabet. @param {View} view @returns {[string, string][]} */
function providersOf({ market }) {
  const { providers } = market?.vendor ?? {};
  const names = new Set((market?.prices.rented ?? []).map(({ provider }) => provider));
  return [...names]
    .filter((name) => !providers || providers.includes(name))
    .sort((a, b) => a.localeCompare(b))
    .map((name) => [name, name]);
}

/**
 * From whom; a name that only the link knows stays chosen, for the core to say what is wrong with it.
 * @param {View} view
 */
function provider(view) {
  const { words, state } = view;
  const names = providersOf(view);
  const known = state.provider === "" || names.some(([name]) => name === state.provider);
  /** @type {[string, string][]} */
  const options = [["", words.t("wishes.any.provider")], ...names];
  if (!known) options.push([state.provider, words.t("wishes.own", { value: state.provider })]);
  const choose = (/** @type {string} */ name) => view.set({ provider: name });
  return field(view, "provider", select(view, "provider", options, state.provider, choose));
}

/** @param {View} view */
function term(view) {
  const { words, state, market } = view;
  const known = new Set((market?.prices.rented ?? []).map((offer) => offer.term));
  /** @type {[string, string][]} */
  const options = [["", words.t("wishes.any.term")]];
  for (const name of allTerms) if (known.has(name)) options.push([name, words.maybe(`price.term.${name}`, name)]);
  return field(view, "term", select(view, "term", options, state.term, (name) => view.set({ term: name })));
}

/** An amount, its unit in the currency of the answer. @param {View} view @param {Key} key */
function amount(view, key) {
  const currency = view.state.currency || (view.answer?.cost?.currency ?? view.market?.vendor.currency ?? "");
  return entryField(view, key, [], view.words.t(/** @type {TextKey} */ (`unit.${key}`), { currency }));
}

/** @param {View} view */
export function wishes(view) {
  const { words, state, told, ui, market } = view;
  if (!market) return nothing;
  const set = changed(state).filter(({ key }) => keys.includes(key));
  const faulty = told.some(({ key, severity }) => key !== null && severity !== "note" && keys.includes(key));
  const open = ui.wishes || faulty;
  const toggle = onToggle((now) => view.show({ wishes: now }));
  const fields = () => html`<p class="hint">${words.t("ask.wishes.note")}</p>
    <div class="group">${choiceField(view, "currency")}</div>
    ${group(words.t("ask.group.renting"), [provider(view), term(view), amount(view, "hourly")])}
    ${group(words.t("ask.group.buying"), [
      amount(view, "purchase"), entryField(view, "utilisation"), entryField(view, "lifetime"),
      entryField(view, "residual"), entryField(view, "support"), amount(view, "rack"),
    ])}
    ${group(words.t("ask.group.power"), [
      amount(view, "electricity"), entryField(view, "pue"), entryField(view, "grid"),
    ])}
    ${group(words.t("ask.group.besides"), [
      entryField(view, "trials"), entryField(view, "failed"), entryField(view, "work"), amount(view, "rate"),
    ])}`;
  return html`<details class="expert" data-part="wishes" ?open=${open} @toggle=${toggle}>
    <summary>${words.t("ask.wishes")} ${set.length ? html`<span class="count">${set.length}</span>` : nothing}</summary>
    ${open ? fields() : nothing}
  </details>`;
}
