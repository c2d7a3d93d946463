#include "core/time/scaling.h"

#include <gtest/gtest.h>

#include "tests/support/architectures.h"
#include "tests/unit/time/round_card.h"

namespace tunefit {
namespace {

using test::Ideal, test::RoundCard;

std::vector<std::int64_t> CountsOf(const std::vector<ScalingPoint>& points) {
  std::vector<std::int64_t> counts;
  counts.reserve(points.size());
  for (const ScalingPoint& point : points) counts.push_back(point.gpus);
  return counts;
}

TEST(ScalingOf, DoublesAndHoldsTheRunsOwnNumber) {
  Workload workload = test::MakeWorkload();
  EXPECT_EQ(CountsOf(ScalingOf(workload, RoundCard(), {}, Ideal())),
            (std::vector<std::int64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}));
  workload.parallel.strategy = Strategy::kDdp;
  workload.parallel.gpus = 3;
  const std::vector<std::int64_t> counts = CountsOf(ScalingOf(workload, RoundCard(), {}, Ideal()));
  EXPECT_EQ(std::vector<std::int64_t>(counts.begin(), counts.begin() + 4), (std::vector<std::int64_t>{1, 2, 3, 4}));
}

TEST(ScalingOf, LeavesOutWhatTheLayoutDoesNotDivide) {
  Workload workload = test::MakeWorkload();
  workload.parallel.strategy = Strategy::kFsdp2;
  workload.parallel.gpus = 8;
  workload.parallel.shard = 4;
  EXPECT_EQ(CountsOf(ScalingOf(workload, RoundCard(), {}, Ideal())).front(), 4);
}

TEST(ScalingOf, CardsOfADeviceMapAddNoSpeed) {
  Workload workload = test::MakeWorkload();
  workload.parallel.strategy = Strategy::kDeviceMap;
  workload.parallel.gpus = 2;
  Gpu gpu = RoundCard();
  gpu.memory_bytes_per_second = 1e30;  // only the update, on all cards at once, is faster
  const std::vector<ScalingPoint> points = ScalingOf(workload, gpu, {}, Ideal());
  EXPECT_EQ(CountsOf(points), (std::vector<std::int64_t>{1, 2, 4, 8})) << "of one machine";
  EXPECT_NEAR(points.back().efficiency, 1.0 / 8, 1e-9);
}

TEST(ScalingOf, LosesWhatTravels) {
  Workload workload = test::MakeWorkload();
  workload.parallel.strategy = Strategy::kDdp;
  workload.parallel.gpus = 8;
  const std::vector<ScalingPoint> points = ScalingOf(workload, RoundCard(), {}, Ideal());
  EXPECT_EQ(points.front().efficiency, 1);
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_LT(points[i].efficiency, points[i - 1].efficiency) << points[i].gpus;
    EXPECT_DOUBLE_EQ(points[i].efficiency * static_cast<double>(points[i].gpus) * points.front().tokens_per_second,
                     points[i].tokens_per_second);
  }
  Wiring endless;
  endless.link_bytes_per_second = 1e30;
  endless.network_bytes_per_second = 1e30;
  const std::vector<ScalingPoint> free = ScalingOf(workload, RoundCard(), endless, Ideal());
  EXPECT_NEAR(free.back().efficiency, free[1].efficiency, 1e-9);
}

}  // namespace
}  // namespace tunefit
