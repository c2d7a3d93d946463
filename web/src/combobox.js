// A searchable list (ARIA APG: editable combobox with list autocomplete). It keeps only what is open, active and
// being typed; the value is its parent's. Events: `pick` with the option's id, or with the typed text where it stands
// for none: then its parent says what is wrong with it.

import { LitElement, html, nothing } from "lit";
import { groups } from "d3-array";

import { meant, search } from "./search.js";

/** @typedef {import("./search.js").Option} Option */

/** Longest text that is read: no name is nearly as long. */
const longest = 200;

export class Combobox extends LitElement {
  static properties = {
    name: {},
    label: {},
    options: { attribute: false },
    value: {},
    invalid: { type: Boolean },
    describedby: {},
    words: { attribute: false },
    emptyText: { attribute: false },
    placeholder: {},
    query: { state: true },
    open: { state: true },
    active: { state: true },
  };

  constructor() {
    super();
    this.name = "";
    this.label = "";
    this.options = /** @type {Option[]} */ ([]);
    this.value = "";
    this.invalid = false;
    this.describedby = "";
    this.words = /** @type {import("./i18n.js").Words} */ (/** @type {unknown} */ (null));
    this.emptyText = "";
    this.placeholder = "";
    /** Text being typed; null while the value is shown. @type {string | null} */
    this.query = null;
    this.open = false;
    this.active = -1;
    this.addEventListener("focusout", (event) => {
      if (!this.contains(/** @type {Node | null} */ (event.relatedTarget))) this.#leave();
    });
  }

  createRenderRoot() {
    return this;
  }

  /** The list stands over everything, also over the edge of a panel that scrolls; so it is placed by hand. */
  #place = () => {
    const box = this.querySelector("input")?.getBoundingClientRect();
    const list = /** @type {HTMLElement | null} */ (this.querySelector(".options"));
    if (!box || !list) return;
    const below = innerHeight - box.bottom - 12;
    const above = box.top - 12;
    const up = below < 200 && above > below;
    list.style.setProperty("--start", `${box.left}px`);
    list.style.setProperty("--size", `${box.width}px`);
    list.style.setProperty("--top", up ? "auto" : `${box.bottom + 4}px`);
    list.style.setProperty("--bottom", up ? `${innerHeight - box.top + 4}px` : "auto");
    list.style.setProperty("--room", `${up ? above : below}px`);
  };

  #placing = false;

  updated() {
    if (this.open) this.#place();
    if (this.open === this.#placing) return;
    this.#placing = this.open;
    const change = this.open ? addEventListener : removeEventListener;
    change("scroll", this.#place, { capture: true });
    change("resize", this.#place);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#close();
    this.updated();
  }

  /** @returns {Option | undefined} */
  get chosen() {
    return this.options.find(({ id }) => id === this.value);
  }

  get shown() {
    return search(this.query ?? "", this.options);
  }

  /** @param {string} id */
  #pick(id) {
    this.#close();
    if (id !== this.value) this.dispatchEvent(new CustomEvent("pick", { detail: id, bubbles: true }));
  }

  #close() {
    this.query = null;
    this.open = false;
    this.active = -1;
  }

  /** Leaving keeps what was typed: as the option it stands for, or as it is. */
  #leave() {
    const text = this.query;
    this.#close();
    if (text !== null && text.trim() !== "") this.#pick(meant(text, this.options)?.id ?? text.trim());
  }

  /** @param {number} index */
  #activate(index) {
    const count = this.shown.length;
    this.open = true;
    this.active = count === 0 ? -1 : (index + count) % count;
    this.updateComplete.then(() => this.querySelector(".option.active")?.scrollIntoView({ block: "nearest" }));
  }

  #click() {
    if (!this.open) this.#activate(Math.max(0, this.options.findIndex(({ id }) => id === this.value)));
  }

  /** @param {KeyboardEvent} event */
  #keydown(event) {
    const last = this.shown.length - 1;
    const current = this.open ? this.active : this.shown.findIndex(({ id }) => id === this.value);
    const option = this.open ? this.shown[this.active] : undefined;
    switch (event.key) {
      case "ArrowDown":
        this.#activate(this.open ? this.active + 1 : Math.max(0, current));
        break;
      case "ArrowUp":
        this.#activate(this.open ? (this.active < 0 ? last : this.active - 1) : current < 0 ? last : current);
        break;
      case "PageDown":
        if (!this.open) return;
        this.#activate(Math.min(last, this.active + 8));
        break;
      case "PageUp":
        if (!this.open) return;
        this.#activate(Math.max(0, this.active - 8));
        break;
      case "Enter":
        if (option) this.#pick(option.id);
        else if (this.query !== null) this.#leave();
        else return;
        break;
      case "Tab":
        if (option && this.query !== null) this.#pick(option.id);
        return;
      case "Escape":
        if (!this.open && this.query === null) return;
        this.#close();
        break;
      default:
        return;
    }
    event.preventDefault();
  }

  /** @param {Event} event */
  #input(event) {
    this.query = /** @type {HTMLInputElement} */ (event.target).value;
    this.open = true;
    const option = meant(this.query, this.options);
    this.active = option ? this.shown.indexOf(option) : -1;
  }

  /** @param {Option} option @param {number} index */
  #option({ id, name, detail }, index) {
    return html`<div
      class="option ${index === this.active ? "active" : ""}"
      role="option"
      id="${this.name}-option-${index}"
      aria-selected=${id === this.value ? "true" : "false"}
      @click=${() => this.#pick(id)}
    >
      <span class="option-name">${name}</span> <span class="option-detail">${detail}</span>
    </div>`;
  }

  #list() {
    const shown = this.shown;
    if (shown.length === 0) return html`<p class="no-option">${this.emptyText}</p>`;
    const order = new Map(shown.map((option, index) => [option, index]));
    return groups(shown, ({ group }) => group).map(
      ([group, options], g) => html`<div role="group" aria-labelledby="${this.name}-group-${g}">
        <div class="group-name" id="${this.name}-group-${g}" role="presentation">${group}</div>
        ${options.map((option) => this.#option(option, order.get(option) ?? 0))}
      </div>`,
    );
  }

  render() {
    const { words } = this;
    const count = this.shown.length;
    const announced = !this.open || this.query === null ? "" : count === 0 ? this.emptyText
      : words.plural("ask.options", count);
    return html`
      <div class="combobox">
        <input
          id=${this.name}
          type="text"
          role="combobox"
          autocomplete="off"
          autocapitalize="off"
          maxlength=${longest}
          spellcheck="false"
          placeholder=${this.placeholder || nothing}
          aria-autocomplete="list"
          aria-haspopup="listbox"
          aria-controls="${this.name}-list"
          aria-expanded=${this.open ? "true" : "false"}
          aria-activedescendant=${this.open && this.active >= 0 ? `${this.name}-option-${this.active}` : nothing}
          aria-invalid=${this.invalid ? "true" : nothing}
          aria-describedby=${this.describedby || nothing}
          .value=${this.query ?? this.chosen?.name ?? this.value}
          @input=${this.#input}
          @keydown=${this.#keydown}
          @focus=${(/** @type {Event} */ event) => /** @type {HTMLInputElement} */ (event.target).select()}
          @click=${this.#click}
        />
        <span class="combobox-arrow" aria-hidden="true"></span>
        <div
          class="options"
          id="${this.name}-list"
          role=${count ? "listbox" : nothing}
          aria-label=${count ? this.label : nothing}
          ?hidden=${!this.open}
          @mousedown=${(/** @type {Event} */ event) => event.preventDefault()}
        >
          ${this.open ? this.#list() : nothing}
        </div>
        <span class="hidden" role="status">${announced}</span>
      </div>
    `;
  }
}

customElements.define("tunefit-combobox", Combobox);
