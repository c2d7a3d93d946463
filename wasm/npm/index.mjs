// The npm package's entry, for Node and for browsers without a build tool: `const t = await createTunefit()`.
// Its types are in index.d.ts (wasm/tunefit.d.ts in the repository).

import createCore from "./tunefit.mjs";

/** Longest request text, in UTF-16 units: a longer one is refused before it is copied into the module. */
const requestLimit = 256_000;

const inNode = typeof process === "object" && Boolean(process.versions?.node);

/** A file of this package. Node's fetch does not read file: URLs. */
async function load(url) {
  if (inNode) {
    const { readFile } = await import(/* @vite-ignore */ /* webpackIgnore: true */ "node:fs/promises");
    return readFile(url);
  }
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The issue of a text that never crossed. Same as the core's own. */
const tooLong = (length) => ({
  code: "text_too_long",
  field: "",
  severity: "error",
  message: `The request is ${length} characters long; at most ${requestLimit} are read.`,
  values: { value: length, high: requestLimit },
});

/** The report without an answer. */
function invalid(issues) {
  return {
    version: 1,
    status: "invalid",
    issues,
    assumptions: [],
    request: null,
    model: null,
    recipe: null,
    hardware: null,
    memory: null,
    fit: null,
    time: null,
    cost: null,
    advice: [],
  };
}

export async function createTunefit() {
  const [wasmBinary, catalog, market] = await Promise.all([
    load(new URL("./tunefit.wasm", import.meta.url)),
    load(new URL("./catalog.json", import.meta.url)),
    load(new URL("./market.json", import.meta.url)),
  ]);
  const core = await createCore({ wasmBinary });
  let failure = null;

  /** The module answers any text; if it ever aborts instead, its memory is not to be trusted any more. */
  const call = (name, ...texts) => {
    if (!failure) {
      try {
        return JSON.parse(core[name](...texts));
      } catch (cause) {
        failure = cause;
      }
    }
    throw new Error("Tunefit failed inside. This instance is unusable; createTunefit() makes a new one.", { cause: failure });
  };

  for (const [read, part] of [["init", catalog], ["init_market", market]]) {
    const { status, issues } = call(read, new TextDecoder().decode(part));
    if (status !== "ok") throw new Error(`The bundled catalog is refused: ${JSON.stringify(issues)}`);
  }

  const textOf = (request) => JSON.stringify(request) ?? "null";
  const planStart = (request) => {
    const text = textOf(request);
    if (text.length > requestLimit) return { status: "invalid", issues: [tooLong(text.length)] };
    return call("plan_start", text);
  };
  const planStep = (id, budgetMs) => call("plan_step", id, budgetMs);

  return {
    estimate(request) {
      const text = textOf(request);
      return text.length > requestLimit ? invalid([tooLong(text.length)]) : call("estimate", text);
    },
    planStart,
    planStep,
    plan(request) {
      const started = planStart(request);
      if (started.status !== "ok") return started;
      for (;;) {
        const step = planStep(started.id, Infinity);
        if (step.done !== false) return step;
      }
    },
    describe: () => call("describe"),
  };
}
