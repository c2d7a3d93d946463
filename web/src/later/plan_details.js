// What has to be known of a proposal before somebody signs for it, and how the run is set on it.

import { html, nothing } from "lit";

import { money } from "./amounts.js";
import { english } from "./fact.js";
import { reference } from "./outcome.js";
import { ageText } from "./price_table.js";
import { dateOf, division, offload, readOn, stack, update } from "./plan_words.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Proposal} Proposal */
/** @typedef {[name: string, value: unknown]} Line */

/** Of what is said of a run's cost, that which is of the machines and not of the hours that they work. */
const ofMachines = ["host_not_included", "processors_not_included", "several_machines", "gpus_idle"];

/** @param {View["words"]} words @param {number | null} watts */
const power = (words, watts) => (watts === null ? null : `${words.format.integer(watts)}\u00a0W`);

/** @param {View["words"]} words @param {Proposal} proposal @returns {Line[]} */
function cardLines(words, { gpu }) {
  const { t } = words;
  // Other makers' cards have none.
  const cuda = [gpu.cuda_toolkit, gpu.cuda_driver].filter(Boolean).join(" / ");
  return [
    [t("card.ecc"), gpu.ecc && words.maybe(`card.ecc.${gpu.ecc}`, gpu.ecc)],
    [t("plan.duty"), gpu.segment && words.maybe(`plan.duty.${gpu.segment}`, gpu.segment)],
    [t("card.form"), gpu.form && english(words, gpu.form)],
    [t("plan.board.power"), power(words, gpu.board_power_watts)],
    [t("plan.capability"), gpu.compute_capability],
    ...(cuda ? [/** @type {Line} */ ([t("plan.cuda"), cuda])] : []),
    [t("plan.release"), gpu.release && words.format.date(gpu.release)],
  ];
}

/** @param {View["words"]} words @param {Proposal} proposal @returns {Line[]} */
function machineLines(words, { server, machines }) {
  if (!server) return [];
  const { t, format } = words;
  const height = server.height_units && `${format.decimal(server.height_units)}U`;
  const form = server.form && words.maybe(`server.form.${server.form}`, server.form);
  const free = server.gpus_free;
  return [
    [t("server.form"), [form, height].filter(Boolean).join(", ")],
    [t("server.power"), power(words, server.power_watts)],
    [t("server.cooling"), server.cooling && words.maybe(`server.cooling.${server.cooling}`, server.cooling)],
    [t("plan.free"), free === 0 ? t("plan.free.none") : words.plural("plan.free.some", free)],
    ...(machines > 1 ? [/** @type {Line} */ ([t("plan.machines"), format.integer(machines)])] : []),
  ];
}

/** Where the amount is from: known once the plan is done. @param {View["words"]} words @param {Proposal} proposal */
function priceText(words, proposal) {
  const { acquire, report, currency } = proposal;
  const date = dateOf(proposal);
  const line = acquire === "rent" && report?.cost ? reference(report.cost) : undefined;
  return [
    line?.provider,
    line?.term && words.maybe(`price.term.${line.term}`, line.term).toLowerCase(),
    line && words.t("cost.hour", { price: money(words, line.price_per_hour, currency) }),
    date && readOn(words, date),
    date && ageText(words, date),
  ].filter(Boolean).join(", ");
}

/** @param {Proposal} proposal */
function notesOf({ acquire, report }) {
  const cost = report?.cost;
  const notes = (cost && (acquire === "buy" ? cost.bought : reference(cost))?.notes) ?? [];
  return notes.filter((note) => ofMachines.includes(note));
}

/** @param {View} view @param {Proposal} proposal @returns {Line[]} */
function runLines(view, proposal) {
  const { words } = view;
  const { request } = proposal;
  const checkpointing = String(request.gradient_checkpointing);
  return [
    [words.t("plan.price"), priceText(words, proposal)],
    [words.t("path.stack"), stack(view, proposal)],
    [words.t("plan.division"), division(words, proposal)],
    [words.t("plan.batch"), update(words, proposal)],
    [words.t("field.checkpointing"), words.maybe(`choice.checkpointing.${checkpointing}`, checkpointing)],
    [words.t("plan.offload"), offload(words, proposal) || words.t("value.none")],
  ];
}

/** The first thing that would no longer fit. @param {View["words"]} words @param {Proposal} proposal */
function breaksText(words, { next_break: next, request }) {
  if (!next) return "";
  const { sequence_length: length, per_device: batch } = next;
  const parts = [
    length && words.t("plan.break.length", { length: words.plural("count.tokens", length) }),
    batch && words.t("plan.break.batch", { batch: words.format.integer(batch) }),
  ].filter((part) => typeof part === "string");
  if (parts.length === 0) return words.t("plan.break.none");
  const now = words.plural("count.tokens", request.batch?.sequence_length ?? 0);
  return words.t("plan.break", { parts: words.format.either(parts), now });
}

/** @param {string} heading @param {Line[]} lines @param {string} unknown */
const list = (heading, lines, unknown) => html`<div>
  <h5>${heading}</h5>
  <dl>
    ${lines.map(
      ([name, value]) => html`<div>
        <dt>${name}</dt>
        <dd>${value || html`<em>${unknown}</em>`}</dd>
      </div>`,
    )}
  </dl>
</div>`;

/** @param {View} view @param {Proposal} proposal */
export function details(view, proposal) {
  const { words } = view;
  const unknown = words.t("plan.unknown");
  const machineOf = machineLines(words, proposal);
  const breaks = breaksText(words, proposal);
  const notes = notesOf(proposal).map((note) => html`<p>${words.t(`cost.note.${note}`)}</p>`);
  return html`<div class="plan-details">
    ${list(words.t("plan.card"), cardLines(words, proposal), unknown)}
    ${machineOf.length ? list(words.t("plan.machine"), machineOf, unknown) : nothing}
    ${list(words.t("plan.run"), runLines(view, proposal), unknown)}
    ${breaks ? html`<p>${breaks}</p>` : nothing} ${notes}
  </div>`;
}
