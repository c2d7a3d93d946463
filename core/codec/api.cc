#include "core/codec/api.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/codec/answer.h"
#include "core/codec/catalog.h"
#include "core/codec/describe.h"
#include "core/codec/json_writer.h"
#include "core/codec/market.h"
#include "core/codec/plan.h"
#include "core/codec/report.h"
#include "core/codec/request.h"

namespace tunefit {
namespace {

/// A plan under way, by its id.
struct StartedPlan {
  std::int64_t id;
  std::unique_ptr<Plan> plan;
};
struct Plans {
  std::int64_t last_id = 0;
  std::vector<StartedPlan> started;  ///< oldest first
};

/// The only state of the library: what Init and InitMarket read, and plans under way, which refer to that.
std::optional<Catalog>& TheCatalog() {
  static std::optional<Catalog> catalog;
  return catalog;
}
std::optional<Market>& TheMarket() {
  static std::optional<Market> market;
  return market;
}

Plans& ThePlans() {
  static Plans plans;
  return plans;
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
  ThePlans().started.clear();
  TheCatalog().reset();
  TheMarket().reset();
  if (!HasError(issues)) TheCatalog() = std::move(read);
  return WriteStatus(issues);
}

std::string InitMarket(std::string_view market) {
  ThePlans().started.clear();
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
  const Market* prices = market ? &*market : nullptr;
  Answer answer = AnswerTo(reading, *catalog, prices);
  if (reading.includes_advice) answer.advice = AdviseOn(reading, answer, *catalog, prices);
  return WriteReport(reading, answer, *catalog);
}

std::string PlanStart(std::string_view request) {
  const std::optional<Catalog>& catalog = TheCatalog();
  const std::optional<Market>& market = TheMarket();
  if (!catalog || !market) return WriteStatus(NotInitialised());
  auto plan = std::make_unique<Plan>(request, *catalog, *market);
  if (HasError(plan->issues())) return WriteStatus(plan->issues());
  Plans& plans = ThePlans();
  const std::int64_t id = ++plans.last_id;
  plans.started.push_back({id, std::move(plan)});
  if (plans.started.size() > kMostPlans) plans.started.erase(plans.started.begin());
  JsonWriter writer(100);
  writer.BeginObject();
  writer.Text("status", "ok");
  writer.Key("issues");
  writer.Raw("[]");
  writer.Count("id", id);
  writer.EndObject();
  return writer.Take();
}

std::string PlanStep(std::int64_t id, double budget_ms, double (*now_ms)()) {
  std::vector<StartedPlan>& started = ThePlans().started;
  const auto found =
      std::find_if(started.begin(), started.end(), [id](const StartedPlan& one) { return one.id == id; });
  if (found == started.end()) {
    return WriteStatus({{.code = "unknown_plan",
                         .field = "",
                         .message = "No plan of that id is under way: it is done, or others were started since.",
                         .values = {}}});
  }
  const double end_ms = now_ms() + budget_ms;
  bool goes_on = found->plan->Advance();
  while (goes_on && now_ms() < end_ms) goes_on = found->plan->Advance();
  std::string text = found->plan->Write(!goes_on);
  if (!goes_on) started.erase(found);
  return text;
}

std::string Describe() {
  const std::optional<Catalog>& catalog = TheCatalog();
  const std::optional<Market>& market = TheMarket();
  return WriteDescription(catalog ? *catalog : Catalog(), market ? *market : Market());
}

}  // namespace tunefit
