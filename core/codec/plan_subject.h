#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/codec/catalog.h"
#include "core/codec/market.h"
#include "core/codec/request.h"
#include "core/plan/search.h"

namespace tunefit {

/// A request's side of a plan: choices as fields of the request, and supplies as the catalog has them. What it is made
/// of must outlive it.
class RequestSubject final : public PlanSubject {
 public:
  RequestSubject(const RequestFields& asked, const std::vector<StackSpace>& stacks, const Catalog& catalog,
                 const Market& market);

  std::optional<Workload> WorkloadOf(const PlanChoice& choice) override;
  const std::vector<Supply>& SuppliesOf(std::int64_t gpus) override;

  /// The request that says the choice on that supply. Views into this, and into what it is made of.
  RequestFields FieldsOf(const PlanChoice& choice, const Supply& supply) const;

 private:
  RequestFields FieldsOf(const PlanChoice& choice) const;
  bool IsWished(const CatalogGpu& row) const;
  void AddRented(const CatalogGpu& row, Supply supply, std::vector<Supply>& supplies) const;
  void AddBought(const CatalogGpu& row, Supply supply, std::vector<Supply>& supplies) const;
  double HostBytes(const Supply& supply) const;
  std::optional<Wiring> WiringOf(const CatalogGpu& row, const Supply& supply) const;

  const RequestFields& asked_;
  const std::vector<StackSpace>& stacks_;
  const Catalog& catalog_;
  const Market& market_;
  bool needs_fp16_ = false;
  std::map<std::int64_t, std::vector<Supply>> supplies_;
};

}  // namespace tunefit
