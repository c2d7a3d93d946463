// The breakdown: each term with what it is, its bytes, its formula and sources, and the tensors in it.

import { html, nothing } from "lit";

import { byFamily, disclosure, familyOf } from "./view.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {import("../contract.d.ts").Term} Term */
/** @typedef {import("../contract.d.ts").Overhead} Overhead */

/** @param {View} view @param {string} caption @param {Term["items"]} items */
function itemTable({ words }, caption, items) {
  const { format } = words;
  return html`<div class="scroll" tabindex="0" role="group" aria-label=${caption}>
    <table class="items">
      <caption class="hidden">${caption}</caption>
      <thead>
        <tr>
          <th scope="col">${words.t("terms.item.name")}</th>
          <th scope="col">${words.t("terms.item.dtype")}</th>
          <th scope="col">${words.t("terms.item.shape")}</th>
          <th scope="col" class="number">${words.t("terms.item.count")}</th>
          <th scope="col" class="number">${words.t("terms.item.bytes")}</th>
        </tr>
      </thead>
      <tbody>
        ${items.map(
          ({ name, dtype, shape, count, bytes }) => html`<tr>
            <th scope="row"><code>${name}</code></th>
            <td><code>${dtype}</code></td>
            <td><code>${shape}</code></td>
            <td class="number">${format.integer(count)}</td>
            <td class="number">${format.size(bytes)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** @param {View} view @param {string} formula @param {string[]} ids */
function evidence({ words, answer }, formula, ids) {
  const sources = answer?.sources ?? {};
  return html`<dl class="evidence">
    <div><dt>${words.t("terms.formula")}</dt><dd><code>${formula}</code></dd></div>
    <div>
      <dt>${words.t("terms.sources")}</dt>
      ${ids.length === 0 ? html`<dd>${words.t("terms.sources.none")}</dd>` : nothing}
      ${ids.map((id) => {
        const source = sources[id];
        if (!source) return html`<dd>${id}</dd>`;
        const place = source.locator === "-" ? "" : `${source.locator}, `;
        const read = words.t("terms.source.read", { date: words.format.date(source.read) });
        return html`<dd>${source.title} <small>${place}${read}</small></dd>`;
      })}
    </div>
  </dl>`;
}

/**
 * A line that opens.
 * @param {View} view
 * @param {{id: string, name: string, what: string, family: string, bytes: number, kind: Term["kind"],
 *   range?: import("../contract.d.ts").Range, formula_id: string, source_ids: string[], items: Term["items"]}} line
 */
function line(view, { id, name, what, family, bytes, range, kind, formula_id, source_ids, items }) {
  const { words, answer } = view;
  const { format } = words;
  const share = bytes / (answer?.memory?.per_gpu.device.expected ?? bytes);
  const point = (/** @type {string} */ pointed) => () => view.show({ pointed });
  const width = `--width: ${(100 * share).toFixed(2)}%`;
  const summary = html`
    <span class="term-name"><i class="swatch" data-family=${family}></i> ${name}</span>
    <span class="term-bar" aria-hidden="true"><i data-family=${family} .style=${width}></i></span>
    <span class="term-size">${format.size(bytes)}</span>
    <span class="term-share">${format.percent(share)}</span>
  `;
  const body = () => html`<div class="term-body">
    <p>${what}</p>
    <p class="term-kind">
      <span class="tag">${words.t(`kind.${kind}`)}</span> ${words.t(`kind.${kind}.what`)}
      ${range ? words.range(range) : words.plural("count.bytes", bytes)}
    </p>
    ${items.length ? itemTable(view, words.t("terms.items", { term: name }), items) : nothing}
    ${evidence(view, formula_id, source_ids)}
  </div>`;
  return html`<li @pointerenter=${point(id)} @pointerleave=${point("")} @focusin=${point(id)} @focusout=${point("")}>
    ${disclosure(view, `term-${id}`, { className: "term", summary, body })}
  </li>`;
}

/** @param {View} view */
export function terms(view) {
  const { words, answer } = view;
  const memory = answer?.memory?.per_gpu;
  if (!memory?.terms) return nothing;
  const total = words.format.size(memory.phases.peak_step);
  return html`<section class="terms">
    <h3>${words.t("terms.heading")}</h3>
    <p class="caption">${words.t("terms.intro", { moment: words.t(`moment.${memory.peak_moment}`), total })}</p>
    <ul class="lines">
      ${byFamily(memory.terms).map((term) =>
        line(view, {
          ...term,
          family: familyOf(term.id),
          name: words.maybe(`term.${term.id}`, term.id),
          what: words.maybe(`term.${term.id}.what`, ""),
        }),
      )}
    </ul>
    ${memory.overheads?.length
      ? html`<h4>${words.t("terms.above")}</h4>
          <ul class="lines">
            ${memory.overheads.map(({ id, bytes, formula_id, source_ids }) =>
              line(view, {
                id,
                bytes: bytes.expected,
                range: bytes,
                kind: "empirical",
                formula_id,
                source_ids,
                items: [],
                family: "overhead",
                name: words.maybe(`overhead.${id}`, id),
                what: words.maybe(`overhead.${id}.what`, ""),
              }),
            )}
          </ul>`
      : nothing}
  </section>`;
}
