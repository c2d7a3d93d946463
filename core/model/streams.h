#pragma once

#include <cstdint>

#include "core/model/linear.h"

// Gemma 3n: the hidden states of a token are several streams, of which a layer works on one and corrects all (AltUp).
// Source: transformers' modeling_gemma3n.py.

namespace tunefit {

/// What a layer has for it, beside attention and MLP.
struct StreamLayer {
  std::int64_t streams = 0;
  LinearShape router;      ///< from one stream to a number for each
  LinearShape prediction;  ///< from those to the coefficients that predict every stream from all
  LinearShape correction;  ///< and to those that correct every stream by what became of the first
  bool scales_corrected = true;
  LinearShape left, right;       ///< a low-rank path beside attention (LAuReL)
  LinearShape gate, projection;  ///< to the width of the layer's own embedding of a token, and back

  bool operator==(const StreamLayer&) const = default;
};

/// What the model has before and after its layers.
struct Streams {
  std::int64_t count = 0;  ///< of hidden states
  std::int64_t rows = 0;   ///< of the table of embeddings for the layers
  std::int64_t width = 0;  ///< of the embedding that one layer reads
  LinearShape inputs;      ///< from the token's embedding to those of all layers
  LinearShape entry;       ///< to each stream but the first
  LinearShape exit;        ///< and back
};

template <typename Visit>
void ForEachMatrix(const StreamLayer& layer, Visit visit) {
  for (const LinearShape* matrix : {&layer.router, &layer.prediction, &layer.correction, &layer.left, &layer.right,
                                    &layer.gate, &layer.projection}) {
    visit(*matrix);
  }
}

template <typename Visit>
void ForEachMatrix(const Streams& streams, Visit visit) {
  for (const LinearShape* matrix : {&streams.inputs, &streams.entry, &streams.exit}) visit(*matrix);
}

}  // namespace tunefit
