// Time and cost in sentences, under the verdict: what a buyer asks after "does it fit". Each amount has its range, and
// each price its date.

import { html, nothing } from "lit";

import { sentence } from "../issues.js";
import { duration, hoursOf, money, moneyRange, oldest } from "./amounts.js";
import { isStale } from "./offers.js";
import { ageText, doubtTag } from "./price_table.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Report} Report */
/** @typedef {import("../contract.d.ts").Cost} Cost */
/** @typedef {import("../i18n.js").TextKey} TextKey */

/**
 * A sentence, and what has to be known of the price in it.
 * @typedef {{key: TextKey, values: Record<string, string>, date: string | null, doubtful: boolean}} Said
 */

/** The line that buying is held against. @param {Cost} cost */
export const reference = ({ rented }) => rented.find((line) => line.reference);

/** What is bought: the cards alone, or machines; one, or several. @param {NonNullable<Cost["bought"]>} bought */
export const boughtKind = ({ machines, gpus }) =>
  machines ? (machines > 1 ? "machines" : "machine") : (gpus ?? 1) > 1 ? "cards" : "card";

/** Why there is no time, in words; "" where nobody says. @param {Pick<View, "words" | "answer">} view */
export function untimed({ words, answer }) {
  const note = answer?.issues.find(({ code, field }) => code === "not_modelled" && field === "hardware.gpu");
  return note ? sentence(note, words, { label: "" }) : "";
}

/** @param {View["words"]} words @param {Cost} cost @returns {Said[]} */
function costs(words, cost) {
  const { currency, bought } = cost;
  const amounts = (/** @type {import("../contract.d.ts").Range} */ range) => ({
    amount: money(words, range.expected, currency),
    range: moneyRange(words, range, currency),
  });
  /** @type {Said[]} */
  const said = [];
  const line = reference(cost);
  if (line) {
    const { date, low_confidence: doubtful, provider } = line;
    const values = { ...amounts(line.cost), provider: provider ?? "", date: date ? words.format.date(date) : "" };
    said.push({ key: provider ? "outcome.rented" : "outcome.rented.own", values, date, doubtful });
  }
  if (bought) {
    const date = oldest(bought.prices.map((price) => price.date));
    const doubtful = bought.prices.some((price) => price.low_confidence);
    const values = { ...amounts(bought.cost), date: date ? words.format.date(date) : "" };
    const kind = bought.prices.length ? boughtKind(bought) : "own";
    said.push({ key: `outcome.bought.${kind}`, values, date, doubtful });
  }
  return said;
}

/** @param {Pick<View, "words" | "answer">} view @returns {Said[]} */
export function sentences({ words, answer }) {
  const time = answer?.time;
  if (!time) return [];
  const plain = { date: null, doubtful: false };
  if (!time.total_hours) return [{ key: "outcome.step", values: duration(words, time.step_seconds), ...plain }];
  /** @type {Said} */
  const hours = { key: "outcome.hours", values: hoursOf(words, time.total_hours), ...plain };
  return [hours, ...(answer.cost ? costs(words, answer.cost) : [])];
}

/** The same as plain text, for the copies. @param {Pick<View, "words" | "answer">} view @returns {string} */
export function outcomeText(view) {
  const { words, answer } = view;
  const said = sentences(view).map(({ key, values }) => words.t(key, values));
  if (said.length === 0) return untimed(view);
  return [answer?.fit?.verdict === "does_not_fit" ? words.t("outcome.unfit") : "", ...said].filter(Boolean).join(" ");
}

/** How old a price is, where that is too old. @param {View["words"]} words @param {string | null} date */
export function ageTag(words, date) {
  if (date === null || !isStale(date)) return nothing;
  return html` <span class="tag" data-mark="doubt">${ageText(words, date)}</span>`;
}

/** @param {View} view */
export function outcome(view) {
  const { words, answer } = view;
  const said = sentences(view);
  if (said.length === 0) return html`<p class="outcome" data-testid="outcome">${untimed(view)}</p>`;
  return html`<p class="outcome" data-testid="outcome">
    ${answer?.fit?.verdict === "does_not_fit" ? words.t("outcome.unfit") : nothing}
    ${said.map(
      ({ key, values, date, doubtful }) => html`${words.rich(key, {
        ...values,
        amount: html`<strong>${values.amount}</strong>`,
      })}${doubtful ? html` ${doubtTag(words, "price.low")}` : nothing}${ageTag(words, date)} `,
    )}
  </p>`;
}
