// The machine around the card: an optional field of the question, and what is known of the one that is chosen.

import { html, nothing } from "lit";
import { live } from "lit/directives/live.js";

import { gpuNamed } from "../facts.js";
import { describedBy, field, isInvalid } from "../views/field.js";
import { english, factList, factsOf, linesOf, lookUp } from "./fact.js";
import { serversFor } from "./rows.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("./fact.js").Fact} Fact */
/** @typedef {import("../catalog.d.ts").ServerRow} ServerRow */
/** @typedef {import("../i18n.js").Words} Words */

/**
 * Classes of machines have a name in each language, a maker's own has one.
 * @param {Words} words @param {ServerRow} row
 */
export const serverName = (words, { id, name }) => words.maybe(`machine.${id}`, name);

/** The choices in groups: what stands in a rack of one's own first, what nobody confirmed last. @param {View} view */
function groupsOf({ words, market, description, state }) {
  if (!market) return [];
  const { confirmed, unconfirmed } = serversFor(market, gpuNamed(description, state.gpu)?.id ?? "");
  const generic = (/** @type {ServerRow} */ { maker }) => maker === "Generic";
  const rented = (/** @type {ServerRow} */ { kind }) => kind === "instance";
  const rest = market.servers.filter(
    (row) => row.id === state.server && ![...confirmed, ...unconfirmed].includes(row),
  );
  /** @type {[import("../i18n.js").TextKey, ServerRow[]][]} */
  const groups = [
    ["server.group.made", confirmed.filter((row) => !generic(row) && !rented(row))],
    ["server.group.class", confirmed.filter((row) => generic(row) && !rented(row))],
    ["server.group.rented", confirmed.filter(rented)],
    ["server.group.unconfirmed", unconfirmed],
    ["server.group.other", rest],
  ];
  return groups
    .filter(([, rows]) => rows.length > 0)
    .map(([key, rows]) => ({ label: words.t(key), rows }));
}

/** @param {View} view */
export function serverField(view) {
  const { words, state } = view;
  const groups = groupsOf(view);
  if (groups.length === 0) return nothing;
  const gpusOf = (/** @type {ServerRow} */ { gpus_max: count }) => words.plural("server.upto", count);
  return field(
    view,
    "server",
    html`<select
      id=${view.id("server")}
      aria-invalid=${isInvalid(view, "server") ? "true" : nothing}
      aria-describedby=${describedBy(view, "server") || nothing}
      @change=${(/** @type {Event} */ event) =>
        view.set({ server: /** @type {HTMLSelectElement} */ (event.target).value })}
    >
      <option value="" .selected=${live(state.server === "")}>${words.t("server.any")}</option>
      ${groups.map(
        ({ label, rows }) => html`<optgroup label=${label}>
          ${rows.map(
            (row) => html`<option value=${row.id} .selected=${live(row.id === state.server)}>${
              serverName(words, row)
            }, ${gpusOf(row)}</option>`,
          )}
        </optgroup>`,
      )}
    </select>`,
  );
}

/** A value, with the fields that say it. @typedef {[unknown, ...string[]]} Part */

/** @param {Words} words @param {ServerRow} server @returns {Part[]} */
function powerParts(words, { psu_count: count, psu_W: watts, psu_redundancy: redundancy, psu_efficiency: efficiency }) {
  const each = watts && `${words.format.integer(watts)}\u00a0W`;
  const form = redundancy && words.t("server.redundant", { form: redundancy });
  const supplies = each ? `${count ? `${count} × ` : ""}${each}` : count && words.plural("server.supplies", count);
  return [
    [supplies, "psu_count", "psu_W"],
    [form && words.maybe(`server.redundancy.${redundancy}`, form), "psu_redundancy"],
    [efficiency && `80 PLUS ${efficiency[0].toUpperCase()}${efficiency.slice(1)}`, "psu_efficiency"],
  ];
}

/**
 * What is known of a machine. A maker's own has a line for each thing that a buyer asks, known or not; a class of
 * machines has those that it is defined by.
 * @param {Words} words @param {ServerRow} server @param {Map<string, import("../catalog.d.ts").Source>} sources
 * @returns {Fact[]}
 */
export function serverFacts(words, server, sources) {
  const { format, t } = words;
  const make = linesOf(server, sources);
  const own = server.maker !== "Generic" && server.kind !== "instance";
  /** @param {string} id @param {Part[]} parts @param {boolean} [asked] said even if unknown */
  const line = (id, parts, asked = false) => {
    const fact = make(id, words.maybe(`server.${id}`, id), parts);
    return fact.value === null && !fact.unknown?.length && !(asked && own) ? [] : [fact];
  };
  /** @param {string} id @param {string | undefined} value */
  const named = (id, value) => value && words.maybe(`server.${id}.${value}`, value);
  /** @param {string | undefined} text */
  const free = (text) => text && english(words, text);
  const { nic_count: nics, nic_Gbps: rate, dimm_slots: dimms } = server;
  const sockets = server.sockets && words.plural("server.sockets", server.sockets);
  const slots = dimms ? words.plural("server.slots", dimms) : dimms === 0 && t("server.soldered");
  const most = server.memory_max_GB && t("server.most", { size: format.integer(server.memory_max_GB) });
  const cards = nics && rate && `${nics} × ${format.integer(rate)}\u00a0Gb/s`;
  const height = server.height_U && `${format.decimal(server.height_U)}U`;
  const domain = server.link_gpus && t("card.link.gpus", { gpus: server.link_gpus });
  const watts = server.power_W && `${format.integer(server.power_W)}\u00a0W`;
  const memory = /** @type {Part[]} */ ([
    [slots, "dimm_slots"], [most, "memory_max_GB"], [free(server.memory_type), "memory_type"],
  ]);
  const cooling = named("cooling", server.cooling);
  const weight = server.weight_kg && `${format.decimal(server.weight_kg)}\u00a0kg`;
  return [
    ...line("form", [[named("form", server.form), "form"], [height, "height_U"]], true),
    ...line("gpus_max", [[words.plural("server.upto", server.gpus_max), "gpus_max"]]),
    ...line("mount", [[named("mount", server.mount), "mount"]]),
    ...line("link", [[named("link", server.link), "link"], [domain, "link_gpus"]], true),
    ...line("pcie", [[server.pcie_gen && `PCIe ${server.pcie_gen}.0`, "pcie_gen"]]),
    ...line("topology", [[named("topology", server.pcie_topology), "pcie_topology"]], true),
    ...line("cpu", [[sockets, "sockets"], [free(server.cpu), "cpu"]], true),
    ...line("memory", memory, true),
    ...line("network", [[cards, "nic_count", "nic_Gbps"], [free(server.network), "network"]], true),
    ...line("pcie_slots", [[free(server.pcie_slots), "pcie_slots"]]),
    ...line("storage", [[free(server.storage), "storage"]]),
    ...line("psu", powerParts(words, server), true),
    ...line("power", [[watts, "power_W"]]),
    ...line("cooling", [[cooling, "cooling"], [free(server.cooling_note), "cooling_note"]], true),
    ...line("weight", [[weight, "weight_kg"]]),
    ...line("tested", [[free(server.tested), "tested"]]),
    ...line("price", [[null, "price"]]),
    ...line("note", [[free(server.note), "note"]]),
  ];
}

/**
 * Whether it takes a card: `gpus` are those that a source names, whatever else of the machine is not confirmed.
 * @param {Words} words @param {ServerRow} server @param {import("../catalog.d.ts").GpuRow} card
 * @param {Map<string, import("../catalog.d.ts").Source>} sources @returns {Fact}
 */
export function takesFact(words, server, card, sources) {
  const taken = words.t(server.maker === "Generic" ? "server.takes.class" : "server.takes.yes");
  const value = server.gpus.includes(card.id) ? taken : null;
  const name = words.t("server.takes", { gpu: card.name });
  return { ...factsOf(server, sources)("takes", name, value, ["gpus"]), doubtful: false };
}

/** @param {View} view */
export function server(view) {
  const { words, facts, market, answer } = view;
  const row = market?.servers.find(({ id }) => id === answer?.request?.hardware?.server);
  const card = facts.gpus.get(answer?.hardware?.gpu ?? "");
  if (!row || !card) return nothing;
  const takes = takesFact(words, row, card, facts.sources);
  const unsure = html`<p class="doubt">${words.t("server.takes.unconfirmed", { gpu: card.name })}</p>`;
  const body = () => html`<p class="caption">${words.t("fact.intro")}</p>
    ${takes.value === null ? unsure : nothing}
    ${factList(view, "server", [takes, ...serverFacts(words, row, facts.sources)])}`;
  return lookUp(view, "server", { heading: words.t("server.heading"), about: serverName(words, row), body });
}
