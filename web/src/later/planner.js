// A plan under way: it is worked at in slices between the frames, in this page. A step takes a few milliseconds, so a
// worker would gain nothing, and the offline file's policy allows none.

import { planRequest } from "./plan_request.js";

/** @typedef {import("../contract.d.ts").PlanStep} PlanStep */
/** @typedef {import("../contract.d.ts").Proposal} Proposal */
/** @typedef {import("../contract.d.ts").State} State */
/** @typedef {import("../contract.d.ts").TunefitModule} TunefitModule */

/** Milliseconds of work before the page may draw again, and between two drawings of what was found. */
const sliceMs = 8;
const drawMs = 120;

const pause = () => new Promise((resolve) => setTimeout(resolve));

/**
 * Plans from start to end. What it resolves to is the last step: with a request that is refused the only one, and of a
 * plan that was stopped the last that was taken, or null.
 * @param {Pick<TunefitModule, "plan_start" | "plan_step">} module
 * @param {Record<string, unknown>} request
 * @param {{onStep: (step: PlanStep) => void, signal: AbortSignal}} how
 * @returns {Promise<PlanStep | null>}
 */
export async function plan(module, request, { onStep, signal }) {
  const { status, issues, id } = JSON.parse(module.plan_start(JSON.stringify(request)));
  if (status !== "ok") return { status, issues };
  /** @type {PlanStep | null} */
  let step = null;
  while (step === null || step.done === false) {
    await pause();
    if (signal.aborted) break;
    step = /** @type {PlanStep} */ (JSON.parse(module.plan_step(id, sliceMs)));
    onStep(step);
  }
  return step;
}

/**
 * What is asked as text, to tell whether another state asks the same; "" where it asks nothing.
 * @param {State} state
 */
function askedBy(state) {
  try {
    return JSON.stringify(planRequest(state));
  } catch {
    return "";
  }
}

/** Names a proposal in the page, from one step to the next. @param {Proposal} proposal */
export const nameOf = ({ acquire, method, gpu, gpus, total_seconds: { expected } }) =>
  [acquire, method, gpu.id, gpus, expected].join("-").replace(/[^\w-]/g, "_");

/** The plan of one calculator. */
export class Planner {
  /** @type {"new" | "loading" | "looking" | "done" | "stopped" | "refused" | "failed"} */
  status = "new";
  /** @type {PlanStep | null} */
  step = null;
  /** @type {import("../contract.d.ts").Issue[]} */
  issues = [];
  failure = "";
  /** Names of the proposals that stand side by side. @type {readonly string[]} */
  compared = [];
  #asked = "";
  #life = new AbortController();
  #core;

  /** @param {Pick<import("../core_client.js").Core, "loadPlanner">} core */
  constructor(core) {
    this.#core = core;
  }

  get isBusy() {
    return this.status === "loading" || this.status === "looking";
  }

  /** Whether what was found is to another question than the state asks. @param {State} state */
  isOutdated(state) {
    return this.#asked !== askedBy(state);
  }

  /** A state that a proposal was taken into asks the same, whatever it says more. @param {State} state */
  adopt(state) {
    this.#asked = askedBy(state);
  }

  /** @param {State} state @param {() => void} draw */
  async start(state, draw) {
    this.stop();
    const { signal } = (this.#life = new AbortController());
    Object.assign(this, { status: "loading", step: null, issues: [], failure: "", compared: [] });
    this.#asked = askedBy(state);
    draw();
    try {
      const module = await this.#core.loadPlanner();
      if (signal.aborted) return;
      this.status = "looking";
      draw();
      let drawn = 0;
      const onStep = (/** @type {PlanStep} */ step) => {
        this.step = step;
        if (performance.now() - drawn < drawMs) return;
        drawn = performance.now();
        draw();
      };
      const last = await plan(module, planRequest(state), { onStep, signal });
      if (signal.aborted) return;
      this.step = last;
      this.issues = last?.issues ?? [];
      this.status = last?.status === "ok" ? "done" : "refused";
    } catch (error) {
      if (signal.aborted) return;
      this.status = "failed";
      this.failure = error instanceof Error ? error.message : String(error);
    }
    draw();
  }

  /** What was found so far stays. */
  stop() {
    this.#life.abort();
    if (this.isBusy) this.status = "stopped";
  }

  /** @param {string} name @param {boolean} present */
  compare(name, present) {
    const others = this.compared.filter((other) => other !== name);
    this.compared = present ? [...others, name] : others;
  }
}
