// Memory against the card: what is alive at the peak, stacked; below it, on the same scale, what torch and the driver
// report, each with its range; and the card's limit through all of it.

import { html, nothing } from "lit";
import { ticks } from "d3-array";

import { bytesPerGibibyte } from "../format.js";
import { byFamily, disclosure, families, familyOf } from "./view.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("../contract.d.ts").Report} Report */

const measures = /** @type {const} */ (["allocated", "reserved", "device"]);

/** Positions and widths come from the core's bytes; CSS places them. @param {number} share */
const percent = (share) => `${(100 * share).toFixed(3)}%`;

/** The parts of the bar: terms, then what lies above them. @param {NonNullable<Report["memory"]>["per_gpu"]} memory */
const partsOf = ({ terms = [], overheads = [] }) => [
  ...byFamily(terms).map(({ id, bytes }) => ({ id, bytes, name: `term.${id}`, family: familyOf(id) })),
  ...overheads.map(({ id, bytes }) => ({ id, bytes: bytes.expected, name: `overhead.${id}`, family: "overhead" })),
];

/** @param {View} view @param {(bytes: number) => number} scale */
function bar({ words, answer, ui }, scale) {
  const parts = answer?.memory ? partsOf(answer.memory.per_gpu) : [];
  const total = words.format.size(answer?.memory?.per_gpu.device.expected ?? 0);
  return html`<div class="bar" role="img" aria-label="${words.t("figure.heading")}: ${total}">
    ${parts.map(
      ({ id, bytes, name, family }) => html`<div
        class="part ${ui.pointed === id ? "pointed" : ""}"
        data-family=${family}
        title="${words.maybe(name, id)}: ${words.format.size(bytes)}"
        .style=${`--width: ${percent(scale(bytes))}`}
      >
        ${scale(bytes) > 0.075 ? html`<span>${words.maybe(name, id)}</span>` : nothing}
      </div>`,
    )}
  </div>`;
}

/** @param {View} view @param {(bytes: number) => number} scale @param {typeof measures[number]} measure */
function whisker({ answer }, scale, measure) {
  const range = answer?.memory?.per_gpu[measure];
  if (!range) return nothing;
  const names = /** @type {const} */ (["low", "expected", "high"]);
  const style = names.map((name) => `--${name}: ${percent(scale(range[name]))}`).join("; ");
  return html`<div class="whisker" data-measure=${measure} aria-hidden="true" .style=${style}><i></i><b></b></div>`;
}

/** The three numbers that people compare with their own screen. @param {View} view */
function numbers({ words, answer }) {
  const memory = answer?.memory?.per_gpu;
  if (!memory) return nothing;
  return html`<dl class="numbers">
    ${measures.map(
      (measure) => html`<div data-measure=${measure}>
        <dt><span class="whisker" aria-hidden="true"><b></b></span> ${words.t(`figure.${measure}`)}</dt>
        <dd>
          <strong>${words.format.size(memory[measure].expected)}</strong> <span>${words.range(memory[measure])}</span>
          <small>${words.t(`figure.${measure}.what`)}</small>
        </dd>
      </div>`,
    )}
  </dl>`;
}

/** @param {View} view */
function table(view) {
  const { words, answer } = view;
  const memory = answer?.memory?.per_gpu;
  if (!memory) return nothing;
  const { format } = words;
  const body = () => html`<div class="scroll" tabindex="0" role="group" aria-label=${words.t("figure.table")}>
    <table>
      <thead>
        <tr>
          <th scope="col">${words.t("figure.measure")}</th>
          <th scope="col" class="number">${words.t("figure.expected")}</th>
          <th scope="col" class="number">${words.t("figure.range")}</th>
        </tr>
      </thead>
      <tbody>
        ${partsOf(memory).map(
          ({ id, name, bytes }) => html`<tr>
            <th scope="row">${words.maybe(name, id)}</th>
            <td class="number">${format.size(bytes)}</td>
            <td></td>
          </tr>`,
        )}
        ${measures.map(
          (measure) => html`<tr class="total">
            <th scope="row">${words.t(`figure.${measure}`)}</th>
            <td class="number">${format.size(memory[measure].expected)}</td>
            <td class="number">${words.range(memory[measure])}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  return disclosure(view, "figure", { className: "behind", summary: words.t("figure.table"), body });
}

/** Shares of the chart's width that a tick's figure takes, on a wide screen and on a narrow one. */
const figureWidth = { wide: 0.05, narrow: 0.13 };

/**
 * The axis: the unit stands at zero, and no figure where the card's line would strike it through.
 * @param {View} view @param {(bytes: number) => number} scale @param {number} end @param {number} limit
 */
function axis({ words: { format } }, scale, end, limit) {
  const struck = (/** @type {number} */ at, /** @type {number} */ width) => at <= limit && limit < at + width;
  const marks = ticks(0, end / bytesPerGibibyte, 6)
    .map((tick) => ({ tick, at: scale(tick * bytesPerGibibyte) }))
    .filter(({ tick, at }) => tick === 0 || (at < 0.95 && !struck(at, figureWidth.wide)));
  return html`<div class="axis" aria-hidden="true">
    ${marks.map(
      ({ tick, at }, index) => html`<span
        ?data-wide=${index % 2 > 0 || struck(at, figureWidth.narrow)}
        .style=${`--at: ${percent(at)}`}
        >${format.decimal(tick)}${tick === 0 ? "\u00a0GiB" : nothing}</span
      >`,
    )}
  </div>`;
}

/** @param {View} view */
export function figure(view) {
  const { words, answer, description } = view;
  const memory = answer?.memory?.per_gpu;
  const usable = answer?.fit?.usable_bytes;
  if (!memory || !usable) return nothing;
  const { format } = words;
  const end = Math.max(usable * 1.06, memory.device.high * 1.02);
  const scale = (/** @type {number} */ bytes) => bytes / end;
  const gpu = description.gpus.find(({ id }) => id === answer.hardware?.gpu);
  const used = new Set(partsOf(memory).map(({ family }) => family));
  const batch = answer.request?.batch;
  const weights = memory.terms?.find(({ id }) => id === "weights");
  return html`<section class="figure">
    <h3>${words.t("figure.heading")}</h3>
    <p class="caption">${words.t("figure.caption")}</p>
    <div class="plot" .style=${`--limit: ${percent(scale(usable))}`}>
      <p class="limit-name" data-side=${scale(usable) < 0.5 ? "right" : "left"}>
        <span>${words.t("figure.limit", { usable: format.size(usable) })}</span>
      </p>
      <div class="over" aria-hidden="true"></div>
      ${bar(view, scale)}
      ${axis(view, scale, end, scale(usable))}
      ${measures.map((measure) => whisker(view, scale, measure))}
      <div class="limit" aria-hidden="true"></div>
    </div>
    <ul class="legend" aria-label=${words.t("figure.legend")}>
      ${/** @type {const} */ ([...Object.keys(families), "overhead"]).filter((family) => used.has(family)).map(
        (family) =>
          html`<li><i class="swatch" data-family=${family}></i> ${words.maybe(`family.${family}`, family)}</li>`,
      )}
    </ul>
    ${numbers(view)} ${table(view)}
    <ul class="notes">
      ${weights
        ? html`<li>
            ${words.t("note.weights", {
              weights: format.size(weights.bytes),
              device: format.size(memory.device.expected),
            })}
          </li>`
        : nothing}
      ${gpu
        ? html`<li>
            ${words.t("note.gib", {
              marketed: format.marketed(gpu.memory_bytes),
              mebibytes: format.mebibytes(usable),
              usable: format.size(usable),
            })}
          </li>`
        : nothing}
      ${answer.hardware?.usable_is_derived ? html`<li>${words.t("note.derived")}</li>` : nothing}
      <li>${words.t("note.batch", {
          length: words.plural("count.tokens", batch?.sequence_length ?? 0),
          batch: format.integer(batch?.per_device ?? 0),
        })}</li>
    </ul>
  </section>`;
}
