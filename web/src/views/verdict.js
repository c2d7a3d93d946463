// The answer in a sentence, and the same once more for the eye that has scrolled away from it.

import { html, nothing, svg } from "lit";

/** @typedef {import("./view.js").View} View */
/** @typedef {NonNullable<import("../contract.d.ts").Report["fit"]>["verdict"]} Verdict */

const shapes = {
  fits: svg`<path d="M5 12.5l4.5 4.5L19 7.5" />`,
  tight: svg`<path d="M12 5v9M12 18.2v.1" />`,
  does_not_fit: svg`<path d="M6.5 6.5l11 11M17.5 6.5l-11 11" />`,
};

/**
 * A sign whose shape says it too, not its colour alone; hollow where there is something else against the card.
 * @param {Verdict} verdict
 */
export const sign = (verdict, hollow = false) => html`<svg
  class="sign"
  data-verdict=${verdict}
  ?data-hollow=${hollow}
  viewBox="0 0 24 24"
  aria-hidden="true"
>
  <circle cx="12" cy="12" r="12" />${shapes[verdict]}
</svg>`;

/** @param {Pick<NonNullable<import("../contract.d.ts").Report["fit"]>, "verdict" | "headroom_bytes">} fit */
function verdictKey({ verdict: kind, headroom_bytes: headroom }) {
  if (kind === "does_not_fit") return "verdict.does_not_fit";
  if (kind === "fits") return headroom === 0 ? "verdict.fits.full" : "verdict.fits";
  return headroom === 0 ? "verdict.tight.full" : headroom < 0 ? "verdict.tight.short" : "verdict.tight.spare";
}

/**
 * The verdict as plain text, for the status line, the copies and the tests.
 * @param {Pick<View, "words" | "answer">} view
 * @returns {string}
 */
export function verdictText({ words, answer }) {
  const fit = answer?.fit;
  const gpu = answer?.hardware?.name;
  if (!fit || !gpu) return "";
  const headroom = words.format.size(Math.abs(fit.headroom_bytes));
  const name = gpu.replace(/ (?=\d\w*$)/, "\u00a0"); // "RTX 4090" stays on one line
  const gpus = answer.request?.parallel?.gpus ?? 1;
  const card = gpus > 1 ? words.t("verdict.busiest", { gpus: words.format.integer(gpus), gpu: name }) : name;
  return words.t(verdictKey(fit), { gpu: card, headroom });
}

/** @param {Pick<View, "words" | "answer">} view @returns {"method.full" | "method.lora" | "method.qlora"} */
export function methodKey({ answer }) {
  if (answer?.request?.method?.kind !== "lora") return "method.full";
  return answer.request.quantization ? "method.qlora" : "method.lora";
}

/** What the verdict rests on. @param {Pick<View, "words" | "answer">} view @returns {string} */
export function basisText({ words, answer }) {
  const device = answer?.memory?.per_gpu.device;
  if (!device || !answer?.fit || !answer.model) return "";
  return words.t("verdict.basis", {
    method: words.t(methodKey({ words, answer })),
    model: answer.model.name,
    length: words.plural("count.tokens", answer.request?.batch?.sequence_length ?? 0),
    batch: words.format.integer(answer.request?.batch?.per_device ?? 0),
    expected: words.format.size(device.expected),
    usable: words.format.size(answer.fit.usable_bytes),
    range: words.range(device),
  });
}

/**
 * What stands above the answer: its verdict; or, where the input as it is has no answer, the first thing wrong with it.
 * @param {Pick<View, "words" | "answer" | "outdated" | "told">} view
 * @returns {{verdict: Verdict | "none", headline: string}}
 */
export function verdictOf({ words, answer, outdated, told }) {
  if (!outdated && answer?.fit) return { verdict: answer.fit.verdict, headline: verdictText({ words, answer }) };
  const fault = told.find(({ severity }) => severity === "error");
  const headline = fault ? words.t("verdict.invalid", { message: fault.text }) : words.t("verdict.first");
  return { verdict: "none", headline };
}

/** The last answer, while the input as it is has none. @param {View} view */
function earlier(view) {
  const { words, answer } = view;
  const fit = answer?.fit;
  if (!fit) return nothing;
  return html`<div class="earlier">
    <p class="earlier-note">${words.t("verdict.earlier")}</p>
    <p>${sign(fit.verdict)} ${verdictText(view)}</p>
    <p class="basis">${basisText(view)}</p>
  </div>`;
}

/** Time and cost in sentences; room is kept for them until what says them is loaded. @param {View} view */
function outcome(view) {
  const { words, later, marketFailure } = view;
  if (later) return later.outcome(view);
  return marketFailure ? nothing : html`<p class="outcome waiting-value">${words.t("limits.waiting")}</p>`;
}

/** @param {View} view */
export function verdict(view) {
  const { words, outdated } = view;
  const { verdict: kind, headline } = verdictOf(view);
  const id = view.id("verdict");
  return html`<section class="verdict" data-testid="verdict" data-verdict=${kind} aria-labelledby=${id}>
    ${kind === "none" ? nothing : html`<p class="badge">${sign(kind)} ${words.t(`verdict.word.${kind}`)}</p>`}
    <h2 class="said" id=${id}>${headline}</h2>
    ${outdated ? earlier(view) : html`<p class="basis">${basisText(view)}</p> ${outcome(view)}`}
  </section>`;
}

/**
 * Shown while the verdict itself is out of sight; it says nothing new, so it is not read aloud.
 * @param {View} view @param {boolean} visible
 */
export function glance({ words, answer, outdated }, visible) {
  if (outdated) {
    return html`<div class="glance" ?data-visible=${visible} data-outdated aria-hidden="true">
      <strong>${words.t("verdict.word.none")}</strong>
    </div>`;
  }
  const fit = answer?.fit;
  const device = answer?.memory?.per_gpu.device;
  if (!fit || !device || !answer?.hardware) return nothing;
  const { format } = words;
  return html`<div class="glance" ?data-visible=${visible} aria-hidden="true">
    ${sign(fit.verdict)} <strong>${words.t(`verdict.word.${fit.verdict}`)}</strong>
    <span>${format.size(device.expected)} / ${format.size(fit.usable_bytes)}</span>
    <span class="glance-gpu">${answer.hardware.name}</span>
  </div>`;
}
