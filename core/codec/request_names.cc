#include "core/codec/request_names.h"

#include <algorithm>
#include <string>

#include "core/codec/words.h"

namespace tunefit {

std::string_view MeantName(std::string_view written, std::span<const std::string_view> known) {
  std::string name = LowerCase(written);
  std::replace(name.begin(), name.end(), ' ', '-');
  if (name.size() < 2) return {};
  std::string_view begins;
  std::string_view holds;
  for (const std::string_view candidate : known) {
    const std::size_t place = candidate.find(name);
    if (place == candidate.npos) continue;
    std::string_view& best = place == 0 ? begins : holds;
    if (best.empty() || candidate.size() <= best.size()) best = candidate;
  }
  if (!begins.empty()) return begins;
  const std::string_view near = Nearest(name, known);
  return near.empty() && name.size() > 2 ? holds : near;
}

void UnknownName(RequestReading& reading, std::string_view code, std::string_view field, std::string_view kind,
                 std::string_view name, std::string_view nearest) {
  const std::string shown = Shortened(name);
  const std::string hint = nearest.empty() ? std::string() : Join({" Did you mean \"", nearest, "\"?"});
  AddIssue(reading.issues, code, field, Join({"The catalog has no ", kind, " \"", shown, "\".", hint}),
           {{"value", shown}, {"nearest", nearest}});
}

}  // namespace tunefit
