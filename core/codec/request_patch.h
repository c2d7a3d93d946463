#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/codec/json_writer.h"
#include "core/codec/request_fields.h"

// A change of a request as a JSON merge patch (RFC 7396).

namespace tunefit {

/// Nothing takes the field out, so that its default holds.
using PatchValue = std::variant<std::monostate, bool, std::int64_t, std::string, std::vector<std::string>>;

/// One field of the request, by its dotted path, and its new value.
struct PatchEdit {
  std::string_view path;  ///< of those that ApplyPatch knows
  PatchValue value;
};

/// Each path once.
class RequestPatch {
 public:
  RequestPatch() = default;
  RequestPatch(std::initializer_list<PatchEdit> edits) : edits_(edits) {}

  /// A field that stands there already gets the new value.
  void Set(std::string_view path, PatchValue value);
  /// Those of the other patch too, which come after.
  void Add(const RequestPatch& other);

  const std::vector<PatchEdit>& edits() const { return edits_; }
  bool empty() const { return edits_.empty(); }

 private:
  std::vector<PatchEdit> edits_;
};

/// What reading the patched text would give. The fields' views point into the patch, which must outlive them.
void ApplyPatch(const RequestPatch& patch, RequestFields& fields);

/// The patch as an object, in the order of its paths.
void WritePatch(JsonWriter& writer, const RequestPatch& patch);

/// The value of a path as settings have it, words of a list in quotes; empty where the patch has none.
std::string PatchText(const RequestPatch& patch, std::string_view path);

}  // namespace tunefit
