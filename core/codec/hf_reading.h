#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/codec/assumption.h"
#include "core/codec/hf_family.h"
#include "core/codec/json_reader.h"

namespace tunefit {

/// Alternative names of a key, the commonest first.
using HfNames = std::span<const std::string_view>;

inline constexpr std::int64_t kSizeLimit = 1000000;
inline constexpr std::int64_t kLayerLimit = 1000;

/// One config.json and the class that reads it, for the readers of a model's parts: keys under any of their names, and
/// what is taken where the config is silent.
class HfReading {
 public:
  HfReading(const ObjectReader& object, const Family& rules) : config(object), family(ResolvedFamily(rules, object)) {}

  /// The name among these that the config uses; the commonest when it has none.
  std::string_view NameOf(HfNames names) const;
  bool Has(HfNames names) const { return config.Find(NameOf(names)) != nullptr; }
  /// A whole number of at least one; 0 where it is absent, which `Required` adds an issue for.
  std::int64_t Optional(HfNames names, std::int64_t limit) const;
  std::int64_t Required(HfNames names, std::int64_t limit) const;
  /// The class's default where it is absent; without one it is required.
  std::int64_t Sized(HfNames names, std::int64_t limit, std::int64_t by_default);
  /// The same where the config may write a list, one number for each layer, all alike (HunYuan): its first.
  std::int64_t RequiredFirst(HfNames names, std::int64_t limit) const;
  /// The config leaves it to its class.
  void Assume(std::string_view key, std::string value);

  const ObjectReader& config;
  const Family family;  ///< with what this config changes about it
  Assumptions assumptions;
};

/// The sizes that most parts of a model share.
struct HfSizes {
  std::int64_t hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;  ///< width of each matrix of a dense MLP; 0 where the model has none
  std::int64_t context = 0, vocab = 0;
};

HfSizes ReadHfSizes(HfReading& reading);

/// The name that the config uses for the number of key/value heads, for faults found later.
std::string_view KvHeadsName(const HfReading& reading);

}  // namespace tunefit
