#include <string_view>

#include "core/codec/request_fields.h"

namespace tunefit {

/// Each is a plan of its own.
constexpr std::size_t kMostGrowth = 8;

void ReadPlan(const ObjectReader& request, RequestFields& fields) {
  static constexpr std::string_view kKnown[] = {"methods",       "acquire",     "gpus",         "deadline_hours",
                                                "budget",        "max_gpus",    "global_batch", "ecc_required",
                                                "data_in_house", "vendor_only", "growth"};
  fields.plan_written = request.Find("plan");
  const ObjectReader plan(request, "plan");
  if (!plan.present()) return;
  plan.RefuseUnknown(kKnown);
  PlanFields& read = fields.plan;
  read.methods = ReadWords(plan, words::WordsAt("plan.methods"));
  read.acquire = ReadWords(plan, words::WordsAt("plan.acquire"));
  read.gpus = plan.Texts("gpus");
  read.growth = plan.Texts("growth", kMostGrowth);
  read.deadline_hours = ReadNumber(plan, words::NumberAt("plan.deadline_hours"));
  read.budget = ReadNumber(plan, words::NumberAt("plan.budget"));
  read.max_gpus = ReadCount(plan, words::NumberAt("plan.max_gpus"));
  read.global_batch = ReadCount(plan, words::NumberAt("plan.global_batch"));
  read.ecc_required = plan.Flag("ecc_required");
  read.data_in_house = plan.Flag("data_in_house");
  read.vendor_only = plan.Flag("vendor_only");
}

}  // namespace tunefit
