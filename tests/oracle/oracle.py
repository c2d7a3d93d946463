#!/usr/bin/env python3
"""What PyTorch itself keeps alive during a training step, without a GPU.

Runs whole training steps of the real `transformers` model classes on fake tensors (shapes without data) and
counts the bytes of live storages, rounded up to 512 as CUDA's caching allocator does.

  python3 oracle.py ROWS.jsonl                each row again, with measured.phases from this run
  python3 oracle.py --log ROW_ID ROWS.jsonl   every allocation and release of the second step, in order

Needs torch 2.x and transformers 5.x (Debian: python3-torch, python3-transformers). Rows are those of
tests/validation/rows/oracle.jsonl: {"id", "request": {...}}. One GPU, full fine-tuning, LoRA and 4-bit QLoRA, AdamW; what
the script does not know it refuses aloud. Where a CPU keeps other tensors than CUDA (dropout masks, dropout inside
scaled_dot_product_attention, autocast's lists) the run does as CUDA does.
"""
import argparse
import contextlib
import copy
import gc
import json
import os
import sys
import weakref

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
import transformers
from transformers import (AutoConfig, AutoModelForCausalLM, AutoModelForMaskedLM, AutoModelForSeq2SeqLM,
                          AutoModelForSequenceClassification, AutoModelForSpeechSeq2Seq)
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, PreTrainedModel

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
GRANULE_BYTES = 512
# Linear modules that PEFT's "all-linear" leaves alone: the output head.
HEADS = ("lm_head", "embed_out", "score", "classifier", "decoder")
# Linear modules whose class computes with the weight itself, which nobody can pack: Gemma 3n clamps them.
READ_AS_WEIGHTS = ("prediction_coefs", "correction_coefs")
ENCODERS = ("bert", "roberta", "xlm-roberta", "distilbert", "modernbert")


class Refused(Exception):
    """The request asks for something this script does not run."""


# --- live bytes -------------------------------------------------------------------------------------------------


class LiveBytes(TorchDispatchMode):
    """Counts live storages; every operation's new storages are added, and removed when their last reader drops."""

    def __init__(self):
        super().__init__()
        self.live, self.peak = 0, 0
        self.known = {}
        self.log = None

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: self.add(t, str(function)), result)
        return result

    def add(self, tensor, why):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.known:
            return
        size = -(-storage.nbytes() // GRANULE_BYTES) * GRANULE_BYTES
        self.known[key] = weakref.finalize(storage, self.drop, key, size, why, tuple(tensor.shape), tensor.dtype)
        self.live += size
        self.peak = max(self.peak, self.live)
        self.note("+", size, why, tuple(tensor.shape), tensor.dtype)

    def drop(self, key, size, why, shape, dtype):
        if self.known.pop(key, None) is not None:
            self.live -= size
            self.note("-", size, why, shape, dtype)

    def note(self, sign, size, why, shape, dtype):
        if self.log is not None:
            self.log.append((sign, size, why, shape, str(dtype).replace("torch.", ""), self.live, dict(MODULE).get("name", "")))

    def reset_peak(self):
        self.peak = self.live


MODULE = {}


# --- modules as PEFT and bitsandbytes substitute them --------------------------------------------------------------


class Lora(nn.Module):
    """PEFT's lora.Linear forward: input cast to the adapter's dtype, result cast back."""

    def __init__(self, base, fan_in, fan_out, rank, dropout, dtype):
        super().__init__()
        self.base_layer = base
        self.A = nn.Linear(fan_in, rank, bias=False, dtype=dtype)
        self.B = nn.Linear(rank, fan_out, bias=False, dtype=dtype)
        self.dropout = nn.Dropout(dropout) if dropout else nn.Identity()
        self.scaling = 2.0

    @property
    def weight(self):
        return self.base_layer.weight

    def forward(self, x):
        result = self.base_layer(x)
        dtype = result.dtype
        x = x.to(self.A.weight.dtype)
        result = result + self.B(self.A(self.dropout(x))) * self.scaling
        return result.to(dtype)


class Dequantized(torch.autograd.Function):
    """bitsandbytes' MatMul4Bit: dequantizes for each use, keeps no input for a frozen matrix."""

    @staticmethod
    def forward(ctx, x, packed, shape):
        ctx.save_for_backward(packed)
        ctx.shape = shape
        weight = torch.empty(shape, dtype=x.dtype)
        return F.linear(x, weight)

    @staticmethod
    def backward(ctx, grad):
        (packed,) = ctx.saved_tensors
        weight = torch.empty(ctx.shape, dtype=grad.dtype)
        return grad @ weight, None, None


class Linear4bit(nn.Module):
    def __init__(self, linear, compute, double_quant):
        super().__init__()
        self.shape, self.compute = tuple(linear.weight.shape), compute
        count = linear.weight.numel()
        blocks = -(-count // 64)
        self.register_buffer("packed", torch.empty(((count + 1) // 2, 1), dtype=torch.uint8))
        if double_quant:
            self.register_buffer("absmax", torch.empty(blocks, dtype=torch.uint8))
            self.register_buffer("absmax2", torch.empty(-(-blocks // 256), dtype=torch.float32))
            self.register_buffer("code2", torch.empty(256, dtype=torch.float32))
            self.register_buffer("offset", torch.empty((), dtype=torch.float32))
        else:
            self.register_buffer("absmax", torch.empty(blocks, dtype=torch.float32))
        self.register_buffer("code", torch.empty(16, dtype=torch.float32))
        self.bias = linear.bias

    def forward(self, x):
        kept = x.dtype
        x = x.to(self.compute)
        y = Dequantized.apply(x, self.packed, self.shape)
        if self.bias is not None:
            y = y + self.bias.to(self.compute)
        return y.to(kept)


class FlashAttention(torch.autograd.Function):
    """What flash attention keeps: q, k, v as given, the output and the log-sum-exp of each row."""

    @staticmethod
    def forward(ctx, q, k, v):
        out = torch.empty_like(q)
        lse = torch.empty(q.shape[0], q.shape[2], q.shape[1], dtype=torch.float32)
        ctx.save_for_backward(q, k, v, out, lse)
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, _, _ = ctx.saved_tensors
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


def flash_attention(module, query, key, value, attention_mask, **_):
    query, key, value = query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2)
    if query.dtype == torch.float32 and torch.is_autocast_enabled("cpu"):
        target = torch.get_autocast_dtype("cpu")
        query, key, value = query.to(target), key.to(target), value.to(target)
    with torch.autocast("cpu", enabled=False):
        return FlashAttention.apply(query, key, value), None


# --- CUDA where CPU differs ---------------------------------------------------------------------------------------


class FusedDropoutAttention(torch.autograd.Function):
    """CUDA's memory-efficient attention, which also drops probabilities and takes values of another width than the
    keys (latent attention); CPU's fused kernel refuses to."""

    @staticmethod
    def forward(ctx, q, k, v, mask):
        out = torch.empty((*q.shape[:-1], v.shape[-1]), dtype=q.dtype)
        lse = torch.empty(q.shape[:3], dtype=torch.float32)
        ctx.save_for_backward(q, k, v, out, lse, *([mask] if mask is not None else []))
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v = ctx.saved_tensors[:3]
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), None


@contextlib.contextmanager
def cuda_dropout():
    """On CUDA dropout is one kernel that keeps a mask of one byte an element."""
    def dropout(x, p=0.5, training=True, inplace=False):
        return torch.native_dropout(x, p, True)[0] if training and p > 0 else x

    def attention(q, k, v, attn_mask=None, dropout_p=0.0, **kwargs):
        if dropout_p == 0 and q.shape[-1] == v.shape[-1]:
            return saved_attention(q, k, v, attn_mask=attn_mask, **kwargs)
        if attn_mask is not None and attn_mask.dtype == torch.bool:
            attn_mask = torch.empty(attn_mask.shape, dtype=q.dtype)
        if torch.is_autocast_enabled("cpu"):
            q, k, v = (x.to(torch.get_autocast_dtype("cpu")) for x in (q, k, v))
        return FusedDropoutAttention.apply(q, k, v, attn_mask)

    def rand(*size, **kwargs):
        return 1.0 if size == ([],) else saved_rand(*size, **kwargs)  # LayerDrop's draw decides without data

    saved_dropout, saved_attention, saved_rand = F.dropout, F.scaled_dot_product_attention, torch.rand
    F.dropout, F.scaled_dot_product_attention, torch.rand = dropout, attention, rand
    try:
        yield
    finally:
        F.dropout, F.scaled_dot_product_attention, torch.rand = saved_dropout, saved_attention, saved_rand


@contextlib.contextmanager
def cuda_autocast_lists():
    """pow, layer_norm, softmax and friends run in fp32 under CUDA's autocast; CPU's lists leave them out."""
    def in_fp32(function):
        def wrapped(x, *args, **kwargs):
            if torch.is_autocast_enabled("cpu") and x.is_floating_point() and kwargs.get("dtype") is None:
                x = x.float()
                args = tuple(a.float() if isinstance(a, torch.Tensor) and a.is_floating_point() else a for a in args)
            return function(x, *args, **kwargs)
        return wrapped

    def layer_norm(x, shape, weight=None, bias=None, eps=1e-5):
        if torch.is_autocast_enabled("cpu"):
            x, weight, bias = x.float(), weight.float(), bias.float() if bias is not None else None
            with torch.autocast("cpu", enabled=False):
                return saved["layer_norm"](x, shape, weight, bias, eps)
        return saved["layer_norm"](x, shape, weight, bias, eps)

    saved = {"layer_norm": F.layer_norm, "softmax": F.softmax, "pow": torch.Tensor.pow, "tpow": torch.pow,
             "operator": torch.Tensor.__pow__}
    F.layer_norm = layer_norm
    F.softmax = in_fp32(saved["softmax"])
    torch.Tensor.pow = in_fp32(saved["pow"])
    torch.pow = in_fp32(saved["tpow"])
    torch.Tensor.__pow__ = in_fp32(saved["operator"])
    try:
        yield
    finally:
        F.layer_norm, F.softmax, torch.Tensor.pow, torch.pow, torch.Tensor.__pow__ = (
            saved["layer_norm"], saved["softmax"], saved["pow"], saved["tpow"], saved["operator"])


# --- building the model -----------------------------------------------------------------------------------------------


def replace_modules(model, rule):
    for name, module in list(model.named_modules()):
        for child_name, child in list(module.named_children()):
            new = rule(f"{name}.{child_name}" if name else child_name, child)
            if new is not None:
                setattr(module, child_name, new)


def is_linear(module):
    return isinstance(module, (nn.Linear, transformers.pytorch_utils.Conv1D))


def fans(module):
    if isinstance(module, nn.Linear):
        return module.in_features, module.out_features
    if isinstance(module, Linear4bit):
        return module.shape[1], module.shape[0]
    return module.weight.shape[0], module.weight.shape[1]


def refuse_unknown(request):
    known = {"loss": ("standard",), "gradient_checkpointing": ("none", "full"),
             "optimizer": ("adamw_torch", "adamw_torch_fused"), "task": ("sft", "seqcls")}
    for field, values in known.items():
        if request[field] not in values:
            raise Refused(f"{field}: {request[field]}")
    if request["parallel"]["gpus"] != 1:
        raise Refused("more than one GPU")


def class_of(request, config):
    if request["task"] == "seqcls":
        return AutoModelForSequenceClassification
    if config.model_type == "whisper":
        return AutoModelForSpeechSeq2Seq
    if config.is_encoder_decoder:
        return AutoModelForSeq2SeqLM
    return AutoModelForMaskedLM if config.model_type in ENCODERS else AutoModelForCausalLM


def build(request):
    refuse_unknown(request)
    precision, method, quantization = request["precision"], request["method"], request.get("quantization")
    attention = request["attention"]
    ALL_ATTENTION_FUNCTIONS.register("oracle_flash", flash_attention)
    config = dict(request["model"]["config"])
    config = AutoConfig.for_model(config.pop("model_type"), **config)
    config.use_cache = False
    config._attn_implementation = {"flash_attention_2": "eager"}.get(attention, attention)
    dtype = DTYPES[precision["weights"]]
    model = class_of(request, config).from_config(config, dtype=dtype)
    if config.is_encoder_decoder and request["model"]["config"].get("tie_word_embeddings") is False:
        # Configs of T5's family always tie; from_pretrained leaves a head alone that the checkpoint has apart.
        model.lm_head.weight = nn.Parameter(torch.empty_like(model.lm_head.weight))
    if attention == "flash_attention_2":
        model.config._attn_implementation_internal = "oracle_flash"
        model.config._attn_implementation = "oracle_flash"
        for module in model.modules():
            if hasattr(module, "config") and hasattr(module.config, "_attn_implementation_internal"):
                module.config._attn_implementation_internal = "oracle_flash"
    model.train()
    if method["kind"] == "lora" or quantization:
        for parameter in model.parameters():
            parameter.requires_grad_(False)
    if quantization:
        if quantization["kind"] not in ("nf4", "fp4"):
            raise Refused(quantization["kind"])
        compute = DTYPES[precision["compute"]]
        replace_modules(model, lambda name, m: Linear4bit(m, compute, quantization.get("double_quant", True))
                        if isinstance(m, nn.Linear) and name.split(".")[-1] not in HEADS + READ_AS_WEIGHTS else None)
        prepare = quantization.get("prepare_kbit", "none")
        if prepare in ("peft", "trl"):
            for name, parameter in model.named_parameters():
                if parameter.is_floating_point() and (prepare == "peft" or "norm" in name):
                    parameter.data = parameter.data.float()
    if method["kind"] == "lora":
        targets = method["target_modules"]
        adapter = DTYPES[method.get("adapter_dtype", "fp32")]

        def lora(name, module):
            leaf = name.split(".")[-1]
            wanted = leaf not in HEADS if targets == "all-linear" else leaf in targets
            if wanted and (is_linear(module) or isinstance(module, Linear4bit)):
                return Lora(module, *fans(module), method["rank"], method.get("dropout", 0.0), adapter)
            return None

        replace_modules(model, lora)
        for leaf in method.get("modules_to_save", []):
            def save(name, module, leaf=leaf):
                if name.split(".")[-1] != leaf:
                    return None
                trained = copy.deepcopy(module)
                trained.weight.data = trained.weight.data.float()
                trained.weight.requires_grad_(True)
                trained.original_module_ = module
                return trained
            replace_modules(model, save)
    if request["gradient_checkpointing"] == "full":
        model.gradient_checkpointing_enable({"use_reentrant": False})
        if method["kind"] == "lora":
            # As enable_input_require_grads: on the embeddings of the model and of every model within it.
            inner = [m for m in model.modules() if isinstance(m, PreTrainedModel)]
            for table in {id(m.get_input_embeddings()): m.get_input_embeddings() for m in inner}.values():
                table.register_forward_hook(lambda m, i, out: out.requires_grad_(True))
    return model


# --- a step ------------------------------------------------------------------------------------------------------------


def autocast(request):
    precision = request["precision"]
    if not precision.get("autocast"):
        return contextlib.nullcontext()
    return torch.autocast("cpu", dtype=DTYPES[precision["compute"]])


def batch_of(request):
    batch, length = request["batch"]["per_device"], request["batch"]["sequence_length"]
    ids = torch.zeros((batch, length), dtype=torch.int64)
    labels = torch.zeros(batch, dtype=torch.int64) if request["task"] == "seqcls" else ids.clone()
    inputs = {"input_ids": ids, "labels": labels}
    config = request["model"]["config"]
    if config["model_type"] == "whisper":
        # The feature extractor's thirty seconds, in the dtype that the first convolution takes; no masks.
        dtype = torch.float32 if request["precision"].get("autocast") else DTYPES[request["precision"]["weights"]]
        return {"input_features": torch.zeros((batch, config.get("num_mel_bins", 80), 3000), dtype=dtype), "labels": labels}
    if request["attention"] == "sdpa":
        # An explicit mask, as a padded batch has: causal and padding combined, one byte an element.
        mask = torch.zeros((batch, 1, length, length), dtype=torch.bool)
        inputs["attention_mask"] = mask
    elif request["attention"] == "eager":
        inputs["attention_mask"] = torch.ones((batch, length), dtype=torch.int64)
    return inputs


def run(request, live, log=False):
    phases = {}
    model = build(request)
    for parameter in list(model.parameters()) + list(model.buffers()):
        live.add(parameter, "model")
    gc.collect()
    phases["static"] = live.live
    trainable = [p for p in model.parameters() if p.requires_grad]
    kind = request["optimizer"]
    optimizer = torch.optim.AdamW(trainable, lr=1e-4, fused=False, foreach=(kind == "adamw_torch"))
    names = {id(m): n for n, m in model.named_modules()}
    if log:
        for module in model.modules():
            module.register_forward_pre_hook(lambda m, a: MODULE.update(name="> " + names[id(m)]))
            module.register_forward_hook(lambda m, a, o: MODULE.update(name="< " + names[id(m)]))
    steps = request["batch"].get("gradient_accumulation", 1)
    for number in range(2):
        live.reset_peak()
        if log and number == 1:
            live.log = []
        peak = {"forward": 0, "backward": 0, "after_forward": 0}
        for _ in range(steps):
            inputs = batch_of(request)
            live.reset_peak()
            with autocast(request):
                out = model(**inputs)
            loss = out.loss
            if request["precision"].get("autocast"):
                out = {"loss": out.loss.float(), "logits": out.logits.float()}
            del out
            MODULE.clear()
            peak["forward"] = max(peak["forward"], live.peak)
            peak["after_forward"] = max(peak["after_forward"], live.live)
            if live.log is not None:
                live.log.append(("#", 0, "backward", (), "", live.live, ""))
            live.reset_peak()
            loss.backward()
            peak["backward"] = max(peak["backward"], live.peak)
        phases.update(after_forward=peak["after_forward"], peak_forward=peak["forward"], after_backward=live.live,
                      peak_backward=peak["backward"])
        if live.log is not None:
            live.log.append(("#", 0, "optimizer", (), "", live.live, ""))
        live.reset_peak()
        step(optimizer, trainable, kind)
        phases["peak_optimizer"] = live.peak
        optimizer.zero_grad(set_to_none=True)
        del loss, inputs
        gc.collect()
        phases["between_steps"] = live.live
    phases["peak_step"] = max(v for k, v in phases.items() if k.startswith("peak"))
    return {"phases": phases, "trainable_parameters": sum(p.numel() for p in trainable)}


def step(optimizer, trainable, kind):
    """AdamW's memory: two states and a step scalar a parameter; foreach makes one transient copy of the parameters."""
    for p in trainable:
        if p.grad is None:  # a part that ran without gradients, as AdamW itself skips it
            continue
        state = optimizer.state[p]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
    if kind == "adamw_torch":
        transient = [torch.empty_like(p) for p in trainable]
        del transient


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
        row["source"] = {"title": f"tests/oracle/oracle.py, torch {torch.__version__}, "
                                  f"transformers {transformers.__version__}"}
        print(json.dumps(row, separators=(",", ":")))


if __name__ == "__main__":
    main()
