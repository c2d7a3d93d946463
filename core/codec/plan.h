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

/// A plan under way: a request, what it leaves open, and what was found so far. Catalog and market must outlive it.
class Plan {
 public:
  /// Without `prunes` every candidate is computed, as tests want it.
  Plan(std::string_view request, const Catalog& catalog, const Market& market, bool prunes = true);

  /// Faults of the request: with an error among them there is nothing to search.
  const Issues& issues() const { return reading_.issues; }
  /// One piece of work, about a millisecond. False once there is none left.
  bool Advance() { return search_->Advance(); }
  const Search& search() const { return *search_; }
  /// As wasm/tunefit.d.ts describes it. With `done` every proposal has its report.
  std::string Write(bool done);

 private:
  void CheckNames();
  void WriteProposal(JsonWriter& writer, const Candidate& candidate, const std::vector<std::string_view>& why,
                     bool done) const;

  const Catalog& catalog_;
  const Market& market_;
  RequestReading written_;  ///< whose tree all views point into
  RequestReading reading_;
  PlanQuestion question_;
  std::unique_ptr<RequestSubject> subject_;
  std::unique_ptr<Search> search_;
};

}  // namespace tunefit
