// What is worked out after the first answer: how far this card carries the run, and which other cards carry it.

import { html, nothing } from "lit";

import { sign } from "../views/verdict.js";
import { disclosure } from "../views/view.js";

/** @typedef {import("../views/view.js").View} View */

/** @param {View} view */
export function limits(view) {
  const { words, answer, extras } = view;
  const batch = answer?.request?.batch;
  if (!answer?.hardware || !batch) return nothing;
  const { format } = words;
  const values = {
    length: words.plural("count.tokens", batch.sequence_length ?? 0),
    batch: format.integer(batch.per_device ?? 0),
  };
  /** @param {"batch" | "length"} key @param {number | null | undefined} value */
  const card = (key, value) => html`<div class="limit-card">
    <dt>${words.t(`limits.${key}`)}</dt>
    ${value
      ? html`<dd>
          <strong>${format.integer(value)}</strong> <span>${words.plural(`limits.${key}.unit`, value, values)}</span>
          ${view.state[key].trim() === String(value)
            ? nothing
            : html`<button
                type="button"
                class="quiet"
                aria-label="${words.t("limits.use")}: ${words.t(`limits.${key}`)} ${format.integer(value)}"
                @click=${() => view.set({ [key]: String(value) })}
              >${words.t("limits.use")}</button>`}
        </dd>`
      : html`<dd class="waiting-value">${words.t(value === 0 ? "limits.none" : "limits.waiting")}</dd>`}
  </div>`;
  return html`<section class="limits">
    <h3>${words.t("limits.heading")}</h3>
    <p class="caption">${words.t("limits.intro", { gpu: answer.hardware.name })}</p>
    <dl>
      ${card("batch", extras?.batch)} ${card("length", extras?.length)}
    </dl>
  </section>`;
}

/** @param {View} view */
export function cards(view) {
  const { words, extras, description, answer } = view;
  if (!extras || extras.cards.length === 0) return nothing;
  const { format } = words;
  const byId = new Map(description.gpus.map((gpu) => [gpu.id, gpu]));
  const rows = extras.cards.flatMap((card) => {
    const gpu = byId.get(card.id);
    return gpu && card.verdict ? [{ ...card, verdict: card.verdict, gpu }] : [];
  });
  rows.sort((a, b) => a.gpu.usable_bytes - b.gpu.usable_bytes || a.gpu.name.localeCompare(b.gpu.name));
  const vendor = byId.get(answer?.hardware?.gpu ?? "")?.vendor;
  const good = rows.filter((row) => row.verdict === "fits" && !row.unsupported && row.gpu.vendor === vendor);
  const none = rows.some(({ verdict }) => verdict === "fits") ? "cards.none.good" : "cards.none";
  const free = (/** @type {{headroom: number}} */ { headroom }) =>
    headroom === 0 ? words.t("cards.full") : `${headroom < 0 ? "−" : "+"}${format.size(Math.abs(headroom))}`;
  const body = () => html`<div class="scroll tall" tabindex="0" role="group" aria-label=${words.t("cards.heading")}>
    <table class="all-cards">
      <thead>
        <tr>
          <th scope="col">${words.t("cards.card")}</th>
          <th scope="col" class="number">${words.t("cards.memory")}</th>
          <th scope="col">${words.t("cards.verdict")}</th>
          <th scope="col" class="number">${words.t("cards.free")}</th>
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ({ gpu, ...card }) => html`<tr>
            <th scope="row">
              <button
                type="button"
                class="link"
                aria-label=${words.t("cards.choose", { gpu: gpu.name })}
                @click=${() => view.set({ gpu: gpu.id })}
              >${gpu.name}</button>
            </th>
            <td class="number">${format.size(gpu.usable_bytes)}</td>
            <td class="nowrap" data-unsupported=${card.unsupported || nothing}>
              ${sign(card.verdict, card.unsupported !== "")} ${words.t(`verdict.word.${card.verdict}`)}
              ${card.unsupported
                ? html`<small>${words.t("cards.unsupported", { dtype: card.unsupported })}</small>`
                : nothing}
            </td>
            <td class="number">${free(card)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
  return html`<section class="cards">
    <h3>${words.t("cards.heading")}</h3>
    <p>
      ${good.length
        ? words.t("cards.smallest", { gpu: good[0].gpu.name, usable: format.size(good[0].gpu.usable_bytes) })
        : words.t(none)}
    </p>
    ${good.length
      ? html`<ul class="shortlist">
          ${good.slice(0, 6).map(
            ({ gpu, ...card }) => html`<li>
              <button
                type="button"
                aria-pressed=${gpu.id === answer?.hardware?.gpu ? "true" : "false"}
                @click=${() => view.set({ gpu: gpu.id })}
              >
                ${sign(card.verdict)} <span>${gpu.name}</span> <small>${free(card)}</small>
              </button>
            </li>`,
          )}
        </ul>`
      : nothing}
    ${disclosure(view, "cards", { className: "behind", summary: words.plural("cards.show", rows.length), body })}
  </section>`;
}
