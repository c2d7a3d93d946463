#!/usr/bin/env python3
"""What PyTorch keeps alive in one step of a task with several forward passes: rewards, preferences, generated answers.

  python3 oracle_tasks.py ROWS.jsonl                each row again, with measured.phases from this run
  python3 oracle_tasks.py --log ROW_ID ROWS.jsonl   every allocation and release of the second step, in order

Models, adapters, counting and the second step are those of oracle.py beside it. The order of forward passes and what a
step holds follow TRL's trainers (huggingface/trl at 1.10.0.dev0, 2026-07: dpo_trainer.py, kto_trainer.py,
grpo_trainer.py, reward_trainer.py, experimental/orpo), written anew here from what they do; TRL itself is not needed.
`per_device` counts pairs for reward, dpo and orpo, single sequences otherwise. What the step would log is computed too,
where it needs memory.
"""
import argparse
import contextlib
import copy
import gc
import json
import sys

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
import transformers
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

import oracle
from oracle import LiveBytes, Lora, Refused, cuda_autocast_lists, cuda_dropout, step

ENTROPY_ROWS = 128  # of trl's entropy_from_logits


# --- models -------------------------------------------------------------------------------------------------------


def build(request, classes=None, frozen=False):
    """A model of the request. `frozen`: without adapters, as a reference is; it still requires gradients, as loaded."""
    request = copy.deepcopy(request)
    request["task"] = "sft"
    if frozen:
        request["method"] = {"kind": "full"}
        request["quantization"] = request.get("quantization")
    if classes is None:
        return oracle.build(request)
    saved = AutoModelForCausalLM.from_config
    try:
        oracle.AutoModelForCausalLM = _Classifier(classes)
        return oracle.build(request)
    finally:
        oracle.AutoModelForCausalLM = AutoModelForCausalLM


class _Classifier:
    """Builds a sequence classifier where oracle.py builds a language model."""

    def __init__(self, labels):
        self.labels = labels

    def from_config(self, config, dtype):
        config.num_labels = self.labels
        config.pad_token_id = 0
        return AutoModelForSequenceClassification.from_config(config, dtype=dtype)


@contextlib.contextmanager
def adapters_off(model):
    """PEFT's disable_adapter."""
    adapted = [m for m in model.modules() if isinstance(m, Lora)]
    saved = [m.forward for m in adapted]
    for module in adapted:
        module.forward = module.base_layer.forward
    try:
        yield
    finally:
        for module, forward in zip(adapted, saved):
            module.forward = forward


@contextlib.contextmanager
def checkpointing_off(model):
    on = getattr(model, "is_gradient_checkpointing", False)
    if on:
        model.gradient_checkpointing_disable()
    try:
        yield
    finally:
        if on:
            model.gradient_checkpointing_enable({"use_reentrant": False})


# --- log-probabilities ----------------------------------------------------------------------------------------------


def logits_of(model, request, **inputs):
    """The model's logits as accelerate returns them: fp32 where the forward pass ran under autocast."""
    with oracle.autocast(request):
        logits = model(**inputs, use_cache=False).logits
    return logits.float() if request["precision"].get("autocast") else logits


class LogSumExp(torch.autograd.Function):
    """One row's logsumexp with the temporaries that ATen makes: (x - max).exp_() forward, exp(x - result) backward."""

    @staticmethod
    def forward(ctx, x):
        shifted = x - x.amax(-1, keepdim=True)
        result = shifted.exp_().sum(-1)
        ctx.save_for_backward(x, result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        x, result = ctx.saved_tensors
        shifted = x - result.unsqueeze(-1)
        probability = shifted.exp()
        return gradient.unsqueeze(-1) * probability


class Gather(torch.autograd.Function):
    """torch.gather whose gradient is scattered in place, as ATen does it for anything but fake tensors."""

    @staticmethod
    def forward(ctx, x, index):
        ctx.save_for_backward(x, index)
        return torch.gather(x, -1, index)

    @staticmethod
    def backward(ctx, gradient):
        x, index = ctx.saved_tensors
        return torch.zeros_like(x).scatter_add_(-1, index, gradient), None


def token_log_probabilities(logits, labels):
    """log p of each label; fp32 logits by logsumexp row by row, others by a log-softmax row by row."""
    index = labels.unsqueeze(-1)
    if logits.dtype == torch.float32:
        picked = Gather.apply(logits, index)
        normalizers = torch.stack([LogSumExp.apply(row) for row in logits])
        return (picked - normalizers.unsqueeze(-1)).squeeze(-1)
    rows = []
    for row, row_index in zip(logits, index):
        rows.append(Gather.apply(F.log_softmax(row, -1), row_index))
    return torch.stack(rows).squeeze(-1)


@torch.no_grad()
def log_entropy(logits):
    flat = logits.reshape(-1, logits.shape[-1])
    parts = []
    for rows in flat.split(ENTROPY_ROWS):
        log_p = F.log_softmax(rows, -1)
        parts.append(-(torch.exp(log_p) * log_p).sum(-1))
    return torch.cat(parts)


# --- the tasks' losses ------------------------------------------------------------------------------------------------


def reference_logits(models, request, inputs):
    model = models["policy"]
    with torch.no_grad(), checkpointing_off(model):
        if request["reference"] == "adapter":
            with adapters_off(model):
                return logits_of(model, request, **inputs)
        return logits_of(models["reference"], request, **inputs)


def dpo(models, request, inputs):
    logits = logits_of(models["policy"], request, **inputs)
    labels = inputs["input_ids"][:, 1:]
    shifted = logits[:, :-1]
    chosen, rejected = token_log_probabilities(shifted, labels).sum(1).chunk(2)
    margin = chosen - rejected
    if request["reference"] in ("copy", "adapter"):
        ref_logits = reference_logits(models, request, inputs)
        ref_shifted = ref_logits[:, :-1]
        ref_chosen, ref_rejected = token_log_probabilities(ref_shifted, labels).sum(1).chunk(2)
        margin = margin - (ref_chosen - ref_rejected)
    loss = -F.logsigmoid(0.1 * margin).mean()
    log_entropy(shifted.detach())
    return loss


def orpo(models, request, inputs):
    logits = logits_of(models["policy"], request, **inputs)
    pairs = logits.shape[0] // 2
    chosen_logits = logits[:pairs][:, :-1].contiguous()
    chosen_labels = inputs["input_ids"][:pairs, 1:].contiguous()
    likelihood = F.cross_entropy(chosen_logits.view(-1, logits.shape[-1]), chosen_labels.view(-1))
    del chosen_logits
    chosen, rejected = token_log_probabilities(logits[:, :-1], inputs["input_ids"][:, 1:]).mean(1).chunk(2)
    odds = (chosen - rejected) - (torch.log1p(-torch.exp(chosen)) - torch.log1p(-torch.exp(rejected)))
    return likelihood - F.logsigmoid(odds).mean()


def kto(models, request, inputs):
    labels = inputs["input_ids"][:, 1:]

    def kl_pass(run):
        logits = run()
        return token_log_probabilities(logits[:, :-1], labels).sum(1)

    with torch.no_grad():
        kl = kl_pass(lambda: logits_of(models["policy"], request, **inputs))
    logits = logits_of(models["policy"], request, **inputs)
    shifted = logits[:, :-1]
    log_p = token_log_probabilities(shifted, labels).sum(1)
    ratio = log_p
    if request["reference"] in ("copy", "adapter"):
        with torch.no_grad():
            ref_kl = kl_pass(lambda: reference_logits(models, request, inputs))
        ref_logits = reference_logits(models, request, inputs)
        ref_shifted = ref_logits[:, :-1]
        ratio = log_p - token_log_probabilities(ref_shifted, labels).sum(1)
        kl = kl - ref_kl
    loss = (1 - torch.sigmoid(0.1 * (ratio - kl.mean()))).mean()
    log_entropy(shifted.detach())
    with torch.no_grad():
        half = torch.arange(0, (logits.shape[0] + 1) // 2)
        rest = torch.arange(half.shape[0], logits.shape[0])
        chosen, rejected = shifted.detach().index_select(0, half), shifted.detach().index_select(0, rest)
        chosen.mean(-1).sum(), rejected.mean(-1).sum()
    return loss


def grpo(models, request, inputs):
    completion = request["rollout"]["completion_length"]
    labels = inputs["input_ids"][:, -completion:]

    def log_probabilities(run, entropy=False):
        logits = run()[:, :-1][:, -completion:]
        logits.div_(1.0)
        log_p = token_log_probabilities(logits, labels)
        if entropy:
            log_entropy(logits.detach())
        return log_p

    keep = {**inputs, "logits_to_keep": completion + 1}
    ref = None
    if request["reference"] in ("copy", "adapter"):
        with torch.no_grad():
            ref = log_probabilities(lambda: reference_logits(models, request, keep))
    log_p = log_probabilities(lambda: logits_of(models["policy"], request, **keep), entropy=True)
    ratio = torch.exp(log_p - log_p.detach())
    token_loss = -torch.min(ratio, torch.clamp(ratio, 0.8, 1.2))
    if ref is not None:
        token_loss = token_loss + 0.04 * (torch.exp(ref - log_p) - (ref - log_p) - 1)
    return token_loss.sum() / token_loss.numel()


def reward(models, request, inputs):
    chosen, rejected = logits_of(models["policy"], request, **inputs).squeeze(-1).chunk(2)
    return -F.logsigmoid(chosen - rejected).mean()


def seqcls(models, request, inputs):
    labels = torch.zeros(inputs["input_ids"].shape[0], dtype=torch.int64)
    with oracle.autocast(request):
        out = models["policy"](**inputs, labels=labels, use_cache=False)
    return out.loss.float()


TASKS = {"dpo": dpo, "orpo": orpo, "kto": kto, "grpo": grpo, "reward": reward, "seqcls": seqcls}
PAIRED = ("dpo", "orpo", "reward")
LABELS = {"reward": 1, "seqcls": 2}


# --- a step -----------------------------------------------------------------------------------------------------------


def inputs_of(request):
    doubled = copy.deepcopy(request)
    doubled["batch"]["per_device"] *= 2 if request["task"] in PAIRED else 1
    inputs = oracle.batch_of(doubled)
    del inputs["labels"]
    if "attention_mask" not in inputs:
        inputs["attention_mask"] = None
    return inputs


def run(request, live, log=False):
    task = request["task"]
    if task not in TASKS or request["loss"] != "standard":
        raise Refused(task)
    models = {"policy": build(request, LABELS.get(task))}
    if request.get("reference") == "copy":
        models["reference"] = build(request, frozen=True).eval()
    for model in models.values():
        for tensor in list(model.parameters()) + list(model.buffers()):
            live.add(tensor, "model")
    gc.collect()
    phases = {"static": live.live}
    trainable = [p for p in models["policy"].parameters() if p.requires_grad]
    if LABELS.get(task) and request["method"]["kind"] == "lora":
        raise Refused("a classification head beside an adapter")
    kind = request["optimizer"]
    optimizer = torch.optim.AdamW(trainable, lr=1e-4, fused=False, foreach=(kind == "adamw_torch"))
    for number in range(2):
        live.reset_peak()
        if log and number == 1:
            live.log = []
        inputs = inputs_of(request)
        loss = TASKS[task](models, request, inputs)
        phases.update(peak_forward=live.peak, after_forward=live.live)
        if live.log is not None:
            live.log.append(("#", 0, "backward", (), "", live.live, ""))
        live.reset_peak()
        loss.backward()
        phases.update(peak_backward=live.peak, after_backward=live.live)
        live.reset_peak()
        step(optimizer, trainable, kind)
        phases["peak_optimizer"] = live.peak
        optimizer.zero_grad(set_to_none=True)
        del loss, inputs
        gc.collect()
        phases["between_steps"] = live.live
    phases["peak_step"] = max(v for k, v in phases.items() if k.startswith("peak"))
    policy = models["policy"]
    parameters = sum(p.numel() for n, p in policy.named_parameters() if ".A." not in n and ".B." not in n)
    parameters += sum(m.shape[0] * m.shape[1] for m in policy.modules() if isinstance(m, oracle.Linear4bit))
    return {"phases": phases, "parameters": parameters, "trainable_parameters": sum(p.numel() for p in trainable)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--log", help="print every allocation of this row's second step")
    parser.add_argument("--only", help="substring of the ids to run")
    parser.add_argument("requests")
    options = parser.parse_args()
    for line in open(options.requests):
        row = json.loads(line)
        if options.log and row["id"] != options.log or options.only and options.only not in row["id"]:
            continue
        gc.collect()
        live = LiveBytes()
        try:
            with FakeTensorMode(), cuda_autocast_lists(), cuda_dropout(), live:
                result = run(row["request"], live, bool(options.log))
        except Refused as refusal:
            print(f"{row['id']}: not run, {refusal}", file=sys.stderr)
            continue
        if options.log:
            for sign, size, why, shape, dtype, total, module in live.log:
                print(f"{sign} {size:>14,} {total:>15,} {dtype:9} {str(shape):30} {why:45} {module}")
        row["measured"] = {**row.get("measured", {}), "statistic": "live", **result}
        row["source"] = {"title": f"tests/oracle/oracle_tasks.py, torch {torch.__version__}, "
                                  f"transformers {transformers.__version__}"}
        print(json.dumps(row, separators=(",", ":")))


if __name__ == "__main__":
    main()
