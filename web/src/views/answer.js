// The answer, part by part: first what was asked, then what explains it, last what is looked up or taken along.

import { html, nothing } from "lit";

import { Refused } from "../core_client.js";
import { sentence } from "../issues.js";
import { figure } from "./figure.js";
import { assumed, recipe } from "./recipe.js";
import { dropped, share } from "./share.js";
import { terms } from "./terms.js";
import { verdict } from "./verdict.js";

/** @typedef {import("./view.js").View} View */

/** What comes after the first answer, and what kept it from coming. @param {View} view */
function lookUps(view) {
  const { words, later, marketFailure: failure } = view;
  if (!failure && !(later && view.answer)) return nothing;
  const issue = failure instanceof Refused ? failure.issue : undefined;
  const reason = issue ? sentence(issue, words, { label: "" }) : failure?.message ?? "";
  return html`<div class="look-ups">
    ${failure
      ? html`<p class="doubt">${words.t("market.failed", { reason })}</p>
          <p><button type="button" class="quiet" @click=${view.loadMarket}>${words.t("market.again")}</button></p>`
      : nothing}
    ${later?.lookUps(view) ?? nothing}
  </div>`;
}

/** @param {View} view */
export const answer = (view) => html`<div
  class="answer"
  id=${view.id("answer")}
  tabindex="-1"
  role="region"
  aria-label=${view.words.t("page.answer")}
  ?data-outdated=${view.outdated}
>
  ${dropped(view)} ${verdict(view)} ${figure(view)} ${view.later?.plan(view) ?? nothing}
  ${view.later?.run(view) ?? nothing}
  <div class="two">${view.later?.limits(view) ?? nothing} ${recipe(view)}</div>
  ${view.later?.cards(view) ?? nothing}
  ${lookUps(view)}
  ${terms(view)} ${view.later?.step(view) ?? nothing} ${assumed(view)} ${share(view)}
</div>`;
