"""What AOTAutograd's min-cut partitioner keeps of one compiled Llama layer: the reference of tests/unit/trace/compile_test.cc.

python3 compiled_layer.py [lora]    (PyTorch alone; a few seconds on a CPU; seen with torch 2.14.1)

Sizes are small, as the partitioner decides by kinds of operations. Attention stands as one opaque operation that returns
its output and a log-sum-exp, as flash attention does. Matrices in the list are views of weights and cost nothing.
"""
import sys

import torch
from torch import nn
from torch._functorch.aot_autograd import aot_module
from torch._functorch.partitioners import min_cut_rematerialization_partition
from torch._inductor.decomposition import select_decomp_table

HIDDEN, WIDTH, HEADS, KV_HEADS, HEAD, TOKENS, RANK = 512, 1792, 4, 1, 128, 256, 8
LORA = sys.argv[1:] == ["lora"]
BF16 = {"bias": False, "dtype": torch.bfloat16}

library = torch.library.Library("layer", "DEF")
library.define("attention(Tensor q, Tensor k, Tensor v) -> (Tensor, Tensor)")
library.define("attention_backward(Tensor g, Tensor q, Tensor k, Tensor v, Tensor o, Tensor l) -> (Tensor, Tensor, Tensor)")


def attention(q, k, v):
    return torch.empty_like(q), torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)


def attention_backward(g, q, k, v, o, l):
    return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)


class Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v):
        with torch._C._AutoDispatchBelowAutograd():
            output, statistics = torch.ops.layer.attention(q, k, v)
        ctx.save_for_backward(q, k, v, output, statistics)
        return output, statistics

    @staticmethod
    def backward(ctx, gradient, _):
        return torch.ops.layer.attention_backward(gradient, *ctx.saved_tensors)


for key in ("Meta", "CPU"):
    library.impl("attention", attention, key)
    library.impl("attention_backward", attention_backward, key)
library.impl("attention", lambda q, k, v: Attention.apply(q, k, v), "Autograd")


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(HIDDEN, dtype=torch.bfloat16))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def rotate(x, cosine, sine):
    first, second = x.chunk(2, dim=-1)
    return x * cosine + torch.cat((-second, first), -1) * sine


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([Norm(), Norm()])
        self.q = nn.Linear(HIDDEN, HEADS * HEAD, **BF16)
        self.k = nn.Linear(HIDDEN, KV_HEADS * HEAD, **BF16)
        self.v = nn.Linear(HIDDEN, KV_HEADS * HEAD, **BF16)
        self.o = nn.Linear(HEADS * HEAD, HIDDEN, **BF16)
        self.gate = nn.Linear(HIDDEN, WIDTH, **BF16)
        self.up = nn.Linear(HIDDEN, WIDTH, **BF16)
        self.down = nn.Linear(WIDTH, HIDDEN, **BF16)
        if LORA:
            for parameter in self.parameters():
                parameter.requires_grad_(False)
            self.q_lora = nn.Sequential(nn.Linear(HIDDEN, RANK, **BF16), nn.Linear(RANK, HEADS * HEAD, **BF16))
            self.v_lora = nn.Sequential(nn.Linear(HIDDEN, RANK, **BF16), nn.Linear(RANK, KV_HEADS * HEAD, **BF16))

    def forward(self, x, cosine, sine):
        normed = self.norms[0](x)
        q, k, v = self.q(normed), self.k(normed), self.v(normed)
        if LORA:
            q = q + self.q_lora(normed) * 2
            v = v + self.v_lora(normed) * 2
        q, k, v = (t.view(1, TOKENS, -1, HEAD).transpose(1, 2) for t in (q, k, v))
        mixed, _ = torch.ops.layer.attention(rotate(q, cosine, sine), rotate(k, cosine, sine), v)
        x = x + self.o(mixed.transpose(1, 2).reshape(1, TOKENS, -1))
        normed = self.norms[1](x)
        return x + self.down(nn.functional.silu(self.gate(normed)) * self.up(normed))


def show(graph, _):
    output = next(node for node in graph.graph.nodes if node.op == "output")
    for kept in output.args[0][1:]:
        tensor = kept.meta["val"]
        print(f"{kept.name:14} {'input' if kept.op == 'placeholder' else '':6} {tuple(tensor.shape)} {tensor.dtype}")
    return graph


print("torch", torch.__version__)
table = torch.empty(1, 1, TOKENS, HEAD, dtype=torch.bfloat16)
aot_module(Layer(), fw_compiler=show, bw_compiler=lambda graph, _: graph, decompositions=select_decomp_table(),
           partition_fn=min_cut_rematerialization_partition)(
               torch.empty(1, TOKENS, HIDDEN, dtype=torch.bfloat16, requires_grad=True), table, table)
