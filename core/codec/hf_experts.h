#pragma once

#include <vector>

#include "core/codec/hf_reading.h"
#include "core/model/layer.h"

namespace tunefit {

/// The experts of a model, and which of its layers have them. No layer where the class has none.
struct ExpertPlan {
  Experts experts;
  std::vector<bool> layers;
};

ExpertPlan ReadExperts(const HfReading& reading, const HfSizes& sizes);

}  // namespace tunefit
