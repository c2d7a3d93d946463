#include "core/time/clock.h"

#include <algorithm>

namespace tunefit {
namespace {

double ShareOfOthers(std::int64_t ranks) {
  return ranks > 1 ? static_cast<double>(ranks - 1) / static_cast<double>(ranks) : 0;
}

}  // namespace

Clock::Clock(const Workload& workload, const Gpu& gpu, const Fabric& fabric, const Efficiencies& efficiencies)
    : parallel_(workload.parallel), gpu_(gpu), fabric_(fabric), efficiencies_(efficiencies) {
  const double unmeasured = efficiencies[Constant::kUnmeasuredShare];
  const double share = efficiencies.Of(gpu).matmul_share;
  const Dtype wanted = workload.precision.compute == Dtype::kFp16 ? Dtype::kFp16 : Dtype::kBf16;
  rate_ = share * MatrixRate(gpu, wanted, unmeasured);
  rate_fp32_ = share * MatrixRate(gpu, Dtype::kFp32, unmeasured);
  const bool casts = workload.habits.fp8_operands == Fp8Operands::kCast;
  rate_fp8_ = share * efficiencies[casts ? Constant::kCastFp8Share : Constant::kFp8Share] *
              MatrixRate(gpu, Dtype::kFp8, unmeasured);
  // Hopper's and the large Blackwells' matrix units want instructions of their own. Consumer Blackwells (12) lack
  // these: kernels for Ampere are the ones made for them.
  const int major = CapabilityMajor(gpu);
  const bool older = (major == 9 || major == 10) && !workload.habits.attention_by_generation;
  attention_rate_ = rate_ * efficiencies[older ? Constant::kOlderAttentionShare : Constant::kAttentionShare];
}

double Clock::ProductSeconds(const MicroBatchWork& work) const {
  return work.matmul.once() / rate_ + work.matmul_fp32.once() / rate_fp32_ + work.matmul_fp8.once() / rate_fp8_;
}

double Clock::LaunchSeconds(const MicroBatchWork& work) const {
  double launched = work.kernels * efficiencies_[Constant::kKernelSeconds];
  if (parallel_.strategy == Strategy::kZero3) launched += work.gathers * efficiencies_[Constant::kGatherSeconds];
  return launched;
}

void Clock::AddMicroBatch(const MicroBatchWork& work, StepTime& time) const {
  At(time, TimeTerm::kRecompute) = work.matmul.recompute / rate_ + work.matmul_fp32.recompute / rate_fp32_ +
                                   work.matmul_fp8.recompute / rate_fp8_ + work.attention.recompute / attention_rate_;
  At(time, TimeTerm::kMatmul) =
      ProductSeconds(work) + efficiencies_[Constant::kOperandShare] * work.operand_bytes / gpu_.memory_bytes_per_second;
  At(time, TimeTerm::kAttention) = work.attention.once() / attention_rate_;
  At(time, TimeTerm::kMemory) = MemorySeconds(work.bytes);
  const double busy =
      time[TimeTerm::kRecompute] + time[TimeTerm::kMatmul] + time[TimeTerm::kAttention] + time[TimeTerm::kMemory];
  At(time, TimeTerm::kLaunch) = std::max(0.0, LaunchSeconds(work) - busy);
  const std::int64_t tensor = parallel_.tensor;
  At(time, TimeTerm::kTensor) =
      work.tensor_bytes * ShareOfOthers(tensor) / Achieved(RingBytesPerSecond(fabric_, tensor, 1));
  At(time, TimeTerm::kExpert) = work.expert_bytes * ShareOfOthers(parallel_.expert) /
                                Achieved(ExchangeBytesPerSecond(fabric_, parallel_.expert, tensor));
}

double Clock::GatherSeconds(double bytes) const {
  const std::int64_t shards = GathersParameters(parallel_) ? parallel_.Shards() : parallel_.DataRanks();
  return bytes * ShareOfOthers(shards) / Achieved(RingBytesPerSecond(fabric_, shards, parallel_.tensor));
}

double Clock::ReduceSeconds(double bytes) const {
  const bool gathers = GathersParameters(parallel_);
  const std::int64_t apart = gathers ? parallel_.Shards() * parallel_.tensor : parallel_.tensor;
  const std::int64_t copies = gathers ? parallel_.Replicas() : parallel_.DataRanks();
  return bytes * ShareOfOthers(copies) / Achieved(RingBytesPerSecond(fabric_, copies, apart));
}

double Clock::SendSeconds(double bytes, std::int64_t others) const {
  const bool alongside = AreAlongside(gpu_, parallel_, fabric_, others);
  return bytes / Achieved(alongside ? fabric_.link_bytes_per_second : fabric_.network_bytes_per_second);
}

double Clock::Waited(double traffic, double computed) const {
  return std::max(efficiencies_[Constant::kExposedShare] * traffic,
                  traffic - efficiencies_[Constant::kHiddenShare] * computed);
}

double Clock::MemorySeconds(double bytes) const {
  return bytes / (efficiencies_[Constant::kMemoryShare] * gpu_.memory_bytes_per_second);
}

double Clock::OffloadSeconds(double bytes) const {
  return bytes / (efficiencies_[Constant::kHostLinkShare] * gpu_.host_bytes_per_second);
}

double Clock::Achieved(double bytes_per_second) const {
  if (bytes_per_second < fabric_.link_bytes_per_second) {
    return bytes_per_second * efficiencies_[Constant::kNetworkShare];
  }
  return bytes_per_second * efficiencies_[fabric_.by_host ? Constant::kHostLinkShare : Constant::kLinkShare];
}

double Clock::WithGathers(const MicroBatchWork& work, const StepTime& computed) const {
  double seconds = 0;
  for (const double term : computed.terms) seconds += term;
  return seconds + Waited(GatherSeconds(work.gathered_bytes), seconds);
}

}  // namespace tunefit
