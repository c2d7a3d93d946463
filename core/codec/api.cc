#include "core/codec/api.h"

#include <optional>
#include <utility>

#include "core/codec/answer.h"
#include "core/codec/catalog.h"
#include "core/codec/describe.h"
#include "core/codec/market.h"
#include "core/codec/report.h"
#include "core/codec/request.h"

namespace tunefit {
namespace {

/// The only state of the library: what Init and InitMarket read.
std::optional<Catalog>& TheCatalog() {
  static std::optional<Catalog> catalog;
  return catalog;
}
std::optional<Market>& TheMarket() {
  static std::optional<Market> market;
  return market;
}

Issues NotInitialised() {
  return {{.code = "not_initialised",
           .field = "",
           .message = "The catalog has not been read yet: call init first.",
           .values = {}}};
}

}  // namespace

std::string Init(std::string_view catalog) {
  Issues issues;
  Catalog read = ReadCatalog(catalog, issues);
  TheCatalog().reset();
  TheMarket().reset();
  if (!HasError(issues)) TheCatalog() = std::move(read);
  return WriteStatus(issues);
}

std::string InitMarket(std::string_view market) {
  TheMarket().reset();
  const std::optional<Catalog>& catalog = TheCatalog();
  if (!catalog) return WriteStatus(NotInitialised());
  Issues issues;
  Market read = ReadMarket(market, *catalog, issues);
  if (!HasError(issues)) TheMarket() = std::move(read);
  return WriteStatus(issues);
}

std::string Estimate(std::string_view request) {
  const std::optional<Catalog>& catalog = TheCatalog();
  if (!catalog) return WriteInvalidReport(NotInitialised());
  const std::optional<Market>& market = TheMarket();
  RequestReading reading = ReadRequest(request, *catalog, market ? &*market : nullptr);
  if (HasError(reading.issues)) return WriteInvalidReport(reading.issues);
  const Answer answer = AnswerTo(reading, *catalog, market ? &*market : nullptr);
  return WriteReport(reading, answer, *catalog);
}

std::string Describe() {
  const std::optional<Catalog>& catalog = TheCatalog();
  const std::optional<Market>& market = TheMarket();
  return WriteDescription(catalog ? *catalog : Catalog(), market ? *market : Market());
}

}  // namespace tunefit
