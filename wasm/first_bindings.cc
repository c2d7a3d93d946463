// What a page's first answer needs, text in and text out (tunefit.d.ts is the contract). Nothing to free, nothing that
// throws; core/codec answers any text with a report.

#include <emscripten/bind.h>

#include <string>

#include "core/codec/api.h"

namespace {

// Embind copies a JS string into a std::string; the core reads views.
std::string Init(const std::string& catalog) { return tunefit::Init(catalog); }
std::string InitMarket(const std::string& market) { return tunefit::InitMarket(market); }
std::string Estimate(const std::string& request) { return tunefit::Estimate(request); }

}  // namespace

EMSCRIPTEN_BINDINGS(first) {
  emscripten::function("init", &Init);
  emscripten::function("init_market", &InitMarket);
  emscripten::function("estimate", &Estimate);
  emscripten::function("describe", &tunefit::Describe);
}
