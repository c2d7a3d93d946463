#include "core/trace/attention.h"

#include <utility>

namespace tunefit {
namespace {

/// x cut in halves, the second negated and put first; or neighbours, swapped and stacked.
Value RotateHalf(Tracer& tracer, const Value& x) {
  Value first = tracer.Slice(x, 0.5);
  Value second = tracer.Slice(x, 0.5);
  Value negated = tracer.Negate(second);
  return tracer.Cat(std::move(negated), first);
}

/// Halves that turn apart and are joined (gpt-oss): their gradients come back joined too.
Value TurnHalves(Tracer& tracer, const Value& x, const LayerContext& context) {
  const std::array<Value, 2> half = tracer.Halve(x);
  Value first = tracer.Mul(half[0], context.cosine);
  first = tracer.Add(std::move(first), tracer.Negate(tracer.Mul(half[1], context.sine)));
  Value second = tracer.Mul(half[1], context.cosine);
  second = tracer.Add(std::move(second), tracer.Mul(half[0], context.sine));
  return tracer.Cat(std::move(first), std::move(second));
}

Value Turn(Tracer& tracer, const Attention& attention, const Value& x, const LayerContext& context) {
  if (attention.rotary == Rotary::kCutHalves) return TurnHalves(tracer, x, context);
  Value straight = tracer.Mul(x, context.cosine);
  Value turned = RotateHalf(tracer, x);
  turned = tracer.Mul(std::move(turned), context.sine);
  return tracer.Add(std::move(straight), std::move(turned));
}

/// Rotary positions on one of queries and keys: on all of a head, or on its first part, the rest joined to it again.
Value Rotate(Tracer& tracer, const Attention& attention, const Value& x, const LayerContext& context) {
  if (attention.rotary_dim == 0) return Turn(tracer, attention, x, context);
  const double share = static_cast<double>(attention.rotary_dim) / static_cast<double>(attention.head_dim);
  Value turning = tracer.Slice(x, share);
  Value passing = tracer.Slice(x, 1 - share);
  Value turned = Turn(tracer, attention, turning, context);
  return tracer.Cat(std::move(turned), std::move(passing));
}

void RotateWide(Tracer& tracer, const Attention& attention, const LayerContext& context, Heads& heads) {
  const Dtype dtype = tracer.DtypeOf(heads.query);
  const Value wide_query = tracer.Cast(heads.query, Dtype::kFp32);
  const Value wide_key = tracer.Cast(heads.key, Dtype::kFp32);
  const Value query = Rotate(tracer, attention, wide_query, context);
  const Value key = Rotate(tracer, attention, wide_key, context);
  heads.query = tracer.Cast(query, dtype);
  heads.key = tracer.Cast(key, dtype);
}

void RotateHeads(Tracer& tracer, const Attention& attention, const LayerContext& context, Heads& heads) {
  if (attention.rotary == Rotary::kNone) return;
  const bool joined = attention.rotary_dim > 0 || attention.rotary == Rotary::kCutHalves;
  heads.by_heads = joined && !context.workload->fused.rope;
  if (context.workload->fused.rope) {
    heads.query = tracer.View(heads.query);  // rotated in place
    heads.key = tracer.View(heads.key);
    return;
  }
  if (attention.rotary == Rotary::kComplex) {
    const Value wide_query = tracer.Cast(heads.query, Dtype::kFp32);
    const Value wide_key = tracer.Cast(heads.key, Dtype::kFp32);
    const Dtype dtype = tracer.DtypeOf(heads.query);
    heads.query = tracer.Cast(tracer.Mul(wide_query, context.cosine), dtype);
    heads.key = tracer.Cast(tracer.Mul(wide_key, context.cosine), dtype);
    return;
  }
  if (attention.rotary == Rotary::kPairsSpread) {
    const Size table{static_cast<double>(attention.head_dim), Axis::kLength};
    LayerContext spread = context;
    spread.cosine = tracer.Empty(table, Dtype::kFp32, "spread cosine");
    spread.sine = tracer.Empty(table, Dtype::kFp32, "spread sine");
    return RotateWide(tracer, attention, spread, heads);
  }
  if (attention.rotary != Rotary::kPairsFp32) {
    Value query = Rotate(tracer, attention, heads.query, context);
    Value key = heads.key ? Rotate(tracer, attention, heads.key, context) : Value();
    heads.query = std::move(query);
    heads.key = std::move(key);
    return;
  }
  RotateWide(tracer, attention, context, heads);
}

/// A projection seen as heads. Its gradient comes back by heads and is copied into place, unless it arrives by tokens.
Value AsHeads(Tracer& tracer, const Value& projection, bool gradient_by_tokens) {
  return gradient_by_tokens ? tracer.View(projection) : tracer.Reshape(projection);
}

/// Kernels that read heads as the projections leave them, a token after the other.
bool TakesTokensFirst(AttentionKernel kernel) {
  return kernel == AttentionKernel::kFlash || kernel == AttentionKernel::kXformers;
}

/// The same where the class copies it head by head itself.
Value CopiedHeads(Tracer& tracer, const Attention& attention, const Value& projection) {
  if (!attention.copies_heads) return AsHeads(tracer, projection, false);
  return tracer.Copy(tracer.Reshape(projection), "heads");
}

/// LitGPT's view by groups: queries are copied in the order of heads, shared keys and values for every one of them; a
/// single head is a view that repeats.
Heads WriteOutGroups(Tracer& tracer, const Attention& attention, const std::array<Value, 3>& parts) {
  const auto copies = static_cast<double>(attention.sharing_heads());
  const auto repeat = [&](const Value& part) {
    return attention.kv_heads == 1 ? tracer.StretchHeads(part, copies) : tracer.ExpandHeads(part, copies);
  };
  return {tracer.Copy(tracer.Reshape(parts[0]), "queries by head"), repeat(parts[1]), repeat(parts[2])};
}

/// One matrix for all three, split or sliced. Slices of a fused projection may be copied for every query head.
Heads ProjectFused(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden,
                   bool by_tokens) {
  const Attention& attention = *module.attention;
  const bool flash = TakesTokensFirst(context.kernel);
  const Size query = context.tokens * static_cast<double>(attention.heads * attention.head_dim);
  const Size key = context.tokens * static_cast<double>(attention.kv_heads * attention.head_dim);
  const Value fused = Forward(tracer, module.query, hidden);
  tracer.scope.module = "self_attn";
  if (attention.layout == QkvLayout::kJoinedGroups && attention.repeats_fused_heads) {
    return WriteOutGroups(tracer, attention, tracer.Split(fused, {query, key, key}));
  }
  Heads heads;
  if (attention.layout == QkvLayout::kFused || IsJoined(attention.layout)) {
    const std::array<Value, 3> parts = tracer.Split(fused, {query, key, key});
    heads = {AsHeads(tracer, parts[0], by_tokens), AsHeads(tracer, parts[1], by_tokens),
             AsHeads(tracer, parts[2], flash)};
    return heads;
  }
  heads = {tracer.Narrow(fused, query), tracer.Narrow(fused, key), tracer.Narrow(fused, key)};
  if (attention.layout == QkvLayout::kFusedPicks) {
    heads.key = tracer.Copy(std::move(heads.key), "picked keys");
    heads.value = tracer.Copy(std::move(heads.value), "picked values");
  }
  if (attention.repeats_fused_heads) {
    const auto copies = static_cast<double>(attention.sharing_heads());
    heads.key = tracer.ExpandHeads(std::move(heads.key), copies);
    heads.value = tracer.ExpandHeads(std::move(heads.value), copies);
  }
  return heads;
}

Heads Project(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden) {
  const Attention& attention = *module.attention;
  const bool flash = TakesTokensFirst(context.kernel);
  const bool by_tokens = flash && attention.rotary == Rotary::kNone;
  const auto norm = [&](const NormModule& norm_module, Value x, std::int64_t count) {
    if (attention.qk_norm == QkNorm::kNone || attention.norms_turned) return x;
    const double rows = attention.qk_norm == QkNorm::kWhole ? 1 : static_cast<double>(count);
    return Forward(tracer, norm_module, x, context.tokens * rows);
  };
  Heads heads;
  if (attention.layout != QkvLayout::kSeparate) {
    heads = ProjectFused(tracer, module, context, hidden, by_tokens);
    if (!IsJoined(attention.layout)) return heads;
    heads.query = norm(module.query_norm, heads.query, attention.heads);
    heads.key = norm(module.key_norm, heads.key, attention.kv_heads);
    return heads;
  }
  if (attention.copies_heads) {
    heads.query = CopiedHeads(tracer, attention, tracer.Scale(Forward(tracer, module.query, hidden)));
    heads.key = CopiedHeads(tracer, attention, Forward(tracer, module.key, hidden));
    heads.value = CopiedHeads(tracer, attention, Forward(tracer, module.value, hidden));
    heads.by_heads = true;
    return heads;
  }
  Value query = Forward(tracer, module.query, hidden);
  if (attention.output_gate) {  // each head's query and gate lie side by side
    std::array<Value, 2> parts = tracer.Halve(tracer.Reshape(query));
    query = std::move(parts[0]);
    heads.gate = tracer.Copy(std::move(parts[1]), "gate");
  }
  heads.query = AsHeads(tracer, norm(module.query_norm, std::move(query), attention.heads), by_tokens);
  if (attention.keys == KeySource::kBorrowed) return heads;
  heads.key =
      AsHeads(tracer, norm(module.key_norm, Forward(tracer, module.key, hidden), attention.kv_heads), by_tokens);
  Value value = Forward(tracer, module.value, hidden);
  if (attention.norms_values) {
    value = Forward(tracer, module.value_norm, value, context.tokens * static_cast<double>(attention.kv_heads));
  }
  heads.value = AsHeads(tracer, value, flash);
  return heads;
}

/// Keys and values that later layers read, or those of an earlier one.
void ShareKeys(const Attention& attention, const LayerContext& context, Heads& heads) {
  if (attention.keys == KeySource::kOwn) return;
  LentKeys& lent = (*context.lenders)[attention.lender];
  if (attention.keys == KeySource::kLent) {
    lent = {heads.key, heads.value};
  } else {
    heads.key = lent.key;
    heads.value = lent.value;
  }
}

/// MEM-84  Context ranks pass keys and values around; every part that came by is held until the layer's attention is
/// done (TransformerEngine's AttnFuncWithCPAndKVP2P, p2p_comm_buffers).
Value KeysOnTheirWay(Tracer& tracer, const Value& key, const Value& value, const LayerContext& context) {
  const std::int64_t ranks = context.workload->parallel.context;
  if (ranks <= 1) return Value();
  const auto parts = static_cast<double>(ranks);
  const Size keys = tracer.SizeOf(key);
  const Size both{(keys.coefficient + tracer.SizeOf(value).coefficient) * parts, keys.axis};
  return tracer.Empty(both, tracer.DtypeOf(key), "keys and values of other ranks");
}

}  // namespace

AttentionModule MakePart(ModuleFactory& factory, const Attention& attention, Place place) {
  AttentionModule module;
  module.attention = &attention;
  module.query = IsJoined(attention.layout)
                     ? factory.MakeJoinedLinear(attention, place)
                     : factory.MakeLinear(attention.query, attention.query.name, Term::kAttention, place);
  const bool borrows = attention.keys == KeySource::kBorrowed;
  if (attention.layout == QkvLayout::kSeparate && !borrows) {
    module.key = factory.MakeLinear(attention.key, attention.key.name, Term::kAttention, place);
    module.value = factory.MakeLinear(attention.value, attention.value.name, Term::kAttention, place);
  }
  if (attention.qk_norm != QkNorm::kNone) {
    const bool one = attention.qk_norm == QkNorm::kHead;
    const std::int64_t query = attention.head_dim * (one ? 1 : attention.heads);
    const std::int64_t key = attention.head_dim * (one ? 1 : attention.kv_heads);
    module.query_norm = factory.MakeNorm(attention.qk_norm_kind, "q_norm", query, place);
    if (!borrows) module.key_norm = factory.MakeNorm(attention.qk_norm_kind, "k_norm", key, place);
  }
  if (attention.norms_values && !borrows) {
    module.value_norm = factory.MakeNorm(NormKind::kRmsNormPowerBare, "v_norm", attention.head_dim, place);
  }
  if (attention.relative_buckets > 0) {
    module.relative_table = factory.MakeRelativeTable(attention.relative_buckets, attention.heads, place);
  }
  if (attention.sinks) {
    module.sinks = factory.MakeVector("self_attn", "sinks", attention.heads, Term::kAttention, place);
  }
  module.output = factory.MakeLinear(attention.output, attention.output.name, Term::kAttention, place);
  return module;
}

MixerResult Forward(Tracer& tracer, const AttentionModule& module, const LayerContext& context, const Value& hidden) {
  if (module.attention->eager == EagerStyle::kDisentangled) return ForwardDisentangled(tracer, module, context, hidden);
  tracer.scope.term = Term::kAttention;
  Heads heads = Project(tracer, module, context, hidden);
  heads.hidden = tracer.DtypeOf(hidden);
  tracer.scope.module = "self_attn";
  RotateHeads(tracer, *module.attention, context, heads);
  heads.sinks = module.sinks;
  heads.relative_table = module.relative_table;
  if (module.attention->norms_turned && module.attention->qk_norm != QkNorm::kNone) {
    const auto rows = [&](std::int64_t count) { return context.tokens * static_cast<double>(count); };
    heads.query = Forward(tracer, module.query_norm, heads.query, rows(module.attention->heads));
    heads.key = Forward(tracer, module.key_norm, heads.key, rows(module.attention->kv_heads));
  }
  ShareKeys(*module.attention, context, heads);
  const Value ring = KeysOnTheirWay(tracer, heads.key, heads.value, context);
  MixerResult result = Attend(tracer, *module.attention, context, heads);
  // A fused kernel's output lies as its queries do: where that is head by head, putting tokens first copies it.
  const bool fused = context.kernel != AttentionKernel::kEager;
  Value merged = fused && heads.by_heads ? tracer.Copy(result.output, "output by tokens") : tracer.View(result.output);
  result.output.Drop();
  if (heads.gate) merged = tracer.Mul(std::move(merged), tracer.Sigmoid(heads.gate));
  return {Forward(tracer, module.output, merged), std::move(result.probabilities)};
}

MixerResult ForwardCross(Tracer& tracer, const AttentionModule& module, const LayerContext& context,
                         const Value& hidden) {
  tracer.scope.term = Term::kAttention;
  const Attention& attention = *module.attention;
  Heads heads;
  heads.crosses = true;
  heads.hidden = tracer.DtypeOf(hidden);
  heads.by_heads = attention.copies_heads;
  Value query = Forward(tracer, module.query, hidden);
  if (attention.copies_heads) query = tracer.Scale(std::move(query));
  heads.query = CopiedHeads(tracer, attention, std::move(query));
  heads.key = CopiedHeads(tracer, attention, Forward(tracer, module.key, context.source));
  heads.value = CopiedHeads(tracer, attention, Forward(tracer, module.value, context.source));
  tracer.scope.module = "cross_attn";
  MixerResult result = Attend(tracer, attention, context, heads);
  const Value merged = heads.by_heads ? tracer.Copy(result.output, "output by tokens") : tracer.View(result.output);
  result.output.Drop();
  return {Forward(tracer, module.output, merged), std::move(result.probabilities)};
}

}  // namespace tunefit
