/** The core's contract under short names, and shapes that only the page has. */
export type {
  Assumption, Cost, CostNote, Dated, Description, Figure, Issue, Moment, Overhead, Range, Report,
  PlanStep, Proposal, Request, Term, TermItem, Time, TimeTerm, TimelinePoint, TunefitModule,
} from "../../wasm/tunefit.d.ts";

/** What a person typed or chose: text for every field, "" where it is left to the default. */
export type State = Record<import("./fields.js").Key, string>;

/** A part of the link that was left out, and why. */
export interface Dropped {
  key: string;
  value: string;
  reason: "unknown" | "invalid" | "repeated" | "version" | "long" | "unavailable";
}
