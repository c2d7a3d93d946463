#include <string_view>

#include "core/codec/request_fields.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

const JsonValue* ReadDataset(const ObjectReader& request) {
  static constexpr Known kKnown = {"examples", "mean_tokens", "tokens", "epochs"};
  const ObjectReader dataset(request, "dataset");
  dataset.RefuseUnknown(kKnown);
  dataset.Count("examples", 1, 1000000000000);
  dataset.Number("mean_tokens", 1, 16777216);
  dataset.Count("tokens", 1, 1000000000000000);
  dataset.Number("epochs", 0, 1000000);
  return request.Find("dataset");
}

}  // namespace

void ReadPassedOn(const ObjectReader& request, RequestFields& fields) {
  fields.dataset = ReadDataset(request);
  ReadPricing(request, fields);
}

}  // namespace tunefit
