/** What a run costs: a part of the report. */

import type { RentalTerm } from "./request.d.ts";
import type { Range } from "./report.d.ts";

/** Where an amount was read. `date` is null, and nothing else is said, for the request's own and the vendor's. */
export interface Dated {
  /** "2026", "2026-08" or "2026-08-22". */
  date: string | null;
  /** Sources disagree, or none of them is the seller. */
  low_confidence: boolean;
  /** These two are left out in a summary. */
  note?: string | null;
  source_ids?: string[];
}

/** What has to be said beside an amount. */
export type CostNote =
  | "without_vat"
  /** Traffic out of the cloud, and storage, are charged besides. */
  | "egress_left_out"
  /** The price is of the GPUs alone; a barebone and its cards, without processors and memory. */
  | "host_not_included" | "processors_not_included"
  | "several_machines" | "gpus_idle"
  /** Whether the service bills padding is not known: `tokens` goes from the rows' own to padded ones. */
  | "tokens_not_said"
  /** Energy of the GPUs alone; the host's follows from the machine's for planning less its cards'; waiting costs nothing. */
  | "host_power_unknown" | "host_power_derived" | "idle_power_left_out"
  /** No utilisation was given: it works at all hours. No residual was given: nothing is left at the end. */
  | "always_in_use" | "written_off_whole"
  | "no_service_contract"
  /** Nobody rents out such machines whole, so there is no `break_even`. */
  | "no_rent_to_compare";

/** A figure of the request's or the catalog's. */
export type Figure = Range & Dated & { formula_id?: string };

/**
 * What the run costs, without VAT and not rounded, in one currency. Null without hours, without a GPU whose time is known,
 * and before `init_market`. Methods are in METHOD.md under `formula_id`.
 */
export interface Cost {
  currency: "EUR" | "USD";
  exchange: Dated & { eur_per_usd: number };
  notes: CostNote[];
  /** The request's own price first (`provider` null), then the cheapest; in a summary only the line that `break_even` is
   *  held against. */
  rented: (Dated & {
    provider: string | null;
    instance: string | null;
    region: string | null;
    term: RentalTerm | null;
    machines: number | null;
    gpus_per_machine: number | null;
    /** Rented, and not used. */
    gpus_idle: number;
    /** Of all machines together. */
    price_per_hour: number;
    cost: Range;
    /** The line that `break_even` is held against, and that trials and failed runs are counted in; at most one: the
     *  request's own, else the cheapest on demand (or of the wished term) whose price covers the machine and is sure. */
    reference: boolean;
    notes: CostNote[];
    formula_id: string;
  })[];
  /** Services that train such models, the cheapest first. */
  token_services: (Dated & {
    provider: string;
    models: string;
    method: "lora" | "full" | "reinforcement" | "not_said";
    /** Billed. */
    tokens: Range;
    cost: Range;
    notes: CostNote[];
    formula_id: string;
  })[];
  /** Null where nobody has a price. */
  bought: null | {
    /** Of everything that is bought. */
    price: Range;
    machines: number | null;
    gpus: number | null;
    /** Of the run; `parts` sum to it. */
    cost: Range;
    /** Of an hour of work. */
    per_hour: Range;
    parts: { id: "amortisation" | "support" | "rack" | "electricity"; cost: Range; formula_id?: string }[];
    residual_share: number;
    utilisation: number;
    lifetime_years: Figure;
    notes: CostNote[];
    /** What the price was made of; none for the request's own. */
    prices: (Dated & {
      server: string | null;
      gpu: string | null;
      gpus: number | null;
      low: number;
      high: number;
      currency: "EUR" | "USD";
      kind: string;
    })[];
  };
  /** Of own machines. Null where nobody knows the card's power. */
  energy: null | {
    /** Of all GPUs, on average, from what they draw while they compute and while they wait. */
    gpu_watts: Range;
    /** Of the machines' other parts: of what is planned for them as much as GPUs at work draw of their board power, and
     *  of that the run's share, by GPUs. 0 where nobody knows. */
    host_watts: Range;
    /** Of the run's time, in which a GPU computes. */
    gpu_busy_share: number;
    /** Of the board power. */
    working_power_share: Figure;
    waiting_power_share: Figure;
    kwh: Range;
    kg_co2: Range;
    cost: Range;
    notes: CostNote[];
    pue: Figure;
    price_per_kwh: Figure;
    g_co2_per_kwh: Figure;
    formula_id: string;
  };
  /** From how many hours of work on buying is cheaper than renting; null without a price for either. */
  break_even: null | {
    /** `never`: an hour of work costs as much to run as to rent. `after_lifetime`: too late. */
    state: "reached" | "after_lifetime" | "never";
    rent_per_hour: number;
    /** Hours of work, and months of the calendar at the utilisation; null where that is never. */
    hours: { low: number | null; expected: number | null; high: number | null };
    months: { low: number | null; expected: number | null; high: number | null };
    /** What either way has cost by `hours.expected`, where the chart's lines cross; null where that is never. */
    cost: number | null;
    /** Hours of work until the purchase is written off. */
    lifetime_hours: number;
    formula_id: string;
    /** Of the chart. Left out in a summary. */
    points?: { hours: number; rented: number; bought: Range }[];
  };
  /** What the request asks for beside the compute of the run, which they are no part of. */
  extras: { id: "trials" | "failed_runs" | "data_work"; cost: Range }[];
  /** One checkpoint and the data set's token ids, 4 bytes each. */
  disk: null | { checkpoints_bytes: number; dataset_bytes: number; total_bytes: number };
}
