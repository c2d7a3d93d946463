#include <gtest/gtest.h>

#include <string>

#include "core/codec/request.h"
#include "core/codec/words.h"
#include "tests/support/small_catalogs.h"

namespace tunefit {
namespace {

/// A request for a model and the cards of tests/catalog/minimal.json in the servers of minimal_market.json.
class RequestServer : public testing::Test {
 protected:
  RequestServer() : catalog_(ReadCatalog(test::Completed(test::ReadSmallCatalog("minimal.json")), issues_)) {
    market_ = ReadMarket(test::ReadSmallCatalog("minimal_market.json").dump(), catalog_, issues_);
    EXPECT_TRUE(issues_.empty()) << test::Listed(issues_);
  }

  RequestReading Read(const std::string& gpu, const std::string& server, const std::string& more = "") const {
    return ReadRequest(
        R"({"version":1,"model":"small","hardware":{"gpu":")" + gpu + R"(","server":")" + server + R"("})" + more + "}",
        catalog_, &market_);
  }
  /// Without the note that nothing is computed from a server yet.
  static std::string Codes(const RequestReading& reading) {
    std::string text;
    for (const Issue& issue : reading.issues) {
      if (issue.severity != Severity::kNote) text += issue.code + "@" + issue.field + " ";
    }
    return text;
  }
  static std::string ValueOf(const RequestReading& reading, const std::string& wanted) {
    for (const auto& [name, value] : reading.issues.front().values) {
      if (name == wanted) return value;
    }
    return "";
  }

  Issues issues_;
  Catalog catalog_;
  Market market_;
};

TEST_F(RequestServer, TakesItsCards) {
  EXPECT_EQ(Codes(Read("card-a", "box-a")), "");
  EXPECT_EQ(Codes(Read("CARD-B", " BOX-B ")), "");
}

TEST_F(RequestServer, NobodyKnowsIsAnError) {
  const RequestReading reading = Read("card-a", "box");
  EXPECT_EQ(Codes(reading), "unknown_server@hardware.server ");
  EXPECT_TRUE(HasError(reading.issues));
  EXPECT_EQ(ValueOf(reading, "nearest"), "box-b");
  EXPECT_EQ(reading.issues.front().message, "The catalog has no server with the id \"box\". Did you mean \"box-b\"?");
  EXPECT_EQ(Codes(Read("card-z", "box-a")), "unknown_gpu@hardware.gpu ");
}

TEST_F(RequestServer, NeedsTheSecondPart) {
  const RequestReading reading =
      ReadRequest(R"({"version":1,"model":"small","hardware":{"gpu":"card-a","server":"box-a"}})", catalog_);
  EXPECT_EQ(Codes(reading), "not_initialised@hardware.server ");
  EXPECT_TRUE(HasError(reading.issues));
  EXPECT_NE(reading.issues.front().message.find("init_market"), std::string::npos);
}

TEST_F(RequestServer, RefusesOtherCards) {
  const RequestReading reading = Read("card-b", "box-a");
  EXPECT_EQ(Codes(reading), "gpu_not_in_server@hardware.server ");
  EXPECT_TRUE(HasError(reading.issues));
  EXPECT_EQ(ValueOf(reading, "value"), "Card B");
  EXPECT_EQ(ValueOf(reading, "server"), "Box A");
}

TEST_F(RequestServer, WarnsOfCardsThatNobodyConfirmed) {
  const RequestReading reading = Read("card-a", "box-b");
  EXPECT_EQ(Codes(reading), "gpu_unconfirmed_in_server@hardware.server ");
  EXPECT_FALSE(HasError(reading.issues));
}

TEST_F(RequestServer, HoldsSoManyCards) {
  EXPECT_EQ(Codes(Read("card-b", "box-b", R"(,"parallel":{"gpus":8,"gpus_per_node":8,"strategy":"ddp"})")), "");
  EXPECT_EQ(Codes(Read("card-b", "box-b", R"(,"parallel":{"gpus":16,"strategy":"ddp"})")), "");
  const RequestReading reading =
      Read("card-a", "box-a", R"(,"parallel":{"gpus":2,"gpus_per_node":2,"strategy":"ddp"})");
  EXPECT_EQ(Codes(reading), "too_many_gpus_in_server@parallel.gpus_per_node ");
  EXPECT_TRUE(HasError(reading.issues));
  EXPECT_EQ(ValueOf(reading, "value"), "2");
  EXPECT_EQ(ValueOf(reading, "high"), "1");
  EXPECT_EQ(reading.issues.front().message, "The Box A takes 1 GPU at most, not 2.");
  // What is written of more cards than there are changes nothing.
  EXPECT_EQ(Codes(Read("card-a", "box-a", R"(,"parallel":{"gpus":1,"gpus_per_node":8})")), "");
}

TEST_F(RequestServer, FillsOneServerAfterAnother) {
  const auto per_node = [](const RequestReading& reading) {
    for (const Assumption& assumption : reading.assumptions) {
      if (assumption.field == "parallel.gpus_per_node") return assumption.value + " " + std::string(assumption.reason);
    }
    return std::string();
  };
  const RequestReading eight = Read("card-a", "box-a", R"(,"parallel":{"gpus":8,"strategy":"ddp"})");
  EXPECT_EQ(Codes(eight), "");
  EXPECT_EQ(per_node(eight), "1 server_holds");
  EXPECT_EQ(eight.workload.parallel.gpus_per_node, 1);
  EXPECT_EQ(per_node(Read("card-a", "box-a")), "");
  const RequestReading anywhere =
      ReadRequest(R"({"version":1,"model":"small","parallel":{"gpus":16,"strategy":"ddp"}})", catalog_);
  EXPECT_EQ(per_node(anywhere), "8 core_default");
}

TEST_F(RequestServer, ItsPortsAreTheNetwork) {
  const RequestReading reading = Read("card-b", "box-b");
  EXPECT_FALSE(reading.wiring.by_host);
  EXPECT_EQ(reading.wiring.network_bytes_per_second, 50e9);  // eight ports of 400 Gb/s for eight cards
  EXPECT_EQ(Read("card-a", "box-a").wiring.network_bytes_per_second, std::nullopt);
}

TEST_F(RequestServer, TheRequestsOwnLinkStandsBeforeIt) {
  const auto link = [&](const char* gpu, const char* id) {
    return ReadRequest(
        Join({R"({"version":1,"model":"small","hardware":{"gpu":")", gpu, R"(","interconnect":")", id, R"("}})"}),
        catalog_, &market_);
  };
  EXPECT_EQ(link("card-b", "Fabric").wiring.link_bytes_per_second, 448e9);
  EXPECT_EQ(Codes(link("card-a", "fabric")), "gpu_without_interconnect@hardware.interconnect ");
  EXPECT_EQ(Codes(link("card-a", "slot")), "unknown_interconnect@hardware.interconnect ") << "its rate is not known";
}

}  // namespace
}  // namespace tunefit
