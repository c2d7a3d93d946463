// What the chosen card costs to rent or to buy: each price with its day, its age by the reader's clock, and its source.

import { html, nothing } from "lit";

import { disclosure } from "../views/view.js";
import { english, lookUp, sourceList } from "./fact.js";
import {
  ageOf, boughtCards, boughtServers, converted, defaultsOf, exchangeOf, isDay, offerId, rentedWith, staleAfter,
} from "./offers.js";
import { sourcesNamed } from "./rows.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../catalog.d.ts").Market} Market */
/** @typedef {import("../catalog.d.ts").Offer} Offer */
/** @typedef {import("../catalog.d.ts").Rented} Rented */
/** @typedef {import("../i18n.js").TextKey} TextKey */

/** @param {string | undefined} note @param {View["words"]} words */
const noted = (note, words) => (note ? html`<p>${english(words, note)}</p>` : nothing);

/** When a price was read, and how long ago. @param {View} view @param {string} date */
function read({ words }, date) {
  if (!date) return html`<td></td>`;
  const age = ageOf(date, Date.now());
  const stale = age > staleAfter;
  const text = words.plural(isDay(date) ? "price.age" : "price.age.most", age);
  return html`<td class="read">
    <time datetime=${date}>${words.format.day(date)}</time>
    <span class="age" ?data-stale=${stale}>${text}</span>
  </td>`;
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
function amount({ words }, market, { low, high, currency }, digits) {
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
function head(view, id, offer, { name, about = nothing, marks = nothing, more = nothing }) {
  const { words, facts, market } = view;
  const { note, sources, confidence, own } = offer;
  const vendor = market?.vendor.name ?? "";
  const known = sourcesNamed(sources, facts.sources);
  const body = () => html`<div class="offer-body">
    ${more} ${noted(note, words)}
    ${confidence === "low" ? html`<p>${words.t("price.low.what")}</p>` : nothing}
    ${own ? html`<p>${words.t("price.own.what", { vendor })}</p>` : sourceList(words, known)}
  </div>`;
  const summary = html`<span class="offer-name">${name}</span>
    ${about}
    ${own ? html`<span class="tag" data-mark="own">${vendor}</span>` : nothing}
    ${confidence === "low" ? html`<span class="tag" data-mark="doubt">${words.t("price.low")}</span>` : nothing}
    ${marks}`;
  return html`<th scope="row">${disclosure(view, id, { className: "offer", summary, body })}</th>`;
}

/**
 * A list of offers behind a line that says how many there are and what they come to.
 * @param {View} view @param {string} id
 * @param {{heading: TextKey, columns: TextKey[], said: unknown, bodies: () => unknown, intro?: unknown}} parts
 */
function table(view, id, { heading, columns: [what, unit, date], said, bodies, intro = nothing }) {
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
 * From what to what prices go: the vendor's own where there are any, the doubtful ones only where there are no others;
 * "" where they are in several currencies.
 * @param {View} view @param {{low: number, high: number, currency: string, confidence?: "low", own?: boolean}[]} rows
 * @param {number} digits
 */
function span({ words }, rows, digits) {
  const sure = rows.filter(({ confidence }) => confidence !== "low");
  const own = rows.filter((row) => row.own);
  const counted = own.length ? own : sure.length ? sure : rows;
  const [currency, other] = new Set(counted.map((row) => row.currency));
  if (!currency || other) return "";
  const ends = [Math.min(...counted.map(({ low }) => low)), Math.max(...counted.map(({ high }) => high))];
  return range(words, ends, currency, digits);
}

/** How many there are, and what they come to. @param {View} view @param {number} count @param {string} amounts */
const said = ({ words }, count, amounts) => [words.plural("price.count", count), amounts].filter(Boolean).join(", ");

/** @param {View} view @param {Market} market @param {[string, Rented[]][]} groups */
function rented(view, market, groups) {
  const { words } = view;
  const free = groups.find(([term]) => term === "on_demand")?.[1] ?? [];
  const amounts = span(view, free.map((offer) => ({ ...offer, low: offer.per_gpu_hour, high: offer.per_gpu_hour })), 2);
  const count = groups.reduce((sum, [, offers]) => sum + offers.length, 0);
  return table(view, "rent", {
    heading: "price.rent",
    columns: ["price.offer", "price.rent.unit", "price.read"],
    said: said(view, count, amounts && words.t("price.rent.said", { amounts })),
    bodies: () => groups.map(([term, offers]) => html`<tbody>
      <tr class="term-row">
        <th scope="rowgroup" colspan="3">
          ${words.maybe(`price.term.${term}`, term)} <small>${words.maybe(`price.term.${term}.what`, "")}</small>
        </th>
      </tr>
      ${offers.map((offer) => rentedRow(view, market, offer))}
    </tbody>`),
  });
}

/** @param {View} view @param {Market} market @param {Rented} offer */
function rentedRow(view, market, offer) {
  const { words } = view;
  const { provider, instance, gpus, per_gpu_hour: hour, currency, covers, region } = offer;
  const several = gpus > 1 ? words.plural("price.gpus", gpus) : "";
  return html`<tr>
    ${head(view, `rent-${offerId(offer)}`, offer, {
      name: provider,
      about: html`${region ? html`<small lang="en">${region}</small>` : nothing}
        ${several ? html`<small>${several}</small>` : nothing}
        ${instance ? html`<small class="instance" lang="en">${instance}</small>` : nothing}`,
      marks: covers === "gpu" ? html`<span class="tag" data-mark="covers">${words.t("price.bare")}</span>` : nothing,
      more: html`${instance ? html`<p lang="en">${instance}</p>` : nothing}
        <p>${words.t(covers === "gpu" ? "price.bare.what" : "price.machine.what")}</p>`,
    })}
    ${amount(view, market, { low: hour, high: hour, currency }, 2)} ${read(view, offer.date)}
  </tr>`;
}

/** @param {View} view @param {Market} market @param {ReturnType<typeof boughtCards>} rows */
const cards = (view, market, rows) => table(view, "buy", {
  heading: "price.buy",
  columns: ["price.offer", "price.buy.unit", "price.read"],
  said: said(view, rows.length, span(view, rows, 0)),
  bodies: () => html`<tbody>
    ${rows.map((row, index) => html`<tr>
      ${head(view, `buy-${index}`, row, { name: view.words.maybe(`price.kind.${row.kind}`, row.kind) })}
      ${amount(view, market, row, 0)} ${read(view, row.date)}
    </tr>`)}
  </tbody>`,
});

/** @param {View} view @param {Market} market @param {ReturnType<typeof boughtServers>} rows */
const machines = (view, market, rows) => table(view, "machines", {
  heading: "price.machines",
  columns: ["price.offer", "price.buy.unit", "price.read"],
  said: said(view, rows.length, span(view, rows, 0)),
  bodies: () => html`<tbody>
    ${rows.map((row, index) => {
      const { words, facts } = view;
      const held = row.gpu && row.gpus && row.own ? `${row.gpus} × ${facts.gpus.get(row.gpu)?.name ?? row.gpu}` : "";
      return html`<tr>
        ${head(view, `machine-${index}`, row, {
          name: row.own ? row.what : english(words, row.what),
          about: held ? html`<small>${held}</small>` : nothing,
          more: html`<p>${words.maybe(`price.kind.${row.kind}`, row.kind)}</p>`,
        })}
        ${amount(view, market, row, 0)} ${read(view, row.date)}
      </tr>`;
    })}
  </tbody>`,
});

/** @param {View} view @param {Market} market */
const services = (view, market) => table(view, "services", {
  heading: "price.services",
  columns: ["price.offer", "price.services.unit", "price.read"],
  said: said(view, market.prices.services.length, ""),
  intro: html`<p class="caption">${view.words.t("price.services.what")}</p>`,
  bodies: () => html`<tbody>
    ${market.prices.services.map((row, index) => {
      const { words } = view;
      const method = words.maybe(`price.method.${row.method}`, row.method);
      return html`<tr>
        ${head(view, `service-${index}`, row, {
          name: row.provider,
          about: html`<small>${english(words, row.models)}, ${method}</small>`,
        })}
        ${amount(view, market, row, 2)} ${read(view, row.date)}
      </tr>`;
    })}
  </tbody>`,
});

/** @param {View} view @param {Market} market */
const running = (view, market) => table(view, "running", {
  heading: "price.running",
  columns: ["price.running.figure", "price.running.unit", "price.running.date"],
  said: "",
  intro: html`<p class="caption">${view.words.t("price.running.what")}</p>`,
  bodies: () => html`<tbody>
    ${defaultsOf(market).map((row) => {
      const { words } = view;
      const { format } = words;
      const key = /** @type {TextKey} */ (`price.unit.${row.unit}`);
      const plain = (/** @type {number} */ number) =>
        row.unit === "per_year" ? format.percent(number) : format.decimal(number, 4);
      const ends = `${plain(row.low)} ${words.t("range.to")} ${plain(row.high)}`;
      const offer = { ...row, currency: market.vendor.currency };
      return html`<tr>
        ${head(view, `running-${row.id}`, offer, { name: words.maybe(`price.default.${row.id}`, row.id) })}
        <td class="number amount">
          ${words.t(key, { value: plain(row.expected) })}
          ${row.low === row.high ? nothing : html`<small>${ends}</small>`}
        </td>
        ${read(view, row.date)}
      </tr>`;
    })}
  </tbody>`,
});

/** How many of the prices have to be asked for again. @param {View} view @param {Offer[]} offers */
function staleNote({ words }, offers) {
  const stale = offers.filter(({ date }) => ageOf(date, Date.now()) > staleAfter).length;
  if (stale === 0) return nothing;
  const values = { all: words.format.integer(offers.length), days: staleAfter };
  return html`<p class="doubt" data-testid="stale">${words.plural("price.stale", stale, values)}</p>`;
}

/** @param {View} view */
export function prices(view) {
  const { words, facts, market, answer } = view;
  const gpu = facts.gpus.get(answer?.hardware?.gpu ?? "");
  if (!gpu || !market) return nothing;
  const rate = exchangeOf(market);
  const body = () => {
    const groups = rentedWith(market, gpu.id);
    const bought = boughtCards(market, gpu.id);
    const servers = boughtServers(market, gpu.id);
    const offers = [...groups.flatMap(([, members]) => members), ...bought, ...servers];
    return html`<p class="caption">${words.t("price.intro")}</p>
      ${rate
        ? html`<p class="caption">${words.t("price.rate", {
            rate: words.format.decimal(rate.expected, 4),
            date: words.format.date(rate.date),
          })}</p>`
        : nothing}
      ${staleNote(view, offers)}
      ${offers.length ? nothing : html`<p>${words.t("price.none")}</p>`}
      ${groups.length ? rented(view, market, groups) : nothing}
      ${bought.length ? cards(view, market, bought) : nothing}
      ${servers.length ? machines(view, market, servers) : nothing}
      ${services(view, market)} ${running(view, market)}`;
  };
  return lookUp(view, "prices", { heading: words.t("price.heading"), about: gpu.name, body });
}
