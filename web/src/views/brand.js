// Who shows the page: name and logo at its head, contact and legal text at its foot.

import { html, nothing } from "lit";

import { langs } from "../i18n.js";
import { isolated } from "../isolated.js";
import { vendor } from "../vendor.js";

/** @typedef {import("../i18n.js").Words} Words */
/** @typedef {import("../i18n.js").Lang} Lang */

const base = import.meta.url; // a name of its own: the bundler would take the file for one of its assets

/** Name and logo; a vendor without one has the tool's own mark. */
export const brand = () => html`${vendor.logo
  ? html`<img class="logo" src=${new URL(vendor.logo, base).href} alt="">`
  : html`<span class="mark" aria-hidden="true"></span>`}<bdi>${vendor.name}</bdi>`;

/**
 * The languages of the page; a vendor with one has nothing to choose.
 * @param {Words} words @param {(lang: Lang) => void} speak
 */
export function languages({ lang: spoken, t }, speak) {
  if (langs.length < 2) return nothing;
  const names = { en: "English", nl: "Nederlands" };
  return html`<div class="langs" role="group" aria-label=${t("page.language")}>
    ${langs.map(
      (lang) => html`<button
        type="button"
        lang=${lang}
        aria-pressed=${lang === spoken ? "true" : "false"}
        @click=${() => speak(lang)}
      >${names[lang]}</button>`,
    )}
  </div>`;
}

/** How to reach the vendor; nothing where there is no one to reach. @param {Words} words */
export function contact({ t }, who = vendor) {
  const { name, phone = "", email, url = who.url } = who.contact ?? {};
  const links = [
    /\d/.test(phone) && [`tel:${phone.replace(/[^+\d]/g, "")}`, phone],
    email && [`mailto:${email}`, email],
    url && [url, url.replace(/^https:\/\/|\/$/g, "")],
  ].filter((link) => Array.isArray(link));
  if (!name && links.length === 0) return nothing;
  return html`<address class="contact">
    <span>${t("foot.contact", { name: isolated(name ?? who.name) })}</span>
    ${links.map(([address, text]) => html`<a href=${address}>${text}</a>`)}
  </address>`;
}

/** @param {Words} words */
export function legal({ lang }, who = vendor) {
  const text = who.legal?.[lang];
  return text ? html`<p class="legal">${text}</p>` : nothing;
}
