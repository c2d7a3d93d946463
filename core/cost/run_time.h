#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/cost/prices.h"
#include "core/model/hardware.h"

namespace tunefit {

/// What the cost of a run follows from: what core/time says of it.
struct RunTime {
  Range seconds;              ///< from start to end; over 0
  double gpu_busy_share = 1;  ///< of that, the GPUs compute; for the rest they wait
  double padded_tokens = 0;   ///< all rows by the length that they are padded to, every epoch; packed rows as they are
  double trained_tokens = 0;  ///< the rows' own tokens, every epoch
  std::int64_t gpus = 1;      ///< that the run takes, all machines together
  std::int64_t gpus_per_machine = 8;  ///< at most, where no machine is named
};

/// What services ask before they name a price.
struct TunedModel {
  double parameters = 0;  ///< 0 where no service trains like this
  TuningMethod method = TuningMethod::kFull;
};

/// The machine that the request names.
struct Machine {
  std::string id;
  std::int64_t gpus_max = 0;
  double host_watts = 0;  ///< of everything but the GPUs, under load; 0 where nobody knows (HostWatts)
};

/// One run, on so many GPUs of one kind.
struct CostedRun {
  RunTime time;
  TunedModel model;
  const Gpu* gpu = nullptr;
  const Machine* machine = nullptr;  ///< null where the request names none
};

/// What has to be said beside an amount; CostNoteName has the codes.
enum class CostNote : std::uint8_t {
  kWithoutVat,
  kEgressLeftOut,          ///< traffic out of a cloud, and storage, are charged besides
  kHostNotIncluded,        ///< the price is of the GPUs alone
  kProcessorsNotIncluded,  ///< a barebone and its cards: processors and memory are bought besides
  kSeveralMachines,        ///< more than one machine, joined by a network
  kGpusIdle,               ///< the last machine has more GPUs than the run takes
  kTokensNotSaid,          ///< whether the service bills padding is not known: from the rows' own tokens to padded ones
  kHostPowerUnknown,       ///< the energy is that of the GPUs alone
  kHostPowerDerived,       ///< the host's power is the machine's for planning, less its cards'
  kIdlePowerLeftOut,       ///< what the machine draws while it waits
  kAlwaysInUse,            ///< no utilisation was given: the machine is taken to work at all hours
  kWrittenOffWhole,        ///< no residual was given: nothing is left at the end
  kNoServiceContract,      ///< none was given, and cards alone have none
  kNoRentToCompare,        ///< nobody rents out such machines whole, so buying is held against nothing
};
inline constexpr int kCostNoteCount = 14;

/// Stable machine names: "egress_left_out".
std::string_view CostNoteName(CostNote note);

/// Notes, each once.
class CostNotes {
 public:
  void Add(CostNote note) { bits_ |= Bit(note); }
  void Remove(CostNote note) { bits_ &= ~Bit(note); }
  bool Has(CostNote note) const { return (bits_ & Bit(note)) != 0; }
  friend CostNotes operator|(CostNotes a, CostNotes b) {
    a.bits_ |= b.bits_;
    return a;
  }

 private:
  static constexpr std::uint32_t Bit(CostNote note) { return std::uint32_t{1} << static_cast<std::uint32_t>(note); }

  std::uint32_t bits_ = 0;
};

}  // namespace tunefit
