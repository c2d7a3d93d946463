#include "core/model/parallel.h"

#include <string>

namespace tunefit {

namespace {

/// Groups of ranks within the data ranks: they must fill them.
void ValidateGroup(Issues& issues, const Parallel& parallel, const char* field, std::int64_t group) {
  if (group <= 0 || parallel.DataRanks() % group == 0) return;
  const std::string value = std::to_string(group);
  const std::string ranks = std::to_string(parallel.DataRanks());
  issues.push_back(
      {.code = "shard_does_not_divide",
       .field = field,
       .message =
           ranks + " ranks that train the same part of the model cannot be divided into groups of " + value + ".",
       .values = {{"value", value}, {"ranks", ranks}}});
}

}  // namespace

Issues Validate(const Parallel& parallel) {
  Issues issues;
  const std::int64_t shared = parallel.tensor * parallel.pipeline * parallel.context;
  const std::string gpus = std::to_string(parallel.gpus);
  const std::string ranks = std::to_string(shared);
  if (shared > parallel.gpus || parallel.gpus % shared != 0) {
    issues.push_back(
        {.code = "gpus_do_not_divide",
         .field = "parallel.gpus",
         .message = gpus + " GPUs cannot be divided into groups of " + ranks + " (tensor x pipeline x context).",
         .values = {{"value", gpus}, {"group", ranks}}});
  } else if (parallel.gpus / parallel.pipeline % (parallel.ExpertTensor() * parallel.expert) != 0) {
    const std::string copies = std::to_string(parallel.gpus / parallel.pipeline);
    const std::string value = std::to_string(parallel.ExpertTensor() * parallel.expert);
    issues.push_back({.code = "copies_do_not_divide",
                      .field = "parallel.expert",
                      .message = copies + " GPUs, those of a pipeline stage, cannot be divided into groups of " +
                                 value + " (expert x expert_tensor).",
                      .values = {{"value", copies}, {"group", value}}});
  } else if (parallel.strategy == Strategy::kNone && parallel.gpus > shared) {
    issues.push_back({.code = "copies_without_strategy",
                      .field = "parallel.strategy",
                      .message = gpus + " GPUs hold " + std::to_string(parallel.gpus / shared) +
                                 " copies of the model: say how they work together, \"ddp\" for example.",
                      .values = {{"value", gpus}}});
  } else {
    ValidateGroup(issues, parallel, "parallel.shard", parallel.shard);
    ValidateGroup(issues, parallel, "parallel.zero.zero_hpz_partition_size", parallel.zero.hpz_partition_size);
  }
  return issues;
}

}  // namespace tunefit
