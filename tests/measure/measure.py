#!/usr/bin/env python3
"""Measures real training runs on the GPU at hand, for requests of the calculator, as rows of the validation set.

  python3 measure.py REQUESTS.jsonl > rows.jsonl          one request, or {"id", "request"}, a line
  python3 measure.py --dry-run REQUESTS.jsonl             what would be run, without a GPU or PyTorch

For each request a process of its own trains a few steps on random tokens of the padded length with transformers' Trainer
and PEFT, and writes one row a statistic: between_steps (torch.cuda.memory_allocated after zero_grad), allocated and
reserved (torch's maxima), device (nvidia-smi's figure for the process), each with the seconds a step. A run that does not
fit becomes a row with `oom`. What the script cannot run as the request says, it refuses with a reason.

Needs torch with CUDA, transformers, peft and accelerate; bitsandbytes for quantized bases and 8-bit optimizers,
liger-kernel for fused_linear_ce, flash-attn for flash_attention_2. See README.md for how to send rows in.
"""
import argparse
import json
import os
import subprocess
import sys
import time

WARM_UP_STEPS = 2  # the first makes the optimizer's states; the second lands among them
MIB = 2**20
ATTENTION = {"flash_attention_2": "flash_attention_2", "flash_attention_3": "flash_attention_3", "sdpa": "sdpa",
             "eager": "eager", "flex": "flex_attention"}
DTYPE_NAMES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
STATISTICS = ("between_steps", "allocated", "reserved", "device")


class Refused(Exception):
    """The request asks for something that this script does not run."""


# --- from a request to arguments of the libraries (no library is needed for it) --------------------------------------


def only(request, field, known, default=None):
    """The request's value of a dotted field, which must be among the known ones."""
    value = request
    for part in field.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    value = default if value is None else value
    if value not in known:
        raise Refused(f"{field}: {value}")
    return value


def model_arguments(request):
    """Arguments of AutoModelForCausalLM.from_config or from_pretrained, dtypes and quantization by name."""
    precision = request.get("precision") or {}
    attention = only(request, "attention", ATTENTION, "sdpa")
    arguments = {"dtype": DTYPE_NAMES[only(precision, "weights", DTYPE_NAMES, "bf16")],
                 "attn_implementation": ATTENTION[attention]}
    quantization = request.get("quantization")
    if quantization:
        kind = only(request, "quantization.kind", ("nf4", "fp4", "int8"))
        compute = DTYPE_NAMES[only(precision, "compute", DTYPE_NAMES, "bf16")]
        arguments["quantization_config"] = {"load_in_8bit": True} if kind == "int8" else {
            "load_in_4bit": True, "bnb_4bit_quant_type": kind, "bnb_4bit_compute_dtype": compute,
            "bnb_4bit_use_double_quant": quantization.get("double_quant", False)}
    return arguments


def lora_arguments(request):
    """Arguments of peft.LoraConfig; None for full fine-tuning."""
    method = request.get("method") or {"kind": "full"}
    if only(request, "method.kind", ("full", "lora"), "full") == "full":
        if request.get("quantization"):
            raise Refused("full fine-tuning of a quantized base")
        return None
    rank = method.get("rank", 8)
    arguments = {"r": rank, "lora_alpha": 2 * rank, "lora_dropout": method.get("dropout", 0.0),
                 "use_dora": method.get("dora", False), "use_rslora": method.get("rslora", False),
                 "task_type": "CAUSAL_LM", "target_modules": method.get("target_modules", "all-linear")}
    if method.get("modules_to_save"):
        arguments["modules_to_save"] = method["modules_to_save"]
    return arguments


def training_arguments(request, steps):
    """Arguments of transformers.TrainingArguments."""
    only(request, "task", ("sft", "pretrain"), "sft")
    only(request, "stack", ("transformers",), "transformers")
    strategy = only(request, "parallel.strategy", ("none", "ddp"), "none")
    if strategy == "none" and (request.get("parallel") or {}).get("gpus", 1) != 1:
        raise Refused("several GPUs without a strategy")
    loss = only(request, "loss", ("standard", "fused_linear_ce"), "standard")
    checkpointing = only(request, "gradient_checkpointing", ("none", "full"), "none")
    precision, batch = request.get("precision") or {}, request.get("batch") or {}
    if batch.get("packing", "none") == "padding_free":
        raise Refused("batch.packing: padding_free")
    autocast = precision.get("autocast", True)
    compute = only(precision, "compute", DTYPE_NAMES, "bf16")
    return {"per_device_train_batch_size": batch.get("per_device", 1),
            "gradient_accumulation_steps": batch.get("gradient_accumulation", 1),
            "bf16": autocast and compute == "bf16", "fp16": autocast and compute == "fp16",
            "gradient_checkpointing": checkpointing == "full",
            "optim": request.get("optimizer", "adamw_torch"), "use_liger_kernel": loss == "fused_linear_ce",
            "torch_compile": request.get("compile", False), "max_steps": steps, "logging_strategy": "no",
            "save_strategy": "no", "report_to": "none", "remove_unused_columns": False}


def lengths_of(request, count):
    """Padded lengths of `count` sequences: all equal, or, where they vary, spread over the upper half to the maximum."""
    batch = request.get("batch") or {}
    longest = batch.get("sequence_length", 1024)
    if not batch.get("length_varies"):
        return [longest] * count
    return [max(1, longest * (8 + (5 * i) % 9) // 16) for i in range(count)]


def plan_of(request, steps):
    """All that is run for a request; raises Refused. `model` is a name of the hub, or a config's text."""
    model = request["model"]
    return {"model": model if isinstance(model, str) else model["config"], "arguments": model_arguments(request),
            "lora": lora_arguments(request), "training": training_arguments(request, steps),
            "prepare_kbit": only(request, "quantization.prepare_kbit", ("none", "peft"), "peft")
            if request.get("quantization") else "none"}


# --- from what was measured to rows -----------------------------------------------------------------------------------


def rows_of(name, request, measured, machine):
    """Rows of the validation set: one a statistic, or one with `oom`. `machine` says what it ran on."""
    common = {"quality": "A", "request": request,
              "source": {"title": "tests/measure/measure.py", "repo": None, "locator": machine["gpu"]},
              "published": machine["date"], "framework": machine["versions"], "inferred": [],
              "notes": f"driver {machine['driver']}"}
    if measured.get("oom"):
        return [{"id": f"{name}-oom", **common, "measured": {"oom": True}}]
    speed = {"sec_per_iter": round(measured["seconds_per_step"], 4)} if measured.get("seconds_per_step") else {}
    return [{"id": f"{name}-{statistic}", **common,
             "measured": {"statistic": statistic, "bytes": measured[statistic], "unit_certain": True, **speed}}
            for statistic in STATISTICS if measured.get(statistic) is not None]


def used_by_process(listing, pid):
    """Bytes of a process in `nvidia-smi --query-compute-apps=pid,used_memory --format=csv,noheader,nounits`, which
    prints MiB; None where it is not listed (containers hide it) or not shown."""
    for line in listing.splitlines():
        columns = [column.strip() for column in line.split(",")]
        if len(columns) == 2 and columns[0] == str(pid) and columns[1].isdigit():
            return int(columns[1]) * MIB
    return None


def machine_of(listing, versions, date):
    """What a run's rows say of the machine, from `nvidia-smi --query-gpu=name,driver_version --format=csv,noheader`."""
    gpu, _, driver = listing.splitlines()[0].partition(",") if listing.strip() else ("unknown", "", "unknown")
    return {"gpu": gpu.strip(), "driver": driver.strip(), "versions": versions, "date": date}


# --- a run (needs a GPU) ------------------------------------------------------------------------------------------------


def query(*arguments):
    try:
        return subprocess.run(["nvidia-smi", *arguments], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def build_model(plan):
    import torch
    import transformers
    arguments = dict(plan["arguments"])
    arguments["dtype"] = getattr(torch, arguments["dtype"])
    quantization = arguments.pop("quantization_config", None)
    if quantization:
        compute = quantization.get("bnb_4bit_compute_dtype")
        if compute:
            quantization = {**quantization, "bnb_4bit_compute_dtype": getattr(torch, compute)}
        arguments["quantization_config"] = transformers.BitsAndBytesConfig(**quantization)
        arguments["device_map"] = {"": int(os.environ.get("LOCAL_RANK", 0))}
    if isinstance(plan["model"], str):
        model = transformers.AutoModelForCausalLM.from_pretrained(plan["model"], **arguments)
    elif quantization:
        raise Refused("a quantized base needs a checkpoint, not a config")
    else:
        config = dict(plan["model"])
        config = transformers.AutoConfig.for_model(config.pop("model_type"), **config)
        model = transformers.AutoModelForCausalLM.from_config(config, **arguments)
    model.config.use_cache = False
    if plan["lora"]:
        import peft
        if plan["prepare_kbit"] == "peft":
            model = peft.prepare_model_for_kbit_training(
                model, use_gradient_checkpointing=plan["training"]["gradient_checkpointing"])
        elif plan["training"]["gradient_checkpointing"]:
            model.enable_input_require_grads()
        model = peft.get_peft_model(model, peft.LoraConfig(**plan["lora"]))
    return model


def sequences(request, plan, vocabulary, steps):
    import torch
    batch = plan["training"]["per_device_train_batch_size"] * plan["training"]["gradient_accumulation_steps"]
    lengths = lengths_of(request, steps * plan["training"]["gradient_accumulation_steps"])
    per_micro_batch = plan["training"]["per_device_train_batch_size"]
    torch.manual_seed(1)
    rows = []
    for i in range(steps * batch):
        ids = torch.randint(0, vocabulary, (lengths[i // per_micro_batch],))
        rows.append({"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)})
    return rows


def run(request, steps):
    """Trains and returns what was measured, in bytes and seconds."""
    plan = plan_of(request, steps)
    import torch
    import transformers
    model = build_model(plan)
    measured, times = {}, []

    class Watch(transformers.TrainerCallback):
        def on_step_begin(self, *_, **__):
            torch.cuda.synchronize()
            times.append(time.perf_counter())

        def on_step_end(self, *_, **__):  # gradients are gone
            torch.cuda.synchronize()
            times[-1] = time.perf_counter() - times[-1]
            measured["between_steps"] = torch.cuda.memory_allocated()
            measured["device"] = used_by_process(
                query("--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"), os.getpid())

    class InOrder(transformers.Trainer):
        def _get_train_sampler(self, *_, **__):  # micro-batches of one length each
            return torch.utils.data.SequentialSampler(self.train_dataset)

    arguments = transformers.TrainingArguments(output_dir="/tmp/measure", **plan["training"])
    trainer = InOrder(model=model, args=arguments, callbacks=[Watch()],
                      train_dataset=sequences(request, plan, model.config.vocab_size, steps),
                      data_collator=lambda rows: {key: torch.stack([row[key] for row in rows]) for key in rows[0]})
    try:
        trainer.train()
    except torch.cuda.OutOfMemoryError:
        return {"oom": True}
    measured["allocated"] = torch.cuda.max_memory_allocated()
    measured["reserved"] = torch.cuda.max_memory_reserved()
    counted = sorted(times[WARM_UP_STEPS:])
    measured["seconds_per_step"] = counted[len(counted) // 2] if counted else None
    return measured


def versions():
    from importlib.metadata import PackageNotFoundError, version
    found = []
    for package in ("torch", "transformers", "peft", "accelerate", "bitsandbytes"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


# --- command line -------------------------------------------------------------------------------------------------------


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("requests", help="a file of requests, one a line")
    parser.add_argument("--steps", type=int, default=8, help="optimizer steps to train (at least 3)")
    parser.add_argument("--only", default="", help="substring of the ids to run")
    parser.add_argument("--dry-run", action="store_true", help="print what would be run")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.steps < WARM_UP_STEPS + 1:
        parser.error(f"--steps must be at least {WARM_UP_STEPS + 1}")
    return options


def read_requests(lines):
    """(id, request) of each line that holds something."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        row = json.loads(line)
        yield (row.get("id", f"request-{number}"), row["request"]) if "request" in row else (f"request-{number}", row)


def main(arguments):
    options = parse_arguments(arguments)
    if options.one:  # a process of its own: one request on standard input, what was measured on standard output
        print("\n" + json.dumps(run(json.loads(sys.stdin.read()), options.steps)))
        return 0
    with open(options.requests) as file:
        requests = [(name, request) for name, request in read_requests(file) if options.only in name]
    machine = machine_of(query("--query-gpu=name,driver_version", "--format=csv,noheader"), versions(),
                         time.strftime("%Y-%m"))
    for name, request in requests:
        try:
            plan = plan_of(request, options.steps)
        except Refused as refusal:
            print(f"{name}: not run, {refusal}", file=sys.stderr)
            continue
        if options.dry_run:
            print(json.dumps({"id": name, **plan}))
            continue
        child = subprocess.run([sys.executable, __file__, "--one", "--steps", str(options.steps), "-"],
                               input=json.dumps(request), text=True, stdout=subprocess.PIPE)
        if child.returncode != 0:
            print(f"{name}: failed, see above", file=sys.stderr)
            continue
        if os.environ.get("RANK", "0") != "0":  # under torchrun one process speaks for all
            continue
        for row in rows_of(name, request, json.loads(child.stdout.splitlines()[-1]), machine):
            print(json.dumps(row, separators=(",", ":")), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
