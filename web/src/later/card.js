// The chosen card: what it is made of, number by number.

import { html, nothing } from "lit";

import { english, factList, factsOf, lookUp } from "./fact.js";

/** @typedef {import("../views/view.js").View} View */
/** @typedef {import("./fact.js").Fact} Fact */
/** @typedef {import("../catalog.d.ts").GpuRow} GpuRow */
/** @typedef {import("../i18n.js").Words} Words */

/** @typedef {ReturnType<typeof factsOf>} Make */

const rates = ["fp32", "tf32", "fp16", "bf16", "fp8", "fp4"];

/** Formats that a card computes in only with units for them. */
const needsUnits = ["bf16", "fp8", "fp4"];

/** A number with its unit, or null. @param {Words} words @param {number | undefined} value @param {string} unit */
const quantity = ({ format }, value, unit) => (value === undefined ? null : `${format.decimal(value)}\u00a0${unit}`);

/**
 * Rates of the number formats; a format that the hardware lacks is not one that nobody states.
 * @param {Words} words @param {GpuRow} gpu @param {Make} make
 */
function ratesOf(words, gpu, make) {
  const lacks = (/** @type {string} */ dtype) => needsUnits.includes(dtype) && !gpu.supports.includes(dtype);
  const known = (/** @type {string} */ dtype) => gpu.dense_TFLOPS[dtype] !== undefined;
  return rates.filter((dtype) => dtype !== "tf32" || known(dtype) || !lacks("bf16")).map((dtype) => {
    const path = `dense_TFLOPS.${dtype}`;
    const name = words.t("card.rate", { dtype });
    if (lacks(dtype)) return make(path, name, words.t("card.lacks"), []);
    const rate = quantity(words, gpu.dense_TFLOPS[dtype], "TFLOPS");
    return make(path, name, rate, [path], words.maybe(`card.${dtype}.what`, ""));
  });
}

/** @param {Words} words @param {GpuRow} gpu @param {Make} make */
function measuredOf(words, gpu, make) {
  const asked = gpu.supports.includes("bf16") ? ["bf16", "fp8"] : ["fp16"];
  return asked.filter((dtype) => dtype === "fp16" || gpu.supports.includes(dtype)).map((dtype) => {
    const path = `measured_TFLOPS.${dtype}`;
    const rate = quantity(words, gpu.measured_TFLOPS?.[dtype], "TFLOPS");
    return make(path, words.t("card.measured", { dtype }), rate, [path], words.t("card.measured.what"));
  });
}

/**
 * Sums in fp16 are no way to train; where they go twice as fast, the maker's figure is often that.
 * @param {Words} words @param {GpuRow} gpu @param {Make} make
 */
function accumulateOf(words, gpu, make) {
  const path = "fp16_accumulate_TFLOPS";
  const rate = quantity(words, gpu[path], "TFLOPS");
  if (rate === null) return [];
  const halved = Number(gpu[path]) > 1.5 * (gpu.dense_TFLOPS.fp16 ?? Infinity);
  const value = halved ? words.t("card.accumulate.half", { rate }) : rate;
  return [make(path, words.t("card.accumulate"), value, [path], words.t("card.accumulate.what"))];
}

/** @param {Words} words @param {GpuRow} gpu */
export function linkText(words, gpu) {
  const { link, link_topology: topology, link_gpus: gpus, link_GBps: rate, host_link_GBps: host } = gpu;
  // A processor's own GPU has no slot beside it for another.
  const name = link === "none" && host ? words.t("card.link.alone") : words.maybe(`card.link.${link}`, link);
  const pair = topology === "bridge" && gpus === 2;
  const parts = [
    pair ? words.t("card.topology.pair") : topology ? words.maybe(`card.topology.${topology}`, topology) : "",
    gpus && !pair ? words.t("card.link.gpus", { gpus }) : "",
    rate ? words.t("card.link.rate", { rate: words.format.decimal(rate) }) : "",
  ];
  return [name, ...parts.filter(Boolean)].join(", ");
}

/**
 * Everything that the catalog knows of a card.
 * @param {Words} words @param {GpuRow} gpu @param {Map<string, import("../catalog.d.ts").Source>} sources
 * @returns {Fact[]}
 */
export function cardFacts(words, gpu, sources) {
  const { format, t } = words;
  const make = factsOf(gpu, sources);
  /** @param {string} id @param {string | null} value */
  const plain = (id, value) => make(id, words.maybe(`card.${id}`, id), value, [id]);
  /** A field that most cards lack. @param {string} id @param {string | null} value */
  const rare = (id, value) => (value === null ? [] : [plain(id, value)]);
  /** Values that have words of their own. @param {string} id @param {string | number | undefined} value */
  const named = (id, value) =>
    plain(id, value === undefined ? null : words.maybe(`card.${id}.${value}`, String(value)));
  const parts = gpu.partitions
    ? t("card.partitions.some", { count: format.integer(gpu.partitions) })
    : gpu.partitions === 0 ? t("card.partitions.0") : null;
  const pcie = gpu.pcie_gen ? `PCIe ${gpu.pcie_gen}.0${gpu.pcie_lanes ? ` x${gpu.pcie_lanes}` : ""}` : null;
  const memory = [quantity(words, gpu.memory_GiB, "GB"), gpu.memory_type].filter(Boolean).join(" ");
  return [
    make("memory", t("card.memory"), memory, ["memory_GiB", "memory_type"], t("card.memory.what")),
    { ...plain("memory_usable_MiB", quantity(words, gpu.memory_usable_MiB, "MiB")), what: t("card.usable.what") },
    ...rare("memory_usable_ecc_on_MiB", quantity(words, gpu.memory_usable_ecc_on_MiB, "MiB")),
    ...rare("memory_usable_ecc_off_MiB", quantity(words, gpu.memory_usable_ecc_off_MiB, "MiB")),
    named("ecc", gpu.ecc),
    plain("memory_bandwidth_GBps", quantity(words, gpu.memory_bandwidth_GBps, "GB/s")),
    ...ratesOf(words, gpu, make),
    plain("dense_int8_TOPS", quantity(words, gpu.dense_int8_TOPS, "TOPS")),
    ...accumulateOf(words, gpu, make),
    ...measuredOf(words, gpu, make),
    plain("link", linkText(words, gpu)),
    ...rare("host_link_GBps", quantity(words, gpu.host_link_GBps, "GB/s")),
    make("pcie", t("card.pcie"), pcie, ["pcie_gen", "pcie_lanes"]),
    plain("tdp_W", quantity(words, gpu.tdp_W, "W")),
    make("form", t("card.form"), gpu.form ? english(words, gpu.form) : null, ["form"]),
    plain("partitions", parts),
    plain("compute_capability", gpu.compute_capability ?? null),
    ...rare("devices_per_board", gpu.devices_per_board ? format.integer(gpu.devices_per_board) : null),
    plain("release", gpu.release ? format.date(gpu.release) : null),
    ...(gpu.note ? [make("note", t("fact.note"), english(words, gpu.note), ["note"])] : []),
  ];
}

/** @param {View} view */
export function card(view) {
  const { words, facts, answer } = view;
  const gpu = facts.gpus.get(answer?.hardware?.gpu ?? "");
  if (!gpu) return nothing;
  const body = () => html`<p class="caption">${words.t("fact.intro")}</p>
    ${factList(view, "card", cardFacts(words, gpu, facts.sources))}`;
  return lookUp(view, "card", { heading: words.t("card.heading"), about: gpu.name, body });
}
