/** What a plan answers: runs to choose from, none of which is worse than another in everything. */

import type { Request } from "./request.d.ts";
import type { Assumption, Issue, Range, Report } from "./report.d.ts";

export interface PlanStarted {
  status: "ok" | "invalid";
  issues: Issue[];
  /** For `plan_step`; only with status `ok`. */
  id?: number;
}

/** Why a proposal is offered, beside being better than all others in something. `balanced`: the least of hours times cost
 *  among those of its method. */
export type PlanReason = "cheapest" | "fastest" | "cheapest_of_method" | "balanced" | "fewest_gpus";

export interface Proposal {
  acquire: "rent" | "buy";
  method: "full" | "lora" | "qlora";
  why: PlanReason[];
  /** `tight` may not fit; it is only offered where it is better than what fits. */
  verdict: "fits" | "tight";
  /** Of the run, from start to end. */
  total_seconds: Range;
  /** To rent, of the run; to buy, of what is bought, at once. In `currency`. */
  cost: Range;
  /** Processors and memory of the machines are in `cost`; else it is the GPUs' alone. */
  price_is_whole: boolean;
  currency: "EUR" | "USD";
  /** On the busiest GPU. */
  device_bytes: Range;
  gpus: number;
  machines: number;
  /** `ecc`: as the card is shipped. */
  gpu: {
    id: string;
    name: string;
    segment: string | null;
    form: string | null;
    ecc: string | null;
    compute_capability: string | null;
    /** The oldest CUDA toolkit and Linux driver that know the card; null for other vendors'. */
    cuda_toolkit: string | null;
    cuda_driver: string | null;
    release: string | null;
    board_power_watts: number;
    usable_bytes: number;
  };
  /** The machine to buy; null where the GPUs are rented, or no machine of the catalog has a price with them.
   *  `power_watts` of the whole machine, for planning; `gpus_free`: places that the run leaves empty. */
  server: {
    id: string;
    name: string;
    gpus_max: number;
    gpus_free: number;
    form: string | null;
    cooling: string | null;
    height_units: number | null;
    power_watts: number | null;
  } | null;
  /** Complete: an estimate of it takes no defaults. */
  request: Request;
  /** Only of a plan that is done: the first doubling of each after which what is alive alone is over the card; null where
   *  that is beyond what the model was made for. */
  next_break?: { sequence_length: number | null; per_device: number | null };
  /** Only of a plan that is done: a summary. */
  report?: Report;
}

export interface PlanStep {
  status: "ok" | "invalid";
  /** `unknown_plan` where there is none of that id. */
  issues: Issue[];
  /** These only with status `ok`. */
  done?: boolean;
  /** Candidates that were computed or ruled out so far, and of those the computed ones. */
  seen?: number;
  computed?: number;
  assumptions?: Assumption[];
  /** What was found so far: rented before bought, the cheapest first. */
  best?: Proposal[];
  /** Of every model of `plan.growth` what costs least by each method, without reports; `best` is empty where nothing of it
   *  runs there. */
  growth?: { model: string; name: string; parameters: number; best: Proposal[] }[];
}
