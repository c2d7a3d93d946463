// The amounts line by line: who rents, which services train, what a purchase is made of, and the figures beneath.

import { html, nothing } from "lit";

import { disclosure } from "../views/view.js";
import { money, moneyRange } from "./amounts.js";
import { terms } from "./offers.js";
import { amount, head, read, table } from "./price_table.js";
import { serverName } from "./server.js";
import { tokenText } from "./time.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Cost} Cost */
/** @typedef {import("../contract.d.ts").CostNote} CostNote */
/** @typedef {import("../contract.d.ts").Dated} Dated */
/** @typedef {import("../contract.d.ts").Range} Range */
/** @typedef {Cost["rented"][number]} Line */

/**
 * What the report says of a price, as the price tables take it.
 * @param {Dated} dated @param {Cost["currency"]} currency
 */
const offerOf = ({ date, low_confidence: low, note, source_ids: sources = [] }, currency) => ({
  date: date ?? "",
  currency,
  sources,
  ...(low ? { confidence: /** @type {const} */ ("low") } : {}),
  ...(note ? { note } : {}),
});

/** @param {View["words"]} words @param {CostNote[]} notes */
const noteTexts = (words, notes) => notes.map((note) => html`<p>${words.t(`cost.note.${note}`)}</p>`);

/**
 * Of the run, and what else belongs to it.
 * @param {View["words"]} words @param {Range} cost @param {string} currency @param {string} [more]
 */
const runCell = (words, cost, currency, more) => html`<td class="number amount">
  ${money(words, cost.expected, currency)}
  ${cost.low === cost.high ? nothing : html`<small>${moneyRange(words, cost, currency)}</small>`}
  ${more ? html`<small>${more}</small>` : nothing}
</td>`;

/** @param {View} view @param {Cost} cost @param {Line} line @param {string} id */
function rentedRow(view, { currency }, line, id) {
  const { words } = view;
  const hour = words.t("cost.hour", { price: money(words, line.price_per_hour, currency) });
  const tag = line.reference
    ? html`<span class="tag" data-mark="reference">${words.t("cost.reference")}</span>`
    : nothing;
  if (!line.provider) {
    return html`<tr>
      <th scope="row">${words.t("cost.own")} ${tag}</th>
      ${runCell(words, line.cost, currency, hour)}
      <td></td>
    </tr>`;
  }
  const { provider, region, instance, machines, gpus_per_machine: gpus } = line;
  const several = (machines ?? 1) * (gpus ?? 1) > 1;
  const all = words.plural("cost.machines", machines ?? 1, { gpus: words.plural("price.gpus", gpus ?? 1) });
  const idle = words.format.integer(line.gpus_idle);
  const held = line.gpus_idle ? words.t("cost.machines.idle", { held: all, idle }) : all;
  return html`<tr>
    ${head(view, id, offerOf(line, currency), {
      name: provider,
      about: html`${region ? html`<small lang="en">${region}</small>` : nothing}
        ${several ? html`<small>${held}</small>` : nothing}
        ${instance ? html`<small class="instance" lang="en">${instance}</small>` : nothing}`,
      marks: tag,
      more: html`${instance ? html`<p lang="en">${instance}</p>` : nothing} ${noteTexts(words, line.notes)}`,
    })}
    ${runCell(words, line.cost, currency, hour)} ${read(view, line.date ?? "")}
  </tr>`;
}

/** Who rents out what the run needs. @param {View} view @param {Cost} cost */
export function rented(view, cost) {
  const { words } = view;
  const lines = cost.rented.map((line, index) => ({ line, id: `run-rent-${index}` }));
  if (lines.length === 0) return html`<p class="aside">${words.t("cost.rent.none")}</p>`;
  const row = (/** @type {typeof lines[number]} */ { line, id }) => rentedRow(view, cost, line, id);
  const own = lines.filter(({ line }) => line.term === null);
  return table(view, "run-rent", {
    heading: "cost.rent.heading",
    columns: ["price.offer", "cost.run", "price.read"],
    said: words.plural("price.count", lines.length),
    bodies: () => html`${own.length ? html`<tbody>${own.map(row)}</tbody>` : nothing}
    ${terms.map((term) => ({ term, members: lines.filter(({ line }) => line.term === term) })).map(
      ({ term, members }) => members.length
        ? html`<tbody>
            <tr class="term-row">
              <th scope="rowgroup" colspan="3">
                ${words.maybe(`price.term.${term}`, term)} <small>${words.maybe(`price.term.${term}.what`, "")}</small>
              </th>
            </tr>
            ${members.map(row)}
          </tbody>`
        : nothing,
    )}`,
  });
}

/** Who trains such a model and bills the tokens. @param {View} view @param {Cost} cost */
export function services(view, { token_services: members, currency }) {
  const { words } = view;
  if (members.length === 0) return nothing;
  return table(view, "run-services", {
    heading: "cost.services.heading",
    columns: ["price.offer", "cost.run", "price.read"],
    said: words.plural("price.count", members.length),
    intro: html`<p class="caption">${words.t("cost.services.what")}</p>`,
    bodies: () => html`<tbody>
      ${members.map(
        (service, index) => html`<tr>
          ${head(view, `run-service-${index}`, offerOf(service, currency), {
            name: service.provider,
            about: html`<small><span lang="en">${service.models}</span>, ${words.maybe(
              `price.method.${service.method}`,
              service.method,
            )}</small>`,
            more: noteTexts(words, service.notes),
          })}
          ${runCell(words, service.cost, currency, words.t("cost.tokens", {
            tokens: tokenText(words, service.tokens.expected),
          }))}
          ${read(view, service.date ?? "")}
        </tr>`,
      )}
    </tbody>`,
  });
}

/** @param {View} view @param {NonNullable<Cost["bought"]>["prices"][number]} price */
function boughtName({ words, facts, market }, { server, gpu, gpus, kind }) {
  const row = market?.servers.find(({ id }) => id === server);
  const card = facts.gpus.get(gpu ?? "")?.name ?? gpu;
  const name = row ? serverName(words, row) : (server ?? card ?? "");
  const held = row && card ? `${gpus ? `${words.format.integer(gpus)} × ` : ""}${card}` : "";
  const known = words.maybe(`price.kind.${kind}`, "");
  return { name, about: html`${[held, known].filter(Boolean).map((text) => html`<small>${text}</small>`)}` };
}

/** What a purchase costs the run. @param {View} view @param {Cost} cost */
export function bought(view, { bought: own, currency }) {
  const { words, market } = view;
  if (!own) return html`<p class="aside">${words.t("cost.buy.none")}</p>`;
  const id = "run-buy";
  const price = moneyRange(words, own.price, currency);
  const summary = html`<h4 id=${view.id(id)}>${words.t("cost.buy.heading")}</h4> <span class="about">${price}</span>`;
  const body = () => html`<table class="offers" aria-labelledby=${view.id(id)}>
      <thead>
        <tr>
          <th scope="col">${words.t("cost.part")}</th>
          <th scope="col" class="number">${words.t("cost.run")}</th>
        </tr>
      </thead>
      <tbody>
        ${own.parts.map(
          (part) => html`<tr>
            <th scope="row">${words.t(`cost.part.${part.id}`)}</th>
            ${runCell(words, part.cost, currency)}
          </tr>`,
        )}
        <tr class="total">
          <th scope="row">${words.t("cost.together")}</th>
          ${runCell(words, own.cost, currency)}
        </tr>
        <tr>
          <th scope="row">${words.t("cost.an_hour")}</th>
          ${runCell(words, own.per_hour, currency)}
        </tr>
      </tbody>
    </table>
    ${own.prices.length && market
      ? html`<table class="offers">
          <thead>
            <tr>
              <th scope="col">${words.t("cost.made_of")}</th>
              <th scope="col" class="number">${words.t("cost.price")}</th>
              <th scope="col" class="read">${words.t("price.read")}</th>
            </tr>
          </thead>
          <tbody>
            ${own.prices.map(
              (row, index) => html`<tr>
                ${head(view, `run-buy-${index}`, offerOf(row, row.currency), boughtName(view, row))}
                ${amount(view, market, row, 0)} ${read(view, row.date ?? "")}
              </tr>`,
            )}
          </tbody>
        </table>`
      : nothing}`;
  return disclosure(view, id, { className: "behind", summary, body });
}

/**
 * @typedef {object} Row
 * @property {string} id
 * @property {string} value
 * @property {string} [range]
 * @property {Dated} [from]  null date: the request's own, or the vendor's
 * @property {import("../fields.js").Key} [key]  the field that it can be set in
 */

/** @param {View["words"]} words @param {Cost} cost @returns {Row[]} */
function figureRows(words, { exchange, bought: own, energy, currency }) {
  const { format } = words;
  const share = (/** @type {number} */ value) => format.percent(value);
  /** @param {Range} range @param {(value: number) => string} [text] */
  const plain = (range, text = (value) => format.decimal(value, 2)) => {
    const [low, value, high] = [range.low, range.expected, range.high].map(text);
    return low === high ? { value } : { value, range: `${low} ${words.t("range.to")} ${high}` };
  };
  const tariff = (/** @type {number} */ value) => format.money(value, currency, 3);
  /** @type {(Row | null)[]} */
  const rows = [
    own && { id: "lifetime", ...plain(own.lifetime_years), from: own.lifetime_years, key: "lifetime" },
    own && { id: "utilisation", value: share(own.utilisation), key: "utilisation" },
    own && { id: "residual", value: share(own.residual_share), key: "residual" },
    energy && {
      id: "electricity", ...plain(energy.price_per_kwh, tariff), from: energy.price_per_kwh, key: "electricity",
    },
    energy && { id: "watts", ...plain(energy.gpu_watts, format.integer) },
    energy && { id: "working", ...plain(energy.working_power_share, share), from: energy.working_power_share },
    energy && { id: "waiting", ...plain(energy.waiting_power_share, share), from: energy.waiting_power_share },
    energy && { id: "pue", ...plain(energy.pue), from: energy.pue, key: "pue" },
    energy && { id: "grid", ...plain(energy.g_co2_per_kwh), from: energy.g_co2_per_kwh, key: "grid" },
    { id: "exchange", value: format.decimal(exchange.eur_per_usd, 4), from: exchange },
  ];
  return rows.filter((row) => row !== null);
}

/** The figures that the amounts rest on, dated. @param {View} view @param {Cost} cost */
export const figureTable = (view, cost) => table(view, "run-figures", {
  heading: "cost.figures.heading",
  columns: ["price.running.figure", "price.running.unit", "price.running.date"],
  said: "",
  intro: html`<p class="caption">${view.words.t("cost.figures.what")}</p>`,
  bodies: () => html`<tbody>
    ${figureRows(view.words, cost).map(({ id, value, range, from, key }) => {
      const { words, state } = view;
      const name = words.maybe(`cost.figure.${id}`, id);
      const own = key !== undefined && state[key].trim() !== "";
      const vendors = !own && from !== undefined && from.date === null;
      const offer = from && { ...offerOf(from, cost.currency), own: vendors };
      const tag = html`<span class="tag" data-mark="own">${words.t("cost.figure.own")}</span>`;
      const form = /** @type {import("../i18n.js").TextKey} */ (`cost.value.${id}`);
      return html`<tr>
        ${offer && !own
          ? head(view, `run-figure-${id}`, offer, { name })
          : html`<th scope="row">${name} ${own ? tag : nothing}</th>`}
        <td class="number amount">
          ${words.t(form, { value })} ${range ? html`<small>${range}</small>` : nothing}
        </td>
        ${read(view, from?.date ?? "")}
      </tr>`;
    })}
  </tbody>`,
});
