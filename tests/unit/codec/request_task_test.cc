// Tasks in a request: what is taken where nothing is said, and what makes no sense.
#include <gtest/gtest.h>

#include <string>

#include "core/codec/request.h"
#include "tests/support/files.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

class TaskRequest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Issues issues;
    catalog_ = new Catalog(ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues));
  }
  static void TearDownTestSuite() { delete catalog_; }

  static RequestReading Read(const std::string& members) {
    return ReadRequest(R"({"version":1,"model":"llama-3.1-8b",)" + members + "}", *catalog_);
  }
  static std::string Codes(const std::string& members) {
    std::string text;
    for (const Issue& issue : Read(members).issues) {
      if (issue.severity == Severity::kError) text += issue.code + "@" + issue.field + " ";
    }
    return text;
  }
  static std::string Assumed(const RequestReading& reading, std::string_view field) {
    for (const Assumption& assumption : reading.assumptions) {
      if (assumption.field == field) return assumption.value + " " + assumption.reason;
    }
    return "";
  }

  static Catalog* catalog_;
};

Catalog* TaskRequest::catalog_ = nullptr;

const std::string kLengths = R"("rollout":{"prompt_length":512,"completion_length":512},"batch":{"per_device":8})";

TEST_F(TaskRequest, AReferenceIsACopyOrTheModelWithoutItsAdapter) {
  EXPECT_EQ(Assumed(Read(R"("task":"dpo")"), "reference"), "\"copy\" core_default");
  EXPECT_EQ(Read(R"("task":"dpo")").workload.reference, Reference::kCopy);
  EXPECT_EQ(Read(R"("task":"kto","method":{"kind":"lora"})").workload.reference, Reference::kAdapterOff);
  EXPECT_EQ(Read(R"("task":"dpo","reference":"precomputed")").workload.reference, Reference::kPrecomputed);
  EXPECT_EQ(Read(R"("task":"orpo")").workload.reference, Reference::kNone);
  EXPECT_EQ(Assumed(Read(R"("task":"sft")"), "reference"), "");
}

TEST_F(TaskRequest, GrpoHadAReferenceUntilItsBetaBecameZero) {
  EXPECT_EQ(Read(R"("task":"grpo","stack_version":"2025-05",)" + kLengths).workload.reference, Reference::kCopy);
  EXPECT_EQ(Read(R"("task":"grpo","stack_version":"2025-06",)" + kLengths).workload.reference, Reference::kNone);
}

TEST_F(TaskRequest, WhatTheTrainersDidByDate) {
  const auto habits = [](const char* month) {
    return Read(R"("task":"dpo","stack_version":")" + std::string(month) + "\"").workload.habits;
  };
  EXPECT_FALSE(habits("2025-01").selective_log_softmax);
  EXPECT_TRUE(habits("2025-02").selective_log_softmax);
  EXPECT_FALSE(habits("2026-02").preference_logs_logits);
  EXPECT_TRUE(habits("2026-03").preference_logs_logits);
}

TEST_F(TaskRequest, ASequenceIsAPromptAndACompletion) {
  const RequestReading reading = Read(R"("task":"grpo",)" + kLengths);
  EXPECT_EQ(reading.workload.batch.sequence_length, 1024);
  EXPECT_EQ(Assumed(reading, "batch.sequence_length"), "1024 rollout");
  EXPECT_EQ(Assumed(reading, "rollout.generations"), "8 core_default");
  EXPECT_EQ(Assumed(reading, "rollout.engine"), "\"transformers\" core_default");
  const std::string rollout = R"("task":"grpo","rollout":{"prompt_length":512,"completion_length":512},)";
  EXPECT_EQ(Codes(rollout + R"("batch":{"per_device":8,"sequence_length":1024})"), "");
  EXPECT_EQ(Codes(rollout + R"("batch":{"per_device":8,"sequence_length":2048})"),
            "lengths_differ@batch.sequence_length ");
  EXPECT_EQ(Codes(rollout + R"("batch":{"per_device":6})"), "generations_do_not_divide@rollout.generations ");
  EXPECT_EQ(Codes(rollout + R"("batch":{"per_device":2,"gradient_accumulation":4})"), "");
}

TEST_F(TaskRequest, LengthsThatNobodySaidAreTheTrainers) {
  const auto lengths = [](const std::string& members) {
    const Rollout rollout = Read(members).workload.rollout;
    return std::pair(rollout.prompt_length, rollout.completion_length);
  };
  using Lengths = std::pair<std::int64_t, std::int64_t>;
  const std::string grpo = R"("task":"grpo",)";
  EXPECT_EQ(lengths(grpo + R"("batch":{"per_device":8})"), Lengths(512, 256));
  EXPECT_EQ(lengths(R"("task":"ppo","batch":{"per_device":8})"), Lengths(512, 53));
  // Of prompt, completion and sequence two say the third.
  EXPECT_EQ(lengths(grpo + R"("batch":{"per_device":8,"sequence_length":2048})"), Lengths(1792, 256));
  EXPECT_EQ(lengths(grpo + R"("batch":{"per_device":8,"sequence_length":2048},"rollout":{"prompt_length":1000})"),
            Lengths(1000, 1048));
  EXPECT_EQ(lengths(grpo + R"("batch":{"per_device":8},"rollout":{"completion_length":1000})"), Lengths(512, 1000));
  EXPECT_EQ(Assumed(Read(grpo + R"("batch":{"per_device":8})"), "rollout.prompt_length"), "512 core_default");
  // A short sequence is half of each at most.
  EXPECT_EQ(lengths(grpo + R"("batch":{"per_device":8,"sequence_length":256})"), Lengths(128, 128));
}

TEST_F(TaskRequest, AColocatedEngineTakesItsShareOfTheCard) {
  const std::string vllm =
      R"("task":"grpo","batch":{"per_device":8},"rollout":{"prompt_length":512,"completion_length":512,"engine":"vllm")";
  const RequestReading on_card = Read(vllm + R"(},"hardware":{"gpu":"h100-sxm"})");
  EXPECT_EQ(Assumed(on_card, "rollout.memory_share"), "0.3 core_default");
  EXPECT_DOUBLE_EQ(on_card.workload.rollout.engine_bytes, 0.3 * on_card.gpu->usable_bytes);
  const RequestReading half = Read(vllm + R"(,"memory_share":0.5},"hardware":{"gpu":"h100-sxm"})");
  EXPECT_DOUBLE_EQ(half.workload.rollout.engine_bytes, 0.5 * half.gpu->usable_bytes);
  EXPECT_EQ(Read(vllm + R"(,"colocated":false})").workload.rollout.engine_bytes, 0);
  // No card: 8,030,261,248 weights of two bytes, and eight sequences of 1,024 tokens of 131,072 bytes.
  EXPECT_DOUBLE_EQ(Read(vllm + "}").workload.rollout.engine_bytes, 2 * 8'030'261'248.0 + 8.0 * 1024 * 131'072);
}

TEST_F(TaskRequest, AnEngineApartHasAGpuUnlessToldOtherwise) {
  const std::string apart = R"("task":"grpo","batch":{"per_device":8},"hardware":{"gpu":"h100-sxm"},"rollout":{)"
                            R"("prompt_length":512,"completion_length":512,"engine":"vllm","colocated":false)";
  const RequestReading one = Read(apart + "}");
  EXPECT_EQ(Assumed(one, "rollout.engine_gpus"), "1 core_default");
  EXPECT_DOUBLE_EQ(one.workload.rollout.server_bytes, 0.9 * one.gpu->usable_bytes);
  const RequestReading four = Read(apart + R"(,"engine_gpus":4})");
  EXPECT_EQ(four.workload.rollout.engine_gpus, 4);
  EXPECT_DOUBLE_EQ(four.workload.rollout.server_bytes, 4 * 0.9 * four.gpu->usable_bytes);
}

TEST_F(TaskRequest, StepsOfARolloutAreTheTrainers) {
  const std::string batch = R"(,"batch":{"per_device":8})";
  EXPECT_EQ(Assumed(Read(R"("task":"grpo")" + batch), "rollout.iterations"), "1 core_default");
  EXPECT_EQ(Assumed(Read(R"("task":"ppo")" + batch), "rollout.iterations"), "4 core_default");
  EXPECT_EQ(Read(R"("task":"grpo","rollout":{"iterations":2})" + batch).workload.rollout.iterations, 2);
}

TEST_F(TaskRequest, WhatMakesNoSense) {
  EXPECT_EQ(Codes(R"("task":"dpo","batch":{"packing":"packed"})"), "not_for_task@batch.packing ");
  EXPECT_EQ(Codes(R"("task":"orpo","reference":"copy")"), "not_for_task@reference ");
  EXPECT_EQ(Codes(R"("task":"dpo","reference":"adapter")"), "not_for_task@reference ");
  EXPECT_EQ(Codes(R"("task":"dpo",)" + kLengths), "not_for_task@rollout ");
  EXPECT_EQ(Codes(R"("task":"grpo","reference":"precomputed",)" + kLengths), "not_for_task@reference ");
  EXPECT_EQ(Codes(R"("task":"grpo","batch":{"per_device":8},"rollout":{"prompt_length":8,"completion_length":8,)"
                  R"("colocated":false})"),
            "not_for_task@rollout.colocated ");
  EXPECT_EQ(Codes(R"("task":"grpo","batch":{"per_device":8},"rollout":{"prompt_length":8,"completion_length":8,)"
                  R"("generations":1})"),
            "not_for_task@rollout.generations ");
}

TEST_F(TaskRequest, WhatChangesNothingIsSaid) {
  const std::string grpo = R"("task":"grpo","batch":{"per_device":8},"rollout":{)";
  const auto note = [&](const char* rollout, const char* field) {
    const RequestReading reading = Read(grpo + rollout + "}");
    EXPECT_FALSE(HasError(reading.issues)) << rollout;
    EXPECT_TRUE(test::HasIssue(reading.issues, "no_effect", field)) << rollout;
  };
  note(R"("engine":"vllm","engine_gpus":2)", "rollout.engine_gpus");
  note(R"("engine":"vllm","colocated":false,"memory_share":0.5)", "rollout.memory_share");
  note(R"("engine":"transformers","memory_share":0.5)", "rollout.memory_share");
}

TEST_F(TaskRequest, OnlyAnEngineApartHasGpusThatTheCostLeavesOut) {
  const auto leaves_out = [](const char* colocated) {
    const std::string members = R"("task":"grpo","batch":{"per_device":8},"hardware":{"gpu":"h100-sxm"},)"
                                R"("dataset":{"examples":100},"rollout":{"engine":"vllm","engine_gpus":2,"colocated":)";
    return test::HasIssue(Read(members + colocated + "}").issues, "not_modelled", "rollout.engine_gpus");
  };
  EXPECT_TRUE(leaves_out("false"));
  EXPECT_FALSE(leaves_out("true"));
}

TEST_F(TaskRequest, AnEngineNeedsRoomForTheModel) {
  const std::string grpo = R"("task":"grpo","batch":{"per_device":8},"hardware":{"gpu":"h100-sxm"},"rollout":{)"
                           R"("prompt_length":512,"completion_length":512,"engine":"vllm",)";
  const auto warned = [&](const char* rollout, const char* field) {
    const RequestReading reading = Read(grpo + rollout + "}");
    EXPECT_FALSE(HasError(reading.issues)) << rollout;
    return test::HasIssue(reading.issues, "engine_without_room", field);
  };
  // 16.1 GB of weights, and 0.1 GB of keys and values, on 85.5 GB.
  EXPECT_TRUE(warned(R"("memory_share":0.18)", "rollout.memory_share"));
  EXPECT_FALSE(warned(R"("memory_share":0.2)", "rollout.memory_share"));
  EXPECT_FALSE(warned(R"("colocated":false)", "rollout.engine_gpus"));
}

TEST_F(TaskRequest, WhatIsNotModelled) {
  EXPECT_EQ(Codes(R"("task":"dpo","loss":"fused_linear_ce")"), "not_modelled@loss ");
  EXPECT_EQ(Codes(R"("task":"ppo","batch":{"per_device":8},"rollout":{"prompt_length":8,"completion_length":8,)"
                  R"("engine":"vllm"})"),
            "not_modelled@rollout.engine ");
}

TEST_F(TaskRequest, ClassifiersCountTheirOwnHead) {
  EXPECT_EQ(Read(R"("task":"reward")").workload.architecture.labels, 1);
  EXPECT_EQ(Read(R"("task":"seqcls")").workload.architecture.labels, 2);
  EXPECT_EQ(Read(R"("task":"dpo")").workload.architecture.labels, 0);
}

TEST_F(TaskRequest, AnEvaluationKeepsWhatItIsToldTo) {
  EXPECT_EQ(Read(R"("task":"sft")").workload.evaluation.per_device, 0);
  EXPECT_EQ(Read(R"("evaluation":{})").workload.evaluation.per_device, 8);
  EXPECT_EQ(Read(R"("evaluation":{})").workload.evaluation.kept_batches, 0);
  EXPECT_EQ(Read(R"("evaluation":{"keeps_logits":true,"examples":20})").workload.evaluation.kept_batches, 3);
  EXPECT_EQ(Read(R"("evaluation":{"keeps_logits":true,"examples":20,"accumulation_steps":2})")
                .workload.evaluation.kept_batches,
            2);
  EXPECT_EQ(Codes(R"("evaluation":{"keeps_logits":true})"), "missing_field@evaluation.examples ");
  EXPECT_EQ(Codes(R"("evaluation":{},"parallel":{"gpus":2,"strategy":"fsdp2"})"), "");
  EXPECT_EQ(Codes(R"("evaluation":{},"parallel":{"gpus":2,"pipeline":2})"), "not_modelled@evaluation ");
}

TEST_F(TaskRequest, RanksOfATaskDifferInTheirExamplesAlone) {
  for (const char* strategy : {"ddp", "zero1", "zero2", "zero3", "fsdp", "fsdp2"}) {
    const std::string parallel = R"("parallel":{"gpus":8,"strategy":")" + std::string(strategy) + R"("})";
    for (const char* task : {"dpo", "orpo", "kto", "reward", "seqcls"}) {
      EXPECT_EQ(Codes(R"("task":")" + std::string(task) + R"(",)" + parallel), "") << task << " " << strategy;
    }
    EXPECT_EQ(Codes(R"("task":"grpo",)" + kLengths + "," + parallel), "") << strategy;
    const bool gathers = std::string(strategy).rfind("fsdp", 0) != 0;
    EXPECT_EQ(Codes(R"("task":"ppo",)" + kLengths + "," + parallel), gathers ? "" : "not_modelled@parallel.strategy ")
        << strategy;
    EXPECT_EQ(Codes(R"("method":{"kind":"freeze"},)" + parallel), "") << strategy;
  }
  EXPECT_EQ(Codes(R"("task":"dpo","parallel":{"gpus":2,"tensor":2})"), "not_modelled@parallel.tensor ");
  EXPECT_EQ(Codes(R"("task":"dpo","parallel":{"gpus":2,"pipeline":2})"), "not_modelled@parallel.pipeline ");
  EXPECT_EQ(Codes(R"("task":"dpo","parallel":{"gpus":2,"context":2,"strategy":"ddp"})"),
            "not_modelled@parallel.context ");
  EXPECT_EQ(Codes(R"("task":"reward","parallel":{"gpus":2,"strategy":"device_map"})"),
            "not_modelled@parallel.strategy ");
  EXPECT_EQ(Codes(R"("method":{"kind":"freeze"},"parallel":{"gpus":2,"pipeline":2})"), "not_modelled@method.kind ");
}

TEST_F(TaskRequest, StatesOfATaskMayWaitOnTheHost) {
  EXPECT_EQ(Codes(R"("task":"dpo","parallel":{"gpus":2,"strategy":"zero3","offload":{"optimizer":"cpu"}})"), "");
}

TEST_F(TaskRequest, GroupsAreThoseOfAllRanks) {
  // Eight GPUs with a completion each are a group of eight.
  EXPECT_EQ(Codes(R"("task":"grpo","rollout":{"prompt_length":8,"completion_length":8},"batch":{"per_device":1},)"
                  R"("parallel":{"gpus":8,"strategy":"zero3"})"),
            "");
}

}  // namespace
}  // namespace tunefit
