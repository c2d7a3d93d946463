// A plan loses nothing by what it leaves out: held against a search that computes every candidate, over the workloads
// of tests/golden/plan that are small enough for that.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "core/codec/plan.h"
#include "tests/support/files.h"

namespace tunefit {
namespace {

class PlanLaws : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Issues issues;
    catalog_ = new Catalog(ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues));
    market_ = new Market(ReadMarket(test::ReadFile(TUNEFIT_MARKET), *catalog_, issues));
  }
  static void TearDownTestSuite() {
    delete market_;
    delete catalog_;
  }

  static Catalog* catalog_;
  static Market* market_;
};

Catalog* PlanLaws::catalog_ = nullptr;
Market* PlanLaws::market_ = nullptr;

bool HasBetter(const Front& front, const Worth& worth, const Tolerance& tolerance) {
  const auto covers = [&](const Candidate& there) { return Covers(WorthOf(there), worth, tolerance); };
  return std::any_of(front.candidates().begin(), front.candidates().end(), covers);
}

/// What may not fit gives way to what does and is nearly as good, which something else may then replace.
Tolerance Twice(const Tolerance& one) {
  return {2.2 * one.share_of_seconds, 2.2 * one.seconds, 2.2 * one.share_of_cost, 2.2 * one.money_to_rent,
          2.2 * one.money_to_buy};
}

std::string Said(const Candidate& candidate) {
  return std::to_string(candidate.supply.gpus) + " x " + candidate.supply.gpu->id + ", method " +
         std::to_string(static_cast<int>(candidate.choice.method)) + ", " + std::to_string(candidate.seconds.expected) +
         " s, " + std::to_string(candidate.cost.expected);
}

TEST_F(PlanLaws, NothingBetterIsCut) {
  int held = 0;
  for (const std::string& line : test::ReadLines(TUNEFIT_SOURCE_DIR "/tests/golden/plan/workloads.jsonl")) {
    const nlohmann::json workload = nlohmann::json::parse(line);
    if (!workload["exhaustive"].get<bool>()) continue;
    SCOPED_TRACE(workload["name"].get<std::string>());
    const std::string request = workload["request"].dump();
    Plan cut(request, *catalog_, *market_);
    Plan whole(request, *catalog_, *market_, false);
    ASSERT_FALSE(HasError(cut.issues()));
    while (cut.Advance()) continue;
    while (whole.Advance()) continue;
    ++held;
    EXPECT_EQ(cut.search().seen(), whole.search().seen());
    EXPECT_LE(cut.search().computed(), whole.search().computed());
    for (const Candidate& best : whole.search().front().candidates()) {
      const bool certain = best.verdict == Verdict::kFits;
      EXPECT_TRUE(HasBetter(cut.search().front(), WorthOf(best), certain ? kAlike : Twice(kAlike)))
          << "lost: " << Said(best);
    }
    for (const Candidate& found : cut.search().front().candidates()) {
      EXPECT_TRUE(HasBetter(whole.search().front(), WorthOf(found), Tolerance())) << "not there: " << Said(found);
    }
  }
  EXPECT_GE(held, 30);
}

}  // namespace
}  // namespace tunefit
