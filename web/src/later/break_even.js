// From how many hours of work on buying is cheaper than renting: in words, as a chart, and as the chart's table.

import { html, nothing, svg } from "lit";
import { ticks } from "d3-array";
import { area, line } from "d3-shape";

import { disclosure } from "../views/view.js";
import { hoursOf, money, moneyRange, reached } from "./amounts.js";
import { saveChart } from "./save_chart.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../i18n.js").Words} Words */
/** @typedef {import("../contract.d.ts").Cost} Cost */
/** @typedef {NonNullable<Cost["break_even"]>} BreakEven */
/** @typedef {NonNullable<BreakEven["points"]>[number]} Point */

/** Both are drawn and the room decides: text keeps its size. */
const sizes = /** @type {const} */ ([
  { name: "wide", width: 720, height: 340, columns: 6 },
  { name: "narrow", width: 320, height: 280, columns: 2 },
]);

/** Pixels that a figure of a tick takes, and a letter of a line's name. */
const figureWidth = 7;
const letterWidth = 9;

/** Pixels between two names at least. */
const apart = 16;

/** Months, or years where there are many. @param {Words} words @param {BreakEven["months"]} months */
function calendar(words, months) {
  const long = (months.expected ?? 0) >= 36;
  const scaled = (/** @type {number | null} */ value) => (value === null ? null : value / 12);
  const { low, expected, high } = months;
  return long
    ? reached(words, "duration.years", { low: scaled(low), expected: scaled(expected), high: scaled(high) })
    : reached(words, "duration.months", months);
}

/** What makes the comparison lame: the price lacks something that renting has. */
const lacking = /** @type {const} */ (["host_not_included", "processors_not_included"]);

/** @param {Words} words @param {Cost} cost @param {BreakEven} even @returns {string} */
export function evenText(words, { bought, currency }, even) {
  const hours = reached(words, "duration.hours", even.hours);
  const months = calendar(words, even.months);
  const lacks = lacking.filter((note) => bought?.notes.includes(note)).map((note) => words.t(`cost.note.${note}`));
  const said = words.t(`cost.even.${even.state}`, {
    hours: hours.amount,
    range: hours.range,
    months: months.amount,
    months_range: months.range,
    utilisation: words.format.percent(bought?.utilisation ?? 1),
    rent: money(words, even.rent_per_hour, currency),
  });
  return [said, ...lacks].join(" ");
}

/**
 * Where hours and amounts of money are in a drawing, and the ticks of both.
 * @param {Words} words @param {string} currency @param {Point} last @param {typeof sizes[number]} size
 */
function frameOf({ format, t }, currency, last, { width, height, columns }) {
  const top = 1.1 * Math.max(last.rented, last.bought.high);
  const amounts = ticks(0, top, 5);
  const digits = amounts[1] < 1 ? 2 : 0;
  const rows = amounts.map((value) => ({ value, text: format.money(value, currency, digits) }));
  const left = 12 + figureWidth * Math.max(...rows.map(({ text }) => text.length));
  const names = Math.max(t("cost.even.rented").length, t("cost.even.bought").length);
  const [right, above, below] = [width - 10 - letterWidth * names, 12, height - 44];
  return {
    ...{ rows, left, right, above, below },
    columns: ticks(0, last.hours, columns).map((value) => ({ value, text: format.integer(value) })),
    x: (/** @type {number} */ hours) => left + ((right - left) * hours) / last.hours,
    y: (/** @type {number} */ value) => below - ((below - above) * value) / top,
  };
}

/**
 * The axes with their ticks, and where the purchase is written off.
 * @param {Words} words @param {ReturnType<typeof frameOf>} frame @param {number} lifetime @param {number} end
 */
function axes(words, { rows, columns, left, right, above, below, x, y }, lifetime, end) {
  const line = x(lifetime);
  return svg`${rows.map(({ value, text }) => svg`<path class="even-grid" d="M${left} ${y(value)}H${right}" />
    <text class="even-tick" x=${left - 6} y=${y(value) + 4} text-anchor="end">${text}</text>`)}
  ${columns.map(({ value, text }) => svg`<path class="even-axis" d="M${x(value)} ${below}v5" />
    <text class="even-tick" x=${x(value)} y=${below + 18} text-anchor="middle">${text}</text>`)}
  <path class="even-axis" d="M${left} ${below}H${right}" />
  <text class="even-tick" x=${right} y=${below + 36} text-anchor="end">${words.t("cost.even.hours")}</text>
  ${lifetime < end
    ? svg`<path class="even-lifetime" d="M${line} ${above}V${below}" />
      <text class="even-tick" x=${line - 5} y=${above + 10} text-anchor="end">${words.t("cost.even.lifetime")}</text>`
    : nothing}`;
}

/**
 * Where the lines meet, in hours and by the calendar; nothing where that is too late or never.
 * @param {Words} words @param {ReturnType<typeof frameOf>} frame @param {BreakEven} even @param {number} end
 */
function meeting(words, { below, x, y }, { state, hours, months, cost }, end) {
  if (state !== "reached" || hours.expected === null || cost === null) return nothing;
  const [low, high] = [hours.low ?? end, hours.high ?? end].map((value) => x(Math.min(value, end)));
  const at = { x: x(hours.expected), y: y(cost) };
  return svg`<path class="even-drop" d="M${at.x} ${at.y}V${below}" />
  <path class="even-range" d="M${low} ${below}H${high}" />
  <circle class="even-dot" cx=${at.x} cy=${at.y} r="5" />
  <text class="even-mark" x=${at.x + 8} y=${at.y + 22}>${reached(words, "duration.hours", hours).amount}</text>
  <text class="even-mark" x=${at.x + 8} y=${at.y + 38}>${calendar(words, months).amount}</text>`;
}

/**
 * The chart on its own: it is saved as it stands, so its words are in it.
 * @param {Words} words @param {string} currency @param {BreakEven} even @param {Point[]} points
 * @param {typeof sizes[number]} size
 */
function chart(words, currency, even, points, size) {
  const last = points[points.length - 1];
  const frame = frameOf(words, currency, last, size);
  const { right, x, y } = frame;
  const band = /** @type {import("d3-shape").Area<Point>} */ (area())
    .x(({ hours }) => x(hours))
    .y0(({ bought }) => y(bought.low))
    .y1(({ bought }) => y(bought.high));
  const path = (/** @type {(point: Point) => number} */ value) => {
    const drawn = /** @type {import("d3-shape").Line<Point>} */ (line());
    return drawn.x(({ hours }) => x(hours)).y((point) => y(value(point)))(points) ?? "";
  };
  const ends = [y(last.rented), y(last.bought.expected)];
  const shift = Math.max(0, apart - Math.abs(ends[0] - ends[1])) / 2;
  /** A name beside the end of its line, clear of the other one. */
  const name = (/** @type {"rented" | "bought"} */ id, /** @type {number} */ own, /** @type {number} */ other) =>
    svg`<text class="even-name" data-line=${id} x=${right + 6} y=${own + 4 + (own < other ? -shift : shift)}>${
      words.t(`cost.even.${id}`)}</text>`;
  const { width, height } = size;
  return html`<svg
    class="even"
    data-size=${size.name}
    viewBox="0 0 ${width} ${height}"
    width=${width}
    height=${height}
    aria-hidden="true"
  >
    ${svg`<rect class="even-paper" width=${width} height=${height} />
    ${axes(words, frame, even.lifetime_hours, last.hours)}
    <path class="even-band" d=${band(points) ?? ""} />
    <path class="even-bought" d=${path(({ bought }) => bought.expected)} />
    <path class="even-rented" d=${path(({ rented }) => rented)} />
    ${name("rented", ends[0], ends[1])} ${name("bought", ends[1], ends[0])}
    ${meeting(words, frame, even, last.hours)}`}
  </svg>`;
}

/** @param {View} view @param {Cost} cost @param {Point[]} points */
function chartTable(view, { currency }, points) {
  const { words } = view;
  const body = () => html`<div class="scroll tall" tabindex="0" role="group" aria-label=${words.t("cost.even.table")}>
    <table>
      <thead>
        <tr>
          <th scope="col" class="number">${words.t("cost.even.hours")}</th>
          <th scope="col" class="number">${words.t("cost.even.rented")}</th>
          <th scope="col" class="number">${words.t("cost.even.bought")}</th>
          <th scope="col" class="number">${words.t("cost.even.band")}</th>
        </tr>
      </thead>
      <tbody>
        ${points.map(
          ({ hours, rented, bought }) => html`<tr>
            <th scope="row" class="number">${words.format.integer(hours)}</th>
            <td class="number">${money(words, rented, currency)}</td>
            <td class="number">${money(words, bought.expected, currency)}</td>
            <td class="number">${moneyRange(words, bought, currency)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  return disclosure(view, "even-table", { className: "behind", summary: words.t("cost.even.table"), body });
}

/** @param {View} view @param {Cost} cost */
export function breakEven(view, cost) {
  const { words, answer } = view;
  const even = cost.break_even;
  const points = even?.points ?? [];
  if (!even || points.length < 2) return nothing;
  const said = evenText(words, cost, even);
  const hours = answer?.time?.total_hours;
  const save = (/** @type {Event} */ { target }) => {
    const picture = /** @type {Element} */ (target).closest(".even-figure")?.querySelector("svg");
    if (picture) saveChart(picture, words.t("cost.even.file"), words.t("cost.even.heading"), said);
  };
  return html`<div class="even-figure" data-state=${even.state}>
    <h4>${words.t("cost.even.heading")}</h4>
    <p>${said} ${hours ? words.t("cost.even.run", { hours: hoursOf(words, hours).amount }) : nothing}</p>
    <div class="even-room" role="img" aria-label="${words.t("cost.even.chart")}. ${said}">
      ${sizes.map((size) => chart(words, cost.currency, even, points, size))}
    </div>
    ${chartTable(view, cost, points)}
    <p><button type="button" class="quiet" @click=${save}>${words.t("cost.even.save")}</button></p>
  </div>`;
}
