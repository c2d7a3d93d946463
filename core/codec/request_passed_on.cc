#include <optional>
#include <string_view>

#include "core/codec/request_fields.h"

namespace tunefit {
namespace {

using Known = const std::string_view[];

const JsonValue* ReadDataset(const ObjectReader& request) {
  static constexpr Known kKnown = {"examples", "mean_tokens", "tokens", "epochs"};
  const ObjectReader dataset(request, "dataset");
  dataset.RefuseUnknown(kKnown);
  ReadCount(dataset, words::NumberAt("dataset.examples"));
  ReadNumber(dataset, words::NumberAt("dataset.mean_tokens"));
  ReadCount(dataset, words::NumberAt("dataset.tokens"));
  ReadNumber(dataset, words::NumberAt("dataset.epochs"));
  return request.Find("dataset");
}

}  // namespace

Dataset DatasetOf(const JsonValue* dataset) {
  Dataset read;
  if (dataset == nullptr) return read;
  const auto number = [dataset](std::string_view key) -> std::optional<double> {
    const JsonValue* value = dataset->Find(key);
    return value == nullptr || value->kind == JsonKind::kNull ? std::nullopt : std::optional(value->number);
  };
  read.examples = number("examples");
  read.mean_tokens = number("mean_tokens");
  read.tokens = number("tokens");
  read.epochs = number("epochs").value_or(read.epochs);
  return read;
}

void ReadPassedOn(const ObjectReader& request, RequestFields& fields) {
  fields.dataset = ReadDataset(request);
  ReadPricing(request, fields);
}

}  // namespace tunefit
