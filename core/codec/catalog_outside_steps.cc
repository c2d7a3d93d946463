#include <string>
#include <utility>

#include "core/codec/catalog_rows.h"
#include "core/model/hardware.h"

namespace tunefit {
namespace {

using rules::Object, rules::Positive;

/// Beyond any of the three, in its unit.
constexpr double kMost = 1e9;

constexpr FieldRule kFigure[] = {
    Positive("low", kMost).Needed(),
    Positive("expected", kMost).Needed(),
    Positive("high", kMost).Needed(),
    rules::SourceIds(),
};
constexpr FieldRule kOutsideSteps[] = {
    Object("storage_GBps", kFigure).Needed(),
    Object("gpu_hours_between_interruptions", kFigure).Needed(),
    Object("restart_seconds", kFigure).Needed(),
};

}  // namespace

void ReadOutsideSteps(const ObjectReader& bundle, const KnownNames& names, Catalog& catalog) {
  static constexpr FieldRule kRule = Object("outside_steps", kOutsideSteps);
  if (!CheckField(bundle, kRule, names) || bundle.Find("outside_steps") == nullptr) return;
  const ObjectReader object(bundle, "outside_steps");
  OutsideRates& rates = catalog.outside_steps;
  for (const char* figure : {"storage_GBps", "gpu_hours_between_interruptions", "restart_seconds"}) {
    for (std::string& id : TextsOf(ObjectReader(object, figure), "sources")) {
      catalog.outside_source_ids.push_back(std::move(id));
    }
  }
  rates.storage_bytes_per_second = ReadRange(object, "storage_GBps") * kGiga;
  rates.gpu_seconds_between_interruptions = ReadRange(object, "gpu_hours_between_interruptions") * kSecondsPerHour;
  rates.restart_seconds = ReadRange(object, "restart_seconds");
}

}  // namespace tunefit
