// The chosen model: whose it is, under which licence, what it is good for, and how sure the catalog is of its shape.

import { html, nothing } from "lit";

import { english, factList, factsOf, lookUp } from "./fact.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("./fact.js").Fact} Fact */
/** @typedef {import("../catalog.d.ts").ModelRow} ModelRow */
/** @typedef {import("../i18n.js").Words} Words */

/**
 * What stands beside an exact count: a rounded one, or another of the hub's, explained to the last parameter.
 * @param {Words} words @param {ModelRow} model
 */
function countNotes(words, model) {
  const { format } = words;
  const { printed_total: printed, hub_total: hub, adjustments = [] } = model;
  const parts = adjustments.map(({ what, count }) => `${what} (${format.integer(count)})`);
  return [
    printed ? words.t("model.printed", { count: format.integer(printed) }) : "",
    hub ? words.t("model.hub", { count: format.integer(hub), parts: parts.join("; ") }) : "",
  ].filter(Boolean).join(" ");
}

/**
 * Everything that the catalog knows of a model, but for its shape, which is the calculator's.
 * @param {Pick<View, "words" | "facts">} view @param {ModelRow} model @param {number | null} context
 * @returns {Fact[]}
 */
export function modelFacts({ words, facts }, model, context) {
  const { format, t } = words;
  const make = factsOf(model, facts.sources);
  const licence = model.licence ? english(words, model.licence) : null;
  const notes = countNotes(words, model);
  const purposes = (model.good_for ?? []).flatMap((id) => facts.purposes.get(id)?.[words.lang] ?? []);
  return [
    make("good_for", t("model.good_for"), purposes.length ? purposes.join("; ") : null, []),
    make("family", t("model.family"), model.family, ["card"]),
    make("organisation", t("model.organisation"), english(words, model.organisation), ["card"]),
    make("licence", t("model.licence"), licence, ["card"], t("model.licence.what")),
    make("context", t("model.context"), context ? words.plural("count.tokens", context) : null, ["config"]),
    make("parameters", t("model.parameters"), format.integer(model.parameters), ["parameters"], notes),
    make("release", t("model.release"), model.release ? format.date(model.release) : null, ["card"]),
    make("hub", t("model.hf_id"), html`<code>${model.hf_id}</code>`, ["card"]),
    make("shape", t("model.shape"), words.maybe(`confidence.${model.confidence}`, ""), ["config"]),
    ...(model.note ? [make("note", t("fact.note"), english(words, model.note), [])] : []),
  ];
}

/** @param {View} view */
export function origin(view) {
  const { words, facts, answer } = view;
  const model = facts.models.get(answer?.model?.id ?? "");
  if (!model) return nothing;
  const doubtful = model.confidence === "D";
  const body = () => html`<p class="caption">${words.t("fact.intro")}</p>
    ${doubtful ? html`<p class="doubt">${words.t("model.doubt")}</p>` : nothing}
    ${factList(view, "model", modelFacts(view, model, answer?.model?.context_tokens ?? null))}`;
  return lookUp(view, "model", {
    heading: words.t("model.heading"),
    about: model.name,
    mark: doubtful
      ? html`<span class="tag" data-mark="doubt" data-testid="model-doubt">${words.t("model.doubt.short")}</span>`
      : nothing,
    body,
  });
}
