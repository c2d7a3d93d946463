#include "core/codec/hf_family.h"

namespace tunefit {
namespace {

using FamilyList = std::span<const Family> (*)();
constexpr FamilyList kLists[] = {LlamaLikeFamilies, GptLikeFamilies, ExpertFamilies, EncoderFamilies,
                                 EncoderDecoderFamilies};

}  // namespace

const Family* FindFamily(std::string_view model_type) {
  for (const FamilyList list : kLists) {
    for (const Family& family : list()) {
      if (family.model_type == model_type) return &family;
    }
  }
  return nullptr;
}

Family ResolvedFamily(const Family& family, const ObjectReader& config) {
  Family resolved = family;
  if (family.resolve != nullptr) family.resolve(config, resolved);
  return resolved;
}

std::string ModelledFamilies() {
  std::string names;
  for (const FamilyList list : kLists) {
    for (const Family& family : list()) names += (names.empty() ? "" : ", ") + std::string(family.model_type);
  }
  return names;
}

}  // namespace tunefit
