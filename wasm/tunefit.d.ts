/**
 * The JSON contract of Tunefit: one request, one report. The wasm module, the npm package, the page's link
 * and the tests all speak it. Bytes are bytes (never GB or GiB), counts are plain integers, and a quantity that
 * does not apply is null. Unknown keys are errors in a request.
 */

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
  step_seconds: Range;
  /** Of all GPUs, padding included. */
  tokens_per_step: number;
  tokens_per_second: Range;
  tokens_per_second_per_gpu: Range;
  /** Operations of the traced step without those that run again, over what the printed dense rate of the compute dtype
   *  would do in that time. A causal kernel counts half of the scores, frozen weights have no gradient. */
  model_flops_utilization: number;
  /** The same with what checkpointing runs again. */
  hardware_flops_utilization: number;
  /** What decides the time: products, other kernels, launches, or other GPUs. */
  bound: "compute" | "memory" | "host" | "traffic";
  /** Optimizer steps over the data set; null without one, as all below. */
  steps: number | null;
  /** Padding included. */
  computed_tokens: number | null;
  /** Of the data, as often as there are epochs (1 unless said). */
  trained_tokens: number | null;
  total_hours: Range | null;
  /** They sum to `step_seconds.expected`. Left out in a summary. */
  terms?: { id: TimeTerm; formula: string; seconds: number }[];
  /** With `include: ["scaling"]`: the run on 1, 2, 4 … times the GPUs that tensor and pipeline ranks make, up to 1,024, and
   *  on its own number. Each GPU keeps its batch, so that the global one grows. `efficiency` is what is left of a GPU's
   *  tokens with the fewest GPUs, over 1 where sharded states make each faster. Whether it fits is not asked. TIM-31. */
  scaling?: { gpus: number; tokens_per_second: number; efficiency: number }[];
}

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
  /** Energy of the GPUs alone; the host's is the machine's for planning less its cards'; waiting costs nothing. */
  | "host_power_unknown" | "host_power_derived" | "idle_power_left_out"
  /** No utilisation was given: it works at all hours. No residual was given: nothing is left at the end. */
  | "always_in_use" | "written_off_whole"
  | "no_service_contract";

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
    /** The line that `break_even` is held against, and that trials and failed runs are counted in; at most one. */
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
    /** Of the machines' other parts: the run's share, by GPUs. 0 where nobody knows. */
    host_watts: number;
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
  | "step";

export type Dtype =
  "fp32" | "bf16" | "fp16" | "fp8" | "int64" | "int32" | "int8" | "uint8" | "bool" | "nf4" | "fp4" | "int4" | "int3" |
  "int2";

export interface Method {
  /** `ia3` and `prompt_tuning` as PEFT has them. */
  kind: "full" | "freeze" | "lora" | "ia3" | "prompt_tuning";
  /** freeze: number of last layers that train. */
  trainable_layers?: number;
  /** prompt_tuning: learned embeddings before every sequence; `batch.sequence_length` does not count them. */
  virtual_tokens?: number;
  rank?: number;
  /** lora: modules whose rank is another one, by the ends of their paths; PEFT's `rank_pattern`, without patterns. */
  rank_pattern?: Record<string, number>;
  /**
   * lora and ia3: ends of module paths within a layer (`q_proj`, `self_attn.q_proj`), for all layers alike; lora also
   * `embed_tokens` and `lm_head`.
   */
  target_modules?: "all-linear" | string[];
  /** ia3: of the targets, those whose input is scaled, by the ends of their paths; of the others the output is. */
  feedforward_modules?: string[];
  modules_to_save?: string[];
  dropout?: number;
  adapter_dtype?: "fp32" | "bf16" | "fp16";
  /** Of the copies that `modules_to_save` trains; left out, `adapter_dtype` where it is given, else as the originals. */
  modules_to_save_dtype?: "fp32" | "bf16" | "fp16";
  dora?: boolean;
  /** full: whether the tower of a model for text and images trains; `frozen` unless said. Samples are text. */
  vision_tower?: "frozen" | "trained";
}

/** `spot` may be taken away; `community` and `marketplace` are other people's machines; `flex_start` begins when there is
 *  room, `calendar` is booked ahead. */
export type RentalTerm =
  "on_demand" | "spot" | "community" | "marketplace" | "flex_start" | "calendar" | "one_year" | "three_years";

export interface Request {
  version: 1;
  /** Catalog id, Hugging Face id or alias (any case), or a Hugging Face config.json. */
  model: string | { config: Record<string, unknown>; name?: string; parameters?: number };
  task?: "sft" | "pretrain" | "seqcls" | "reward" | "dpo" | "orpo" | "kto" | "grpo" | "ppo";
  /**
   * dpo, kto, grpo and ppo: what the policy is compared with. `copy` is a second, frozen model, `adapter` the model without
   * its adapter, `precomputed` a pass before training. Left out: `adapter` under LoRA and IA3, else `copy`; grpo by its stack.
   */
  reference?: "none" | "copy" | "adapter" | "precomputed";
  method?: Method;
  quantization?: null | {
    kind: "nf4" | "fp4" | "int8" | "gptq" | "awq" | "hqq" | "fp8";
    /** Of a packed weight: GPTQ 2, 3, 4 or 8, HQQ 2, 4 or 8, AWQ 4. */
    bits?: number;
    /** Weights of a column that share a scale, in GPTQ, AWQ and HQQ; 1,000,000 stands for a whole column. */
    group_size?: number;
    double_quant?: boolean;
    prepare_kbit?: "none" | "peft" | "trl";
  };
  precision?: {
    weights?: "bf16" | "fp16" | "fp32" | "fp8";
    compute?: "bf16" | "fp16" | "fp32" | "fp8";
    autocast?: boolean;
    /** 16-bit weights train through an fp32 copy that the optimizer keeps. */
    master_weights?: boolean;
    /** Of the moments, where they are not packed; left out, what the optimizer takes by itself. */
    optimizer_states?: "fp32" | "bf16" | "fp16";
  };
  /** Hugging Face's `optim` names, and `adamw_hf`, `muon`, `adam_mini`. */
  optimizer?: string;
  /** Of the projections of GaLore and APOLLO. */
  optimizer_rank?: number;
  /** Each parameter is updated, and its gradient freed, as soon as backward has made it. */
  optimizer_in_backward?: boolean;
  fused_kernels?: string[];
  /** `per_device` counts examples: pairs for reward, dpo and orpo, completions for grpo and ppo, sequences otherwise. */
  batch?: {
    per_device?: number;
    gradient_accumulation?: number;
    sequence_length?: number;
    packing?: "none" | "packed" | "padding_free";
    length_varies?: boolean;
  };
  /** Left out, it is `full` over a quantized base that `prepare_kbit` prepares, else the stack's default. */
  gradient_checkpointing?: "none" | "full" | "selective" | "offload" | { every: number };
  attention?: "flash_attention_2" | "flash_attention_3" | "sdpa" | "eager" | "xformers" | "flex";
  loss?: "standard" | "chunked" | "fused_ce" | "fused_linear_ce";
  stack?: string;
  /** "YYYY-MM" of the libraries; a year alone is its July. */
  stack_version?: string;
  compile?: boolean;
  parallel?: {
    gpus?: number;
    gpus_per_node?: number;
    strategy?: "none" | "ddp" | "zero1" | "zero2" | "zero3" | "fsdp" | "fsdp2" | "device_map";
    reshard_after_forward?: boolean;
    reduce_dtype?: "bf16" | "fp16" | "fp32" | "fp8";
    tensor?: number;
    /** Tensor ranks share the tokens between the matrices. Refused with tensor ranks of other stacks than `megatron` and
     *  `torchtitan`, and of other models than decoders; without tensor ranks it changes nothing. */
    sequence_parallel?: boolean;
    pipeline?: number;
    /** Pieces of the model that each pipeline stage holds, in turn. */
    interleave?: number;
    context?: number;
    /** Ranks that share the experts of every layer: `megatron` with ddp or zero1, `torchtitan` with ddp or fsdp2. */
    expert?: number;
    /** Ranks that share an expert's matrices: 1, or as many as `tensor`. Default: as many where the GPUs suffice. */
    expert_tensor?: number;
    /** Ranks that one copy of the model is divided among (FSDP's hybrid shards, DeepSpeed's MiCS, instances of Megatron's
     *  distributed optimizer); left out, all of gpus / (tensor x pipeline), which it must divide. */
    shard?: number;
    /** ddp: gradients are views of the buckets that they are reduced in, and no copies of them exist. */
    gradient_as_bucket_view?: boolean;
    /** DeepSpeed's settings that change memory, by its own names, in elements. Left out, what transformers'
     *  documentation and its `auto` have; with `stack: "deepspeed"` DeepSpeed's own defaults. */
    zero?: {
      reduce_bucket_size?: number;
      overlap_comm?: boolean;
      contiguous_gradients?: boolean;
      stage3_prefetch_bucket_size?: number;
      stage3_param_persistence_threshold?: number;
      stage3_max_live_parameters?: number;
      stage3_max_reuse_distance?: number;
      sub_group_size?: number;
      /** ZeRO++: ranks that share a second copy of the parameters. */
      zero_hpz_partition_size?: number;
    };
    /** What waits off the card. `optimizer`, with ZeRO: states, gradients and the update. `parameters`, with zero3
     *  beside the optimizer and with FSDP over several GPUs, which moves both: the shards too. `nvme`, with DeepSpeed's
     *  stage 3: on disk, by way of pinned buffers. */
    offload?: { optimizer?: "none" | "cpu" | "nvme"; parameters?: "none" | "cpu" | "nvme" };
  };
  /**
   * grpo and ppo: how completions come about. Both lengths together are `batch.sequence_length`: two of the three say
   * the third, and where less is said they are those of TRL's trainers.
   * `generations` is the size of a group. `engine`: `transformers` generates in the training process, `vllm` beside it,
   * on the same GPUs (`colocated`, where it takes `memory_share` of the card) or on others.
   */
  rollout?: {
    generations?: number;
    prompt_length?: number;
    completion_length?: number;
    engine?: "transformers" | "vllm";
    colocated?: boolean;
    memory_share?: number;
  };
  /** An evaluation between steps. `keeps_logits`: a metric reads the logits of `examples`, which stay on the card, or of
   *  `accumulation_steps` batches at a time. */
  evaluation?: {
    per_device?: number;
    keeps_logits?: boolean;
    examples?: number;
    accumulation_steps?: number;
  };
  include?: ("limits" | "timeline" | "ranks" | "advice" | "scaling")[];
  /** `summary` leaves out terms, sources and timeline. Default `full`. */
  detail?: "full" | "summary";
  /** `gpu` is a catalog id or alias in any case. `server` is a catalog id in any case, of the part that `init_market`
   *  reads: it must take the GPU, and `parallel.gpus_per_node` of them. What joins its GPUs and its ports
   *  to other machines decide the time of what travels; left out, the card's own link and the network that such machines
   *  usually come with. `interconnect`, a link of the catalog by id, stands before both: of GPUs (NVLink, PCIe, Infinity
   *  Fabric), or of machines, a port for each GPU of InfiniBand and one a machine of Ethernet. `pricing` below is checked
   *  and passed on where no hours are known; a note `not_modelled` says so. */
  hardware?: { gpu: string; server?: string; interconnect?: string };
  dataset?: { examples?: number; mean_tokens?: number; tokens?: number; epochs?: number };
  /** Own prices and wishes. Amounts are without VAT and in `currency`, which is the vendor's where it is left out; what is
   *  left out otherwise is taken from the catalog, or its line is left out of the report. A 0 that something would be
   *  divided by is refused. */
  pricing?: {
    currency?: "EUR" | "USD";
    /** The only provider asked for, in any case. */
    provider?: string;
    /** Text within the region of an offer, in any case. */
    region?: string;
    /** The only kind of renting asked for; left out, all are listed. */
    term?: RentalTerm;
    /** An hour of everything that the run rents, machines and GPUs together; stands before `gpu_per_hour`. */
    hourly_price?: number;
    /** An hour of one GPU, with its share of the machine. */
    gpu_per_hour?: number;
    /** Of everything that is bought for the run; stands before `server_price`. */
    purchase_price?: number;
    /** Of one machine with its GPUs. */
    server_price?: number;
    electricity_per_kwh?: number;
    /** Power of the building over that of its computers: 1 where its room is not charged for. */
    pue?: number;
    /** Years over which a purchase is written off. */
    lifetime_years?: number;
    /** Share of the price that a sale brings at the end; left out, nothing. */
    residual_share?: number;
    /** Share of all hours in which the machine works, over 0; left out, all of them. */
    utilisation?: number;
    /** Service contract: share of the price, a year. Left out, the catalog's for machines, and none for cards. */
    support_share?: number;
    /** Of everything that is bought. */
    rack_per_month?: number;
    /** Of the electricity. */
    grid_g_co2_per_kwh?: number;
    /** Whole runs before the one that counts. */
    trials?: number;
    /** Share of the run's compute that is lost to failures. */
    failed_share?: number;
    /** People's hours on the data. */
    data_work?: { hours: number; rate_per_hour: number };
  };
}

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
    verdict: "fits" | "tight" | "does_not_fit";
    /** usable minus device.expected; negative when it does not fit. */
    headroom_bytes: number;
    /** With `include: ["limits"]`: the largest values whose verdict is `fits`; 0 when none is. */
    largest_batch: number | null;
    longest_sequence_tokens: number | null;
  };
  /** Null without a GPU, and for runs whose time is not modelled yet (a note says so). */
  time: Time | null;
  cost: Cost | null;
  advice: never[];
  /** Every source named above. Left out in a summary. */
  sources?: Record<string, { title: string; locator: string; read: string; grade: string }>;
}

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
  /** The choices that the core models today, per field of the request. */
  choices: Record<string, string[]>;
  /** `{low, high}` of every numeric field of the request. */
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
  /** Description text. */
  describe(): string;
}

/** The npm entry's object: the same functions over parsed values. */
export interface Tunefit {
  estimate(request: Request | Record<string, unknown>): Report;
  describe(): Description;
}

export function createTunefit(): Promise<Tunefit>;
