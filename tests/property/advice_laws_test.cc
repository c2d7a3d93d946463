// Laws of advice, over seeded random requests. A failure prints the seed and the request.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "core/codec/api.h"
#include "tests/support/advice.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

constexpr unsigned kCases = TUNEFIT_ADVICE_CASES;

/// Requests of all stacks, cards and recipes; most of them are valid.
class Requests {
 public:
  explicit Requests(unsigned seed) : random_(seed) {}

  Json Next() {
    Json request = {{"version", 1}, {"detail", "summary"}, {"include", Json::array({"advice"})}};
    request["model"] = Any({"llama-3.1-8b", "qwen2.5-0.5b", "mistral-7b-v0.1", "gemma-2-9b", "gpt2", "llama-3.1-70b",
                            "mixtral-8x7b-v0.1", "phi-2"});
    request["stack"] = Any({"transformers", "transformers", "torchtune", "torchtitan", "litgpt", "unsloth",
                            "llm-foundry", "deepspeed", "megatron"});
    request["hardware"] = {{"gpu", Any({"rtx-4090", "h100-sxm", "a100-sxm4-40gb", "l40s", "t4", "mi300x", "a10g"})}};
    AddRecipe(request);
    request["batch"] = {{"per_device", Of({1, 2, 4, 6, 16})},
                        {"gradient_accumulation", Of({1, 2, 8})},
                        {"sequence_length", Of({512, 1000, 2048, 8192})}};
    if (Chance(40)) request["parallel"] = {{"gpus", Of({2, 4, 8})}};
    if (Chance(60)) request["dataset"] = {{"examples", 5000}, {"mean_tokens", Of({200, 900, 2000})}};
    if (Chance(10)) request["pricing"] = {{"gpu_per_hour", 2}};
    return request;
  }

 private:
  void AddRecipe(Json& request) {
    const std::string method = Any({"full", "full", "lora", "qlora", "freeze"});
    request["method"] = {{"kind", method == "qlora" ? "lora" : method}};
    if (method == "qlora") request["quantization"] = {{"kind", Any({"nf4", "int8"})}};
    if (method == "freeze") request["method"]["trainable_layers"] = 3;
    if (Chance(50)) request["gradient_checkpointing"] = Any({"none", "full", "selective"});
    if (Chance(10)) request["gradient_checkpointing"] = {{"every", 2}};
    if (Chance(40)) request["precision"] = {{"weights", Any({"fp32", "bf16"})}};
    if (Chance(40)) request["optimizer"] = Any({"adamw_torch", "adamw_torch_fused", "paged_adamw_32bit", "sgd"});
    if (Chance(30)) request["attention"] = Any({"eager", "sdpa", "flash_attention_2"});
    if (Chance(30)) request["loss"] = Any({"standard", "chunked", "fused_linear_ce"});
  }
  std::int64_t Below(std::int64_t limit) { return static_cast<std::int64_t>(random_() % static_cast<unsigned>(limit)); }
  bool Chance(std::int64_t percent) { return Below(100) < percent; }
  std::string Any(const std::vector<std::string>& words) {
    return words[static_cast<std::size_t>(Below(static_cast<std::int64_t>(words.size())))];
  }
  int Of(const std::vector<int>& numbers) {
    return numbers[static_cast<std::size_t>(Below(static_cast<std::int64_t>(numbers.size())))];
  }

  std::mt19937 random_;
};

TEST(AdviceLaws, WhatIsStatedHolds) {
  ASSERT_NE(Init(test::ReadFile(TUNEFIT_CATALOG)).find("\"ok\""), std::string::npos);
  ASSERT_NE(InitMarket(test::ReadFile(TUNEFIT_MARKET)).find("\"ok\""), std::string::npos);
  unsigned answered = 0;
  unsigned entries = 0;
  for (unsigned seed = 1; seed <= kCases && !testing::Test::HasFailure(); ++seed) {
    const Json request = Requests(seed).Next();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + request.dump());
    const std::string text = Estimate(request.dump());
    EXPECT_EQ(Estimate(request.dump()), text);
    const Json report = Json::parse(text, nullptr, false);
    if (report["status"] != "ok") continue;
    ++answered;
    entries += static_cast<unsigned>(report["advice"].size());
    test::ExpectAdviceHolds(request, report);
    const bool fits = report["fit"]["verdict"] == "fits";
    EXPECT_EQ(test::SaysThatNoneDo(report), !fits && !test::SettingsMakeItFit(report));
  }
  EXPECT_GT(answered, kCases / 2);
  EXPECT_GT(entries, 2 * answered);
}

}  // namespace
}  // namespace tunefit
