// What a proposal is in words: the same in its row, its details and the comparison.

import { duration, money, moneyRange, oldest } from "./amounts.js";
import { isDay } from "./offers.js";
import { reference } from "./outcome.js";
import { serverName } from "./server.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("../contract.d.ts").Proposal} Proposal */

/** "8 × H100 SXM5 80GB". @param {View["words"]} words @param {Proposal} proposal */
export const cards = (words, { gpus, gpu }) =>
  gpus > 1 ? `${words.format.integer(gpus)}\u00a0× ${gpu.name}` : gpu.name;

/** What the cards sit in. @param {View} view @param {Proposal} proposal */
export function machine({ words, market }, { acquire, machines, server, gpus }) {
  const count = words.format.integer(machines);
  if (acquire === "rent") return gpus > 1 ? words.plural("plan.rented", machines) : "";
  if (!server) return words.t("plan.no.server");
  const row = market?.servers.find(({ id }) => id === server.id);
  const name = row ? serverName(words, row) : server.name;
  return machines > 1 ? `${count}\u00a0× ${name}` : name;
}

/** @param {View["words"]} words @param {Proposal} proposal */
export const method = (words, proposal) => words.t(`plan.method.${proposal.method}`);

/** @param {View["words"]} words @param {Proposal} proposal */
export const hours = (words, proposal) => duration(words, proposal.total_seconds);

/** @param {View["words"]} words @param {Proposal} proposal */
export const cost = (words, { cost: known, currency }) => ({
  amount: money(words, known.expected, currency),
  range: known.low === known.high ? "" : moneyRange(words, known, currency),
});

/** "16.8 of 24 GiB". @param {View["words"]} words @param {Proposal} proposal */
export const memory = ({ t, format }, { device_bytes: { expected }, gpu }) =>
  t("plan.memory.of", { used: format.gibibytes(expected), usable: format.gibibytes(gpu.usable_bytes) });

/**
 * Tells a proposal from the others where it is only spoken of.
 * @param {View["words"]} words @param {Proposal} proposal
 */
export const title = (words, proposal) =>
  [cards(words, proposal), method(words, proposal), hours(words, proposal).amount].join(", ");

/**
 * What of the machine's price is not in the amount.
 * @param {Proposal} proposal @returns {"gpus" | "processors" | null}
 */
export function leftOut({ acquire, price_is_whole: whole, report }) {
  if (acquire === "rent") return null;
  if (!whole) return "gpus";
  return report?.cost?.bought?.notes.includes("processors_not_included") ? "processors" : null;
}

/** The day of a proposal's price, the oldest of several: known once the plan is done. @param {Proposal} proposal */
export function dateOf({ acquire, report }) {
  const prices = report?.cost?.bought?.prices ?? [];
  if (acquire === "buy") return oldest(prices.map(({ date }) => date));
  return (report?.cost && reference(report.cost)?.date) ?? null;
}

/** "read 24 May 2026". @param {View["words"]} words @param {string} date */
export const readOn = (words, date) =>
  words.t(isDay(date) ? "cost.read.day" : "cost.read", { date: words.format.day(date) });

/** "Unsloth", by the core's list of stacks. @param {View} view @param {Proposal} proposal */
export const stack = ({ description }, { request }) =>
  description.stacks.find(({ id }) => id === request.stack)?.name ?? request.stack ?? "";

/** How the run is divided among its GPUs. @param {View["words"]} words @param {Proposal} proposal */
export function division(words, { request: { parallel = {} } }) {
  const { strategy = "none", tensor = 1, pipeline = 1, context = 1, expert = 1 } = parallel;
  const ranks = Object.entries({ tensor, pipeline, context, expert }).filter(([, count]) => count > 1);
  return [
    ...(strategy === "none" ? [] : [words.t(`choice.strategy.${strategy}`)]),
    ...ranks.map(([name, count]) => words.t(/** @type {any} */ (`plan.rank.${name}`), { count })),
  ].join(", ") || words.t("plan.undivided");
}

/**
 * "2 sequences a GPU × 8 steps × 4 copies = 64 an update".
 * @param {View["words"]} words @param {Proposal} proposal
 */
export function update(words, { request: { batch = {}, parallel = {} } }) {
  const { per_device: each = 1, gradient_accumulation: steps = 1 } = batch;
  const { gpus = 1, tensor = 1, pipeline = 1, context = 1 } = parallel;
  const copies = gpus / (tensor * pipeline * context);
  const [a, b, c, all] = [each, steps, copies, each * steps * copies].map((count) => words.format.integer(count));
  return words.t(copies > 1 ? "plan.update.copies" : "plan.update", { each: a, steps: b, copies: c, all });
}

/** What waits off the card; "" where nothing does. @param {View["words"]} words @param {Proposal} proposal */
export function offload(words, { request: { parallel = {} } }) {
  const { optimizer = "none", parameters = "none" } = parallel.offload ?? {};
  if (parameters !== "none") return words.t("plan.offload.parameters");
  return optimizer === "none" ? "" : words.t("plan.offload.optimizer");
}
