// Memory through a training step: the curve, the phases, and the curve's own table.

import { html, nothing, svg } from "lit";
import { groups, ticks } from "d3-array";
import { area, line } from "d3-shape";

import { bytesPerGibibyte } from "../format.js";
import { disclosure } from "../views/view.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").TimelinePoint} Point */

const phases = /** @type {const} */ ([
  "load", "static", "after_forward", "peak_forward", "peak_backward", "after_backward", "peak_optimizer",
  "between_steps", "peak_step", "save",
]);

const percent = (/** @type {number} */ share) => `${(100 * share).toFixed(3)}%`;

/** Moments in the order of the step, each from its first to its last point. @param {Point[]} points */
function spans(points) {
  const indexed = points.map((point, index) => ({ moment: point.moment, index }));
  return groups(indexed, ({ moment }) => moment).map(([moment, members]) => ({
    moment,
    from: members[0].index,
    to: members[members.length - 1].index + 1,
  }));
}

/** @param {View} view @param {Point[]} points */
function chart({ words, answer }, points) {
  const { format } = words;
  const peak = answer?.memory?.per_gpu.phases.peak_step ?? 0;
  const usable = answer?.fit?.usable_bytes ?? 0;
  const moment = answer?.memory?.per_gpu.peak_moment ?? "backward";
  const top = peak * 1.12;
  const x = (/** @type {Point} */ _, /** @type {number} */ index) => (1000 * (index + 0.5)) / points.length;
  const y = (/** @type {number} */ bytes) => 300 * (1 - bytes / top);
  const peaks = /** @type {import("d3-shape").Area<Point>} */ (area()).x(x).y0(300).y1((point) => y(point.peak_bytes));
  const live = /** @type {import("d3-shape").Line<Point>} */ (line()).x(x).y((point) => y(point.bytes));
  const marks = ticks(0, top / bytesPerGibibyte, 5).map((tick) => ({
    tick,
    style: `--at: ${percent((tick * bytesPerGibibyte) / top)}`,
  }));
  const parts = spans(points).map(({ moment: name, from, to }) => ({
    name,
    share: (to - from) / points.length,
    style: `--from: ${percent(from / points.length)}; --width: ${percent((to - from) / points.length)}`,
  }));
  const highest = points.findIndex((point) => point.peak_bytes >= peak);
  const summit = `--from: ${percent((highest + 0.5) / points.length)}; --at: ${percent(peak / top)}`;
  const side = highest > points.length / 2 ? "left" : "right";
  const label = words.t("step.chart", { peak: format.size(peak), moment: words.t(`moment.${moment}`) });
  return html`<div class="curve" role="img" aria-label=${label}>
    <div class="curve-ticks" aria-hidden="true">
      <em>GiB</em>
      ${marks.map(({ tick, style }) => html`<span .style=${style}>${format.decimal(tick)}</span>`)}
    </div>
    <div class="curve-plot" aria-hidden="true">
      ${marks.map(({ style }) => html`<i class="grid" .style=${style}></i>`)}
      ${parts.map(({ style }) => html`<i class="span" .style=${style}></i>`)}
      <svg viewBox="0 0 1000 300" preserveAspectRatio="none">
        ${svg`<path class="peaks" d=${peaks(points) ?? ""} /><path class="live" d=${live(points) ?? ""} />`}
      </svg>
      ${usable && usable < top
        ? html`<i class="curve-card" .style=${`--at: ${percent(usable / top)}`}><b>${words.t("step.card")}</b></i>`
        : nothing}
      ${highest >= 0
        ? html`<i class="curve-peak" .style=${summit}>
            <b data-side=${side}>${words.t("step.peak.label")} ${format.size(peak)}</b>
          </i>`
        : nothing}
    </div>
    <div class="curve-moments" aria-hidden="true">
      ${parts.map(
        ({ name, share, style }) =>
          html`<span .style=${style} ?data-narrow=${share < 0.12}>${words.t(`moment.${name}`)}</span>`,
      )}
    </div>
  </div>
  <ul class="legend" aria-hidden="true">
    <li><i class="key-live"></i> ${words.t("step.legend.live")}</li>
    <li><i class="key-peak"></i> ${words.t("step.legend.peak")}</li>
  </ul>`;
}

/** @param {View} view @param {Point[]} points */
function curveTable(view, points) {
  const { words } = view;
  const { format } = words;
  const body = () => html`<div class="scroll tall" tabindex="0" role="group" aria-label=${words.t("step.table")}>
    <table>
      <thead>
        <tr>
          <th scope="col">${words.t("step.moment")}</th>
          <th scope="col" class="number">${words.t("step.layer")}</th>
          <th scope="col" class="number">${words.t("step.live")}</th>
          <th scope="col" class="number">${words.t("step.peak")}</th>
        </tr>
      </thead>
      <tbody>
        ${points.map(
          ({ moment, layer, bytes, peak_bytes }) => html`<tr>
            <th scope="row">${words.t(`moment.${moment}`)}</th>
            <td class="number">${layer === null ? "" : format.integer(layer + 1)}</td>
            <td class="number">${format.size(bytes)}</td>
            <td class="number">${format.size(peak_bytes)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  return disclosure(view, "curve", { className: "behind", summary: words.t("step.table"), body });
}

/** @param {View} view */
export function step(view) {
  const { words, answer } = view;
  const memory = answer?.memory?.per_gpu;
  if (!memory) return nothing;
  const points = memory.timeline ?? [];
  return html`<section class="step">
    <h3>${words.t("step.heading")}</h3>
    <p class="caption">${words.t("step.intro")}</p>
    ${points.length > 1 ? html`${chart(view, points)} ${curveTable(view, points)}` : nothing}
    <h4>${words.t("phases.heading")}</h4>
    <table class="phases">
      <thead class="hidden">
        <tr>
          <th scope="col">${words.t("phases.phase")}</th>
          <th scope="col" class="number">${words.t("phases.bytes")}</th>
        </tr>
      </thead>
      <tbody>
        ${phases.map(
          (phase) => html`<tr class=${phase === "peak_step" ? "total" : ""}>
            <th scope="row">${words.t(`phase.${phase}`)} <small>${words.t(`phase.${phase}.what`)}</small></th>
            <td class="number">${words.format.size(memory.phases[phase])}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </section>`;
}
