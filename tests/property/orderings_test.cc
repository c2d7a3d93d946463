// Which of two runs is faster: what practitioners know of cards, methods and machines, asked of the catalog's own rows
// through the module's functions. Ratios, so a new fit of the constants may move them but not turn them round.

#include <gtest/gtest.h>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "core/codec/api.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

const Json kFull = {{"kind", "full"}};
const Json kAllLinear = {{"kind", "lora"}, {"rank", 16}, {"target_modules", "all-linear"}};
const Json kOfAttention = {
    {"kind", "lora"}, {"rank", 16}, {"target_modules", {"q_proj", "k_proj", "v_proj", "o_proj"}}};
const Json kNf4 = {{"kind", "nf4"}, {"double_quant", true}};

/// Models of 7B to 8B that people start with.
const std::initializer_list<const char*> kSmallModels = {"meta-llama/Llama-2-7b-hf", "mistralai/Mistral-7B-v0.1",
                                                         "meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B"};

class Orderings : public testing::Test {
 protected:
  static void SetUpTestSuite() { Init(test::ReadFile(TUNEFIT_CATALOG)); }

  static Json TimeOf(const Json& request) {
    const Json report = Json::parse(Estimate(request.dump()), nullptr, false);
    EXPECT_EQ(report["status"], "ok") << report["issues"];
    EXPECT_FALSE(report["time"].is_null()) << request;
    return report["time"];
  }

  static double StepOf(const Json& request) { return TimeOf(request).at("/step_seconds/expected"_json_pointer); }
  static double HoursOf(const Json& request) { return TimeOf(request).at("/total_hours/expected"_json_pointer); }
  static double RateOf(const Json& request) {
    return TimeOf(request).at("/tokens_per_second_per_gpu/expected"_json_pointer);
  }

  static Json Run(const std::string& model, const Json& method, const std::string& gpu) {
    return {{"version", 1},
            {"model", model},
            {"method", method},
            {"gradient_checkpointing", "full"},
            {"batch", {{"per_device", 4}, {"gradient_accumulation", 4}, {"sequence_length", 1024}}},
            {"hardware", {{"gpu", gpu}}}};
  }

  static Json On(Json request, const std::string& gpu) {
    request["hardware"]["gpu"] = gpu;
    return request;
  }
};

TEST_F(Orderings, AnH100IsTwoToFourTimesAsFastAsAnRtx4090) {
  for (const std::string model : kSmallModels) {
    for (const Json& quantization : {Json(), kNf4}) {
      for (const char* checkpointing : {"none", "full"}) {
        Json run = Run(model, kAllLinear, "h100-sxm");
        run["quantization"] = quantization;
        run["gradient_checkpointing"] = checkpointing;
        SCOPED_TRACE(run.dump());
        const double ratio = StepOf(On(run, "rtx-4090")) / StepOf(run);
        EXPECT_GT(ratio, 2);
        EXPECT_LT(ratio, 4);
      }
    }
  }
}

/// Examples of 512 tokens, three times over.
Json Examples(int count) { return {{"examples", count}, {"mean_tokens", 512}, {"epochs", 3}}; }

TEST_F(Orderings, ASmallSetTakesHoursOnOneCard) {
  for (const std::string model : kSmallModels) {
    for (const char* gpu : {"h100-sxm", "rtx-4090", "a100-sxm4-80gb", "a10g"}) {
      Json run = Run(model, kAllLinear, gpu);
      run["dataset"] = Examples(10'000);
      SCOPED_TRACE(run.dump());
      const double hours = HoursOf(run);
      EXPECT_GT(hours, 0.5);
      EXPECT_LT(hours, 24);
    }
  }
}

/// In one machine of eight GPUs, whose host keeps the optimizer's states.
Json Full70B(const char* gpu, int examples, int length) {
  return {{"version", 1},
          {"model", "meta-llama/Llama-3.1-70B"},
          {"method", kFull},
          {"gradient_checkpointing", "full"},
          {"batch", {{"per_device", 1}, {"gradient_accumulation", 4}, {"sequence_length", length}}},
          {"parallel", {{"gpus", 8}, {"strategy", "zero3"}, {"offload", {{"optimizer", "cpu"}}}}},
          {"hardware", {{"gpu", gpu}}},
          {"dataset", Examples(examples)}};
}

// Rows of 512 tokens on average, padded to the longest of the GPUs': 23 hours on H100, over two days on A100.
TEST_F(Orderings, AHundredThousandExamplesTakeAFull70BADayOrMoreInOneMachine) {
  for (const char* gpu : {"h100-sxm", "a100-sxm4-80gb"}) {
    SCOPED_TRACE(gpu);
    const double hours = HoursOf(Full70B(gpu, 100'000, 2048));
    EXPECT_GT(hours, 20);
    EXPECT_LT(hours, 7 * 24);
  }
}

TEST_F(Orderings, AFull70BTakesTenTimesTheGpuHoursOfLoraOn7B) {
  for (const char* gpu : {"h100-sxm", "a100-sxm4-80gb"}) {
    SCOPED_TRACE(gpu);
    Json lora = Run("meta-llama/Llama-2-7b-hf", kAllLinear, gpu);
    lora["dataset"] = Examples(10'000);
    EXPECT_GT(8 * HoursOf(Full70B(gpu, 10'000, 1024)), 10 * HoursOf(lora));
  }
}

void ExpectFasterThanFull(const Json& run, double (*step_of)(const Json&)) {
  Json full = run;
  full["method"] = kFull;
  SCOPED_TRACE(run.dump());
  EXPECT_LT(step_of(run), step_of(full));
}

TEST_F(Orderings, LoraIsFasterThanTrainingEverything) {
  // Adapters of every matrix, where they run in 16 bits. PEFT's run in fp32 behind a dropout of their own, whose bytes
  // take longer than the gradients that frozen weights spare: there it holds for the projections of attention alone.
  for (const char* stack : {"torchtune", "unsloth", "litgpt", "megatron"}) {
    for (const char* model : {"meta-llama/Llama-2-7b-hf", "meta-llama/Llama-3.1-8B"}) {
      for (const char* gpu : {"a100-sxm4-80gb", "h100-sxm", "b200"}) {
        Json run = Run(model, kAllLinear, gpu);
        run["stack"] = stack;
        ExpectFasterThanFull(run, StepOf);
      }
    }
  }
  for (const std::string model : kSmallModels) {
    for (const char* gpu : {"a100-sxm4-80gb", "h100-sxm", "b200", "rtx-4090"}) {
      ExpectFasterThanFull(Run(model, kOfAttention, gpu), StepOf);
    }
  }
}

TEST_F(Orderings, LoraOverShardsSparesTheGradientsTheirWay) {
  for (const char* gpu : {"a100-sxm4-80gb", "h100-sxm"}) {
    Json run = Run("meta-llama/Llama-3.1-70B", kAllLinear, gpu);
    run["parallel"] = {{"gpus", 16}, {"gpus_per_node", 8}, {"strategy", "fsdp"}};
    run["batch"] = {{"per_device", 1}, {"sequence_length", 2048}};
    ExpectFasterThanFull(run, StepOf);
  }
}

TEST_F(Orderings, AQuantizedBaseIsUnpackedInEveryPass) {
  for (const std::string model : kSmallModels) {
    for (const char* gpu : {"h100-sxm", "rtx-4090", "a100-sxm4-80gb", "a10g", "b200"}) {
      for (const char* checkpointing : {"none", "full"}) {
        Json run = Run(model, kAllLinear, gpu);
        run["gradient_checkpointing"] = checkpointing;
        SCOPED_TRACE(run.dump());
        const double lora = StepOf(run);
        run["quantization"] = kNf4;
        EXPECT_GT(StepOf(run), 1.05 * lora);
      }
    }
  }
}

TEST_F(Orderings, WhatFp8GainsGrowsWithTheWidth) {
  for (const auto& [stack, strategy] : {std::pair{"torchtitan", "fsdp2"}, std::pair{"megatron", "zero1"}}) {
    for (const char* gpu : {"h100-sxm", "b200"}) {
      double narrower = 1;
      for (const char* size : {"Llama-3.2-1B", "Llama-3.2-3B", "Llama-3.1-8B", "Llama-3.1-70B", "Llama-3.1-405B"}) {
        Json run = Run(std::string("meta-llama/") + size, kFull, gpu);
        run["stack"] = stack;
        run["parallel"] = {{"gpus", 8}, {"strategy", strategy}};
        run["batch"] = {{"per_device", 1}, {"sequence_length", 8192}};
        run["precision"] = {{"compute", "bf16"}};
        SCOPED_TRACE(run.dump());
        const double in_16_bits = StepOf(run);
        run["precision"] = {{"compute", "fp8"}};
        const double gain = in_16_bits / StepOf(run);
        EXPECT_GT(gain, narrower);
        narrower = gain;
      }
    }
  }
}

TEST_F(Orderings, MoreTensorRanksDoLessEach) {
  for (const auto& [stack, strategy] : {std::pair{"megatron", "zero1"}, std::pair{"torchtitan", "fsdp2"}}) {
    for (const char* model : {"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B"}) {
      for (const char* gpu : {"a100-sxm4-80gb", "h100-sxm", "b200"}) {
        double fewer = 0;
        for (const int tensor : {2, 4, 8}) {
          Json run = Run(model, kFull, gpu);
          run["stack"] = stack;
          run["parallel"] = {{"gpus", 16},
                             {"gpus_per_node", 8},
                             {"strategy", strategy},
                             {"tensor", tensor},
                             {"sequence_parallel", true}};
          // As many sequences a step, however the GPUs are shared out.
          run["batch"] = {{"per_device", 1}, {"gradient_accumulation", 2 * tensor}, {"sequence_length", 4096}};
          SCOPED_TRACE(run.dump());
          const double rate = RateOf(run);
          if (fewer > 0) {
            EXPECT_LT(rate, fewer);
          }
          fewer = rate;
        }
      }
    }
  }
}

TEST_F(Orderings, APcieServerIsSlowerThanAnHgxOne) {
  struct Cards {
    const char *hgx, *pcie;
  };
  for (const auto& [hgx, pcie] : {Cards{"a100-sxm4-80gb", "a100-pcie-80gb"}, Cards{"h100-sxm", "h100-pcie"},
                                  Cards{"h100-sxm", "h100-nvl"}, Cards{"h200-sxm", "h200-nvl"}}) {
    for (const Json& method : {kFull, kAllLinear}) {
      for (const char* strategy : {"ddp", "fsdp", "zero2", "zero3"}) {
        Json run = Run("meta-llama/Llama-3.1-8B", method, hgx);
        run["parallel"] = {{"gpus", 8}, {"gpus_per_node", 8}, {"strategy", strategy}};
        SCOPED_TRACE(run.dump() + " against " + pcie);
        EXPECT_GT(StepOf(On(run, pcie)), StepOf(run));
      }
      // Not for its cards alone: eight of them have more to wait for than one.
      const Json alone = Run("meta-llama/Llama-3.1-8B", method, hgx);
      Json shared = alone;
      shared["parallel"] = {{"gpus", 8}, {"gpus_per_node", 8}, {"strategy", "ddp"}};
      EXPECT_GT(StepOf(On(shared, pcie)) / StepOf(On(alone, pcie)), StepOf(shared) / StepOf(alone));
    }
  }
}

}  // namespace
}  // namespace tunefit
