// How prices stand in tables: what is offered, for how much, read on what day, and its age by the reader's clock.

import { html, nothing } from "lit";

import { isolated } from "../isolated.js";
import { disclosure } from "../views/view.js";
import { english, sourceList } from "./fact.js";
import { ageOf, converted, exchangeOf, isDay, isStale, spanOf, staleAfter } from "./offers.js";
import { sourcesNamed } from "./rows.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../catalog.d.ts").Market} Market */
/** @typedef {import("../catalog.d.ts").Offer} Offer */
/** @typedef {import("../i18n.js").TextKey} TextKey */

/** @param {string | undefined} note @param {View["words"]} words */
const noted = (note, words) => (note ? html`<p>${english(words, note)}</p>` : nothing);

/** @param {View["words"]} words @param {"price.low" | "price.unconfirmed"} key */
export const doubtTag = (words, key) => html`<span class="tag" data-mark="doubt">${words.t(key)}</span>`;

/** @param {View["words"]} words */
export const bareTag = (words) => html`<span class="tag" data-mark="covers">${words.t("price.bare")}</span>`;

/** "102 days old". @param {View["words"]} words @param {string} date */
export const ageText = (words, date) =>
  words.plural(isDay(date) ? "price.age" : "price.age.most", ageOf(date, Date.now()));

/** When a price was read, and how long ago. @param {View} view @param {string} date */
export function read({ words }, date) {
  if (!date) return html`<td></td>`;
  return html`<td class="read">
    <time datetime=${date}>${words.format.day(date)}</time>
    <span class="age" ?data-stale=${isStale(date)}>${ageText(words, date)}</span>
  </td>`;
}

/**
 * How many of all that is shown have to be asked for again.
 * @param {View["words"]} words @param {string[]} dates @param {string} id
 */
export function staleNote(words, dates, id) {
  const stale = dates.filter((date) => isStale(date)).length;
  if (stale === 0) return nothing;
  const values = { all: words.format.integer(dates.length), days: staleAfter };
  return html`<p class="doubt" data-testid=${id}>${words.plural("price.stale", stale, values)}</p>`;
}

/** @param {View["words"]} words @param {number[]} ends @param {string} currency @param {number} digits */
const range = (words, ends, currency, digits) =>
  [...new Set(ends.map((value) => words.format.money(value, currency, digits)))].join(` ${words.t("range.to")} `);

/**
 * An amount, or a range, in its own currency, and below it what that is in the vendor's.
 * @param {View} view @param {Market} market
 * @param {{low: number, high: number, currency: import("../catalog.d.ts").Currency}} price
 * @param {number} digits
 */
export function amount({ words }, market, { low, high, currency }, digits) {
  const { vendor } = market;
  const rate = exchangeOf(market);
  const [from, to] = [low, high].map((value) => converted(value, currency, vendor.currency, rate));
  return html`<td class="number amount">
    ${range(words, [low, high], currency, digits)}
    ${from === null || to === null
      ? nothing
      : html`<small>≈ ${range(words, [from, to], vendor.currency, digits)}</small>`}
  </td>`;
}

/**
 * The head of a row, which opens: what is offered, and what has to be known of it.
 * @param {View} view @param {string} id
 * @param {Offer & {own?: boolean}} offer
 * @param {{name: unknown, about?: unknown, marks?: unknown, more?: unknown}} parts
 */
export function head(view, id, offer, { name, about = nothing, marks = nothing, more = nothing }) {
  const { words, facts, market } = view;
  const { note, sources, confidence, own } = offer;
  const vendor = market?.vendor.name ?? "";
  const known = sourcesNamed(sources, facts.sources);
  const body = () => html`<div class="offer-body">
    ${more} ${noted(note, words)}
    ${confidence === "low" ? html`<p>${words.t("price.low.what")}</p>` : nothing}
    ${own ? html`<p>${words.t("price.own.what", { vendor: isolated(vendor) })}</p>` : sourceList(words, known)}
  </div>`;
  const summary = html`<span class="offer-name">${name}</span>
    ${about}
    ${own ? html`<span class="tag" data-mark="own"><bdi>${vendor}</bdi></span>` : nothing}
    ${confidence === "low" ? doubtTag(words, "price.low") : nothing}
    ${marks}`;
  return html`<th scope="row">${disclosure(view, id, { className: "offer", summary, body })}</th>`;
}

/**
 * A list of offers behind a line that says how many there are and what they come to.
 * @param {View} view @param {string} id
 * @param {{heading: TextKey, columns: TextKey[], said: unknown, bodies: () => unknown, intro?: unknown}} parts
 */
export function table(view, id, { heading, columns: [what, unit, date], said, bodies, intro = nothing }) {
  const { words } = view;
  const summary = html`<h4 id=${view.id(id)}>${words.t(heading)}</h4> <span class="about">${said}</span>`;
  const body = () => html`${intro}
    <table class="offers" aria-labelledby=${view.id(id)}>
      <thead>
        <tr>
          <th scope="col">${words.t(what)}</th>
          <th scope="col" class="number">${words.t(unit)}</th>
          <th scope="col" class="read">${words.t(date)}</th>
        </tr>
      </thead>
      ${bodies()}
    </table>`;
  return disclosure(view, id, { className: "behind", summary, body });
}

/**
 * From what to what prices go, with what has to be known of them. `put` says what they are for.
 * @param {View} view @param {Parameters<typeof spanOf>[0]} rows @param {number} digits
 * @param {(amounts: string) => string} [put]
 */
export function span({ words }, rows, digits, put = (amounts) => amounts) {
  const known = spanOf(rows);
  if (!known) return "";
  const { low, high, currency, doubtful, unconfirmed } = known;
  return html`${put(range(words, [low, high], currency, digits))}${
    doubtful ? html` ${doubtTag(words, "price.low")}` : nothing
  }${unconfirmed ? html` ${doubtTag(words, "price.unconfirmed")}` : nothing}`;
}

/**
 * How many there are, and what they come to. @param {View} view @param {number} count @param {unknown[]} spans
 */
export function said({ words }, count, spans) {
  const known = spans.filter(Boolean);
  return html`${words.plural("price.count", count)}${known.map((part, i) => html`${i ? "; " : ", "}${part}`)}`;
}
