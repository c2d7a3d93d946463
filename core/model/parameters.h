#pragma once

#include <cstdint>

#include "core/model/architecture.h"

namespace tunefit {

/// Exact numbers of parameters, tied tensors once, no buffers. Counts are whole numbers in int64.
struct ParameterCounts {
  std::int64_t embedding = 0;  ///< token and position tables
  std::int64_t attention = 0;
  std::int64_t mlp = 0;
  std::int64_t norms = 0;
  std::int64_t head = 0;    ///< zero when tied
  std::int64_t vision = 0;  ///< the tower and its projectors

  std::int64_t total() const { return embedding + attention + mlp + norms + head + vision; }
};

/// Weights and bias of one matrix.
std::int64_t CountLinear(const LinearShape& linear);

/// One vector for RMS norms, two for LayerNorm.
std::int64_t CountNorm(NormKind kind, std::int64_t width);

ParameterCounts CountBlock(const Block& block, std::int64_t hidden_size);

/// PAR-1  Every parameter of the class that transformers loads for this architecture.
ParameterCounts CountParameters(const Architecture& architecture);

/// Of the last `layers` layers alone: what trains where the others are frozen.
ParameterCounts CountLastLayers(const Architecture& architecture, std::int64_t layers);

/// The same in floating point, which cannot overflow: for sizes that nobody has checked yet.
double ApproximateParameters(const Architecture& architecture);

/// Bytes of all parameters in 16 bits: as a model's files hold them, and as another engine serves them.
double ServedBytes(const Architecture& architecture);

/// PAR-10  The parameters that one token of text visits: all but the routed experts that it is not sent to and a tower
/// for images. Embedding and head count in full, as in PAR-1.
std::int64_t CountActiveParameters(const Architecture& architecture);

}  // namespace tunefit
