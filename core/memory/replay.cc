#include "core/memory/replay.h"

#include <algorithm>

namespace tunefit {
namespace {

/// CUDACachingAllocator.h, kMinBlockSize.
constexpr std::int64_t kGranuleBytes = 512;
/// From here on a double no longer holds every whole number, and no card ever will.
constexpr double kLargestExactBytes = 9007199254740992.0;

void Raise(PeakPoint& peak, const PeakPoint& candidate) {
  if (candidate.bytes > peak.bytes) peak = candidate;
}

/// What the other micro-batches of a pipeline stage have left for backward.
double WaitingBytes(const Step& step, const std::vector<double>& bytes) {
  double kept = 0;
  ForEachWaiting(step, [&](const Section& section, std::int64_t waiting) {
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      kept += static_cast<double>(event.change * section.repeats * waiting) *
              bytes[static_cast<std::size_t>(event.storage)];
    }
  });
  return kept;
}

}  // namespace

double RoundToGranule(double bytes) {
  if (bytes >= kLargestExactBytes) return bytes;
  // Whole numbers: std::ceil is a call on the baseline processors of both targets, and this runs for every event.
  const auto whole = static_cast<std::int64_t>(bytes);
  const std::int64_t up = whole + (static_cast<double>(whole) < bytes ? 1 : 0);
  const std::int64_t granules = (up + kGranuleBytes - 1) / kGranuleBytes;
  return static_cast<double>(granules * kGranuleBytes);
}

double StorageBytes(const Storage& storage, const Axes& axes) {
  return RoundToGranule(axes(storage.elements) * BytesPerElement(storage.dtype));
}

double SumResidents(const Step& step, const std::vector<Resident>& residents, const Axes& axes) {
  double bytes = 0;
  for (const Resident& resident : residents) {
    const Storage& storage = step.storages[static_cast<std::size_t>(resident.storage)];
    bytes += static_cast<double>(resident.count) * StorageBytes(storage, axes);
  }
  return bytes;
}

Replay ReplayStep(const Step& step, const Axes& axes) {
  Replay replay;
  replay.weights = SumResidents(step, step.weights, axes);
  replay.weight_copies = SumResidents(step, step.weight_copies, axes);
  replay.optimizer_states = SumResidents(step, step.optimizer_states, axes);
  replay.gradient_buffers = SumResidents(step, step.gradient_buffers, axes);
  replay.optimizer_transient = SumResidents(step, step.optimizer_transient, axes);
  replay.carried_gradients = SumResidents(step, step.carried_gradients, axes);
  if (step.gradients_alive) replay.live_gradients = step.gradient_share * SumResidents(step, step.trained, axes);

  std::vector<double> bytes(step.storages.size());
  std::transform(step.storages.begin(), step.storages.end(), bytes.begin(),
                 [&axes](const Storage& storage) { return StorageBytes(storage, axes); });

  double live = replay.weights + replay.weight_copies + replay.optimizer_states + replay.gradient_buffers +
                replay.live_gradients + (step.gradients_alive ? 0 : replay.carried_gradients);
  replay.waiting = WaitingBytes(step, bytes);
  live += replay.waiting;
  replay.peak_forward.bytes = live;
  replay.peak_backward.bytes = 0;
  replay.sections.reserve(step.sections.size());
  for (std::size_t s = 0; s < step.sections.size(); ++s) {
    const Section& section = step.sections[s];
    double change = 0;
    PeakPoint highest{0, section.first_event, static_cast<std::int32_t>(s), 0};
    for (std::int32_t e = section.first_event; e < section.end_event; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      change += event.change * bytes[static_cast<std::size_t>(event.storage)];
      if (change > highest.bytes) {
        highest.bytes = change;
        highest.events = e + 1;
      }
    }
    highest.repetition = change > 0 ? section.repeats - 1 : 0;
    const double above = std::max(0.0, change) * static_cast<double>(section.repeats - 1);
    const double before = live;
    live += change * static_cast<double>(section.repeats);
    highest.bytes += before + above;
    const bool backward = section.moment == Moment::kBackward;
    Raise(backward ? replay.peak_backward : replay.peak_forward, highest);
    replay.sections.push_back({before, highest.bytes, live});
    if (!backward) replay.after_forward = live;
  }
  replay.after_backward = live - replay.waiting;
  return replay;
}

std::vector<std::int64_t> CountAlive(const Step& step, const PeakPoint& point) {
  std::vector<std::int64_t> alive(step.storages.size(), 0);
  const auto apply = [&](std::int32_t first, std::int32_t end, std::int64_t times) {
    for (std::int32_t e = first; e < end; ++e) {
      const Event event = step.events[static_cast<std::size_t>(e)];
      alive[static_cast<std::size_t>(event.storage)] += event.change * times;
    }
  };
  for (std::size_t s = 0; s < step.sections.size(); ++s) {
    const Section& section = step.sections[s];
    if (static_cast<std::int32_t>(s) == point.section) {
      apply(section.first_event, section.end_event, point.repetition);
      apply(section.first_event, point.events, 1);
      break;
    }
    apply(section.first_event, section.end_event, section.repeats);
  }
  return alive;
}

}  // namespace tunefit
