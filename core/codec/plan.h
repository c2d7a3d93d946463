#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/catalog.h"
#include "core/codec/json_writer.h"
#include "core/codec/market.h"
#include "core/codec/plan_space.h"
#include "core/codec/plan_subject.h"
#include "core/codec/request.h"

namespace tunefit {

/// The search for one model: what its request leaves open, and what was found so far. It stays where it is: its parts
/// refer to each other.
struct PlanLine {
  PlanQuestion question;
  std::unique_ptr<RequestSubject> subject;
  std::unique_ptr<Search> search;
};

/// A plan under way: a request, and after it the same of the models that it may grow to. Catalog and market must
/// outlive it.
class Plan {
 public:
  /// Without `prunes` every candidate is computed, as tests want it.
  Plan(std::string_view request, const Catalog& catalog, const Market& market, bool prunes = true);

  /// Faults of the request: with an error among them there is nothing to search.
  const Issues& issues() const { return reading_.issues; }
  /// One piece of work, about a millisecond: a shape is looked at, or at the end a proposal's report is made. False
  /// once there is none left.
  bool Advance();
  const Search& search() const { return *lines_.front()->search; }
  /// As wasm/plan.d.ts describes it. With `done` every proposal has its report.
  std::string Write(bool done);

 private:
  void CheckNames();
  void AddLine(RequestFields asked, RequestReading& reading, bool prunes);
  void AddGrowth(bool prunes);
  bool WriteNextReport();
  void WriteProposal(JsonWriter& writer, const PlanLine& line, const Candidate& candidate,
                     const std::vector<std::string_view>& why, bool reports) const;
  void WriteGrowth(JsonWriter& writer) const;

  const Catalog& catalog_;
  const Market& market_;
  RequestReading written_;  ///< whose tree all views point into
  RequestReading reading_;
  std::vector<std::unique_ptr<PlanLine>> lines_;  ///< the request's own, and one for each model of `plan.growth`
  std::size_t next_ = 0;
  std::vector<std::string> reported_;  ///< the request's own proposals with their reports, in order
};

}  // namespace tunefit
