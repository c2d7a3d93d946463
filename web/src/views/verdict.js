// The answer in a sentence, and the same once more for the eye that has scrolled away from it.

import { html, nothing, svg } from "lit";

import { idOf } from "./view.js";

/** @typedef {import("./view.js").View} View */
/** @typedef {NonNullable<import("../contract.d.ts").Report["fit"]>["verdict"]} Verdict */

const shapes = {
  fits: svg`<path d="M5 12.5l4.5 4.5L19 7.5" />`,
  tight: svg`<path d="M12 5v9M12 18.2v.1" />`,
  does_not_fit: svg`<path d="M6.5 6.5l11 11M17.5 6.5l-11 11" />`,
};

/** A sign whose shape says it too, not its colour alone. @param {Verdict} verdict */
export const sign = (verdict) => html`<svg class="sign" data-verdict=${verdict} viewBox="0 0 24 24" aria-hidden="true">
  <circle cx="12" cy="12" r="12" />${shapes[verdict]}
</svg>`;

/** The verdict as plain text, for the status line, the copies and the tests. @param {Pick<View, "words" | "answer">} view @returns {string} */
export function verdictText({ words, answer }) {
  const fit = answer?.fit;
  const gpu = answer?.hardware?.name;
  if (!fit || !gpu) return "";
  const headroom = words.format.size(Math.abs(fit.headroom_bytes));
  const name = gpu.replace(/ (?=\d\w*$)/, "\u00a0"); // "RTX 4090" stays on one line
  const key = fit.verdict !== "tight" ? /** @type {const} */ (`verdict.${fit.verdict}`)
    : fit.headroom_bytes < 0 ? "verdict.tight.short" : "verdict.tight.spare";
  return words.t(key, { gpu: name, headroom });
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
    length: words.format.integer(answer.request?.batch?.sequence_length ?? 0),
    batch: words.format.integer(answer.request?.batch?.per_device ?? 0),
    expected: words.format.size(device.expected),
    usable: words.format.size(answer.fit.usable_bytes),
    range: words.range(device),
  });
}

/** @param {View} view */
export function verdict(view) {
  const { words, answer, outdated } = view;
  const fit = answer?.fit;
  const body = fit
    ? html`
        <p class="badge">${sign(fit.verdict)} ${words.t(`verdict.word.${fit.verdict}`)}</p>
        <h2 class="said" id=${idOf("verdict")}>${verdictText(view)}</h2>
        <p class="basis">${basisText(view)}</p>
      `
    : html`<h2 class="said" id=${idOf("verdict")}>${words.t("verdict.first")}</h2>`;
  return html`<section class="verdict" data-testid="verdict" data-verdict=${fit?.verdict ?? "none"} aria-labelledby=${idOf("verdict")}>
    ${body} ${outdated && fit ? html`<p class="outdated-note">${words.t("verdict.outdated")}</p>` : nothing}
  </section>`;
}

/** Shown while the verdict itself is out of sight; it says nothing new, so it is not read aloud. @param {View} view @param {boolean} visible */
export function glance({ words, answer, outdated }, visible) {
  const fit = answer?.fit;
  const device = answer?.memory?.per_gpu.device;
  if (!fit || !device || !answer?.hardware) return nothing;
  const { format } = words;
  return html`<div class="glance" ?data-visible=${visible} ?data-outdated=${outdated} aria-hidden="true">
    ${sign(fit.verdict)} <strong>${words.t(`verdict.word.${fit.verdict}`)}</strong>
    <span>${format.size(device.expected)} / ${format.size(fit.usable_bytes)}</span>
    <span class="glance-gpu">${answer.hardware.name}</span>
  </div>`;
}
