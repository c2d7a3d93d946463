#include "core/codec/market.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/codec/api.h"
#include "tests/support/files.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

using Json = nlohmann::json;

class SmallMarket : public testing::Test {
 protected:
  SmallMarket()
      : first_part_(test::Completed(test::ReadSmallCatalog("minimal.json"))),
        market_(test::ReadSmallCatalog("minimal_market.json")) {
    Issues issues;
    catalog_ = ReadCatalog(first_part_, issues);
    EXPECT_TRUE(issues.empty()) << test::Listed(issues);
  }

  std::string Faults() const {
    Issues issues;
    ReadMarket(market_.dump(), catalog_, issues);
    return test::Listed(issues);
  }

  std::string first_part_;
  Json market_;
  Catalog catalog_;
};

TEST_F(SmallMarket, IsRead) {
  Issues issues;
  const Market market = ReadMarket(market_.dump(), catalog_, issues);
  ASSERT_TRUE(issues.empty()) << test::Listed(issues);
  ASSERT_EQ(market.servers.size(), 2U);
  const CatalogServer* server = market.FindServer("BOX-b");
  ASSERT_EQ(server, &market.servers[1]);
  EXPECT_EQ(server->name, "Box B");
  EXPECT_EQ(server->gpus, std::vector<std::string>{"card-b"});
  EXPECT_EQ(server->gpus_unconfirmed, std::vector<std::string>{"card-a"});
  EXPECT_EQ(server->gpus_max, 8);
  EXPECT_EQ(market.FindServer("box"), nullptr);
}

TEST_F(SmallMarket, WhatIsLeftOutIsNoFault) {
  Json& server = market_["servers"][1];
  for (const char* key : {"gpus_unconfirmed", "psu_count", "psu_W", "psu_redundancy", "derived"}) {
    server.erase(key);
    server["sources"].erase(key);
  }
  server["gpus"] = Json::array();
  for (const char* list : {"rented", "gpus", "servers", "services"}) market_["prices"][list] = Json::array();
  market_["vendor"] = {{"name", "Shop"},
                       {"languages", {"en"}},
                       {"currency", "EUR"},
                       {"prices", {{"gpus", Json::array()}, {"servers", Json::array()}}}};
  EXPECT_EQ(Faults(), "");
}

TEST_F(SmallMarket, CountsCharactersAndNotBytes) {
  std::string words;
  for (int i = 0; i < 1200; ++i) words += "é";
  market_["vendor"]["legal"]["nl"] = words;
  EXPECT_EQ(Faults(), "");
  market_["vendor"]["legal"]["nl"] = words + "é";
  EXPECT_EQ(Faults().substr(0, 24), "too_long vendor.legal.nl");
}

TEST_F(SmallMarket, SaysEveryFaultOfAList) {
  Json& servers = market_["servers"];
  servers[0]["gpus"] = {"card-c", "card-d"};
  servers[1]["colour"] = "red";
  servers[1].erase("maker");
  EXPECT_EQ(Faults(),
            "unknown_gpu servers.0.gpus: servers.0.gpus names \"card-c\", which is no GPU of the catalog.\n"
            "unknown_gpu servers.0.gpus: servers.0.gpus names \"card-d\", which is no GPU of the catalog.\n"
            "unknown_field servers.1.colour: servers.1.colour is not a field that is known here.\n"
            "missing_field servers.1.maker: servers.1.maker is missing.\n");
}

TEST_F(SmallMarket, AContactOfNothingIsEmpty) {
  market_["vendor"]["contact"] = Json::object();
  EXPECT_EQ(Faults().substr(0, 26), "empty_list vendor.contact:");
  market_["vendor"].erase("contact");
  market_["servers"][0]["sources"] = Json::object();
  EXPECT_EQ(Faults().substr(0, 29), "empty_list servers.0.sources:");
}

TEST_F(SmallMarket, NeverFailsOnWrongTexts) {
  for (const char* text : {"", "{", "[]", "null", "{}", R"({"meta":1,"servers":{},"prices":[],"vendor":"x"})",
                           R"({"servers":[1,{"id":2,"gpus":3,"sources":[]}],"prices":{"rented":{},"gpus":[[]]}})",
                           R"({"vendor":{"prices":{"gpus":[1]},"colours":[],"contact":1,"providers":[[]]}})"}) {
    Issues issues;
    ReadMarket(text, catalog_, issues);
    EXPECT_FALSE(issues.empty()) << text;
  }
}

TEST_F(SmallMarket, FaultsWithoutEndHideNone) {
  market_["servers"] = std::vector<Json>(kIssueLimit, "x");  // no more issues are kept than these
  market_["prices"] = {{"rented", {{{"gpu", 1}}}}, {"gpus", {Json::object()}}};
  market_["vendor"]["prices"]["gpus"] = {Json::object()};
  Issues issues;
  EXPECT_TRUE(ReadMarket(market_.dump(), catalog_, issues).servers.empty());
  EXPECT_EQ(issues.size(), kIssueLimit);
}

TEST_F(SmallMarket, ComesAfterTheFirstPart) {
  const auto status = [](const std::string& answer) { return Json::parse(answer, nullptr, false)["status"]; };
  const auto servers = [] { return Json::parse(Describe(), nullptr, false)["servers"]; };
  Init("{}");
  const Json early = Json::parse(InitMarket(market_.dump()), nullptr, false);
  EXPECT_EQ(early["status"], "invalid");
  EXPECT_EQ(early["issues"][0]["code"], "not_initialised");
  Init(first_part_);
  EXPECT_EQ(servers(), Json::array());
  EXPECT_EQ(status(InitMarket(market_.dump())), "ok");
  ASSERT_EQ(servers().size(), 2U);
  const Json expected = {
      {"id", "box-b"}, {"name", "Box B"}, {"gpus", {"card-b"}}, {"gpus_unconfirmed", {"card-a"}}, {"gpus_max", 8}};
  EXPECT_EQ(servers()[1], expected);
  EXPECT_EQ(status(InitMarket("{}")), "invalid");
  EXPECT_EQ(servers(), Json::array());
  InitMarket(market_.dump());
  Init(first_part_);
  EXPECT_EQ(servers(), Json::array());
}

TEST(Market, TheBundledOneIsRead) {
  Issues issues;
  const Catalog catalog = ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues);
  const Market market = ReadMarket(test::ReadFile(TUNEFIT_MARKET), catalog, issues);
  EXPECT_TRUE(issues.empty()) << test::Listed(issues);
  EXPECT_GT(market.servers.size(), 30U);
}

}  // namespace
}  // namespace tunefit
