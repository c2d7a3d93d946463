// The link, the copies, and the page's foot.

import { html, nothing } from "lit";

import { idOf } from "./view.js";

/** @typedef {import("./view.js").View} View */

/** @param {View} view */
export function share(view) {
  const { words, ui, state, answer } = view;
  return html`<section class="share">
    <h3>${words.t("share.heading")}</h3>
    <div class="buttons">
      ${view.isPage ? html`<button type="button" @click=${() => view.copy("link")}>${words.t("share.link")}</button>` : nothing}
      <button type="button" ?disabled=${!answer} @click=${() => view.copy("markdown")}>${words.t("share.markdown")}</button>
      <button type="button" ?disabled=${!answer} @click=${() => view.copy("json")}>${words.t("share.json")}</button>
      <button type="button" @click=${() => print()}>${words.t("share.print")}</button>
      <span class="copied" role="status">${ui.copied ? words.t("share.copied") : ""}</span>
    </div>
    ${state.config && view.isPage
      ? html`<p>
          <label class="check">
            <input type="checkbox" .checked=${ui.withConfig} aria-describedby=${idOf("with-config")}
              @change=${(/** @type {Event} */ event) => view.show({ withConfig: /** @type {HTMLInputElement} */ (event.target).checked })} />
            ${words.t("share.config")}
          </label>
          <small id=${idOf("with-config")}>${words.t("share.config.note")}</small>
        </p>`
      : nothing}
    ${ui.manual
      ? html`<label class="manual">${words.t("share.manual")} <textarea readonly rows="5" .value=${ui.manual}></textarea></label>`
      : nothing}
    ${view.isPage ? html`<p class="hint">${words.t("share.private")}</p>` : nothing}
  </section>`;
}

/** Parts of the link that were left out. @param {View} view */
export function dropped({ words, dropped: parts }) {
  if (parts.length === 0) return nothing;
  return html`<section class="dropped" aria-labelledby=${idOf("dropped")}>
    <h2 id=${idOf("dropped")}>${words.t("link.dropped.heading")}</h2>
    <ul>
      ${parts.map(({ key, value, reason }) => html`<li>${words.t(`link.dropped.${reason}`, { key, value })}</li>`)}
    </ul>
  </section>`;
}

/** @param {View} view */
export function foot({ words, description }) {
  return html`<footer class="foot">
    <details class="private">
      <summary>${words.t("foot.private")}</summary>
      <p>${words.t("foot.private.how")}</p>
    </details>
    <p>${words.t("foot.method")}</p>
    <p>${words.t("foot.version", { version: description.version, date: words.format.date(description.catalog_date) })}</p>
  </footer>`;
}
