// What the chosen card costs to rent or to buy, alone or in a machine, and what running it rests on.

import { html, nothing } from "lit";

import { english, lookUp } from "./fact.js";
import {
  boughtCards, boughtServers, builtAlike, comparable, defaultsOf, exchangeOf, offerId, rentedWith, servicesOf,
} from "./offers.js";
import { amount, bareTag, doubtTag, head, read, said, span, staleNote, table } from "./price_table.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../catalog.d.ts").Market} Market */
/** @typedef {import("../catalog.d.ts").Rented} Rented */
/** @typedef {import("../catalog.d.ts").GpuRow} GpuRow */
/** @typedef {import("./offers.js").Machine} Machine */
/** @typedef {import("./offers.js").Built} Built */
/** @typedef {import("../i18n.js").TextKey} TextKey */

/** @param {View} view @param {Market} market @param {[string, Rented[]][]} groups */
function rented(view, market, groups) {
  const { words } = view;
  const free = groups.find(([term]) => term === "on_demand")?.[1] ?? [];
  const told = comparable(free);
  const hours = told.map((offer) => ({ ...offer, low: offer.per_gpu_hour, high: offer.per_gpu_hour }));
  const amounts = span(view, hours, 2, (text) => words.t("price.rent.said", { amounts: text }));
  const bare = amounts && told.some(({ covers }) => covers === "gpu") ? html` ${bareTag(words)}` : nothing;
  const count = groups.reduce((sum, [, offers]) => sum + offers.length, 0);
  return table(view, "rent", {
    heading: "price.rent",
    columns: ["price.offer", "price.rent.unit", "price.read"],
    said: said(view, count, [amounts && html`${amounts}${bare}`]),
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
      marks: covers === "gpu" ? bareTag(words) : nothing,
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
  said: said(view, rows.length, [span(view, rows, 0)]),
  bodies: () => html`<tbody>
    ${rows.map((row, index) => html`<tr>
      ${head(view, `buy-${index}`, row, { name: view.words.maybe(`price.kind.${row.kind}`, row.kind) })}
      ${amount(view, market, row, 0)} ${read(view, row.date)}
    </tr>`)}
  </tbody>`,
});

/** What is in machines that are built alike. @param {View["words"]} words @param {Built} group */
const builtText = (words, { built, gpus }) =>
  built === "complete" ? words.plural("price.kind.complete", gpus) : words.t(`price.kind.${built}`);

/** @param {View} view @param {Market} market @param {GpuRow} gpu @param {Machine[]} rows */
function machines(view, market, gpu, rows) {
  const { words } = view;
  const groups = builtAlike(rows);
  /** @param {Built} group */
  const put = ({ built, gpus }) => (/** @type {string} */ amounts) =>
    built === "complete"
      ? words.plural("price.said.complete", gpus, { amounts })
      : words.t(`price.said.${built}`, { amounts });
  const spans = groups.map((group) => span(view, group.rows, 0, put(group)));
  return table(view, "machines", {
    heading: "price.machines",
    columns: ["price.offer", "price.buy.unit", "price.read"],
    said: said(view, rows.length, spans),
    bodies: () => groups.map((group) => html`<tbody>
      <tr class="term-row"><th scope="rowgroup" colspan="3">${builtText(words, group)}</th></tr>
      ${group.rows.map((row) => machineRow(view, market, gpu, row, `machine-${rows.indexOf(row)}`))}
    </tbody>`),
  });
}

/** @param {View} view @param {Market} market @param {GpuRow} gpu @param {Machine} row @param {string} id */
function machineRow(view, market, { name: gpu }, row, id) {
  const { words } = view;
  const held = row.gpus && row.own ? `${row.gpus} × ${gpu}` : "";
  return html`<tr>
    ${head(view, id, row, {
      name: row.own ? row.what : english(words, row.what),
      about: held ? html`<small>${held}</small>` : nothing,
      marks: row.unconfirmed ? doubtTag(words, "price.unconfirmed") : nothing,
      more: row.unconfirmed ? html`<p>${words.t("server.takes.unconfirmed", { gpu })}</p>` : nothing,
    })}
    ${amount(view, market, row, 0)} ${read(view, row.date)}
  </tr>`;
}

/** @param {View} view @param {Market} market @param {ReturnType<typeof servicesOf>} rows */
const services = (view, market, rows) => table(view, "services", {
  heading: "price.services",
  columns: ["price.offer", "price.services.unit", "price.read"],
  said: said(view, rows.length, []),
  intro: html`<p class="caption">${view.words.t("price.services.what")}</p>`,
  bodies: () => html`<tbody>
    ${rows.map((row, index) => {
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
        row.unit === "per_year" || row.unit === "share" ? format.percent(number) : format.decimal(number, 4);
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
    const trainers = servicesOf(market);
    const figures = defaultsOf(market).filter(({ date }) => date);
    return html`<p class="caption">${words.t("price.intro")}</p>
      ${rate
        ? html`<p class="caption">${words.t("price.rate", {
            rate: words.format.decimal(rate.expected, 4),
            date: words.format.date(rate.date),
          })}</p>`
        : nothing}
      ${staleNote(view.words, [...offers, ...trainers, ...figures].map(({ date }) => date), "stale")}
      ${offers.length ? nothing : html`<p>${words.t("price.none")}</p>`}
      ${groups.length ? rented(view, market, groups) : nothing}
      ${bought.length ? cards(view, market, bought) : nothing}
      ${servers.length ? machines(view, market, gpu, servers) : nothing}
      ${trainers.length ? services(view, market, trainers) : nothing} ${running(view, market)}`;
  };
  return lookUp(view, "prices", { heading: words.t("price.heading"), about: gpu.name, body });
}
