#include "core/codec/text_forms.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace tunefit {
namespace {

void Expect(TextForm form, std::initializer_list<std::string_view> right,
            std::initializer_list<std::string_view> wrong) {
  for (const std::string_view text : right) EXPECT_EQ(FormFault(text, form), "") << text;
  for (const std::string_view text : wrong) EXPECT_EQ(FormFault(text, form).substr(0, 5), "must ") << text;
}

TEST(FormFault, OfIds) {
  Expect(TextForm::kAny, {"", "x"}, {});
  Expect(TextForm::kFilled, {" ", "x"}, {""});
  Expect(TextForm::kId, {"a", "h100-sxm", "rtx_a6000", "1.5-b"}, {"", "-a", "a-", "a--b", "A", "a b", "é"});
  Expect(TextForm::kSourceId, {"a", "_", "mlperf_40"}, {"", "A", "a-b", "a.b"});
}

TEST(FormFault, OfDates) {
  Expect(TextForm::kDate, {"2024", "2024-05", "2024-05-31"}, {"", "24", "2024-13", "2024-00", "2024-05-32", "2024/05"});
  Expect(TextForm::kMonth, {"2024-05", "2024-05-31"}, {"", "2024", "2024-5", "2024-05-3"});
  Expect(TextForm::kDay, {"2024-05-31"}, {"", "2024", "2024-05", "2024-05-32"});
  Expect(TextForm::kOnlyMonth, {"2024-05"}, {"", "2024", "2024-13", "2024-05-31"});
}

TEST(FormFault, OfNamesThatOthersGive) {
  Expect(TextForm::kHubName, {"a/b", "Owner-1/name_2.b"}, {"", "a", "/b", "a/", "a/b/c", "a b/c", "é/b"});
  Expect(TextForm::kCapability, {"8.9", "12.0", "gfx942", "gfx90a", "gfx11000"},
         {"", "9", "10.33", "120.0", ".9", "9.", "sm_90", "gfx", "gfx94", "gfx110000", "gfxyyy", "nine"});
  Expect(TextForm::kFormulaId, {"MEM-1", "TIME-120"},
         {"", "ME-1", "MEM-", "MEM-1000", "mem-1", "MEM1", "TIMES-1", "zz"});
}

TEST(FormFault, OfAVendorsWords) {
  Expect(TextForm::kColour, {"#1f6feb"}, {"", "#1F6FEB", "1f6feb", "#1f6fe", "#1f6febb", "navy"});
  Expect(TextForm::kUrl, {"https://a", "https://a.nl/b?c=d#e"},
         {"", "https://", "http://a", "https://a b", "https://\"", "https://a\u00a0b", "https://a\x7f", "a"});
  Expect(TextForm::kEmail, {"a@b", "a.b@c.nl"}, {"", "a", "@b", "a@", "a@b@c", "a b@c", "a\u2028b@c", "<a@b>"});
  Expect(TextForm::kPhone, {"1", "+31 (0)20-1234567"}, {"", "+", "1+1", "call"});
  Expect(TextForm::kPicture, {"a.svg", "logos/a-1.png"},
         {"", ".svg", "a.jpg", "/a.svg", "a b.svg", "a.svg.exe", "asvg"});
}

TEST(FormFault, OfRedundancy) {
  Expect(TextForm::kRedundancy, {"3+3", "10+2", "none", "busbar", "shelves"},
         {"", "3", "3+", "+3", "3+3+3", "3 + 3", "yes"});
}

TEST(SuppliesOf, AddsThem) {
  EXPECT_EQ(SuppliesOf("3+2"), 5);
  EXPECT_EQ(SuppliesOf("12+0"), 12);
  EXPECT_GT(SuppliesOf("99999999999999999999+1").value_or(0), 1000);
  for (const char* text : {"", "none", "3", "+", "3+x", "-3+1"}) EXPECT_FALSE(SuppliesOf(text)) << text;
}

TEST(IsSourcePath, IsARowOrAFieldWithDots) {
  for (const char* text : {"row", "rates.fp8", "defaults.method.*", "a.b*"}) EXPECT_TRUE(IsSourcePath(text)) << text;
  for (const char* text : {"", ".", "a.", ".a", "a..b", "*", "a b", "a-b"}) EXPECT_FALSE(IsSourcePath(text)) << text;
}

TEST(CharactersOf, CountsNoBytes) {
  EXPECT_EQ(CharactersOf(""), 0U);
  EXPECT_EQ(CharactersOf("één €"), 5U);
}

}  // namespace
}  // namespace tunefit
