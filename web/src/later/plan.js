// What to buy or rent: a few wishes, a button, and what is found as it is found.

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import { shownServers } from "../facts.js";
import { keyOfPath } from "../fields.js";
import { labelOf, tell } from "../issues.js";
import {
  belowControl, describedBy, entryField, explainButton, field, select, valueText,
} from "../views/field.js";
import { comparison } from "./plan_compare.js";
import { leavesAdaptersOut } from "./plan_request.js";
import { proposals } from "./plan_table.js";
import { dateOf } from "./plan_words.js";
import { staleNote } from "./price_table.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../fields.js").Key} Key */
/** @typedef {import("../i18n.js").TextKey} TextKey */
/** @typedef {import("./planner.js").Planner} Planner */

/** A wish that is there or not. @param {View} view @param {Key} key */
function tick(view, key) {
  const { words, state } = view;
  const label = words.t(/** @type {TextKey} */ (`field.${key}`));
  const change = (/** @type {Event} */ { target }) =>
    view.set({ [key]: /** @type {HTMLInputElement} */ (target).checked ? "true" : "" });
  return html`<div class="field" data-field=${key}>
    <div class="field-head">
      <label class="check">
        <input
          id=${view.id(key)}
          type="checkbox"
          .checked=${live(state[key] !== "")}
          aria-describedby=${describedBy(view, key) || nothing}
          @change=${change}
        />
        ${label}
      </label>
      ${explainButton(view, key)}
    </div>
    ${belowControl(view, key)}
  </div>`;
}

/** A choice that may stay open. @param {View} view @param {Key} key @param {string} open @param {string[]} choices */
function choice(view, key, open, choices) {
  /** @type {[string, string][]} */
  const options = [["", open]];
  for (const id of choices) options.push([id, valueText(view, key, id)]);
  return field(view, key, select(view, key, options, view.state[key], (value) => view.set({ [key]: value })));
}

/** @param {View} view */
function form(view) {
  const { words, state, market } = view;
  const currency = state.currency || (market?.vendor.currency ?? "");
  const stay = (/** @type {Event} */ event) => event.preventDefault();
  return html`<form class="plan-form" aria-label=${words.t("plan.wishes")} @submit=${stay}>
    <div class="plan-fields">
      ${choice(view, "methods", words.t("plan.any.method"), ["full", "lora", "qlora"])}
      ${choice(view, "acquire", words.t("plan.any.way"), ["rent", "buy"])}
      ${entryField(view, "deadline")} ${entryField(view, "budget", [], currency)}
      ${entryField(view, "most")} ${entryField(view, "update")}
    </div>
    <div class="plan-ticks">
      ${tick(view, "ecc")} ${tick(view, "house")} ${tick(view, "maker")} ${tick(view, "keep")}
    </div>
  </form>`;
}

/** What was found, but on machines that the vendor does not show. @param {View} view @param {Planner} planner */
function foundBy({ market }, { step }) {
  const shown = market ? shownServers(market) : [];
  return (step?.best ?? []).filter(({ server }) => server === null || shown.includes(server.id));
}

/** How far it is, in words. @param {View} view @param {Planner} planner */
function progress(view, planner) {
  const { t, format } = view.words;
  const kept = format.integer(foundBy(view, planner).length);
  return t("plan.progress", { seen: format.integer(planner.step?.seen ?? 0), kept });
}

/** Said once when it changes, not at each step. @param {View} view @param {Planner} planner */
function statusText(view, planner) {
  const { words } = view;
  const { status, failure } = planner;
  if (status === "new") return "";
  if (status === "failed") return words.t("plan.failed", { reason: failure });
  if (status === "loading" || status === "looking") return words.t(`plan.${status}`);
  if (status === "refused") return words.t("plan.refused");
  if (foundBy(view, planner).length > 0) return words.t(`plan.${status}`, { found: progress(view, planner) });
  return status === "stopped" ? words.t("plan.stopped.none") : words.t("plan.none");
}

/** Nothing is rented where the data stay in house, whatever else was chosen. @param {View["state"]} state */
const rulesOut = ({ acquire, house, maker }) => acquire === "rent" && (house || maker);

/** What is wrong with what was asked, or what else has to be said of it. @param {View} view @param {Planner} planner */
function remarks(view, planner) {
  const { words, state, told } = view;
  const errors = planner.issues.filter(({ severity }) => severity === "error");
  // What the answer says too stands beside its field already.
  const faults = tell(errors, state, words).filter(({ text }) => !told.some((other) => other.text === text));
  const said = [
    ...faults.map(({ text }) => text),
    ...(rulesOut(state) ? [words.t("plan.rent.ruled.out")] : []),
    ...(leavesAdaptersOut(state) ? [words.t("plan.adapters.left.out")] : []),
  ];
  return said.map((text) => html`<p class="doubt">${text}</p>`);
}

/** What was taken where nobody said it. @param {View} view @param {Planner} planner */
function assumed(view, { step }) {
  const { words } = view;
  const members = step?.assumptions ?? [];
  if (members.length === 0) return nothing;
  const items = members.map(({ field: path, value }) => {
    const key = keyOfPath(path, false) ?? "update";
    return `${labelOf(path, words)}: ${valueText(view, key, Number(value))}`;
  });
  return html`<p class="hint">${words.t("plan.assumed", { items: words.format.list(items) })}</p>`;
}

/** @param {View} view @param {Planner} planner */
function buttons(view, planner) {
  const { words, state, outdated } = view;
  const draw = () => view.show({});
  const start = () => planner.start(state, draw);
  const stop = () => {
    planner.stop();
    draw();
  };
  const again = planner.status !== "new";
  return html`<div class="buttons">
    ${planner.isBusy
      ? html`<button type="button" data-testid="plan-stop" @click=${stop}>${words.t("plan.stop")}</button>`
      : html`<button type="button" data-testid="plan-start" ?disabled=${outdated} @click=${start}>
          ${words.t(again ? "plan.again" : "plan.start")}
        </button>`}
    ${planner.isBusy
      ? html`<span class="plan-progress" data-testid="plan-progress">${progress(view, planner)}</span>`
      : nothing}
  </div>`;
}

/** @param {View} view */
export function plan(view) {
  const { words, planner, state } = view;
  if (!planner) return nothing;
  const found = foundBy(view, planner);
  const outdated = planner.status !== "new" && planner.isOutdated(state);
  const rented = found.filter(({ acquire }) => acquire === "rent");
  const bought = found.filter(({ acquire }) => acquire === "buy");
  return html`<section class="plan" data-part="plan" data-status=${planner.status}>
    <h3>${words.t("plan.heading")}</h3>
    <p class="caption">${words.t("plan.caption")}</p>
    ${form(view)} ${buttons(view, planner)} ${remarks(view, planner)}
    <p class="plan-status" role="status">${statusText(view, planner)}</p>
    ${outdated ? html`<p class="doubt" data-testid="plan-outdated">${words.t("plan.outdated")}</p>` : nothing}
    <div class="plan-found" ?data-outdated=${outdated}>
      ${found.length ? assumed(view, planner) : nothing}
      ${staleNote(words, found.flatMap((proposal) => dateOf(proposal) ?? []), "plan-stale")}
      ${proposals(view, planner, "rent", rented)} ${proposals(view, planner, "buy", bought)}
      ${comparison(view, planner, found)}
      ${found.length ? html`<p class="hint">${words.t("plan.note")}</p>` : nothing}
    </div>
  </section>`;
}
