#include "core/model/architecture.h"

#include <cstddef>
#include <string>
#include <variant>

namespace tunefit {
namespace {

void RequirePositive(Issues& issues, const char* field, std::int64_t value) {
  if (value >= 1) return;
  const std::string text = std::to_string(value);
  issues.push_back({.code = "out_of_range",
                    .field = field,
                    .message = std::string(field) + " must be at least 1, not " + text + ".",
                    .values = {{"value", text}, {"low", "1"}}});
}

void ValidatePart(Issues& issues, const Mlp& mlp) {
  RequirePositive(issues, "intermediate_size", mlp.down.in_features);
}

void ValidatePart(Issues& issues, const Experts& experts) {
  RequirePositive(issues, "num_experts", experts.count);
  RequirePositive(issues, "num_experts_per_tok", experts.per_token);
  RequirePositive(issues, "moe_intermediate_size", experts.expert.down.in_features);
  if (experts.per_token <= experts.count) return;
  const std::string value = std::to_string(experts.per_token);
  const std::string high = std::to_string(experts.count);
  issues.push_back({.code = "out_of_range",
                    .field = "num_experts_per_tok",
                    .message = "A token cannot visit " + value + " of " + high + " experts.",
                    .values = {{"value", value}, {"low", "1"}, {"high", high}}});
}

void ValidatePart(Issues& /*issues*/, const NoPart& /*none*/) {}

void ValidatePart(Issues& issues, const LatentAttention& attention) {
  RequirePositive(issues, "num_attention_heads", attention.scores.heads);
  RequirePositive(issues, "kv_lora_rank", attention.kv_rank);
}

void ValidatePart(Issues& issues, const Mamba1& mamba) { RequirePositive(issues, "mamba_d_state", mamba.state); }

void ValidatePart(Issues& issues, const Mamba2& mamba) {
  RequirePositive(issues, "mamba_n_heads", mamba.heads);
  RequirePositive(issues, "mamba_d_head", mamba.head_dim);
}

void ValidatePart(Issues& issues, const GatedDelta& delta) {
  RequirePositive(issues, "linear_num_key_heads", delta.key_heads);
  RequirePositive(issues, "linear_num_value_heads", delta.value_heads);
  if (delta.key_heads < 1 || delta.value_heads % delta.key_heads == 0) return;
  const std::string heads = std::to_string(delta.value_heads);
  const std::string key_heads = std::to_string(delta.key_heads);
  issues.push_back({.code = "heads_do_not_divide",
                    .field = "linear_num_key_heads",
                    .message = heads + " value heads cannot share " + key_heads + " key heads evenly.",
                    .values = {{"value", key_heads}, {"heads", heads}}});
}

void ValidatePart(Issues& issues, const LightningAttention& attention) {
  RequirePositive(issues, "num_attention_heads", attention.heads);
}

void ValidatePart(Issues& issues, const ShortConvolution& mixer) {
  RequirePositive(issues, "hidden_size", mixer.convolution.channels);
}

void ValidatePart(Issues& issues, const Attention& attention) {
  RequirePositive(issues, "num_attention_heads", attention.heads);
  RequirePositive(issues, "num_key_value_heads", attention.kv_heads);
  RequirePositive(issues, "head_dim", attention.head_dim);
  if (attention.heads < 1 || attention.kv_heads < 1) return;
  if (attention.heads % attention.kv_heads == 0) return;
  const std::string heads = std::to_string(attention.heads);
  const std::string kv_heads = std::to_string(attention.kv_heads);
  issues.push_back({.code = "heads_do_not_divide",
                    .field = "num_key_value_heads",
                    .message = heads + " attention heads cannot share " + kv_heads + " key/value heads evenly.",
                    .values = {{"value", kv_heads}, {"heads", heads}}});
}

}  // namespace

std::int64_t CountLayers(const std::vector<LayerRun>& runs) {
  std::int64_t count = 0;
  for (const LayerRun& run : runs) count += run.repeats * static_cast<std::int64_t>(run.period.size());
  return count;
}

std::vector<LayerRun> TakeLayers(const std::vector<LayerRun>& runs, std::int64_t first, std::int64_t count) {
  std::vector<LayerRun> taken;
  std::int64_t start = 0;  // of the run at hand
  const std::int64_t end = first + count;
  for (const LayerRun& run : runs) {
    const auto period = static_cast<std::int64_t>(run.period.size());
    const std::int64_t stop = start + period * run.repeats;
    std::int64_t from = std::max(first, start) - start;
    const std::int64_t to = std::min(end, stop) - start;
    start = stop;
    while (from < to) {
      // What is left of a period that was begun, whole periods, what is begun of one.
      const std::int64_t in_period = from % period;
      if (in_period == 0 && to - from >= period) {
        const std::int64_t repeats = (to - from) / period;
        taken.push_back({run.period, repeats, run.piece});
        from += repeats * period;
        continue;
      }
      const std::int64_t part = std::min(period - in_period, to - from);
      const auto begin = run.period.begin() + static_cast<std::ptrdiff_t>(in_period);
      taken.push_back({{begin, begin + static_cast<std::ptrdiff_t>(part)}, 1, run.piece});
      from += part;
    }
  }
  return taken;
}

std::int64_t Architecture::layers() const { return CountLayers(encoder_runs) + CountLayers(runs); }

void UnstackExperts(Architecture& architecture) {
  ForEachExperts(architecture, [](Experts& experts) {
    if (experts.form != ExpertForm::kByVersion) return;
    const bool had_modules = experts.gate == ExpertGate::kPlain;
    experts.form = had_modules ? ExpertForm::kModules : ExpertForm::kSlices;
    experts.router.is_module = experts.router.is_module || had_modules;
    // Their weights went to the experts in the hidden states' dtype (MixtralSparseMoeBlock).
    if (experts.router.scoring == Scoring::kSoftmax) experts.router.keeps_fp32 = false;
  });
}

void AdaptExpertStacks(Architecture& architecture) {
  ForEachExperts(architecture, [](Experts& experts) { experts.adapts_stack = true; });
}

Issues Validate(const Architecture& architecture) {
  Issues issues;
  RequirePositive(issues, "hidden_size", architecture.hidden_size);
  RequirePositive(issues, "vocab_size", architecture.vocab_size);
  RequirePositive(issues, "num_hidden_layers", architecture.layers());
  const std::size_t before = issues.size();
  ForEachBlock(architecture, [&issues, before](const Block& block, std::int64_t /*repeats*/) {
    if (issues.size() > before) return;  // the blocks of a model share their faults: say each once
    std::visit([&issues](const auto& part) { ValidatePart(issues, part); }, block.feed_forward);
    std::visit([&issues](const auto& part) { ValidatePart(issues, part); }, block.mixer);
    if (block.cross) ValidatePart(issues, *block.cross);
  });
  return issues;
}

}  // namespace tunefit
