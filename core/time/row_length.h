#pragma once

#include <cstdint>

namespace tunefit {

/// TIM-32  Tokens of the longest of `rows` examples, expected: what a batch of them is padded to. `mean` is that of the
/// examples after longer ones are cut to `limit`; both over 0. Uncut lengths are taken to follow an exponential
/// distribution, of all with a given mean the one that assumes least. One row is as long as the mean, the n-th adds
/// about mean / n, and none exceeds the limit.
double LongestOf(std::int64_t rows, double mean, double limit);

}  // namespace tunefit
