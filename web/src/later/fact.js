// Lines of facts: what is known, its value, and, when a line is opened, where that was read and how good the source is.

import { html, nothing } from "lit";

import { disclosure } from "../views/view.js";
import { isDerived, isDoubtful, isRecalled, isUnknown, sourceIdsOf, sourcesNamed } from "./rows.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../i18n.js").Words} Words */
/** @typedef {import("../catalog.d.ts").Source} Source */
/** @typedef {import("../catalog.d.ts").Sourced} Sourced */

/**
 * @typedef {object} Fact
 * @property {string} id
 * @property {string} name
 * @property {unknown} value  null where nobody states it
 * @property {string} [what]  a sentence about it
 * @property {Source[]} sources
 * @property {boolean} [derived]  computed from what the sources state
 * @property {boolean} [doubtful]  sources differ, or none confirms it
 * @property {Part[]} [parts]  where several fields stand in the line, each with marks of its own
 * @property {string[]} [unknown]  fields of the line that were looked for in vain
 */

/** @typedef {Pick<Fact, "value" | "sources" | "derived" | "doubtful">} Part */

/** What the catalog says in English only. @param {Words} words @param {string} text */
export const english = (words, text) => (words.lang === "en" ? text : html`<span lang="en">${text}</span>`);

/**
 * How a value came to be known.
 * @param {Sourced} row @param {Map<string, Source>} sources @param {string[]} paths
 */
const standing = (row, sources, paths) => ({
  sources: sourcesNamed([...new Set(paths.flatMap((path) => sourceIdsOf(row, path)))], sources),
  derived: paths.some((path) => isDerived(row, path)),
  doubtful: paths.some((path) => isDoubtful(row, path)),
});

/**
 * Makes the facts of a row: one value, with the sources of the fields that say it.
 * @param {Sourced} row @param {Map<string, Source>} sources
 * @returns {(id: string, name: string, value: unknown, paths: string[], what?: string) => Fact}
 */
export const factsOf = (row, sources) => (id, name, value, paths, what) => ({
  ...{ id, name, value, what },
  ...standing(row, sources, paths),
});

/**
 * Makes facts of several values in one line: each has its own marks, so that what is sure is not doubted for its
 * neighbour; what was looked for in vain is named. The value is null where none of them is known.
 * @param {Sourced} row @param {Map<string, Source>} sources
 * @returns {(id: string, name: string, parts: [unknown, ...string[]][]) => Fact}
 */
export const linesOf = (row, sources) => (id, name, members) => {
  const known = members.filter(([value]) => value);
  const all = members.flatMap(([, ...paths]) => paths);
  const parts = known.map(([value, ...paths]) => ({ value, ...standing(row, sources, paths) }));
  const said = known.length ? known.flatMap(([, ...paths]) => paths) : all;
  return {
    ...{ id, name, parts, ...standing(row, sources, said) },
    value: known.length ? known.map(([value]) => value) : null,
    unknown: all.filter((path) => isUnknown(row, path)),
  };
};

/** @param {View["words"]} words @param {Source} source */
export function sourceEntry(words, { title, locator, read, grade }) {
  const place = locator === "-" ? "" : html`${locator}, `;
  return html`<li>
    <span lang="en">${title}</span>
    <small><span lang="en">${place}</span>${words.t("terms.source.read", { date: words.format.date(read) })}</small>
    <small>${words.maybe(`grade.${grade}`, grade)}</small>
  </li>`;
}

/** @param {Words} words @param {Source[]} sources */
export const sourceList = (words, sources) =>
  html`<p class="sources-head">${words.t("terms.sources")}</p>
    <ul class="sources">${sources.map((source) => sourceEntry(words, source))}</ul>`;

/** @param {Words} words @param {Part} part */
function marks(words, { sources, derived, doubtful }) {
  /** @param {boolean | undefined} set @param {import("../i18n.js").TextKey} key @param {string} mark */
  const tag = (set, key, mark) => (set ? html` <span class="tag" data-mark=${mark}>${words.t(key)}</span>` : nothing);
  return html`${tag(derived, "fact.derived", "derived")}${tag(
    doubtful || isRecalled(sources),
    "fact.unconfirmed",
    "doubt",
  )}`;
}

/** What a line says, marked. @param {Words} words @param {string} scope @param {Fact} fact */
function said(words, scope, fact) {
  if (fact.value === null) return words.t("fact.unconfirmed");
  const { id, parts = [fact], unknown = [] } = fact;
  const names = unknown.map((path) => words.maybe(`${scope}.part.${path}`, words.maybe(`${scope}.${id}`, path)));
  return html`${parts.map((part, i) => html`${i ? ", " : ""}${part.value}${marks(words, part)}`)}${
    names.length
      ? html`<span class="unknown">; ${words.t("fact.unknown", { parts: words.format.list(names) })}</span>`
      : nothing
  }`;
}

/** @param {View} view @param {string} scope @param {Fact} fact */
function factLine(view, scope, fact) {
  const { words } = view;
  const { id, name, value, what, sources, derived, doubtful } = fact;
  const absent = value === null;
  const summary = html`<span class="fact-name">${name}</span>
    <span class="fact-value" ?data-absent=${absent}>${said(words, scope, fact)}</span>`;
  if (absent || (sources.length === 0 && !what)) return html`<li class="fact closed">${summary}</li>`;
  const body = () => html`<div class="fact-body">
    ${what ? html`<p>${what}</p>` : nothing}
    ${derived ? html`<p>${words.t("fact.derived.what")}</p>` : nothing}
    ${doubtful ? html`<p>${words.t("fact.doubtful.what")}</p>` : nothing}
    ${sources.length ? sourceList(words, sources) : nothing}
  </div>`;
  return html`<li>${disclosure(view, `${scope}-${id}`, { className: "fact", summary, body })}</li>`;
}

/** @param {View} view @param {string} scope tells the lines of one list from those of another @param {Fact[]} facts */
export const factList = (view, scope, facts) =>
  html`<ul class="facts">${facts.map((fact) => factLine(view, scope, fact))}</ul>`;

/**
 * A closed part of the answer that is looked up rather than read.
 * @param {View} view @param {string} id
 * @param {{heading: string, about: unknown, mark?: unknown, body: () => unknown}} parts
 */
export const lookUp = (view, id, { heading, about, mark = nothing, body }) =>
  html`<section class="look-up" data-part=${id}>
    ${disclosure(view, id, {
      className: "behind",
      summary: html`<h3>${heading}</h3> <span class="about">${about}</span> ${mark}`,
      body,
    })}
  </section>`;
