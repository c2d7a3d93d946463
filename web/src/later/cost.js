// What the run costs, by whichever way: the amounts side by side, what each is made of, and where buying pays.

import { html, nothing } from "lit";

import { figures, money, moneyRange, oldest } from "./amounts.js";
import { breakEven } from "./break_even.js";
import { bought, figureTable, rented, services } from "./cost_tables.js";
import { isDay } from "./offers.js";
import { ageTag, boughtKind, reference } from "./outcome.js";
import { bareTag, doubtTag, staleNote } from "./price_table.js";
import { number } from "./time.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Cost} Cost */
/** @typedef {import("../contract.d.ts").CostNote} CostNote */
/** @typedef {import("../contract.d.ts").Range} Range */

/**
 * What an amount is of, the day of its price, its doubt and its age.
 * @param {View["words"]} words @param {string} what @param {string | null} date @param {boolean} low
 */
function dated(words, what, date, low) {
  const key = date && isDay(date) ? "cost.read.day" : "cost.read";
  const read = date ? words.t(key, { date: words.format.day(date) }) : words.t("cost.rented.own");
  return html`${what ? `${what}, ` : ""}<time datetime=${date ?? nothing}>${read}</time>
  ${low ? doubtTag(words, "price.low") : nothing}${ageTag(words, date)}`;
}

/** @param {View["words"]} words @param {Range} range @param {string} currency */
const amounts = (words, range, currency) => ({
  amount: money(words, range.expected, currency),
  range: range.low === range.high ? "" : moneyRange(words, range, currency),
});

/** Terms on which other people's machines are rented. */
const markets = ["community", "marketplace"];

/** What the amount rented leaves out: markets, where they have the card and were not wished for. @param {Cost} cost */
export function withoutMarkets(cost) {
  const line = reference(cost);
  const has = cost.rented.some(({ term }) => term !== null && markets.includes(term));
  return has && line !== undefined && line.term !== null && !markets.includes(line.term);
}

/** @param {View} view @param {Cost} cost */
function numbers(view, cost) {
  const { words } = view;
  const { currency, bought: own, energy, token_services: [service] } = cost;
  const line = reference(cost);
  const term = words.maybe(`price.term.${line?.term}`, "").toLowerCase();
  const rent = line && number({
    name: words.t("cost.rented"),
    ...amounts(words, line.cost, currency),
    what: html`${dated(words, line.provider ? `${line.provider}, ${term}` : "", line.date, line.low_confidence)}
    ${withoutMarkets(cost)
      ? html`<span class="tag" data-mark="covers">${words.t("cost.rented.without")}</span>`
      : nothing}`,
  });
  const buy = own && number({
    name: words.t(`cost.bought.${boughtKind(own)}`),
    ...amounts(words, own.cost, currency),
    what: html`${dated(
      words,
      words.t("cost.bought.what", { price: money(words, own.price.expected, currency) }),
      oldest(own.prices.map(({ date }) => date)),
      own.prices.some(({ low_confidence: low }) => low),
    )}
    ${own.notes.includes("host_not_included") ? bareTag(words) : nothing}`,
  });
  const token = service && number({
    name: words.t("cost.service"),
    ...amounts(words, service.cost, currency),
    what: dated(words, service.provider, service.date, service.low_confidence),
  });
  const power = energy && number({
    name: words.t("cost.energy"),
    ...unitAfter(figures(words, energy.kwh), "kWh"),
    what: emissions(words, energy),
  });
  return html`<dl class="numbers">${rent || nothing} ${buy || nothing} ${token || nothing} ${power || nothing}</dl>`;
}

/** @param {View["words"]} words @param {NonNullable<Cost["energy"]>} energy */
function emissions(words, { kg_co2: emitted, g_co2_per_kwh: { date, low_confidence: low } }) {
  const { amount, range } = figures(words, emitted);
  const values = { co2: `${amount}\u00a0kg`, range, date: date ? words.format.date(date) : "" };
  return html`${words.t(date ? "cost.energy.what" : "cost.energy.own", values)}
  ${low ? doubtTag(words, "price.low") : nothing}${ageTag(words, date)}`;
}

/** @param {{amount: string, range: string}} figures @param {string} unit */
const unitAfter = ({ amount, range }, unit) => ({ amount: `${amount}\u00a0${unit}`, range });

/** What has to be said beside the amounts that stand first. @param {View["words"]} words @param {Cost} cost */
export function notesOf(words, cost) {
  const parts = [cost, reference(cost), cost.bought, cost.energy];
  const notes = new Set(parts.flatMap((part) => part?.notes ?? []));
  return [...notes].map((note) => words.t(`cost.note.${note}`));
}

/** Dates of every price and figure that an amount was made of. @param {Cost} cost */
function datesOf({ exchange, rented: lines, token_services: members, bought: own, energy }) {
  const beneath = [
    own?.lifetime_years, energy?.pue, energy?.price_per_kwh, energy?.g_co2_per_kwh, energy?.working_power_share,
    energy?.waiting_power_share,
  ];
  return [exchange, ...lines, ...members, ...(own?.prices ?? []), ...beneath].flatMap((some) => some?.date ?? []);
}

/** @param {View} view @param {Cost} cost */
function extras({ words }, { extras: members, currency }) {
  if (members.length === 0) return nothing;
  return html`<h4>${words.t("cost.extras.heading")}</h4>
    <p class="caption">${words.t("cost.extras.what")}</p>
    <table class="plain">
      <thead class="hidden">
        <tr>
          <th scope="col">${words.t("cost.extras.heading")}</th>
          <th scope="col" class="number">${words.t("cost.price")}</th>
        </tr>
      </thead>
      <tbody>
        ${members.map(
          ({ id, cost }) => html`<tr>
            <th scope="row">${words.t(`cost.extra.${id}`)}</th>
            <td class="number">
              ${money(words, cost.expected, currency)}
              ${cost.low === cost.high ? nothing : html`<small>${moneyRange(words, cost, currency)}</small>`}
            </td>
          </tr>`,
        )}
      </tbody>
    </table>`;
}

/** @param {View["words"]} words @param {NonNullable<Cost["disk"]>} disk */
const diskText = ({ t, format }, { total_bytes: total, checkpoints_bytes: checkpoints, dataset_bytes: data }) =>
  t("cost.disk", { total: format.size(total), checkpoints: format.size(checkpoints), data: format.size(data) });

/** @param {View} view */
export function cost(view) {
  const { words, answer } = view;
  const known = answer?.cost;
  if (!known) return nothing;
  return html`<section class="cost" data-part="cost">
    <h3>${words.t("cost.heading")}</h3>
    <p class="caption">${words.t("cost.caption")}</p>
    ${numbers(view, known)} ${staleNote(words, datesOf(known), "cost-stale")}
    ${rented(view, known)} ${services(view, known)}
    ${bought(view, known)} ${figureTable(view, known)} ${extras(view, known)} ${breakEven(view, known)}
    <ul class="notes">
      ${notesOf(words, known).map((note) => html`<li>${note}</li>`)}
      ${known.disk ? html`<li>${diskText(words, known.disk)}</li>` : nothing}
    </ul>
  </section>`;
}
