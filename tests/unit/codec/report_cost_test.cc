#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "core/codec/api.h"
#include "core/codec/market.h"
#include "core/codec/report_parts.h"
#include "tests/support/files.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

/// The bundled catalog, read once.
class BundledPrices : public testing::Test {
 protected:
  static const Catalog& TheCatalog() {
    static const Catalog catalog = [] {
      Issues issues;
      return ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues);
    }();
    return catalog;
  }
  static const Market& TheMarket() {
    static const Market market = [] {
      Issues issues;
      return ReadMarket(test::ReadFile(TUNEFIT_MARKET), TheCatalog(), issues);
    }();
    return market;
  }

  /// A run of so many hours on so many GPUs of that name, of a model with 8.19 billion parameters, under LoRA.
  static CostedRun RunOn(const char* gpu, std::int64_t gpus, double hours) {
    CostedRun run;
    run.gpu = TheCatalog().FindGpu(gpu);
    run.time.gpus = gpus;
    run.time.seconds = Exactly(hours * kSecondsPerHour);
    run.model = {8.19e9, TuningMethod::kLora};
    return run;
  }
  static CostReport CostOf(const CostedRun& run, const Pricing& pricing) {
    Issues issues;
    auto report = EstimateCost(run, TheMarket().prices, pricing, issues);
    EXPECT_TRUE(issues.empty()) << test::Listed(issues);
    return std::move(*report);
  }
  static Json Written(const CostReport& report, bool full, const DiskUse* disk = nullptr) {
    JsonWriter writer(1000);
    writer.BeginObject();
    WriteCost(writer, &report, disk, TheCatalog(), full);
    writer.EndObject();
    return Json::parse(writer.Take(), nullptr, false)["cost"];
  }
};

TEST_F(BundledPrices, AreKept) {
  const Prices& prices = TheMarket().prices;
  EXPECT_EQ(prices.currency, Currency::kEur);
  EXPECT_GT(prices.offers.size(), 250U);
  EXPECT_GT(prices.cards.size(), 60U);
  EXPECT_GT(prices.machines.size(), 9U);
  EXPECT_GT(prices.services.size(), 7U);
  EXPECT_EQ(prices.defaults.grid_g_co2_per_kwh.provenance.source_ids, std::vector<std::string>{"ce_delft"});
  EXPECT_GT(prices.defaults.eur_per_usd.value.expected, 0.5);
  for (const Offer& offer : prices.offers) {
    EXPECT_FALSE(offer.provenance.date.empty() || offer.provenance.source_ids.empty()) << offer.provider;
    EXPECT_GT(MachinePricePerHour(offer).amount, 0);
  }
}

TEST_F(BundledPrices, HostsHavePower) {
  const CatalogServer* server = TheMarket().FindServer("sys-821ge-tnhr");
  ASSERT_NE(server, nullptr);
  const Machine machine = MachineOf(*server, TheCatalog());
  EXPECT_EQ(machine.gpus_max, 8);
  EXPECT_EQ(machine.host_watts, 10500 - 8 * 700);
}

// Row 14 of the articles' statements: a job of four hours on one A10G stays under 10 USD, at dated prices.
TEST_F(BundledPrices, FourHoursOnAnA10gCostUnderTenDollars) {
  Pricing pricing;
  pricing.currency = Currency::kUsd;
  const CostReport report = CostOf(RunOn("a10g", 1, 4), pricing);
  const RentedLine* line = report.reference_line();
  ASSERT_NE(line, nullptr);
  EXPECT_LT(line->cost.high, 10);
  EXPECT_GT(line->cost.low, 2);
  EXPECT_FALSE(line->offer->provenance.date.empty());
  EXPECT_EQ(line->offer->term, RentalTerm::kOnDemand);
}

// Row 15: Qwen3-8B with LoRA costs under 5 USD on a managed service: 1,000 rows of 1,024 tokens, three times.
TEST_F(BundledPrices, AServiceTunesEightBillionForUnderFiveDollars) {
  CostedRun run = RunOn("a10g", 1, 4);
  run.time.trained_tokens = 1000 * 700.0 * 3;
  run.time.padded_tokens = 1000 * 1024.0 * 3;
  Pricing pricing;
  pricing.currency = Currency::kUsd;
  const CostReport report = CostOf(run, pricing);
  ASSERT_GE(report.token_services.size(), 3U);
  for (const TokenServiceLine& line : report.token_services) {
    EXPECT_LT(line.cost.high, 5) << line.service->provider;
    EXPECT_TRUE(line.service->provenance.low_confidence);
    // Together's documents have rows by padded length, Ori's the rows' own tokens.
    const bool padded = line.service->provider == "Together AI";
    const bool own = line.service->provider == "Ori";
    EXPECT_EQ(line.tokens.low, padded ? run.time.padded_tokens : run.time.trained_tokens) << line.service->provider;
    EXPECT_EQ(line.tokens.high, own ? run.time.trained_tokens : run.time.padded_tokens) << line.service->provider;
  }
}

// Row 16, at the catalog's own figures; the card's and the node's price are the articles'.
TEST_F(BundledPrices, A4090EarnsItselfBackInWeeks) {
  Pricing pricing;
  pricing.purchase_price = 1600;
  pricing.hourly_price = 2500 / kHoursPerMonth;
  pricing.utilisation = 0.9;
  const CostReport report = CostOf(RunOn("rtx-4090", 1, 4), pricing);
  ASSERT_TRUE(report.break_even);
  EXPECT_EQ(report.break_even->state, BreakEvenState::kReached);
  EXPECT_LT(*report.break_even->high_months, 1);
  EXPECT_GT(*report.break_even->low_months, 0.5);
}

TEST_F(BundledPrices, AMachineOfEightIsRentedWhole) {
  Pricing pricing;
  pricing.provider = "aws";
  pricing.term = RentalTerm::kOnDemand;
  pricing.currency = Currency::kUsd;
  const CostReport report = CostOf(RunOn("h100-sxm", 2, 1), pricing);
  const RentedLine* line = report.reference_line();
  ASSERT_NE(line, nullptr);
  EXPECT_EQ(line->offer->instance, "p5.48xlarge");
  EXPECT_NEAR(line->cost.expected, 8 * 6.88, 1e-9);
  EXPECT_EQ(line->gpus_idle, 6);
}

TEST_F(BundledPrices, AreWrittenWithDateAndSources) {
  Pricing pricing;
  pricing.trials = 2;
  const CostedRun run = RunOn("h200-sxm", 8, 10);
  const CostReport report = CostOf(run, pricing);
  const DiskUse disk = DiskOf(1e9, 2, 250);
  const Json cost = Written(report, true, &disk);
  EXPECT_EQ(cost["currency"], "EUR");
  EXPECT_EQ(cost["notes"], Json({"without_vat", "egress_left_out"}));
  EXPECT_EQ(cost["rented"].size(), report.rented.size());
  for (const char* list : {"rented", "token_services"}) {
    for (const Json& line : cost[list]) {
      EXPECT_TRUE(line["date"].is_string()) << line;
      EXPECT_FALSE(line["source_ids"].empty()) << line;
      EXPECT_FALSE(line["formula_id"].is_null()) << line;
      EXPECT_LE(line["cost"]["low"], line["cost"]["high"]) << line;
    }
  }
  EXPECT_EQ(cost["bought"]["machines"], 1);
  EXPECT_EQ(cost["bought"]["prices"][0]["kind"], "complete");
  double parts = 0;
  for (const Json& part : cost["bought"]["parts"]) parts += part["cost"]["expected"].get<double>();
  EXPECT_NEAR(parts, cost["bought"]["cost"]["expected"].get<double>(), 1e-9);
  EXPECT_EQ(cost["energy"]["g_co2_per_kwh"]["formula_id"], "COST-13");
  EXPECT_EQ(cost["break_even"]["points"].size(), 24U);
  EXPECT_EQ(cost["extras"][0]["id"], "trials");
  EXPECT_EQ(cost["disk"]["total_bytes"], 2000001000);
}

TEST_F(BundledPrices, ASummaryHoldsTheReferenceAlone) {
  const CostReport report = CostOf(RunOn("h100-sxm", 8, 10), {});
  const Json cost = Written(report, false);
  ASSERT_EQ(cost["rented"].size(), 1U);
  EXPECT_EQ(cost["rented"][0]["provider"], report.reference_line()->offer->provider);
  EXPECT_EQ(cost["rented"][0]["reference"], true);
  EXPECT_FALSE(cost["rented"][0].contains("source_ids"));
  EXPECT_FALSE(cost["break_even"].contains("points"));
  EXPECT_TRUE(cost["disk"].is_null());
  EXPECT_LT(cost.dump().size(), 6000U);
}

TEST_F(BundledPrices, OneOfAllLinesIsTheReference) {
  const CostReport report = CostOf(RunOn("h100-sxm", 8, 10), {});
  const Json rented = Written(report, true)["rented"];
  const auto is_reference = [](const Json& line) { return line["reference"].get<bool>(); };
  ASSERT_EQ(std::count_if(rented.begin(), rented.end(), is_reference), 1);
  EXPECT_EQ(rented[static_cast<std::size_t>(report.reference)]["reference"], true);
}

TEST_F(BundledPrices, OwnPricesHaveNoDate) {
  Pricing pricing;
  pricing.hourly_price = 3;
  pricing.electricity_per_kwh = 0.25;
  pricing.purchase_price = 9000;
  const Json cost = Written(CostOf(RunOn("rtx-4090", 1, 10), pricing), true);
  EXPECT_TRUE(cost["rented"][0]["provider"].is_null());
  EXPECT_TRUE(cost["rented"][0]["date"].is_null());
  EXPECT_DOUBLE_EQ(cost["rented"][0]["cost"]["expected"].get<double>(), 30);
  EXPECT_TRUE(cost["energy"]["price_per_kwh"]["date"].is_null());
  EXPECT_EQ(cost["bought"]["prices"], Json::array());
}

TEST_F(BundledPrices, EverySourceOfACostIsNamed) {
  const CostReport report = CostOf(RunOn("h200-sxm", 8, 10), {});
  std::vector<std::string_view> ids;
  AddCostSources(report, ids);
  std::set<std::string> written;
  const std::function<void(const Json&)> collect = [&](const Json& value) {
    if (value.is_object() && value.contains("source_ids")) {
      for (const Json& id : value["source_ids"]) written.insert(id.get<std::string>());
    }
    for (const Json& inner : value) {
      if (inner.is_structured()) collect(inner);
    }
  };
  collect(Written(report, true));
  for (const std::string& id : written) {
    EXPECT_NE(std::find(ids.begin(), ids.end(), id), ids.end()) << id;
    EXPECT_NE(TheCatalog().FindSource(id), nullptr) << id;
  }
}

TEST(WriteCost, IsNullWithoutAReport) {
  JsonWriter writer(20);
  writer.BeginObject();
  WriteCost(writer, nullptr, nullptr, Catalog(), true);
  writer.EndObject();
  EXPECT_EQ(writer.Take(), R"({"cost":null})");
}

TEST(Estimate, HasACostWhereHoursAndPricesAreKnown) {
  const std::string request = R"({"version":1,"model":"qwen3-8b","hardware":{"gpu":"a10g"},)"
                              R"("dataset":{"examples":1000,"epochs":2},"pricing":{"currency":"USD","trials":1}})";
  const auto cost_of = [](const std::string& text) { return Json::parse(Estimate(text), nullptr, false)["cost"]; };
  Init(test::ReadFile(TUNEFIT_CATALOG));
  EXPECT_TRUE(cost_of(request).is_null()) << "the market has not been read";
  InitMarket(test::ReadFile(TUNEFIT_MARKET));
  const Json report = Json::parse(Estimate(request), nullptr, false);
  EXPECT_EQ(report["issues"], Json::array());
  EXPECT_EQ(report["cost"]["currency"], "USD");
  const Json& rented = report["cost"]["rented"][0];
  EXPECT_NEAR(rented["cost"]["expected"].get<double>(),
              rented["price_per_hour"].get<double>() * report["time"]["total_hours"]["expected"].get<double>(), 1e-9);
  EXPECT_TRUE(report["sources"].contains(rented["source_ids"][0].get<std::string>()));
  const auto without = [&](const char* key) {
    Json changed = Json::parse(request, nullptr, false);
    changed.erase(key);
    return changed.dump();
  };
  EXPECT_TRUE(cost_of(without("dataset")).is_null());
  EXPECT_TRUE(cost_of(without("hardware")).is_null());
  EXPECT_TRUE(cost_of(without("pricing")).is_object());
  const Json unused = Json::parse(Estimate(without("dataset")), nullptr, false)["issues"];
  ASSERT_EQ(unused.size(), 1U);
  EXPECT_EQ(unused[0]["field"], "pricing");
}

TEST(VendorsPrices, StandBeforeAllOthers) {
  Issues issues;
  const Catalog catalog = ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), issues);
  Json bundle = test::ReadSmallCatalog("minimal_market.json");
  bundle["vendor"]["currency"] = "USD";
  const Market market = ReadMarket(bundle.dump(), catalog, issues);
  ASSERT_TRUE(issues.empty()) << test::Listed(issues);
  const Prices& prices = market.prices;
  EXPECT_EQ(prices.currency, Currency::kUsd);
  EXPECT_EQ(prices.cards[0].kind, PurchaseKind::kQuoted);
  EXPECT_EQ(prices.cards[0].low, 1600);
  EXPECT_EQ(prices.machines[0].kind, PurchaseKind::kQuoted);
  EXPECT_EQ(prices.machines[0].gpus, 8);
  EXPECT_EQ(prices.machines[0].provenance.note, "installed");
  EXPECT_EQ(prices.defaults.electricity_eur_per_kwh.value.expected, 0.25);
  EXPECT_TRUE(prices.defaults.electricity_eur_per_kwh.provenance.source_ids.empty());
  EXPECT_EQ(prices.defaults.lifetime_years.value.expected, 4);
  ASSERT_EQ(prices.services.size(), 1U);
  EXPECT_EQ(prices.services[0].billed, BilledTokens::kPadded);
  ASSERT_EQ(prices.offers.size(), 2U);
  EXPECT_EQ(prices.offers[1].term, RentalTerm::kSpot);
  EXPECT_FALSE(prices.offers[1].covers_machine);
  EXPECT_TRUE(prices.offers[1].provenance.low_confidence);
  EXPECT_EQ(market.servers[1].power_watts, 10000);

  bundle["vendor"]["providers"] = {"Trainer"};
  bundle["vendor"]["servers"] = {"box-a"};
  const Market chosen = ReadMarket(bundle.dump(), catalog, issues);
  EXPECT_TRUE(chosen.prices.offers.empty());
  EXPECT_EQ(chosen.prices.services.size(), 1U);
  EXPECT_EQ(chosen.prices.machines.size(), 1U) << "its own alone";
}

}  // namespace
}  // namespace tunefit
