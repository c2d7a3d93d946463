#include "core/model/litgpt.h"

#include <variant>

namespace tunefit {
namespace {

bool Builds(const Attention& attention) {
  return !attention.output_gate && !attention.sinks && !attention.copies_heads && attention.value_dim == 0 &&
         attention.score_bias == ScoreBias::kNone;
}

void Build(Attention& attention, JoinedQkv rows) {
  const bool groups = rows == JoinedQkv::kGroups;
  const LinearShape given = attention.query;
  const auto part = [&](const char* name, std::int64_t heads) {
    return LinearShape{
        .name = name, .in_features = given.in_features, .out_features = heads * attention.head_dim, .bias = given.bias};
  };
  attention.layout = groups ? QkvLayout::kJoinedGroups : QkvLayout::kJoinedParts;
  attention.query = part("q_proj", attention.heads);
  attention.key = part("k_proj", attention.kv_heads);
  attention.value = part("v_proj", attention.kv_heads);
  attention.output.name = "o_proj";
  attention.output.by_hand = false;
  attention.repeats_fused_heads = groups && attention.kv_heads < attention.heads;
  attention.stretches_heads = false;
  attention.eager = EagerStyle::kFp32Softmax;
  if (attention.rotary == Rotary::kNone) return;
  attention.rotary = Rotary::kHalves;
  // A head's turned part is joined to the rest of it, also where there is none.
  if (attention.rotary_dim == 0) attention.rotary_dim = attention.head_dim;
}

void Build(Mlp& mlp) {
  if (mlp.fused_gate) {
    mlp.fused_gate = false;
    mlp.up.out_features /= 2;
    mlp.gate = mlp.up;
  }
  mlp.gate.name = "gate_proj";
  mlp.up.name = "up_proj";
  mlp.down.name = "down_proj";
  mlp.gate.by_hand = mlp.up.by_hand = mlp.down.by_hand = false;
}

}  // namespace

void BuildAsLitGpt(Architecture& architecture, const ModelHabits& habits) {
  bool builds = architecture.is_plain_decoder();
  ForEachBlock(architecture, [&builds](const Block& block, std::int64_t /*repeats*/) {
    const auto* attention = std::get_if<Attention>(&block.mixer);
    builds = builds && attention != nullptr && Builds(*attention);
  });
  if (!builds) return;
  architecture.tied_head = false;
  for (LayerRun& run : architecture.runs) {
    for (Block& block : run.period) {
      auto* attention = std::get_if<Attention>(&block.mixer);
      Build(*attention, habits.joined_qkv);
      if (auto* mlp = std::get_if<Mlp>(&block.feed_forward)) Build(*mlp);
      if (habits.rms_gain_in_fp32 && block.norm == NormKind::kRmsNorm) block.norm = NormKind::kRmsNormFp32Gain;
      // "with softcapping we cannot use SDPA"
      architecture.eager_only = architecture.eager_only || attention->score_softcap;
    }
  }
  if (habits.rms_gain_in_fp32 && architecture.final_norm == NormKind::kRmsNorm) {
    architecture.final_norm = NormKind::kRmsNormFp32Gain;
  }
}

}  // namespace tunefit
