#include "core/codec/catalog_rows.h"
#include "core/codec/market_parts.h"

namespace tunefit {
namespace {

using rules::Choice, rules::Rows, rules::SourceIds, rules::Text;

constexpr FieldRule kSwitch[] = {
    Choice("stack", "transformers torchtune torchtitan litgpt llm-foundry unsloth deepspeed megatron").Needed(),
    // The names of core/plan/change.h, but those of hardware.
    Choice("change",
           "gradient_checkpointing offload_checkpoints no_gradient_checkpointing fused_linear_loss chunked_loss "
           "fused_kernels fused_attention flash_attention packing padding_free fused_optimizer paged_optimizer "
           "optimizer_8bit paged_optimizer_8bit optimizer_in_backward bf16_weights smaller_micro_batch "
           "larger_micro_batch zero1 zero2 zero3 fsdp fsdp2 offload_optimizer offload_parameters fewer_lora_targets "
           "lora qlora shorter_sequence")
        .Needed(),
    Text("setting", 300),
    SourceIds(),
};

}  // namespace

void ReadSwitches(const ObjectReader& bundle, const KnownNames& names, Market& market) {
  static constexpr FieldRule kSwitches = Rows("switches", kSwitch).Items(1);
  if (!CheckField(bundle, kSwitches, names)) return;
  RefuseSecondRows(bundle, "switches", "stack change");
  ForEachRow(bundle, "switches", [&](const ObjectReader& row) {
    market.switches.push_back({std::string(TextOf(row, "stack")), std::string(TextOf(row, "change")),
                               TextsOf(row, "sources"), std::string(TextOf(row, "setting"))});
  });
}

}  // namespace tunefit
