// Encoder-decoders: two stacks of layers from one config.
#include "core/codec/hf_stacks.h"

#include <string_view>
#include <utility>

#include "core/codec/hf_parts.h"

namespace tunefit {
namespace {

/// T5Config, relative_attention_num_buckets.
constexpr std::int64_t kBuckets = 32;

/// Attention to the encoder's output is shaped as attention within the stack.
Attention ReadCross(const Family& family, const Block& block) {
  Attention cross = std::get<Attention>(block.mixer);
  cross.query.name = family.cross_query;
  cross.key.name = family.cross_key;
  cross.value.name = family.cross_value;
  cross.output.name = family.cross_output;
  return cross;
}

/// The decoder's layers where they have sizes of their own (Whisper).
void Resize(HfReading& reading, const HfSizes& sizes, Block& block) {
  constexpr std::string_view kHeads[] = {"decoder_attention_heads"};
  constexpr std::string_view kWidth[] = {"decoder_ffn_dim"};
  auto& attention = std::get<Attention>(block.mixer);
  attention.heads = attention.kv_heads = reading.Sized(kHeads, kSizeLimit, sizes.heads);
  attention.head_dim = attention.heads > 0 ? attention.output.in_features / attention.heads : 0;
  block.feed_forward = ReadMlp(reading, sizes.hidden, reading.Sized(kWidth, kSizeLimit, sizes.ffn));
}

/// Frames of thirty seconds: WhisperConfig.
void ReadSound(HfReading& reading, Architecture& architecture) {
  constexpr std::string_view kBins[] = {"num_mel_bins"};
  constexpr std::string_view kPositions[] = {"max_source_positions"};
  architecture.mel_bins = reading.Sized(kBins, kSizeLimit, 80);
  architecture.source_positions = reading.Sized(kPositions, kSizeLimit, 1500);
}

/// Equal layers, of which the first holds the table of position biases where the class has one, or each its own.
std::vector<LayerRun> RunsOf(Block block, std::int64_t layers, std::int64_t buckets) {
  auto& attention = std::get<Attention>(block.mixer);
  if (attention.own_relative_bias) attention.relative_buckets = buckets;
  if (buckets == 0 || attention.own_relative_bias) return {{{std::move(block)}, layers}};
  Block first = block;
  std::get<Attention>(first.mixer).relative_buckets = buckets;
  if (layers <= 1) return {{{std::move(first)}, layers}};
  return {{{std::move(first)}, 1}, {{block}, layers - 1}};
}

}  // namespace

void ReadStacks(HfReading& reading, const HfSizes& sizes, Architecture& architecture) {
  const ObjectReader& config = reading.config;
  const bool relative = reading.family.score_bias == ScoreBias::kRelative;
  const std::int64_t buckets =
      relative ? config.Count("relative_attention_num_buckets", 1, kSizeLimit).value_or(kBuckets) : 0;
  Block block = ReadBlock(reading, sizes);
  auto& attention = std::get<Attention>(block.mixer);
  if (reading.family.keys_lack_bias) attention.key.bias = false;
  attention.copies_heads = reading.family.hears;
  attention.own_relative_bias = reading.family.own_relative_bias;
  architecture.encoder_runs = RunsOf(block, sizes.layers, buckets);
  if (reading.family.hears) {
    ReadSound(reading, architecture);
    Resize(reading, sizes, block);
  }
  block.cross = ReadCross(reading.family, block);
  constexpr std::string_view kDecoderLayers[] = {"num_decoder_layers", "decoder_layers"};
  const std::int64_t layers = reading.Sized(kDecoderLayers, kLayerLimit, sizes.layers);
  architecture.runs = RunsOf(block, layers, buckets);
}

}  // namespace tunefit
