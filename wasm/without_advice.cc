// In place of advice in the module of a page's first answer, which gives none: the linker takes these, and leaves out
// what they stand for.

#include "core/codec/advice.h"
#include "core/codec/answer.h"
#include "core/codec/report_parts.h"

namespace tunefit {

AdviceReport AdviseOn(RequestReading& reading, const Answer& /*answer*/, const Catalog& /*catalog*/,
                      const Market* /*market*/) {
  AddIssue(reading.issues, "not_modelled", "include", "This module gives no advice.", {{"value", "advice"}},
           Severity::kNote);
  return {};
}

void WriteAdvice(JsonWriter& writer, const Answer& /*answer*/, bool /*full*/) {
  writer.Key("advice");
  writer.Raw("[]");
}

}  // namespace tunefit
