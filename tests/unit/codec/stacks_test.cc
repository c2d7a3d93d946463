// What a stack's rows in the catalog make of a request: defaults and mechanisms, by date.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <variant>

#include "core/codec/request.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

class Stacks : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Issues issues;
    catalog_ = new Catalog(ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues));
  }
  static void TearDownTestSuite() {
    delete catalog_;
    catalog_ = nullptr;
  }
  static RequestReading Read(const std::string& stack, const std::string& month, const std::string& more = "",
                             const std::string& model = "llama-3.1-8b") {
    const std::string version = month.empty() ? "" : R"(,"stack_version":")" + month + '"';
    return ReadRequest(R"({"version":1,"model":")" + model + R"(","stack":")" + stack + '"' + version + more + "}",
                       *catalog_);
  }

  static Catalog* catalog_;
};

Catalog* Stacks::catalog_ = nullptr;

TEST_F(Stacks, TorchtunesLossChangedTwice) {
  const RequestReading first = Read("torchtune", "2024-06");
  ASSERT_FALSE(HasError(first.issues));
  EXPECT_EQ(first.workload.loss, Loss::kStandard);
  EXPECT_TRUE(first.workload.habits.loss.classes_first);
  EXPECT_TRUE(first.workload.habits.loss.loop_holds);
  EXPECT_EQ(first.workload.habits.logits_upcast, LogitsUpcast::kModel);
  const RequestReading second = Read("torchtune", "2024-12");
  EXPECT_EQ(second.workload.loss, Loss::kChunked);
  EXPECT_EQ(second.workload.habits.loss.chunked, ChunkedLoss::kLogitsInChunks);
  EXPECT_EQ(second.workload.habits.loss.chunks, 8);
  EXPECT_FALSE(second.workload.habits.loss.loop_holds);
  EXPECT_EQ(Read("torchtune", "").workload.habits.loss.chunked, ChunkedLoss::kHeadInChunks);
}

TEST_F(Stacks, TorchtitanCompiledItsLossOffAndOn) {
  for (const auto& [month, compiled] :
       {std::pair{"2024-06", false}, {"2024-11", true}, {"2025-01", false}, {"", true}}) {
    EXPECT_EQ(Read("torchtitan", month).workload.habits.loss.compiled, compiled) << month;
  }
  EXPECT_EQ(Read("torchtitan", "2024-06").workload.habits.logits_upcast, LogitsUpcast::kModel);
  EXPECT_EQ(Read("torchtitan", "").workload.habits.logits_upcast, LogitsUpcast::kLoss);
}

TEST_F(Stacks, HeadsAreRepeatedForFlashAttentionInSomeClassesOnceUponATime) {
  const auto repeats = [](const std::string& model, const std::string& month) {
    const RequestReading reading = ReadRequest(R"({"version":1,"model":")" + model + R"(")" +
                                                   (month.empty() ? "" : R"(,"stack_version":")" + month + '"') + "}",
                                               *catalog_);
    const Block& block = reading.workload.architecture.runs.front().period.front();
    return std::pair{std::get<Attention>(block.mixer).flash_heads, reading.workload.habits.flash_repeats};
  };
  for (const char* model : {"mistralai/Mistral-7B-v0.1", "mixtral-8x7b", "qwen2.5-7b", "phi-3-mini", "starcoder2-7b"}) {
    EXPECT_EQ(repeats(model, "2024-12"), std::pair(FlashHeads::kRepeated, FlashRepeats::kAll)) << model;
  }
  EXPECT_EQ(repeats("qwen2-57b-a14b", "2025-01"), std::pair(FlashHeads::kRepeatedLonger, FlashRepeats::kUnconverted));
  EXPECT_EQ(repeats("llama-3.1-8b", ""), std::pair(FlashHeads::kGrouped, FlashRepeats::kNone));
}

TEST_F(Stacks, TorchtitansTensorRanksDivideTokensWhereThatIsModelled) {
  const std::string two = R"(,"parallel":{"gpus":2,"tensor":2}})";
  const auto read = [&two](const std::string& start) { return ReadRequest(start + two, *catalog_); };
  EXPECT_TRUE(read(R"({"version":1,"model":"llama-3.1-8b","stack":"torchtitan")").workload.parallel.sequence_parallel);
  EXPECT_FALSE(read(R"({"version":1,"model":"llama-3.1-8b","stack":"megatron")").workload.parallel.sequence_parallel);
  const RequestReading tower = read(R"({"version":1,"model":"gemma-3-4b","stack":"torchtitan")");
  EXPECT_FALSE(HasError(tower.issues));
  EXPECT_FALSE(tower.workload.parallel.sequence_parallel);
}

TEST_F(Stacks, MegatronKeepsFp8OperandsAndTheirTransposesBeforeBlackwell) {
  const auto read = [](const std::string& rest) {
    return ReadRequest(R"({"version":1,"model":"llama-3.1-8b","precision":{"compute":"fp8")" + rest + "}", *catalog_);
  };
  const RequestReading plain = read(R"(},"stack":"megatron")");
  ASSERT_FALSE(HasError(plain.issues));
  EXPECT_EQ(plain.workload.habits.fp8_operands, Fp8Operands::kKept);
  EXPECT_TRUE(plain.workload.precision.fp8_transposes);
  EXPECT_FALSE(plain.workload.precision.fp8_weights);
  EXPECT_EQ(plain.workload.precision.weights, Dtype::kBf16);
  const auto on = [&read](const std::string& gpu) {
    return read(R"(},"stack":"megatron","hardware":{"gpu":")" + gpu + R"("})").workload.precision.fp8_transposes;
  };
  EXPECT_TRUE(on("h100-sxm"));
  EXPECT_TRUE(on("l4"));
  EXPECT_FALSE(on("b200"));
  EXPECT_TRUE(on("rtx-5090"));  // compute capability 12
  EXPECT_EQ(read(R"(},"stack":"torchtitan")").workload.habits.fp8_operands, Fp8Operands::kCast);
  const RequestReading lora = read(R"(,"weights":"fp8"},"stack":"megatron","method":{"kind":"lora"})");
  EXPECT_FALSE(HasError(lora.issues));
  EXPECT_TRUE(lora.workload.precision.fp8_weights);
  EXPECT_EQ(lora.workload.precision.weights, Dtype::kBf16);
  EXPECT_EQ(lora.workload.habits.vocabulary_multiple, 128);
}

TEST_F(Stacks, ZerosSettingsAreTransformersOrDeepSpeedsOwn) {
  const auto read = [](const std::string& stack, const std::string& strategy) {
    const RequestReading reading = Read(stack, "", R"(,"parallel":{"gpus":8,"strategy":")" + strategy + R"("})");
    EXPECT_FALSE(HasError(reading.issues)) << stack << strategy;
    return reading.workload.parallel.zero;
  };
  const ZeroSettings third = read("transformers", "zero3");
  EXPECT_EQ(third.reduce_bucket_size, 4096 * 4096);
  EXPECT_EQ(third.prefetch_bucket_size, 15'099'494);  // nine tenths of that
  EXPECT_EQ(third.param_persistence_threshold, 40'960);
  EXPECT_TRUE(third.overlap_comm);
  const ZeroSettings second = read("transformers", "zero2");
  EXPECT_EQ(second.reduce_bucket_size, 200'000'000);
  EXPECT_TRUE(second.overlap_comm);
  const ZeroSettings own_third = read("deepspeed", "zero3");
  EXPECT_EQ(own_third.reduce_bucket_size, 500'000'000);
  EXPECT_EQ(own_third.prefetch_bucket_size, 50'000'000);
  EXPECT_EQ(own_third.param_persistence_threshold, 100'000);
  EXPECT_TRUE(own_third.overlap_comm);
  EXPECT_FALSE(read("deepspeed", "zero1").overlap_comm);
}

TEST_F(Stacks, AllInOneDtypeWithoutAutocast) {
  for (const char* stack : {"torchtune", "litgpt"}) {
    const RequestReading reading = Read(stack, "", R"(,"method":{"kind":"lora"})");
    ASSERT_FALSE(HasError(reading.issues)) << stack;
    const Workload& workload = reading.workload;
    EXPECT_FALSE(workload.precision.autocast) << stack;
    EXPECT_EQ(workload.precision.weights, Dtype::kBf16) << stack;
    EXPECT_EQ(workload.method.adapter_dtype, Dtype::kBf16) << stack;
    EXPECT_FALSE(workload.habits.lora_casts_input) << stack;
    EXPECT_FALSE(workload.habits.model.masks_padding) << stack;
    EXPECT_EQ(workload.method.target_modules, (std::vector<std::string>{"q_proj", "v_proj"})) << stack;
  }
}

TEST_F(Stacks, UnslothBringsItsKernelsAndOffloads) {
  const Workload early = Read("unsloth", "2024-01", R"(,"method":{"kind":"lora"})").workload;
  EXPECT_EQ(early.checkpointing, Checkpointing::kFull);
  EXPECT_EQ(early.loss, Loss::kFusedCe);
  EXPECT_TRUE(early.fused.rms_norm && early.fused.rope && early.fused.swiglu && early.fused.lora);
  const Workload late = Read("unsloth", "", R"(,"method":{"kind":"lora"})").workload;
  EXPECT_EQ(late.checkpointing, Checkpointing::kOffload);
  EXPECT_EQ(late.loss, Loss::kFusedLinearCe);
  const Workload without = Read("unsloth", "", R"(,"fused_kernels":[])").workload;
  EXPECT_FALSE(without.fused.rms_norm);
}

TEST_F(Stacks, SelectiveIsWhatTheLibraryMakesOfIt) {
  const std::string selective = R"(,"gradient_checkpointing":"selective")";
  EXPECT_EQ(Read("torchtitan", "").workload.checkpointing, Checkpointing::kSelective);
  EXPECT_EQ(Read("torchtitan", "").workload.habits.selective_checkpoint,
            SelectiveCheckpoint::kAllButEverySecondProduct);
  EXPECT_EQ(Read("transformers", "", selective).workload.habits.selective_checkpoint,
            SelectiveCheckpoint::kAllButAttention);
  EXPECT_EQ(Read("transformers", "2025-06").workload.habits.recompute, Recompute::kReentrant);
  EXPECT_EQ(Read("transformers", "2026-02").workload.habits.recompute, Recompute::kStopsEarly);
}

TEST_F(Stacks, AYearAloneIsItsMiddle) {
  EXPECT_TRUE(Read("litgpt", "2024").workload.habits.kbit_keeps_input);  // until 2024-12
  EXPECT_EQ(Read("litgpt", "2024").workload.habits.model.joined_qkv, JoinedQkv::kGroups);
  EXPECT_EQ(Read("litgpt", "2025").workload.habits.model.joined_qkv, JoinedQkv::kParts);
}

TEST_F(Stacks, LitGptBuildsEveryDecoderWithItsOwnModules) {
  const RequestReading falcon =
      Read("litgpt", "2024-04", R"(,"method":{"kind":"lora","target_modules":["q_proj","v_proj","up_proj"]})",
           "tiiuae/falcon-7b");
  EXPECT_FALSE(HasError(falcon.issues));
  EXPECT_EQ(falcon.workload.method.target_modules, (std::vector<std::string>{"q_proj", "v_proj", "up_proj"}));
  EXPECT_TRUE(HasError(
      Read("transformers", "2024-04", R"(,"method":{"kind":"lora","target_modules":["q_proj"]})", "tiiuae/falcon-7b")
          .issues));
}

TEST_F(Stacks, TheLongestBatchComesBeforeTheLoopHoldsAnything) {
  const std::string varied = R"(,"batch":{"length_varies":true})";
  EXPECT_TRUE(Read("litgpt", "2024-01").workload.habits.loss.loop_holds);
  EXPECT_FALSE(Read("litgpt", "2024-01", varied).workload.habits.loss.loop_holds);
  EXPECT_TRUE(Read("litgpt", "2024-03", varied).workload.habits.loss.loop_holds);
}

TEST_F(Stacks, FourBitProductsKeptTheirInputOnce) {
  EXPECT_TRUE(Read("litgpt", "2024-04").workload.habits.kbit_keeps_input);
  EXPECT_FALSE(Read("litgpt", "2025-04").workload.habits.kbit_keeps_input);
}

}  // namespace
}  // namespace tunefit
