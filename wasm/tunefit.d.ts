/**
 * The JSON contract of Tunefit: one request, one report. The wasm module, the npm package, the page's link
 * and the tests all speak it. Bytes are bytes (never GB or GiB), counts are plain integers, and a quantity that
 * does not apply is null. Unknown keys are errors in a request.
 */

import type { Request } from "./request.d.ts";
import type { Report } from "./report.d.ts";
import type { PlanStarted, PlanStep } from "./plan.d.ts";

export type {
  Method, RentalTerm, Request,
} from "./request.d.ts";
export type {
  Cost, CostNote, Dated, Figure,
} from "./cost.d.ts";
export type {
  PlanReason, PlanStarted, PlanStep, Proposal,
} from "./plan.d.ts";
export type {
  Advice, Assumption, Change, Dtype, Issue, Moment, Overhead, PatchValue, Phases, Range, Report, Term, TermItem, Time,
  TimeTerm, TimelinePoint,
} from "./report.d.ts";

/** What the page needs to build its choices. */
export interface Description {
  version: string;
  catalog_date: string;
  models: {
    id: string;
    name: string;
    hf_id: string | null;
    aliases: string[];
    family: string;
    organisation: string;
    parameters: number;
    context_tokens: number | null;
    model_type: string;
  }[];
  /** `cannot`: what a run may ask for and the card lacks. */
  gpus: {
    id: string;
    name: string;
    aliases: string[];
    vendor: string;
    segment: string;
    architecture: string;
    usable_bytes: number;
    memory_bytes: number;
    release: string | null;
    compute_capability: string | null;
    cannot: ("bf16" | "fp8" | "flash_attention_2")[];
  }[];
  stacks: { id: string; name: string }[];
  /**
   * Empty before `init_market`. `gpus` and `gpus_unconfirmed` are ids of GPUs: those that a source names for the server,
   * and those of the same form that nobody confirmed. `gpus_max`: of them it takes so many, as software counts them.
   */
  servers: { id: string; name: string; gpus: string[]; gpus_unconfirmed: string[]; gpus_max: number }[];
  /** By dotted path: what every field of the request may be whose values are words, as far as the core models them today,
   *  and the ids of `stack` and `hardware.interconnect`; what not every card or recipe has is among them. */
  choices: Record<string, string[]>;
  /** `{low, high}` of every field of the request that is a number, by dotted path. */
  limits: Record<string, { low: number; high: number }>;
  /** Every code that an issue may carry. */
  issue_codes: string[];
}

/** The wasm module as Emscripten's factory resolves it: text in, text out, no handles. */
export interface TunefitModule {
  /** Reads the catalog's first part. Returns `{"status", "issues"}`. Call it once before the others. */
  init(catalog: string): string;
  /**
   * Reads the catalog's second part: servers, prices, the vendor. Answers as `init` does; with an error there are no
   * servers. Call it after `init`, which drops what it read, and before requests that name a server.
   */
  init_market(market: string): string;
  /** Request text to report text. Never throws on any text. */
  estimate(request: string): string;
  /** Starts to look for what to buy, rent or change. Request text to `PlanStarted` text. Needs both parts of the catalog. */
  plan_start(request: string): string;
  /** Goes on for so many milliseconds, and at least for a piece of work. `PlanStep` text. To cancel is not to call again:
   *  the last four plans are kept. */
  plan_step(id: number, budget_ms: number): string;
  /** Description text. */
  describe(): string;
}

/** The npm entry's object, both parts of the catalog read: the same functions over parsed values. */
export interface Tunefit {
  /** Answers every value, faults too, and never throws on one. The type is there for requests that are written out: what
   *  `JSON.parse` gives passes as it is, and what is typed `unknown` as `value as Request`. */
  estimate(request: Request): Report;
  /** A plan from start to end, in one go. */
  plan(request: Request): PlanStep;
  /** The same in pieces: between two of them the caller may show what was found, or stop. */
  planStart(request: Request): PlanStarted;
  planStep(id: number, budget_ms: number): PlanStep;
  describe(): Description;
}

export function createTunefit(): Promise<Tunefit>;
