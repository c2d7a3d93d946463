// The whole surface of the module: six functions, text in and text out (tunefit.d.ts is its contract). Nothing to
// free, nothing that throws; core/codec answers any text with a report.

#include <emscripten/bind.h>
#include <emscripten/emscripten.h>

#include <cstdint>
#include <string>

#include "core/codec/api.h"

namespace {

// Embind copies a JS string into a std::string; the core reads views.
std::string Init(const std::string& catalog) { return tunefit::Init(catalog); }
std::string InitMarket(const std::string& market) { return tunefit::InitMarket(market); }
std::string Estimate(const std::string& request) { return tunefit::Estimate(request); }

std::string PlanStart(const std::string& request) { return tunefit::PlanStart(request); }
// A number of JavaScript: an int64 would cross as a BigInt.
std::string PlanStep(double id, double budget_ms) {
  return tunefit::PlanStep(static_cast<std::int64_t>(id), budget_ms, &emscripten_get_now);
}

}  // namespace

EMSCRIPTEN_BINDINGS(tunefit) {
  emscripten::function("init", &Init);
  emscripten::function("init_market", &InitMarket);
  emscripten::function("estimate", &Estimate);
  emscripten::function("plan_start", &PlanStart);
  emscripten::function("plan_step", &PlanStep);
  emscripten::function("describe", &tunefit::Describe);
}
