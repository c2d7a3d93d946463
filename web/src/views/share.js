// The link, the copies, and the page's foot.

import { html, nothing } from "lit";

import { fieldNamed } from "../fields.js";
import { enters } from "../fragment.js";
import { contact, legal } from "./brand.js";

/** @typedef {import("./view.js").View} View */

/** @param {View} view */
export function share(view) {
  const { words, ui, state, answer, outdated } = view;
  /** An earlier answer is not copied as that to the present input. @param {"link" | "markdown" | "json"} kind */
  const copyButton = (kind) => {
    const disabled = !answer || (kind !== "link" && outdated);
    return html`<button type="button" ?disabled=${disabled} @click=${() => view.copy(kind)}>
      ${words.t(`share.${kind}`)}
    </button>`;
  };
  const linkable = enters("config", state.config);
  return html`<section class="share">
    <h3>${words.t("share.heading")}</h3>
    <div class="buttons">
      ${view.isPage ? copyButton("link") : nothing} ${copyButton("markdown")} ${copyButton("json")}
      ${view.isPage ? html`<button type="button" @click=${() => print()}>${words.t("share.print")}</button>` : nothing}
      <span class="copied" role="status">${ui.copied ? words.t("share.copied") : ""}</span>
    </div>
    ${state.config && view.isPage
      ? html`<p>
          <label class="check">
            <input
              type="checkbox"
              .checked=${ui.withConfig && linkable}
              ?disabled=${!linkable}
              aria-describedby=${view.id("with-config")}
              @change=${() => view.show((now) => ({ withConfig: !now.withConfig }))}
            />
            ${words.t("share.config")}
          </label>
          <small id=${view.id("with-config")}>${words.t(linkable ? "share.config.note" : "share.config.long")}</small>
        </p>`
      : nothing}
    ${ui.manual
      ? html`<label class="manual">
          ${words.t("share.manual")} <textarea readonly rows="5" .value=${ui.manual}></textarea>
        </label>`
      : nothing}
    ${view.isPage ? html`<p class="hint">${words.t("share.private")}</p>` : nothing}
  </section>`;
}

/** @param {import("../contract.d.ts").Dropped} part @param {View["words"]} words */
function droppedText({ key, value, reason }, words) {
  const form = reason === "invalid" ? words.maybe(`form.${fieldNamed(key)?.path}`, "") : "";
  return words.t(form ? "link.dropped.invalid.form" : `link.dropped.${reason}`, { key, value, form });
}

/** Parts of the link that were left out. @param {View} view */
export function dropped(view) {
  const { words, dropped: parts } = view;
  if (parts.length === 0) return nothing;
  return html`<section class="dropped" aria-labelledby=${view.id("dropped")}>
    <h2 id=${view.id("dropped")}>${words.t("link.dropped.heading")}</h2>
    <ul>
      ${parts.map((part) => html`<li>${droppedText(part, words)}</li>`)}
    </ul>
  </section>`;
}

/** @param {View} view */
export function foot({ words, description, isPage }) {
  const version = words.t("foot.version", {
    version: description.version,
    date: words.format.date(description.catalog_date),
  });
  const body = html`${contact(words)} ${legal(words)}
    <details class="private">
      <summary>${words.t("foot.private")}</summary>
      <p>${words.t("foot.private.how")}</p>
    </details>
    <p>${words.t("foot.method")}</p>
    <p>${version}</p>`;
  return isPage ? html`<footer class="foot">${body}</footer>` : html`<div class="foot">${body}</div>`;
}
