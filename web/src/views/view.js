import { html, nothing } from "lit";

/**
 * What every part of the page is drawn from. Parts are functions of it to templates and hold nothing.
 * @typedef {Present & import("../second_part.js").SecondPart} View
 */

/**
 * @typedef {object} Present  what is there from the first answer on
 * @property {import("../i18n.js").Words} words
 * @property {import("../contract.d.ts").Description} description
 * @property {() => void} loadMarket  tries again to load the second part
 * @property {import("../contract.d.ts").State} state
 * @property {import("../contract.d.ts").Report | null} answer  the last valid one
 * @property {import("../store.js").Extras | null} extras  of that answer, once worked out
 * @property {boolean} outdated  the answer is of an earlier input
 * @property {import("../issues.js").Told[]} told  what is wrong with the input
 * @property {import("../contract.d.ts").Dropped[]} dropped  parts of the link left out
 * @property {boolean} isPage  the document is this calculator's: its title, its language, the link in the address
 * @property {(name: string) => string} id  an id that no other calculator of the document has
 * @property {Ui} ui
 * @property {(patch: Partial<import("../contract.d.ts").State>) => void} set
 * @property {(change: Partial<Ui> | ((ui: Ui) => Partial<Ui>)) => void} show
 * @property {() => void} reset
 * @property {(kind: "link" | "markdown" | "json") => void} copy
 */

/**
 * What is open and pointed at: nothing that belongs in a link.
 * @typedef {object} Ui
 * @property {readonly string[]} help  fields whose explanation is open
 * @property {readonly string[]} open  disclosures of the answer that are open
 * @property {boolean} pasting  the box for a config.json is open
 * @property {boolean} expert  the expert settings are open
 * @property {boolean} wishes  the prices and wishes are open
 * @property {string} pointed  term under the pointer
 * @property {boolean} copied
 * @property {string} manual  text for copying by hand
 * @property {boolean} withConfig  the pasted config goes into the link
 * @property {boolean} ownTargets  the list of modules is being typed
 */

/** @type {Ui} */
export const startUi = {
  help: [],
  open: [],
  pasting: false,
  expert: false,
  wishes: false,
  pointed: "",
  copied: false,
  manual: "",
  withConfig: false,
  ownTargets: false,
};

/**
 * The names with or without one of them.
 * @param {readonly string[]} names @param {string} name @param {boolean} present
 */
export const listed = (names, name, present) => [
  ...names.filter((other) => other !== name),
  ...(present ? [name] : []),
];

/**
 * A <details> whose content is drawn while it is open only: most of the page's tables are never looked at.
 * @param {View} view @param {string} id @param {{className: string, summary: unknown, body: () => unknown}} parts
 */
export function disclosure(view, id, { className, summary, body }) {
  const open = view.ui.open.includes(id);
  const toggle = onToggle((now) => view.show((ui) => ({ open: listed(ui.open, id, now) })));
  return html`<details class=${className} ?open=${open} @toggle=${toggle}>
    <summary>${summary}</summary>
    ${open ? body() : nothing}
  </details>`;
}

/** Keeps a <details> open or closed as the reader left it. @param {(open: boolean) => void} report */
export const onToggle = (report) => (/** @type {Event} */ event) =>
  report(/** @type {HTMLDetailsElement} */ (event.target).open);

/**
 * A listener that reports what stands in a control.
 * @param {(value: string) => void} report
 */
export const onValue = (report) => (/** @type {Event} */ event) =>
  report(/** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */ (event.target).value);

/** Terms in the order of the bar, by family. */
export const families = {
  model: [
    "weights", "quantization", "adapters", "buffers", "reference_model", "reward_model", "value_model",
    "rollout_engine",
  ],
  training: ["gradients", "optimizer_states", "optimizer_transient", "autocast_copies"],
  activations: ["checkpoints", "embedding", "attention", "mlp", "norms", "inputs", "kv_cache"],
  loss: ["logits_and_loss"],
  work: ["workspace", "gathered_parameters", "communication_buffers"],
};

/** @param {string} term @returns {keyof typeof families | "overhead"} */
export function familyOf(term) {
  const names = /** @type {(keyof typeof families)[]} */ (Object.keys(families));
  return names.find((name) => families[name].includes(term)) ?? "overhead";
}

/**
 * @param {import("../contract.d.ts").Term[]} terms by family, in the core's order within
 */
export function byFamily(terms) {
  const order = Object.keys(families);
  return [...terms].sort((a, b) => order.indexOf(familyOf(a.id)) - order.indexOf(familyOf(b.id)));
}
