// <tunefit-calculator>: the page, and the same inside somebody's documentation. It joins the core, the state, the
// link and the parts. Attributes: `model`, `method`, `gpu` and `lang` set what it opens with; `page` says that the
// document is its own: title, language, landmarks, and the part of the address after #. Without it nothing outside
// the element is touched but for the stylesheet that it brings.

import { LitElement, html, nothing } from "lit";

import "./combobox.js";
import { loadCore } from "./core_client.js";
import { choicesOf, fieldNamed } from "./fields.js";
import { shownServers } from "./facts.js";
import { decodeFragment, encodeFragment, langNamed, namesServer } from "./fragment.js";
import { createWords, langs, loadTexts, pickLang } from "./i18n.js";
import { isolated } from "./isolated.js";
import { tell } from "./issues.js";
import { markdown } from "./markdown.js";
import { loadSecondPart, notYet, whenIdle } from "./second_part.js";
import { loadStyles } from "./stylesheet.js";
import { Store } from "./store.js";
import { vendor } from "./vendor.js";
import { answer } from "./views/answer.js";
import { brand, languages } from "./views/brand.js";
import { openedBy } from "./views/expert.js";
import { question } from "./views/question.js";
import { foot } from "./views/share.js";
import { startUi } from "./views/view.js";
import { glance, verdictOf } from "./views/verdict.js";

/** @typedef {import("./views/view.js").View} View */
/** @typedef {import("./views/view.js").Ui} Ui */
/** @typedef {import("./i18n.js").Lang} Lang */
/** @typedef {import("./core_client.js").Core} Core */

/** Milliseconds before a change reaches the address bar and the status line: once a change, not once a keystroke. */
const settled = 400;

/** Calculators that are no page: their ids are numbered. */
let embedded = 0;

export class Calculator extends LitElement {
  static properties = {
    page: { type: Boolean },
    ui: { state: true },
    words: { state: true },
    failure: { state: true },
    second: { state: true },
    seen: { state: true },
    status: { state: true },
  };

  /** @type {Store | null} */
  store = null;
  /** @type {import("./contract.d.ts").Dropped[]} */
  #dropped = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  #timer;
  /** The fragment that the page itself wrote last. */
  #written = "";
  /** How many links were followed. */
  #followed = 0;
  /** @type {Lang | null} */
  #chosenLang = null;

  /** Ends what listens to the window, when the element is taken out of the document. */
  #life = new AbortController();
  #prefix = "";

  constructor() {
    super();
    this.page = false;
    this.ui = startUi;
    /** Empty until their texts come with the core. */
    this.words = createWords(pickLang(navigator.languages));
    this.failure = "";
    this.second = notYet;
    this.status = "";
    /** Whether the verdict is on the screen. */
    this.seen = true;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#listen();
    if (this.#prefix) return; // moved, not new
    this.#prefix = this.page ? "tunefit" : `tunefit-${++embedded}`;
    this.#start().catch((error) => {
      this.querySelector(".waiting")?.remove();
      this.failure = String(error?.message ?? error);
      this.#ready();
    });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#life.abort();
  }

  #listen() {
    this.#life = new AbortController();
    const { signal } = this.#life;
    addEventListener("beforeprint", () => this.#openForPaper(true), { signal });
    addEventListener("afterprint", () => this.#openForPaper(false), { signal });
    if (this.page) addEventListener("hashchange", ({ newURL }) => this.#followLink(new URL(newURL).hash), { signal });
  }

  async #start() {
    const fragment = this.page ? location.hash : "";
    const wanted = langNamed(fragment) ?? this.getAttribute("lang");
    this.#chosenLang = langs.find((known) => known === wanted) ?? null;
    if (this.#chosenLang) this.words = createWords(this.#chosenLang);
    const styles = this.page ? null : loadStyles(this);
    const [core] = await Promise.all([loadCore(), loadTexts(this.words.lang), styles]);
    const { state, dropped: left } = await this.#read(fragment, core);
    this.#dropped = left;
    for (const key of /** @type {const} */ (["model", "method", "gpu"])) {
      const value = this.getAttribute(key);
      const field = fieldNamed(key);
      const allowed = field?.kind !== "choice" || choicesOf(field, core.description).includes(value ?? "");
      if (value && allowed && state[key] === field?.start) state[key] = value;
    }
    this.store = new Store(core, state);
    this.ui = { ...this.ui, ...openedBy(state) };
    this.store.subscribe(() => this.#changed());
    this.querySelector(".waiting")?.remove();
    this.#say();
    this.requestUpdate();
    await this.updateComplete;
    this.#watchVerdict();
    this.#ready();
    whenIdle(() => this.#loadSecondPart(core));
  }

  /** @param {Core} core */
  async #loadSecondPart(core) {
    this.second = await loadSecondPart(core);
    if (this.second.market) this.store?.again();
  }

  /** A link that names a server has to wait for them. @param {string} fragment @param {Core} core */
  async #read(fragment, core) {
    if (namesServer(fragment) && !this.second.market) await this.#loadSecondPart(core);
    const { market } = this.second;
    return decodeFragment(fragment, core.description, market && shownServers(market));
  }

  #ready() {
    (this.page ? document.documentElement : this).dataset.ready = "true";
  }

  /** Paper cannot be opened: what was assumed and how to check the privacy are printed. @param {boolean} open */
  #openForPaper(open) {
    for (const details of this.querySelectorAll("details")) {
      if (details.matches(".assumed details, .private")) details.open = open;
    }
  }

  #watchVerdict() {
    const target = this.querySelector(".verdict");
    if (!target || !("IntersectionObserver" in globalThis)) return;
    new IntersectionObserver(([entry]) => (this.seen = entry.isIntersecting)).observe(target);
  }

  #changed() {
    this.requestUpdate();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#say();
      this.#writeLink();
    }, settled);
  }

  /** The status line: the verdict and its price, or what to correct; assistive technology reads it at each change. */
  #say() {
    const view = this.#view();
    const outcome = view && !view.outdated && view.later?.outcomeText(view);
    if (view) this.status = [verdictOf(view).headline, outcome].filter(Boolean).join(" ");
  }

  #fragment() {
    if (!this.store) return "";
    const own = pickLang(navigator.languages);
    const lang = this.#chosenLang && this.#chosenLang !== own ? this.#chosenLang : undefined;
    return encodeFragment(this.store.state, { lang, withConfig: this.ui.withConfig });
  }

  #writeLink() {
    if (!this.page) return;
    this.#written = this.#fragment();
    history.replaceState(null, "", this.#written ? `#${this.#written}` : location.href.split("#")[0]);
  }

  /** Somebody edited the address or went back; by now it may be the page's own again. @param {string} hash */
  async #followLink(hash) {
    if (!this.store || hash.replace(/^#/, "") === this.#written) return;
    const turn = ++this.#followed;
    const { state, dropped: left } = await this.#read(hash, this.store.core);
    if (turn !== this.#followed) return; // the next link was faster than the list of servers
    this.#dropped = left;
    this.store.set(state);
    this.requestUpdate();
  }

  /** A language that cannot be loaded is not spoken: the page stays as it is. @param {Lang} lang */
  async #speak(lang) {
    await loadTexts(lang);
    this.#chosenLang = lang;
    this.words = createWords(lang);
    this.#say();
    this.#writeLink();
  }

  /** @param {"link" | "markdown" | "json"} kind */
  async #copy(kind) {
    const link = this.page ? `${location.href.split("#")[0]}#${this.#fragment()}` : "";
    const answer = this.store?.answer;
    const texts = {
      link: () => link,
      json: () => JSON.stringify(answer, null, 2),
      markdown: () => (answer ? markdown(answer, this.words, link, this.second.later?.outcomeText) : ""),
    };
    const text = texts[kind]();
    try {
      await navigator.clipboard.writeText(text);
      this.ui = { ...this.ui, copied: true, manual: "" };
      setTimeout(() => (this.ui = { ...this.ui, copied: false }), 3000);
    } catch {
      this.ui = { ...this.ui, copied: false, manual: text };
    }
  }

  /** @returns {View | null} */
  #view() {
    const { store, words, ui, second } = this;
    if (!store) return null;
    const { state, answer, extras, outdated, report, core } = store;
    const told = tell(report.issues, state, words);
    return {
      ...{ words, ui, state, answer, extras, outdated, told, ...second },
      description: core.description,
      loadMarket: () => this.#loadSecondPart(core),
      dropped: this.#dropped,
      isPage: this.page,
      id: (name) => `${this.#prefix}-${name}`,
      set: (patch) => store.set(patch),
      show: (change) => (this.ui = { ...this.ui, ...(typeof change === "function" ? change(this.ui) : change) }),
      reset: () => {
        this.#dropped = [];
        store.reset();
      },
      copy: (kind) => this.#copy(kind),
    };
  }

  updated() {
    if (!this.store) return;
    if (this.page) {
      document.documentElement.lang = this.words.lang;
      document.title = this.words.t("page.title", { name: isolated(vendor.name) });
    } else {
      this.lang = this.words.lang;
    }
  }

  render() {
    const { t, has } = this.words;
    if (this.failure) {
      const said = has("page.failed") ? t("page.failed", { reason: this.failure }) : this.failure;
      return html`<p class="failed" role="alert">${said}</p>`;
    }
    const view = this.#view();
    if (!view) return nothing;
    const about = html`<p>${t("page.description")}</p>
      ${languages(this.words, (lang) => this.#speak(lang).catch(() => {}))}`;
    const skip = (/** @type {Event} */ event) => {
      event.preventDefault();
      /** @type {HTMLElement | null} */ (this.querySelector(".answer"))?.focus();
    };
    const body = html`${question(view)} ${answer(view)}`;
    const status = html`<p class="hidden" role="status">${this.status}</p>`;
    // In somebody else's page the landmarks, the first heading and the edge of the screen are that page's.
    if (!this.page) {
      return html`<div class="head"><p class="name">${brand()}</p>${about}</div>
        ${status}
        <div class="layout">${body}</div>
        ${foot(view)}`;
    }
    return html`<a class="skip" href="#${view.id("answer")}" @click=${skip}>${t("page.skip")}</a>
      <header class="head"><h1>${brand()}</h1>${about}</header>
      ${status}
      <main class="layout">${body}</main>
      ${foot(view)} ${glance(view, !this.seen)}`;
  }
}

customElements.define("tunefit-calculator", Calculator);
