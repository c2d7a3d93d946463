// Several GPUs: how many, what runs on them, and how the run is divided. They stand with the expert fields.

import { group } from "../views/expert.js";
import { choiceField, defaultOption, entryField, field, select } from "../views/field.js";

/** @typedef {import("../views/view.js").View} View */

/** By the names that the stacks have. @param {View} view */
function stack(view) {
  const { description, state } = view;
  /** @type {[string, string][]} */
  const options = [["", stackDefault(view)]];
  for (const { id, name } of description.stacks) options.push([id, name]);
  return field(view, "stack", select(view, "stack", options, state.stack, (value) => view.set({ stack: value })));
}

/** @param {View} view */
function stackDefault(view) {
  const { words, description, answer } = view;
  const known = view.state.stack === "" && description.stacks.find(({ id }) => id === answer?.request?.stack);
  return known ? words.t("ask.default", { value: known.name }) : defaultOption(view, "stack")[1];
}

/** @param {View} view */
export const several = (view) =>
  group(view.words.t("ask.group.several"), [
    entryField(view, "gpus", [1, 2, 4, 8]),
    entryField(view, "node"),
    stack(view),
    choiceField(view, "strategy"),
    entryField(view, "tensor"),
    entryField(view, "pipeline"),
    entryField(view, "context"),
    entryField(view, "expert"),
    choiceField(view, "states"),
    choiceField(view, "shards"),
  ]);
