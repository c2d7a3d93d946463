#include <optional>
#include <string_view>

#include "core/codec/request_fields.h"

namespace tunefit {

DatasetFields ReadDataset(const ObjectReader& request) {
  static constexpr std::string_view kKnown[] = {"examples", "mean_tokens", "tokens", "epochs"};
  const ObjectReader dataset(request, "dataset");
  dataset.RefuseUnknown(kKnown);
  DatasetFields fields;
  fields.given = dataset.present();
  fields.examples = ReadCount(dataset, words::NumberAt("dataset.examples"));
  fields.mean_tokens = ReadNumber(dataset, words::NumberAt("dataset.mean_tokens"));
  fields.tokens = ReadCount(dataset, words::NumberAt("dataset.tokens"));
  fields.epochs = ReadNumber(dataset, words::NumberAt("dataset.epochs"));
  return fields;
}

Dataset DatasetOf(const DatasetFields& fields) {
  Dataset dataset;
  if (fields.examples) dataset.examples = static_cast<double>(*fields.examples);
  dataset.mean_tokens = fields.mean_tokens;
  if (fields.tokens) dataset.tokens = static_cast<double>(*fields.tokens);
  dataset.epochs = fields.epochs.value_or(dataset.epochs);
  return dataset;
}

}  // namespace tunefit
