// The proposals of a plan, one a row: to rent and to buy apart, for the one is paid by the run and the other at once.

import { html, nothing } from "lit";

import { sign } from "../views/verdict.js";
import { listed } from "../views/view.js";
import { details } from "./plan_details.js";
import { isTaken, taken } from "./plan_request.js";
import { cards, cost, dateOf, hours, leftOut, machine, memory, method, readOn, title } from "./plan_words.js";
import { nameOf } from "./planner.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Proposal} Proposal */
/** @typedef {import("./planner.js").Planner} Planner */
/** @typedef {"rent" | "buy"} Way */

/** Rows of a table before somebody asks for all, and the most that stand side by side. */
const firstRows = 6;
export const mostCompared = 4;

/** Reasons in the order in which they earn a place among the first rows. */
const order = /** @type {const} */ (["cheapest", "fastest", "balanced", "cheapest_of_method", "fewest_gpus"]);

/**
 * Those to begin with, in their own order: with a reason first, then spread over the prices.
 * @param {Proposal[]} all
 */
export function firstOf(all) {
  if (all.length <= firstRows) return all;
  const rank = (/** @type {Proposal} */ { why }) =>
    Math.min(order.length, ...why.map((reason) => order.indexOf(reason)));
  const reasoned = all.filter(({ why }) => why.length > 0).sort((a, b) => rank(a) - rank(b));
  const chosen = new Set(reasoned.slice(0, firstRows));
  const rest = all.filter((proposal) => !chosen.has(proposal));
  const room = firstRows - chosen.size;
  for (let i = 0; i < room; ++i) chosen.add(rest[Math.floor(((i + 0.5) * rest.length) / room)]);
  return all.filter((proposal) => chosen.has(proposal));
}

/** @param {View} view @param {Proposal} proposal */
function headCell(view, proposal) {
  const { words, ui } = view;
  const name = nameOf(proposal);
  const open = ui.open.includes(name);
  const toggle = () => view.show((now) => ({ open: listed(now.open, name, !open) }));
  const where = machine(view, proposal);
  const { why } = proposal;
  // The cheapest of all is that of its method too.
  const reasons = why.filter((reason) => reason !== "cheapest_of_method" || !why.includes("cheapest"));
  return html`<th scope="row" role="rowheader">
    <button
      type="button"
      class="plan-open"
      aria-expanded=${open ? "true" : "false"}
      aria-controls=${open ? view.id(name) : nothing}
      @click=${toggle}
    >${cards(words, proposal)}</button>
    ${where ? html`<small>${where}</small>` : nothing}
    ${reasons.length
      ? html`<ul class="plan-why">
          ${reasons.map((reason) => html`<li class="tag" data-mark="reason">${words.t(`plan.why.${reason}`)}</li>`)}
        </ul>`
      : nothing}
  </th>`;
}

/** @param {View["words"]} words @param {Proposal} proposal */
function costCell(words, proposal) {
  const { amount, range } = cost(words, proposal);
  const missing = leftOut(proposal);
  const date = dateOf(proposal);
  return html`<td role="cell" class="number amount" data-label=${words.t(`plan.cost.${proposal.acquire}`)}>
    <strong>${amount}</strong> ${range ? html`<small>${range}</small>` : nothing}
    ${date ? html`<small>${readOn(words, date)}</small>` : nothing}
    ${missing ? html`<span class="tag" data-mark="covers">${words.t(`plan.bare.${missing}`)}</span>` : nothing}
  </td>`;
}

/** @param {View["words"]} words @param {Proposal} proposal */
function memoryCell(words, proposal) {
  const { device_bytes: { expected }, gpu, verdict } = proposal;
  const share = `--width: ${Math.min(100, (100 * expected) / gpu.usable_bytes).toFixed(1)}%`;
  return html`<td role="cell" class="plan-memory" data-label=${words.t("plan.memory")}>
    <span>${memory(words, proposal)}</span>
    <span class="plan-meter" data-verdict=${verdict} aria-hidden="true"><i .style=${share}></i></span>
    ${verdict === "tight" ? html`<small>${sign("tight")} ${words.t("plan.tight")}</small>` : nothing}
  </td>`;
}

/** @param {View} view @param {Planner} planner @param {Proposal} proposal */
function actions(view, planner, proposal) {
  const { words, state } = view;
  const name = nameOf(proposal);
  const chosen = planner.compared.includes(name);
  const full = !chosen && planner.compared.length >= mostCompared;
  const what = title(words, proposal);
  const done = isTaken(proposal, state) && !view.outdated;
  const take = () => {
    const patch = taken(proposal, state);
    planner.adopt({ ...state, ...patch });
    view.set(patch);
  };
  const compare = (/** @type {Event} */ { target }) => {
    planner.compare(name, /** @type {HTMLInputElement} */ (target).checked);
    view.show({});
  };
  const answer = () => document.getElementById(view.id("answer"))?.focus();
  return html`<td role="cell" class="plan-actions">
    ${done
      ? html`<span class="plan-taken">${words.t("plan.taken")}</span>
          <button type="button" class="quiet" @click=${answer}>${words.t("plan.see")}</button>`
      : html`<button type="button" class="plan-take" aria-label="${words.t("plan.take")}: ${what}" @click=${take}>
          ${words.t("plan.take")}
        </button>`}
    <label class="check">
      <input
        type="checkbox"
        .checked=${chosen}
        ?disabled=${full}
        aria-label="${words.t("plan.compare")}: ${what}"
        @change=${compare}
      />
      <span aria-hidden="true">${words.t("plan.compare")}</span>
    </label>
  </td>`;
}

/** @param {View} view @param {Planner} planner @param {Proposal} proposal */
function row(view, planner, proposal) {
  const { words, ui } = view;
  const name = nameOf(proposal);
  const time = hours(words, proposal);
  return html`<tr role="row" data-proposal=${name}>
      ${headCell(view, proposal)}
      <td role="cell" data-label=${words.t("plan.method")}>${method(words, proposal)}</td>
      <td role="cell" class="number" data-label=${words.t("plan.hours")}>
        <strong>${time.amount}</strong> <small>${time.range}</small>
      </td>
      ${costCell(words, proposal)} ${memoryCell(words, proposal)} ${actions(view, planner, proposal)}
    </tr>
    ${ui.open.includes(name)
      ? html`<tr role="row" class="plan-more" id=${view.id(name)}>
          <td role="cell" colspan="6">${details(view, proposal)}</td>
        </tr>`
      : nothing}`;
}

/** @param {View} view @param {Planner} planner @param {Way} way @param {Proposal[]} all */
export function proposals(view, planner, way, all) {
  const { words, ui } = view;
  if (all.length === 0) return nothing;
  const id = `plan-${way}`;
  const whole = ui.open.includes(id);
  const shown = whole ? all : firstOf(all);
  const toggle = () => view.show((now) => ({ open: listed(now.open, id, !whole) }));
  const heading = (/** @type {import("../i18n.js").TextKey} */ key, kind = "") =>
    html`<th scope="col" role="columnheader" class=${kind || nothing}>${words.t(key)}</th>`;
  return html`<h4 id=${view.id(id)}>${words.t(`plan.way.${way}`)}</h4>
    <p class="caption">${words.t(`plan.way.${way}.what`)}</p>
    <table class="plan-table" role="table" aria-labelledby=${view.id(id)} data-way=${way}>
      <thead role="rowgroup">
        <tr role="row">
          ${heading("plan.hardware")} ${heading("plan.method")} ${heading("plan.hours", "number")}
          ${heading(`plan.cost.${way}`, "number")} ${heading("plan.memory")}
          <th role="columnheader"><span class="hidden">${words.t("plan.actions")}</span></th>
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${shown.map((proposal) => row(view, planner, proposal))}
      </tbody>
    </table>
    ${all.length > firstRows
      ? html`<p>
          <button type="button" class="quiet" aria-expanded=${whole ? "true" : "false"} @click=${toggle}>
            ${whole ? words.t("plan.fewer") : words.t("plan.all", { count: words.format.integer(all.length) })}
          </button>
        </p>`
      : nothing}`;
}
