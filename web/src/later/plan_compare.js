// Up to four proposals side by side.

import { html, nothing } from "lit";

import {
  cards, cost, division, hours, leftOut, machine, memory, method, offload, stack, update,
} from "./plan_words.js";
import { nameOf } from "./planner.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Proposal} Proposal */
/** @typedef {import("./planner.js").Planner} Planner */

/** @param {string} amount @param {string} range */
const ranged = (amount, range) => html`<strong>${amount}</strong>${range ? html` <small>${range}</small>` : nothing}`;

/**
 * What is compared, in rows: a name, and what a proposal says of it; null where nobody says it.
 * @param {View} view @returns {[string, (proposal: Proposal) => unknown][]}
 */
function rowsOf(view) {
  const { words } = view;
  const { t, format } = words;
  /** @param {string | null | undefined} value @param {string} scope */
  const named = (value, scope) => (value ? words.maybe(`${scope}.${value}`, value) : null);
  return [
    [t("plan.way"), ({ acquire }) => t(`plan.way.${acquire}`)],
    [t("plan.hours"), (proposal) => ranged(hours(words, proposal).amount, hours(words, proposal).range)],
    [t("plan.cost"), (proposal) => {
      const known = cost(words, proposal);
      const part = leftOut(proposal);
      return html`${ranged(known.amount, known.range)}${
        part ? html` <small>${t(`plan.bare.${part}`)}</small>` : nothing
      }`;
    }],
    [t("plan.memory"), (proposal) => html`${memory(words, proposal)}${
      proposal.verdict === "tight" ? html` <small>${t("plan.tight")}</small>` : nothing
    }`],
    [t("plan.method"), (proposal) => method(words, proposal)],
    [t("plan.machine"), (proposal) => machine(view, proposal) || t("plan.rented.one", { count: 1 })],
    [t("plan.power"), ({ server, machines, gpus, gpu }) => server?.power_watts
      ? t("plan.power.machines", { watts: format.integer(machines * server.power_watts) })
      : t("plan.power.cards", { watts: format.integer(gpus * gpu.board_power_watts) })],
    [t("card.ecc"), ({ gpu }) => named(gpu.ecc, "card.ecc")],
    [t("plan.duty"), ({ gpu }) => named(gpu.segment, "plan.duty")],
    [t("server.cooling"), ({ server }) => named(server?.cooling, "server.cooling")],
    [t("plan.free"), ({ server }) => (server ? format.integer(server.gpus_free) : null)],
    [t("path.stack"), (proposal) => stack(view, proposal)],
    [t("plan.division"), (proposal) => division(words, proposal)],
    [t("plan.batch"), (proposal) => update(words, proposal)],
    [t("plan.offload"), (proposal) => offload(words, proposal) || t("value.none")],
  ];
}

/** @param {View} view @param {Planner} planner @param {Proposal[]} found */
export function comparison(view, planner, found) {
  const { words } = view;
  const chosen = planner.compared.flatMap((name) => found.find((proposal) => nameOf(proposal) === name) ?? []);
  if (chosen.length === 0) return nothing;
  const id = view.id("plan-compare");
  const remove = (/** @type {Proposal} */ proposal) => () => {
    planner.compare(nameOf(proposal), false);
    view.show({});
  };
  // A row that says nothing of any of them is left out: of rented machines nobody knows the cooling.
  const rows = rowsOf(view)
    .map(([name, value]) => ({ name, values: chosen.map(value) }))
    .filter(({ values }) => values.some((value) => value !== null));
  const heading = html`<h4 id=${id} tabindex="-1">${words.t("plan.compare.heading")}</h4>`;
  if (chosen.length === 1) return html`${heading} <p class="caption">${words.t("plan.compare.more")}</p>`;
  return html`${heading}
    <div class="scroll" tabindex="0" role="group" aria-labelledby=${id}>
      <table class="plan-compare">
        <thead>
          <tr>
            <td></td>
            ${chosen.map((proposal) => html`<th scope="col">
              ${cards(words, proposal)}
              <button
                type="button"
                class="quiet"
                aria-label="${words.t("plan.compare.drop")}: ${cards(words, proposal)}"
                @click=${remove(proposal)}
              >${words.t("plan.compare.drop")}</button>
            </th>`)}
          </tr>
        </thead>
        <tbody>
          ${rows.map(({ name, values }) => html`<tr>
            <th scope="row">${name}</th>
            ${values.map((value) => html`<td>${value ?? html`<em>${words.t("plan.unknown")}</em>`}</td>`)}
          </tr>`)}
        </tbody>
      </table>
    </div>`;
}
