/** What is asked: one run, and what is wished of it. Unknown keys are errors. */

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
   * on the same GPUs (`colocated`, where it takes `memory_share` of the card) or on others
   * like them (`engine_gpus`, 1 unless said), which are not among `parallel.gpus` nor in the cost. So many optimizer steps
   * train on the same completions: `iterations`, 1 in grpo (num_iterations) and 4 in ppo (num_ppo_epochs) unless said.
   */
  rollout?: {
    generations?: number;
    prompt_length?: number;
    completion_length?: number;
    engine?: "transformers" | "vllm";
    colocated?: boolean;
    memory_share?: number;
    engine_gpus?: number;
    iterations?: number;
  };
  /** An evaluation between steps, in the hours one at the end of every epoch where its `examples` are said.
   *  `keeps_logits`: a metric reads their logits, which stay on the card, or those of `accumulation_steps` batches at a
   *  time. */
  evaluation?: {
    per_device?: number;
    keeps_logits?: boolean;
    examples?: number;
    accumulation_steps?: number;
  };
  /** Parts that cost more to answer. `advice` estimates some forty changed requests. */
  include?: ("limits" | "timeline" | "ranks" | "advice" | "scaling")[];
  /** `summary` leaves out terms, sources and timeline. Default `full`. */
  detail?: "full" | "summary";
  /** `gpu` is a catalog id or alias in any case. `server` is a catalog id in any case, of the part that `init_market`
   *  reads: it must take the GPU, and `parallel.gpus_per_node` of them. What joins its GPUs and its ports
   *  to other machines decide the time of what travels; left out, the card's own link and the network that such machines
   *  usually come with. `interconnect`, a link of the catalog by id, stands before both: of GPUs (NVLink, PCIe, Infinity
   *  Fabric), or of machines, a port for each GPU of InfiniBand and one a machine of Ethernet; an issue about an unknown
   *  one names a near one. */
  hardware?: { gpu: string; server?: string; interconnect?: string };
  /**
   * What is trained on; hours and cost need it. `examples` or `tokens`, which are those of one epoch: with both, `tokens`
   * are what is trained on and, where examples share rows, what fills the steps; else steps follow `examples`. A warning
   * `tokens_differ` says where they are more than 1 % off `examples` times `mean_tokens`. Examples are `mean_tokens` long,
   * or as long as a sequence, and longer ones are cut. In grpo and ppo examples are prompts, or
   * `tokens` are so many of `mean_tokens`. `epochs` is 1 unless said and may be a fraction.
   */
  dataset?: { examples?: number; mean_tokens?: number; tokens?: number; epochs?: number };
  /**
   * Of a plan, which chooses what the request leaves open: method and quantization, stack, GPUs and machines, strategy,
   * ranks, offload, checkpointing and micro-batch; what the request says stays. An estimate passes it on.
   */
  plan?: {
    /** Left out, all three. */
    methods?: ("full" | "lora" | "qlora")[];
    /** Left out, both. */
    acquire?: ("rent" | "buy")[];
    /** Ids or aliases of those that may be taken; left out, all of the catalog whose rates are known. */
    gpus?: string[];
    /** Names of up to eight models: what the same hardware carries of them is planned, too. Say `hardware` with it. */
    growth?: string[];
    deadline_hours?: number;
    /** To rent, of the run; to buy, of what is bought. In the currency of `pricing`. */
    budget?: number;
    /** At most 1,024, which it is where it is left out. */
    max_gpus?: number;
    /** Sequences of an update; left out, what `batch` comes to, else 64. */
    global_batch?: number;
    ecc_required?: boolean;
    /** Nothing is rented. */
    data_in_house?: boolean;
    /** Only machines of the catalog that have a maker; nothing is rented. */
    vendor_only?: boolean;
  };
  /** Own prices and wishes. Amounts are without VAT and in `currency`, which is the vendor's where it is left out; what is
   *  left out otherwise is taken from the catalog, or its line is left out of the report. No price that is paid for
   *  machines may be 0, nor what something is divided by. Where no card or no data is named they are only checked: a
   *  note `not_modelled` says which of the two is not there. Wishes that nobody meets are a warning, and leave `rented` empty. */
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
    /** Whole runs before the one that counts, a whole number. */
    trials?: number;
    /** Share of the run's compute that is lost to failures. */
    failed_share?: number;
    /** People's hours on the data. */
    data_work?: { hours: number; rate_per_hour: number };
  };
}
