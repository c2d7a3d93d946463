/** What is answered, whatever the request was. */

import type { Request } from "./request.d.ts";
import type { Cost } from "./cost.d.ts";

/** What went wrong or deserves attention. All of them are reported, not only the first. */
export interface Issue {
  /** Stable machine name, e.g. `unknown_model`; the page translates it. Description.issue_codes lists them all. */
  code: string;
  /** Dotted path in the request, e.g. `method.target_modules.0`; empty where the whole text is at fault. */
  field: string;
  severity: "error" | "warning" | "note";
  /** English sentence, complete on its own. */
  message: string;
  /** The values named in the message, for translations: `{value}`, `{low}`, `{high}`, `{expected}` … */
  values: Record<string, string | number>;
}

/** A value that the request left open, and where the value taken came from. */
export interface Assumption {
  /** Dotted path in the request. */
  field: string;
  /** The value taken, as it could have been written in the request. */
  value: unknown;
  /**
   * Why: `stack_default` (the catalog's, of this stack and version), `core_default` (the stack says nothing),
   * `model_config` (the pasted config says it), `class_default` (the config leaves it to its class), `catalog` (the newest
   * that the catalog knows), `rollout` (prompt and completion together), `prepare_kbit` (prepare_model_for_kbit_training switches it on), `single_gpu`,
   * `server_holds` (as many as the server takes),
   * `source_and_target` (an encoder-decoder's target is taken to be as long as its source).
   */
  reason:
    | "stack_default"
    | "core_default"
    | "model_config"
    | "class_default"
    | "catalog"
    | "prepare_kbit"
    | "rollout"
    | "server_holds"
    | "single_gpu"
    | "source_and_target";
}

/** An estimate with the interval that should hold 90 of 100 real runs. Bytes. */
export interface Range {
  low: number;
  expected: number;
  high: number;
}

/** The time of an optimizer step, and of a run over `dataset`. Ranges hold 90 of 100 published runs. core/METHOD.md, TIM. */
export interface Time {
  /** Of rows as long as `batch.sequence_length`. */
  step_seconds: Range;
  /** Of all GPUs, padding included. */
  tokens_per_step: number;
  tokens_per_second: Range;
  tokens_per_second_per_gpu: Range;
  /** Operations of the traced step without those that run again, over what the printed dense rate of the compute dtype
   *  would do in that time. A causal kernel counts half of the scores, frozen weights have no gradient. Completions that
   *  are generated count in the time alone. */
  model_flops_utilization: number;
  /** The same with what checkpointing runs again. */
  hardware_flops_utilization: number;
  /** What decides the time: products, other kernels, launches, or other GPUs. */
  bound: "compute" | "memory" | "host" | "traffic";
  /** Optimizer steps over the data set, `rollout.iterations` for every rollout; null without one, as all below. */
  steps: number | null;
  /** Padding included. TIM-30. */
  computed_tokens: number | null;
  /** Of the data, as often as there are epochs (1 unless said); in grpo and ppo prompts and completions of all steps. */
  trained_tokens: number | null;
  /** Of an average row of the run, padding included: of the longest of its micro-batch where the stack pads to that. TIM-32. */
  row_tokens: number | null;
  /** An average step of the run: of its rows, where these are shorter than `batch.sequence_length`. */
  run_step_seconds: Range | null;
  /** What the run waits for outside its steps: the model is read (`start`), a checkpoint is written at the end of each
   *  epoch and in long runs as often as costs least (`saving`), and after failures steps are made again (`lost`).
   *  TIM-33 to 36. Ranges are from the least to the most that was read of storage and failures, no intervals. */
  outside_steps: null | {
    start_seconds: Range;
    /** 0 unless `evaluation` says its examples. */
    evaluation_seconds: Range;
    saving_seconds: Range;
    lost_seconds: Range;
    /** Expected numbers, which need not be whole. */
    saves: number;
    interruptions: number;
  };
  /** From start to end: `steps` times `run_step_seconds`, and what it waits for outside them. */
  total_hours: Range | null;
  /** They sum to `step_seconds.expected`. Left out in a summary. */
  terms?: { id: TimeTerm; formula: string; seconds: number }[];
  /** With `include: ["scaling"]`: the run on 1, 2, 4 … times the GPUs that tensor and pipeline ranks make, up to 1,024, and
   *  on its own number. Each GPU keeps its batch, so that the global one grows. `efficiency` is what is left of a GPU's
   *  tokens with the fewest GPUs, over 1 where sharded states make each faster. Whether it fits is not asked. TIM-31. */
  scaling?: { gpus: number; tokens_per_second: number; efficiency: number }[];
}

export type TimeTerm =
  | "matmul"
  | "attention"
  | "recompute"
  | "memory_bound"
  | "launch"
  | "tensor_parallel"
  | "expert_parallel"
  | "data_parallel"
  | "pipeline_bubble"
  | "offload"
  | "optimizer"
  | "step"
  | "generation";

export type Dtype =
  "fp32" | "bf16" | "fp16" | "fp8" | "int64" | "int32" | "int8" | "uint8" | "bool" | "nf4" | "fp4" | "int4" | "int3" |
  "int2";

/** The moments of a training step, in order. Phases, timeline, chart and tests share the names. */
export type Moment =
  | "load"
  | "static"
  | "between_steps"
  | "rollout"
  | "reference"
  | "forward"
  | "loss"
  | "backward"
  | "optimizer"
  | "evaluate"
  | "save"
  | "merge";

/** Bytes of live tensors on the busiest GPU. */
export interface Phases {
  /** Weights, adapters and buffers, before the first step. */
  static: number;
  /** After optimizer.step() and zero_grad(), before the next forward. */
  between_steps: number;
  after_forward: number;
  peak_forward: number;
  after_backward: number;
  peak_backward: number;
  peak_optimizer: number;
  /** The largest of the peaks, of rollout and evaluation too. */
  peak_step: number;
  load: number;
  /** Completions are generated and scored in the training process; null where none are. */
  rollout: number | null;
  /** Null without `evaluation`. */
  evaluate: number | null;
  save: number;
  /** An adapter is merged into its base, in a process that trains nothing; null without one, or where PEFT cannot. */
  merge: number | null;
}

/** One kind of storage alive at the peak. `bytes` is for all of them together. */
export interface TermItem {
  /** The tensor as the library names it, layers as `*`: `model.layers.*.mlp.act_fn: input`. */
  name: string;
  dtype: Dtype;
  /** Shape in words of the request: `tokens x 14336`, `batch x 32 x length x length`. */
  shape: string;
  /** How many such storages are alive. */
  count: number;
  bytes: number;
}

/** A line of the breakdown. The terms sum exactly to `phases.peak_step`. */
export interface Term {
  /** `weights`, `quantization`, `adapters`, `gradients`, `optimizer_states`, `optimizer_transient`, `autocast_copies`,
   *  `checkpoints`, `attention`, `mlp`, `norms`, `embedding`, `logits_and_loss`, `workspace`, `inputs`, `buffers`,
   *  `gathered_parameters`, `communication_buffers`, `reference_model`, `reward_model`, `value_model`, `kv_cache`,
   *  `rollout_engine`. */
  id: string;
  bytes: number;
  kind: "exact" | "modelled" | "empirical";
  /** Formula in METHOD.md, e.g. `MEM-20`. */
  formula_id: string;
  source_ids: string[];
  /** The largest first. */
  items: TermItem[];
}

/** A step from `allocated` to `device`: what the driver shows beyond torch's live tensors. */
export interface Overhead {
  /** `library_workspace`, `live_spread` (how far measured runs lie from the estimate: expected 0, low below 0),
   *  `allocator_slack`, `cuda_context`, `collective_buffers`, `paged_optimizer_states`. */
  id: string;
  bytes: Range;
  formula_id: string;
  source_ids: string[];
}

export interface TimelinePoint {
  moment: Moment;
  /** Index of the layer at work, or null outside the layers. */
  layer: number | null;
  /** Live bytes at the end and the highest within. */
  bytes: number;
  peak_bytes: number;
}

/** Names of changes. Those of hardware are the last four. */
export type Change =
  | "gradient_checkpointing"
  | "offload_checkpoints"
  | "no_gradient_checkpointing"
  | "fused_linear_loss"
  | "chunked_loss"
  | "fused_kernels"
  | "fused_attention"
  | "flash_attention"
  | "packing"
  | "padding_free"
  | "fused_optimizer"
  | "paged_optimizer"
  | "optimizer_8bit"
  | "paged_optimizer_8bit"
  | "optimizer_in_backward"
  | "bf16_weights"
  | "smaller_micro_batch"
  | "larger_micro_batch"
  | "zero1"
  | "zero2"
  | "zero3"
  | "fsdp"
  | "fsdp2"
  | "offload_optimizer"
  | "offload_parameters"
  | "fewer_lora_targets"
  | "lora"
  | "qlora"
  | "shorter_sequence"
  | "more_gpus"
  | "smallest_card"
  | "cheapest_card"
  | "fastest_card";

/** A value of a merge patch; null takes the field out. */
export type PatchValue = null | boolean | number | string | string[] | { [field: string]: PatchValue };

/** A changed request and what became of it. Differences are after minus before, of expected values; null where one of the
 *  two is unknown. */
export interface Advice {
  change: Change | "combined";
  /** Of `combined`, in the order in which they were taken. */
  changes?: Change[];
  /** A JSON merge patch (RFC 7396) of the request that was sent: the patched request gives exactly these figures. */
  patch: { [field: string]: PatchValue };
  /** After the change, per GPU. */
  fit: { verdict: "fits" | "tight" | "does_not_fit"; device_bytes: Range };
  /** After the change: `memory.host_bytes`. */
  host_bytes: number;
  /** `device.expected` before minus after. */
  saved_bytes: number;
  /** Of an optimizer step, which takes more rows where `more_gpus` cannot divide them. */
  step_seconds_change: number | null;
  hours_change: number | null;
  /** Of the line that buying is held against, else of own machines; null too where the two are not of one sort, and for
   *  other hardware beside own prices in `pricing`. */
  cost_change: null | { amount: number; currency: "EUR" | "USD"; of: "rented" | "bought" };
  /** What becomes of what is trained: nothing; what comparisons hardly show; another method trains it; rows are cut. */
  quality: "none" | "slight" | "changes_method" | "cuts_rows";
  /** What it takes: a setting, a package besides, other hardware. */
  effort: "setting" | "install" | "hardware";
  /** The settings in the request's stack, one a line; null before `init_market`, and for hardware. */
  how: string | null;
  /** Of `how`. Left out in a summary. */
  source_ids?: string[];
}

export interface Report {
  version: 1;
  status: "ok" | "invalid";
  issues: Issue[];
  assumptions: Assumption[];
  /**
   * The request with every default filled in: sending it again gives the same figures, and no assumptions but those that a
   * pasted config leaves to its class. Null when invalid.
   */
  request: Request | null;
  model: null | {
    id: string | null;
    name: string;
    model_type: string;
    family: string | null;
    layers: number;
    hidden_size: number;
    vocab_size: number;
    context_tokens: number | null;
    parameters: number;
    active_parameters: number;
    trainable_parameters: number;
    /**
     * `embedding`, `attention`, `mlp`, `norms`, `head` and, for models of text and images, `vision`: together
     * `parameters`. Then `adapters` and, for ppo, `value_model`, which `parameters` leaves out. A trained copy
     * (modules_to_save) counts as trainable where its original stands.
     */
    groups: { group: string; parameters: number; trainable_parameters: number }[];
    source_ids: string[];
  };
  /** The recipe said aloud: bytes a trainable parameter costs in each role. */
  recipe: null | {
    /** `pure_bf16`, `pure_fp16`, `autocast_fp32`, `fp32`, `lora`, `qlora`, `lora_int8`, `ia3`, `prompt_tuning`. */
    code: string;
    bytes_per_trainable_parameter: {
      weights: number;
      gradients: number;
      optimizer_states: number;
      optimizer_transient: number;
    };
    bytes_per_frozen_parameter: number | null;
  };
  hardware: null | {
    gpu: string;
    name: string;
    /** What nvidia-smi shows as the card's total. */
    usable_bytes: number;
    /** Nobody printed that total: it is the capacity times the smallest share seen on other cards. */
    usable_is_derived: boolean;
    source_ids: string[];
  };
  memory: null | {
    per_gpu: {
      phases: Phases;
      /** The moment at which `peak_step` is reached. */
      peak_moment: Moment;
      /** torch max_memory_allocated, max_memory_reserved, and nvidia-smi. */
      allocated: Range;
      reserved: Range;
      device: Range;
      /** Left out in a summary. */
      terms?: Term[];
      overheads?: Overhead[];
      /** With `include: ["timeline"]`. */
      timeline?: TimelinePoint[];
    };
    /** With `include: ["ranks"]`: every stage of the pipeline, whose tensor, expert and data ranks are alike, or
     *  with `device_map` every card that holds something; the
     *  busiest of them is `per_gpu`. `passes_in_flight`: micro-batches through its pieces, alive at once. */
    ranks?: {
      stage: number;
      layers: number;
      passes_in_flight: number;
      between_steps: number;
      peak_step: number;
      allocated: Range;
      reserved: Range;
      device: Range;
    }[];
    /** Memory of one machine that the run takes for all its GPUs, beyond the processes themselves, at most. */
    host_bytes: number;
    /** What it is made of; the parts sum to `host_bytes`. `checkpoints`: layer inputs that wait for backward;
     *  the others: what `parallel.offload` keeps there: shards, gradients and states, and the pinned buffers and copies
     *  through which they travel. */
    host_parts: {
      checkpoints: number;
      parameters: number;
      gradients: number;
      optimizer_states: number;
      buffers: number;
    };
    /** What `parallel.offload` keeps on the disks of one machine. */
    nvme_bytes: number;
    /** One checkpoint: what was trained, and the optimizer's states. */
    disk_bytes: number;
  };
  fit: null | {
    usable_bytes: number;
    /** `fits`: all of the range of `device` is within `usable_bytes`; `does_not_fit`: all of it is over; `tight`: between. */
    verdict: "fits" | "tight" | "does_not_fit";
    /** usable minus device.expected; may be negative when it is tight, and is when it does not fit. */
    headroom_bytes: number;
    /** With `include: ["limits"]`: the largest values whose verdict is `fits`; 0 when none is, null when not asked. */
    largest_batch: number | null;
    longest_sequence_tokens: number | null;
  };
  /** Null without a GPU, and with one whose speed nobody prints (a note says so). */
  time: Time | null;
  cost: Cost | null;
  /** With `include: ["advice"]` and a GPU: changes, each estimated, in this order: several at once where none makes the
   *  run fit alone or with so little harm; those after which it fits, the least harm to quality first, settings before
   *  hardware, then the fastest; the others by what they free of a run that does not fit. A note `no_change_fits` says
   *  that no settings make it fit on its card. core/METHOD.md, ADV. */
  advice: Advice[];
  /** Every source named above. Left out in a summary. */
  sources?: Record<string, { title: string; locator: string; read: string; grade: string }>;
}
