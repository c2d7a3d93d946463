// How long a step and the run take, how well the GPU is used, and what a step is spent on.

import { html, nothing } from "lit";

import { disclosure } from "../views/view.js";
import { counted, duration, figures, hoursOf } from "./amounts.js";
import { untimed } from "./outcome.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Time} Time */
/** @typedef {import("../contract.d.ts").TimeTerm} TimeTerm */

/** Parts of a step in the order of the bar, by what they have in common. @type {Record<string, TimeTerm[]>} */
export const families = {
  generation: ["generation"],
  compute: ["matmul", "attention"],
  again: ["recompute"],
  bytes: ["memory_bound"],
  traffic: ["tensor_parallel", "expert_parallel", "data_parallel", "pipeline_bubble"],
  rest: ["offload", "launch", "optimizer", "step"],
};

/** Of the step: a part that is less is not told in the bar. */
const nameable = 0.1;

/** How much more may be computed than there is data before that is worth a word. */
const notable = 1.25;

/** The parts by family, in the core's order within. @param {Time} time */
function partsOf({ terms = [] }) {
  const order = Object.keys(families);
  const family = (/** @type {TimeTerm} */ id) => order.find((name) => families[name].includes(id)) ?? "rest";
  return terms
    .map((term) => ({ ...term, family: family(term.id) }))
    .sort((a, b) => order.indexOf(a.family) - order.indexOf(b.family));
}

/**
 * @param {{name: string, amount: string, range: string, what: unknown}} parts
 */
export const number = ({ name, amount, range, what }) => html`<div>
  <dt>${name}</dt>
  <dd><strong>${amount}</strong> <span>${range}</span> <small>${what}</small></dd>
</div>`;

/** @param {View} view @param {Time} time */
function numbers({ words, answer }, time) {
  const { format, t } = words;
  const gpus = answer?.request?.parallel?.gpus ?? 1;
  const speed = figures(words, time.tokens_per_second);
  const each = figures(words, time.tokens_per_second_per_gpu).amount;
  const { total_hours: hours, steps, trained_tokens: tokens } = time;
  const run = hours && {
    name: t("time.run"),
    ...hoursOf(words, hours),
    what: t("time.run.what", {
      steps: words.plural("time.steps", steps ?? 0),
      tokens: tokenText(words, tokens ?? 0),
    }),
  };
  return html`<dl class="numbers">
    ${run ? number(run) : nothing}
    ${number({
      name: t("time.step"),
      ...duration(words, time.step_seconds),
      what: t("time.step.what", { tokens: words.plural("count.tokens", time.tokens_per_step) }),
    })}
    ${number({
      name: t("time.speed"),
      ...speed,
      what: gpus > 1 ? t("time.speed.all", { gpus: format.integer(gpus), each }) : t("time.speed.one"),
    })}
    ${number({
      name: t("time.use"),
      amount: format.percent(time.model_flops_utilization),
      range: "",
      what: t("time.use.what", { hfu: format.percent(time.hardware_flops_utilization) }),
    })}
  </dl>`;
}

/** "15M tokens". @param {View["words"]} words @param {number} count */
export const tokenText = (words, count) => `${words.format.compact(count)}\u00a0${words.t("time.tokens")}`;

/** @param {View} view @param {Time} time */
function padding(view, { computed_tokens: computed, trained_tokens: trained, row_tokens: row }) {
  const { words, answer } = view;
  if (answer?.request?.batch?.packing !== "none" || !computed || !trained) return nothing;
  if (computed < notable * trained) return nothing;
  return html`<p class="aside">
    ${words.t(row === answer.request.batch.sequence_length ? "time.padding" : "time.padding.longest", {
      trained: words.format.compact(trained),
      computed: words.format.compact(computed),
      length: words.plural("count.tokens", Math.round(row ?? 0)),
    })}
    <button type="button" class="quiet" @click=${() => view.set({ packing: "packed" })}>
      ${words.t("time.padding.try")}
    </button>
  </p>`;
}

/** Of fewer failures than this nothing is said: they are not to be expected. */
const likely = 1;

/** What the run's hours hold beside its steps. @param {View} view @param {Time} time */
function outside({ words }, { outside_steps: waits }) {
  if (!waits) return nothing;
  const { start_seconds: start, evaluation_seconds: evaluation, saving_seconds: saving } = waits;
  const { lost_seconds: lost, saves, interruptions } = waits;
  const told = {
    start: duration(words, start).amount,
    saving: duration(words, saving).amount,
    saves: words.plural("time.saves", Math.max(1, Math.round(saves))),
    lost: duration(words, lost).amount,
    evaluation: duration(words, evaluation).amount,
    failures: counted(words, "time.failures", interruptions),
  };
  return html`<p class="caption">
    ${words.t("time.outside", told)}
    ${words.t(evaluation.expected > 0 ? "time.outside.evaluation" : "time.outside.no_evaluation", told)}
    ${interruptions >= likely ? words.t("time.outside.failures", told) : nothing}
  </p>`;
}

/**
 * A part of a step, in the unit of the whole.
 * @param {View["words"]} words @param {number} seconds @param {number} whole
 */
function secondsText({ format }, seconds, whole) {
  const [unit, value, digits] = whole < 1 ? ["ms", 1000 * seconds, 1] : ["s", seconds, 3];
  const least = 10 ** -digits;
  const text = value > 0 && value < least / 2 ? `< ${format.decimal(least)}` : format.decimal(value, digits);
  return `${text}\u00a0${unit}`;
}

/** @param {View} view @param {Time} time */
function parts(view, time) {
  const { words } = view;
  const { format } = words;
  const whole = time.step_seconds.expected;
  const members = partsOf(time);
  const used = Object.keys(families).filter((name) => members.some(({ family }) => family === name));
  const heading = words.t("time.parts");
  const table = () => html`<div class="scroll" tabindex="0" role="group" aria-label=${words.t("time.table")}>
    <table>
      <thead>
        <tr>
          <th scope="col">${words.t("time.part")}</th>
          <th scope="col" class="number">${words.t("time.seconds")}</th>
          <th scope="col" class="number">${words.t("time.share")}</th>
          <th scope="col">${words.t("terms.formula")}</th>
        </tr>
      </thead>
      <tbody>
        ${members.map(
          ({ id, seconds, formula, family }) => html`<tr>
            <th scope="row">
              <i class="swatch" data-family=${family}></i> ${words.t(`time.term.${id}`)}
              <small>${words.t(`time.term.${id}.what`)}</small>
            </th>
            <td class="number">${secondsText(words, seconds, whole)}</td>
            <td class="number">${format.percent(seconds / whole)}</td>
            <td><code>${formula}</code></td>
          </tr>`,
        )}
        <tr class="total">
          <th scope="row">${words.t("time.total")}</th>
          <td class="number">${secondsText(words, whole, whole)}</td>
          <td class="number">${format.percent(1)}</td>
          <td></td>
        </tr>
      </tbody>
    </table>
  </div>`;
  return html`<h4>${heading}</h4>
    <p>${words.t(`time.bound.${time.bound}`)}</p>
    <div class="bar" role="img" aria-label="${heading}: ${secondsText(words, whole, whole)}">
      ${members.map(({ id, seconds, family }) => {
        const name = words.t(`time.term.${id}`);
        return html`<div
          class="part"
          data-family=${family}
          title="${name}: ${secondsText(words, seconds, whole)}"
          .style=${`--width: ${((100 * seconds) / whole).toFixed(3)}%`}
        >
          ${seconds > nameable * whole ? html`<span>${name}</span>` : nothing}
        </div>`;
      })}
    </div>
    <ul class="legend" aria-label=${words.t("figure.legend")}>
      ${used.map(
        (name) => html`<li><i class="swatch" data-family=${name}></i> ${words.maybe(`time.family.${name}`, name)}</li>`,
      )}
    </ul>
    ${disclosure(view, "time-parts", { className: "behind", summary: words.t("time.table"), body: table })}`;
}

/** @param {View} view */
export function time(view) {
  const { words, answer } = view;
  if (!answer) return nothing;
  const { time: known } = answer;
  const reason = known ? "" : untimed(view);
  if (!known && !reason) return nothing;
  const heading = html`<h3>${words.t("time.heading")}</h3>`;
  if (!known) return html`<section class="time">${heading}<p class="caption">${reason}</p></section>`;
  const how = () => html`<p class="caption">${words.t("time.use.how.what")}</p>`;
  return html`<section class="time" data-part="time">
    ${heading}
    <p class="caption">${words.t("time.caption")}</p>
    ${numbers(view, known)} ${outside(view, known)} ${padding(view, known)}
    ${disclosure(view, "time-use", { className: "behind", summary: words.t("time.use.how"), body: how })}
    ${parts(view, known)}
  </section>`;
}
