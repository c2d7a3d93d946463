#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tunefit {

/// Forms of texts in the catalog. Their patterns stand in catalog/schema.
enum class TextForm : std::uint8_t {
  kAny,
  kFilled,    ///< not empty
  kId,        ///< of a row: "h100-sxm"
  kSourceId,  ///< of a source, as others name it
  kDate,      ///< a year, a month or a day
  kMonth,     ///< a month or a day
  kColour,    ///< "#1f6feb"
  kUrl,       ///< of a page, over https
  kEmail,
  kPhone,
  kPicture,     ///< the name of an svg or png file
  kRedundancy,  ///< of power supplies: "3+2", none, busbar, shelves
  kDay,
  kOnlyMonth,   ///< a month without a day
  kHubName,     ///< "owner/name" as the hub allows it
  kCapability,  ///< of NVIDIA's cards "8.9", of AMD's "gfx942"
  kFormulaId,   ///< "MEM-20"
};

/// What the text must be and is not, to follow a field's name: "must be ...". Empty where the text has the form.
std::string_view FormFault(std::string_view text, TextForm form);

/// "2024", "2024-05" or "2024-05-20".
bool IsDate(std::string_view text, bool day_needed);

/// The key of a field in `sources`: "row", "dense_TFLOPS.fp8".
bool IsSourcePath(std::string_view text);

/// The power supplies of "3+2", spare ones included; nothing for every other text.
std::optional<int> SuppliesOf(std::string_view text);

/// Characters of a text in UTF-8.
std::size_t CharactersOf(std::string_view text);

}  // namespace tunefit
