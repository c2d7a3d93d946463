// The rest of the whole module's surface, beside first_bindings.cc.

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>

#include <cstdint>
#include <string>

#include "core/codec/api.h"

namespace {

std::string PlanStart(const std::string& request) { return tunefit::PlanStart(request); }
// A number of JavaScript: an int64 would cross as a BigInt.
std::string PlanStep(double id, double budget_ms) {
  return tunefit::PlanStep(static_cast<std::int64_t>(id), budget_ms, &emscripten_get_now);
}

}  // namespace

EMSCRIPTEN_BINDINGS(tunefit) {
  emscripten::function("plan_start", &PlanStart);
  emscripten::function("plan_step", &PlanStep);
}
