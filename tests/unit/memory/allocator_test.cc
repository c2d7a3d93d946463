#include "core/memory/allocator.h"

#include <gtest/gtest.h>

#include <random>
#include <utility>
#include <vector>

#include "tests/unit/memory/plain_allocator.h"

namespace tunefit {
namespace {

constexpr std::int64_t kMiB = 1 << 20;
constexpr bool kSegments = false, kExpandable = true;
constexpr bool kRoom = false, kFullCard = true;

TEST(CachingAllocator, BlocksUnderTenMebibytesShareASegmentOfTwenty) {
  CachingAllocator allocator(kSegments, kRoom);
  for (int i = 0; i < 6; ++i) allocator.Allocate(3 * kMiB);
  EXPECT_EQ(allocator.peak_reserved_bytes(), 20 * kMiB);  // 6 x 3 = 18
  allocator.Allocate(3 * kMiB);                           // 2 are left
  EXPECT_EQ(allocator.peak_reserved_bytes(), 40 * kMiB);
}

TEST(CachingAllocator, LargerBlocksHaveTheirOwnRoundedUpToTwo) {
  CachingAllocator allocator(kSegments, kRoom);
  allocator.Allocate(25 * kMiB / 2);  // 12.5 -> 14
  EXPECT_EQ(allocator.peak_reserved_bytes(), 14 * kMiB);
  allocator.Allocate(3 * kMiB / 2);  // the rest, 1.5, is over 1 and was cut off: it holds this
  EXPECT_EQ(allocator.peak_reserved_bytes(), 14 * kMiB);
}

TEST(CachingAllocator, ARestOfAMebibyteIsNotCutOff) {
  CachingAllocator allocator(kSegments, kRoom);
  const auto block = allocator.Allocate(31 * kMiB);  // segment of 32
  allocator.Allocate(2 * kMiB);                      // finds nothing: a segment of 20
  EXPECT_EQ(allocator.peak_reserved_bytes(), 52 * kMiB);
  allocator.Free(block);
  allocator.Allocate(32 * kMiB);  // the whole segment
  EXPECT_EQ(allocator.peak_reserved_bytes(), 52 * kMiB);
}

TEST(CachingAllocator, FreeNeighboursJoin) {
  CachingAllocator allocator(kSegments, kRoom);
  const auto a = allocator.Allocate(6 * kMiB);
  const auto b = allocator.Allocate(6 * kMiB);
  const auto c = allocator.Allocate(6 * kMiB);
  allocator.Free(a);
  allocator.Free(c);
  allocator.Allocate(9 * kMiB);  // holes of 6 and 8: another segment
  EXPECT_EQ(allocator.peak_reserved_bytes(), 40 * kMiB);
  allocator.Free(b);  // now all 20 are one
  allocator.Allocate(20 * kMiB);
  EXPECT_EQ(allocator.peak_reserved_bytes(), 40 * kMiB);
}

TEST(CachingAllocator, TakesTheSmallestHoleThatFits) {
  CachingAllocator allocator(kSegments, kRoom);
  const auto large = allocator.Allocate(100 * kMiB);
  const auto small = allocator.Allocate(40 * kMiB);
  allocator.Free(large);
  allocator.Free(small);
  allocator.Allocate(30 * kMiB);   // from the 40
  allocator.Allocate(100 * kMiB);  // the 100 is whole
  EXPECT_EQ(allocator.peak_reserved_bytes(), 140 * kMiB);
}

TEST(CachingAllocator, AFullCardGetsFreeSegmentsBackFirst) {
  for (const bool full : {kRoom, kFullCard}) {
    CachingAllocator allocator(kSegments, full);
    const auto first = allocator.Allocate(40 * kMiB);
    allocator.Free(first);
    allocator.Allocate(60 * kMiB);
    EXPECT_EQ(allocator.peak_reserved_bytes(), (full ? 60 : 100) * kMiB);
  }
}

TEST(CachingAllocator, APartlyUsedSegmentIsNotGivenBack) {
  CachingAllocator allocator(kSegments, kFullCard);
  const auto first = allocator.Allocate(40 * kMiB);
  allocator.Free(first);
  allocator.Allocate(10 * kMiB);  // holds the segment of 40
  allocator.Allocate(60 * kMiB);
  EXPECT_EQ(allocator.peak_reserved_bytes(), 100 * kMiB);
}

TEST(CachingAllocator, AnExpandableSegmentGrowsAtItsEnd) {
  CachingAllocator allocator(kExpandable, kRoom);
  const auto first = allocator.Allocate(40 * kMiB);
  allocator.Free(first);
  allocator.Allocate(60 * kMiB);  // the free 40 and 20 more
  EXPECT_EQ(allocator.peak_reserved_bytes(), 60 * kMiB);
  const auto second = allocator.Allocate(5 * kMiB);  // 20 more, of which 15 stay free
  allocator.Allocate(10 * kMiB);
  EXPECT_EQ(allocator.peak_reserved_bytes(), 80 * kMiB);
  allocator.Free(second);
  allocator.Allocate(12 * kMiB);  // 5 in the middle and 5 at the end do not make 12: the end grows by 20
  EXPECT_EQ(allocator.peak_reserved_bytes(), 100 * kMiB);
}

/// Sizes of a model's tensors: few kinds that come back, near one another or far apart.
std::vector<std::int64_t> RandomSizes(std::mt19937_64& random) {
  std::vector<std::int64_t> sizes(2 + random() % 12);
  for (std::int64_t& size : sizes) {
    const std::int64_t up_to = std::int64_t{1} << (21 + random() % 12);
    size = kMiB + 512 * (1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(up_to / 512)));
  }
  return sizes;
}

TEST(CachingAllocator, ReservesWhatThePlainOneDoesAfterEveryStep) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    std::mt19937_64 random(seed);
    const bool expandable = random() % 3 == 0;
    const bool full = random() % 2 == 0;
    CachingAllocator allocator(expandable, full);
    test::PlainAllocator plain(expandable, full);
    const std::vector<std::int64_t> sizes = RandomSizes(random);
    std::vector<std::pair<CachingAllocator::Block, std::int64_t>> alive;
    for (int step = 0; step < 600; ++step) {
      const bool grows = step % 200 < 100;  // as a forward pass does; then as a backward pass
      if (alive.empty() || random() % 10 < (grows ? 7 : 3)) {
        const std::int64_t bytes = sizes[random() % sizes.size()];
        alive.emplace_back(allocator.Allocate(bytes), plain.Allocate(bytes));
      } else {
        const std::size_t at = random() % 4 == 0 ? random() % alive.size() : alive.size() - 1;
        allocator.Free(alive[at].first);
        plain.Free(alive[at].second);
        alive.erase(alive.begin() + static_cast<std::ptrdiff_t>(at));
      }
      ASSERT_EQ(allocator.peak_reserved_bytes(), plain.peak_reserved_bytes()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace tunefit
