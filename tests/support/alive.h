#pragma once

#include <algorithm>
#include <string>

#include "core/memory/replay.h"

namespace tunefit::test {

/// The most that is alive at once over a step's events, within sections that `includes(section)`: of each storage as
/// much as `amount(section, storage)`, 0 for one that does not count.
template <typename Amount, typename Includes>
double MostAlive(const Step& step, Amount amount, Includes includes) {
  double alive = 0;
  double most = 0;
  for (const Section& section : step.sections) {
    if (includes(section)) most = std::max(most, alive);
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      alive += event.change * amount(section, step.storages[static_cast<std::size_t>(event.storage)]);
      if (includes(section)) most = std::max(most, alive);
    }
  }
  return most;
}

/// Of a traced layer's storages alone, the bytes that live under a role.
inline double MostAliveAs(const Step& step, const Axes& axes, const std::string& role) {
  const auto bytes = [&](const Section& /*any*/, const Storage& storage) {
    return storage.role == role ? StorageBytes(storage, axes) : 0;
  };
  return MostAlive(step, bytes, [](const Section& /*any*/) { return true; });
}

}  // namespace tunefit::test
