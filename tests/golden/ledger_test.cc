// What autograd keeps of one decoder layer, tensor by tensor, as PyTorch listed it (tests/golden/ledgers), against what
// the trace keeps of one.

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "core/memory/replay.h"
#include "core/trace/training_step.h"
#include "tests/golden/published_models.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

/// Batch and length of every ledger.
constexpr double kBatch = 2;
constexpr double kLength = 1000;

/// The bytes of one line: "32,768,000 B  float32 ..."; each storage is rounded as the allocator does.
double LineBytes(const std::string& line) {
  std::string digits;
  for (const char c : line.substr(0, line.find(" B "))) {
    if (c >= '0' && c <= '9') digits += c;
  }
  return RoundToGranule(std::atof(digits.c_str()));
}

/// Bytes kept by the layer that the ledger lists.
double LedgerLayerBytes(const std::string& file) {
  double bytes = 0;
  for (const std::string& line : test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/golden/ledgers/" + file)) {
    if (line.find(" B ") != std::string::npos && line.find("layers.1.") != std::string::npos) bytes += LineBytes(line);
  }
  return bytes;
}

Workload WorkloadOf(const std::string& model, const std::string& method) {
  Workload workload;
  workload.architecture = test::PublishedModel(model);
  workload.batch.packing = Packing::kPacked;
  workload.attention = method.find("eager") != std::string::npos ? AttentionKernel::kEager : AttentionKernel::kFlash;
  if (method.find("lora") != std::string::npos) {
    workload.method.kind = MethodKind::kLora;
    workload.precision = {Dtype::kBf16, Dtype::kBf16, true};
  } else if (method.find("amp") != std::string::npos) {
    workload.precision = {Dtype::kFp32, Dtype::kBf16, true};
  } else {
    workload.precision = {Dtype::kBf16, Dtype::kBf16, false};
  }
  return workload;
}

/// Bytes that stay alive for each further layer of the forward pass.
double TracedLayerBytes(const Workload& workload) {
  const Step step = TraceTrainingStep(workload);
  const Replay replay = ReplayStep(step, Axes::Of(kBatch, kLength, step.chunk));
  for (std::size_t i = 0; i < step.sections.size(); ++i) {
    const Section& section = step.sections[i];
    if (section.moment != Moment::kForward || section.repeats == 1) continue;
    const auto layers = static_cast<double>(section.repeats * section.layers);
    return (replay.sections[i].after - replay.sections[i].before) / layers;
  }
  return 0;
}

struct Case {
  const char* model;
  const char* method;
};

class Ledger : public testing::TestWithParam<Case> {};

TEST_P(Ledger, ALayerKeepsWhatPyTorchKeeps) {
  const auto [model, method] = GetParam();
  const double listed = LedgerLayerBytes(std::string(model) + "-" + method + ".txt");
  ASSERT_GT(listed, 0);
  // The input's positions and a few scalars are shared by all layers and listed once.
  EXPECT_NEAR(TracedLayerBytes(WorkloadOf(model, method)) / listed, 1, 0.0005);
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const char* model :
       {"llama-3.1-8b", "mistral-7b-v0.1", "qwen2.5-7b", "qwen3-8b", "smollm2-1.7b", "tinyllama-1.1b", "gemma-2-2b"}) {
    for (const char* method :
         {"full-amp-eager", "full-amp-flash", "full-bf16-eager", "full-bf16-flash", "lora-eager", "lora-flash"}) {
      cases.push_back({model, method});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Ledger, testing::ValuesIn(AllCases()), [](const testing::TestParamInfo<Case>& tested) {
  std::string name = std::string(tested.param.model) + "_" + tested.param.method;
  for (char& c : name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  }
  return name;
});

}  // namespace
}  // namespace tunefit
