#include "core/cost/pricing.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>

namespace tunefit {
namespace {

std::string Faults(const Pricing& pricing) {
  Issues issues;
  Validate(pricing, issues);
  std::string faults;
  for (const Issue& issue : issues) faults += issue.code + "@" + issue.field + " ";
  return faults;
}

TEST(ValidatePricing, NothingSaidIsNoFault) { EXPECT_EQ(Faults({}), ""); }

TEST(ValidatePricing, ZerosThatAreDividedByAreFaults) {
  Pricing pricing;
  pricing.utilisation = 0;
  pricing.hourly_price = 0;
  pricing.purchase_price = 0;
  pricing.lifetime_years = 0;
  EXPECT_EQ(Faults(pricing),
            "out_of_range@pricing.hourly_price out_of_range@pricing.purchase_price "
            "out_of_range@pricing.lifetime_years out_of_range@pricing.utilisation ");
  pricing = {};
  pricing.electricity_per_kwh = 0;  // from one's own roof
  pricing.grid_g_co2_per_kwh = 0;
  pricing.rack_per_month = 0;
  pricing.trials = 0;
  EXPECT_EQ(Faults(pricing), "");
}

TEST(ValidatePricing, EveryNumberHasItsLimits) {
  for (const PricingField& field : kPricingFields) {
    for (const double wrong :
         {-1.0, field.high * 2, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
      Pricing pricing;
      pricing.*field.value = wrong;
      EXPECT_EQ(Faults(pricing), std::string("out_of_range@pricing.") + field.key + " ");
    }
    for (const double right : {field.low, field.high}) {
      Pricing pricing;
      pricing.*field.value = right;
      EXPECT_EQ(Faults(pricing), "");
    }
  }
  Pricing pricing;
  pricing.trials = -1;
  pricing.data_work = DataWork{-1, -1};
  EXPECT_EQ(Faults(pricing),
            "out_of_range@pricing.trials out_of_range@pricing.data_work.hours "
            "out_of_range@pricing.data_work.rate_per_hour ");
}

}  // namespace
}  // namespace tunefit
