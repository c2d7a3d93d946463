#include "core/memory/overheads.h"

#include <algorithm>

namespace tunefit {
namespace {

constexpr double kKiB = 1024;

}  // namespace

double BlasWorkspaceBytes(const Gpu* gpu) {
  // Compute capability 9.x and 10.x: eight of 4 MiB; all others: two of 4 MiB and eight of 16 KiB.
  const int major = gpu != nullptr ? CapabilityMajor(*gpu) : 0;
  return major == 9 || major == 10 ? 8 * 4096 * kKiB : (2 * 4096 + 8 * 16) * kKiB;
}

Range operator+(const Range& a, const Range& b) { return {a.low + b.low, a.expected + b.expected, a.high + b.high}; }

Range operator*(const Range& range, double factor) {
  return {range.low * factor, range.expected * factor, range.high * factor};
}

Range ContextOf(const Overheads& overheads, const std::string& architecture) {
  Range widest;
  for (const Overheads::Context& context : overheads.contexts) {
    if (!architecture.empty() && context.architecture == architecture) return context.bytes;
    if (widest.high == 0) {
      widest = context.bytes;
      continue;
    }
    widest.low = std::min(widest.low, context.bytes.low);
    widest.high = std::max(widest.high, context.bytes.high);
    if (context.architecture.empty()) widest.expected = context.bytes.expected;
  }
  return widest;
}

}  // namespace tunefit
