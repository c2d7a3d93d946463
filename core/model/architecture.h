#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model/issue.h"
#include "core/model/layer.h"
#include "core/model/vision.h"

namespace tunefit {

/// A run of layers: the period is repeated `repeats` times. Alternating kinds of layers are a period of two.
struct LayerRun {
  std::vector<Block> period;
  std::int64_t repeats = 0;
  std::int64_t piece = 0;  ///< of a pipeline stage that holds several: which one the layers belong to

  bool operator==(const LayerRun&) const = default;
};

/// Models that read a whole text at once, by the heads that their library puts on them.
enum class EncoderKind : std::uint8_t {
  kNone,        ///< a decoder
  kBert,        ///< pooler on the first token; masked language model: dense, gelu, norm, tied output with a bias
  kRoberta,     ///< the same without a pooler: its classifier has a dense matrix of that size (RoBERTa, XLM-R)
  kDistilBert,  ///< no pooler in the base; its classifier's dense matrix ends in relu
  kModernBert,  ///< dense without bias, gelu and norm before either head
  kDeberta,     ///< no pooler in the base; its classifier's dense matrix ends in gelu
};

/// A language model as its library builds it: a decoder, an encoder, or a decoder that attends to an encoder. Plain
/// data; `Validate` says what must hold.
struct Architecture {
  std::string model_type;  ///< Hugging Face's name of the class, e.g. "llama"
  std::string text_type;   ///< of the class of its language model, where that is a part of it ("gemma3_text")
  std::int64_t hidden_size = 0;
  std::int64_t vocab_size = 0;           ///< rows of the embedding as stored
  std::int64_t rows_without_output = 0;  ///< of the embedding beyond the head's (Llama 3.2 Vision)
  std::int64_t context_tokens = 0;       ///< max_position_embeddings; 0 when the config does not say
  std::int64_t position_rows = 0;        ///< rows of a learned position table; 0 with rotary positions
  std::int64_t position_offset = 0;      ///< rows before the first token's (OPT, RoBERTa: 2)
  std::int64_t embedding_width =
      0;                          ///< of the token table where it is not the hidden size (OPT-350m: projected in, out)
  bool tied_head = false;         ///< the output head is the embedding
  std::int64_t labels = 0;        ///< outputs of a classification head in place of the vocabulary's; 0 for none
  bool head_bias = false;         ///< the output head has a bias (Phi, GPT-J)
  bool embedding_norm = false;    ///< a norm of the layers' kind after the embeddings (BLOOM)
  bool scales_embedding = false;  ///< embeddings are multiplied by a constant (Gemma, Granite)
  bool scales_logits = false;     ///< logits are divided by a constant (Granite)
  bool plain_logits = false;      ///< the class never upcast its logits, as others did before transformers 4.46 (GPT-2)
  bool logits_softcap = false;    ///< tanh soft-capping of the logits (Gemma 2)
  EncoderKind encoder = EncoderKind::kNone;
  std::int64_t token_types = 0;    ///< rows of a table of segments (BERT)
  std::int64_t distance_rows = 0;  ///< of a table of distances that all layers project (DeBERTa)
  bool norms_distances = false;    ///< that table passes a norm first
  bool masks_embeddings = false;   ///< embeddings are multiplied by the padding mask, in their dtype (DeBERTa)
  NormKind head_norm = NormKind::kLayerNorm;  ///< of an encoder's head
  bool eager_only = false;                    ///< the class has attention written out only (BLOOM, MPT)
  double embedding_dropout = 0;               ///< GPT-2: dropout after the embeddings
  double output_dropout = 0;                  ///< T5: dropout after each stack's last norm
  bool scales_head_input = false;             ///< the last hidden states are multiplied by a constant (T5's tied head)
  NormKind final_norm = NormKind::kRmsNorm;
  bool has_final_norm = true;  ///< OPT-350m has none
  std::vector<LayerRun> runs;
  std::optional<Streams> streams;
  std::optional<VisionTower> vision;  ///< beside the language model that all else describes
  /// Of an encoder-decoder: the layers that read the source. `runs` are the decoder's, with cross-attention. Both
  /// stacks share the token table and have a final norm each.
  std::vector<LayerRun> encoder_runs;
  /// Prefix of module paths in reports: "model.layers.*" or "transformer.h.*".
  const char* layer_path = "model.layers.*";

  /// Of speech models: frequencies of a frame of sound, and positions that frames come down to; a source of fixed
  /// length.
  std::int64_t mel_bins = 0;
  std::int64_t source_positions = 0;

  bool hears() const { return mel_bins > 0; }
  bool encodes_source() const { return !encoder_runs.empty(); }
  /// One stack of layers, from tokens to the next one.
  bool is_plain_decoder() const { return encoder == EncoderKind::kNone && !encodes_source() && !vision && !streams; }
  /// Of both stacks where there are two.
  std::int64_t layers() const;
};

std::int64_t CountLayers(const std::vector<LayerRun>& runs);

/// `count` layers from `first` on, as runs.
std::vector<LayerRun> TakeLayers(const std::vector<LayerRun>& runs, std::int64_t first, std::int64_t count);

/// Calls `visit(block, repeats)` for each kind of layer of every run, the encoder's first.
template <typename Visit>
void ForEachBlock(const Architecture& architecture, Visit visit) {
  for (const std::vector<LayerRun>* runs : {&architecture.encoder_runs, &architecture.runs}) {
    for (const LayerRun& run : *runs) {
      for (const Block& block : run.period) visit(block, run.repeats);
    }
  }
}

/// Calls `visit(experts)` for each kind of layer of the runs that has routed experts; encoder layers have none.
template <typename Whole, typename Visit>
void ForEachExperts(Whole& architecture, Visit visit) {
  for (auto& run : architecture.runs) {
    for (auto& block : run.period) {
      if (auto* experts = std::get_if<Experts>(&block.feed_forward)) visit(*experts);
    }
  }
}

/// As libraries ran experts before they stacked them (transformers before 5): modules in a loop, the router one too.
/// Classes that never had modules keep their stack and loop over its slices.
void UnstackExperts(Architecture& architecture);

/// Adapters sit on stacked experts too.
void AdaptExpertStacks(Architecture& architecture);

/// Faults of an architecture: sizes below one, heads that do not divide, a period that is empty. `field` is the
/// config's key. Empty when the architecture can be counted and traced.
Issues Validate(const Architecture& architecture);

}  // namespace tunefit
