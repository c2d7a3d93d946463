#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/model/dtype.h"
#include "core/trace/op_kind.h"
#include "core/trace/step.h"

// What the tracer records of autograd's graph.

namespace tunefit {

class ShardedUnits;

/// Names and terms of the storages that an operation makes.
struct TraceScope {
  const char* module = "";
  Term term = Term::kWorkspace;
  bool in_layer = false;
};

/// Where a gradient goes: an output slot of a recorded operation.
struct Edge {
  std::int32_t node = -1;
  std::uint8_t slot = 0;
};

/// A tensor's copy in FP8: what products read, and what they keep of it.
struct Fp8Copy {
  StorageId read = kNoStorage;
  StorageId kept = kNoStorage;
};

struct Tensor {
  StorageId storage = kNoStorage;
  Size elements;
  Dtype dtype = Dtype::kFp32;
  bool requires_gradient = false;
  bool cast_is_cached = false;  ///< a weight that requires a gradient: autocast's cache keeps its copy
  Edge source;
  std::int32_t references = 0;
  StorageId kept_part = kNoStorage;  ///< see Tracer::Exchange; not counted
  Fp8Copy fp8 = {};                  ///< once a product has made it
};

struct Node {
  OpKind kind = OpKind::kView;
  std::uint8_t inputs = 0;
  std::uint8_t saved_count = 0;
  bool is_weight = false;    ///< a leaf whose gradient is a parameter's
  bool is_sharded = false;   ///< and whose gradient the unit's hooks take away
  bool compiled = false;     ///< part of a compiled graph
  bool joins_again = false;  ///< a product that kept a part of its input
  bool holds_saved = false;  ///< what it saved lives as long as the graph does
  std::array<Edge, 3> edges;
  std::array<Size, 3> in_elements;
  std::array<Dtype, 3> in_dtypes{};
  std::array<StorageId, 6> saved{};
  std::array<StorageId, 3> gradients{kNoStorage, kNoStorage, kNoStorage};
  Size out_elements;
  Dtype out_dtype = Dtype::kFp32;
  /// kDequantizedLinear: elements of the whole matrix; kByHand: of temporaries; row-wise: of a row; of a weight: bytes
  /// that its update takes
  Size extra;
  Size batches{1, Axis::kOnce};     ///< of matrix products: so many at once
  Size matrix;                      ///< of a product whose second factor is no input, or not as it is: its elements
  AttentionSpan span = {};          ///< kAttention
  std::int32_t uses = 0;            ///< of a weight: gradients that are still to come
  std::uint8_t copies = 1;          ///< kDequantizedLinear: of it, while it is unpacked
  std::uint8_t kernels = 1;         ///< the same, and kFusedLoraLinear: launched to unpack it
  bool transposes = false;          ///< kFp8KeptLinear: operands are there transposed, too
  bool repeats_batch = false;       ///< kDequantizedLinear: copied once more for every sequence
  std::int32_t recomputation = -1;  ///< kCheckpoint: which module
  std::int32_t unit = -1;           ///< kUnitEntry, kUnitExit: which sharded module
  ShardedUnits* units = nullptr;    ///< and of which model
  TraceScope scope;

  /// A gradient of that input is asked for.
  bool Wants(std::size_t input) const { return edges[input].node >= 0; }
};

/// Nodes from `first_node` on belong to this stretch of the forward pass.
struct Mark {
  std::int32_t first_node;
  Section section;
};

}  // namespace tunefit
