#include "core/model/parallel.h"

#include <string>

namespace tunefit {

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
  }
  return issues;
}

}  // namespace tunefit
