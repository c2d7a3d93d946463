#pragma once

#include <string_view>

namespace tunefit {

struct IssueCode {
  std::string_view code;
  std::string_view meaning;
  std::string_view values;  ///< names in Issue::values; those with ? are not always there
};

/// Every code that a report or the answer of Init may carry, so that a page can test that it translates them all.
/// tests/unit/codec/issue_codes_test.cc holds the sources against this list.
inline constexpr IssueCode kIssueCodes[] = {
    // the text
    {"empty_text", "There is no text.", ""},
    {"text_too_long", "The text is over the length limit; it was not read.", "value high"},
    {"not_json", "The text is not JSON.", "line? column?"},
    {"invalid_utf8", "The text holds bytes or escapes that are no characters.", "line column"},
    {"number_not_finite", "A number is NaN, infinite, or too large for a double.", "line column"},
    {"too_deep", "Objects and lists nest too deeply.", "high"},
    {"too_many_values", "The text holds too many values.", "high"},
    {"duplicate_key", "An object gives a key twice, or a list names a thing twice.", "value"},
    // a field
    {"missing_field", "A field that must be there is not.", ""},
    {"unknown_field", "A field that nobody knows.", "value nearest?"},
    {"wrong_type", "A value of another type, or a fraction where a count is wanted.", "expected found value?"},
    {"out_of_range", "A number outside its limits.", "value low high?"},
    {"unknown_value", "A word that is not among the choices.", "value known nearest?"},
    {"malformed", "A text of the wrong form: a month, a date, an id.", "value"},
    {"too_long", "A text or a list with too much in it.", "value high"},
    {"empty_list", "A list that must name something is empty.", ""},
    // the request as a whole
    {"not_initialised", "The part of the catalog that this needs has not been read yet.", ""},
    {"not_modelled", "The core does not model this yet; as a note it only leaves a part out.", "value?"},
    {"unknown_model", "The catalog has no model of that name.", "value nearest?"},
    {"unknown_gpu", "The catalog has no GPU of that id.", "value nearest?"},
    {"unknown_server", "The catalog has no server of that id.", "value nearest?"},
    {"gpu_not_in_server", "The server does not take that GPU.", "value server"},
    {"unknown_interconnect", "The catalog has no link between GPUs or machines of that id.", "value nearest?"},
    {"gpu_without_interconnect", "The GPU does not have that link.", "value interconnect"},
    {"gpu_unconfirmed_in_server", "No source confirms that the server takes that GPU.", "value server"},
    {"too_many_gpus_in_server", "More GPUs than the server takes.", "value high server"},
    {"version_before_catalog", "The stack's version is older than the catalog knows.", "value low"},
    {"parameters_differ", "The stated number of parameters is not what the config gives.", "value expected"},
    {"dtype_unsupported", "The GPU does not compute in that type; another does.", "value gpu other"},
    {"attention_unsupported", "The GPU does not run that attention; another does.", "value gpu other"},
    {"attention_needs_half", "That attention computes in fp16 or bf16 only, and all is fp32.", "value"},
    {"fp16_gradients", "Under fp16 autocast the gradient scaler refuses fp16 gradients.", ""},
    {"quantization_differs", "The pasted config is quantized with another method than the request says.",
     "value config"},
    {"tokens_differ", "The tokens of a data set are not those of its examples together.", "value expected"},
    {"no_effect", "An option that changes nothing in this request.", "value"},
    {"length_over_context", "The length is over what the model was made for.", "value high"},
    {"length_over_positions", "The length is over the model's learned positions.", "value high"},
    {"too_many_tokens", "A micro-batch holds more tokens than is computed.", "value high"},
    {"not_for_task", "The value makes no sense for the task.", "value task"},
    {"lengths_differ", "The length is not that of the prompt and the completion together.", "value expected"},
    {"engine_without_room", "vLLM's share of the cards does not hold the model and one completion.", "value least"},
    {"generations_do_not_divide", "A step's completions are no whole groups.", "value total"},
    {"unknown_target_module", "The model has no linear module of that name.", "value known"},
    {"not_a_target", "A module is named for a part of what targets are given, and is no target.", "value"},
    {"rank_over_matrix", "The rank is over the smaller side of an adapted matrix.", "value high"},
    {"too_many_layers", "More layers shall train than the model has.", "value high"},
    {"accumulation_in_backward", "Gradients that are applied within backward cannot be accumulated.", "value"},
    {"quantized_full_training", "A quantized base cannot be trained in full.", ""},
    {"gpus_do_not_divide", "The GPUs are no multiple of the ranks that share a model.", "value group"},
    {"copies_do_not_divide", "The GPUs that hold a copy of a part are no multiple of those that share its experts.",
     "value group"},
    {"shard_does_not_divide", "Ranks that train the same part of a model are no whole groups of that size.",
     "value ranks"},
    {"tensor_over_heads", "The attention heads are no multiple of the ranks that share them.", "value heads"},
    {"tensor_over_width", "A width of the model is no multiple of the ranks that share it.", "value width name"},
    {"pipeline_over_layers", "More pipeline stages, or pieces of them, than layers.", "value high"},
    {"experts_do_not_divide", "The experts are no multiple of the ranks that share them.", "value experts"},
    {"copies_without_strategy", "More GPUs than share a model, and no word on how the copies work together.", "value"},
    {"no_change_fits", "No change of the run's settings that was tried makes it fit on its card.", "value"},
    // a plan
    {"unknown_plan", "No plan of that id is under way.", ""},
    // a Hugging Face config
    {"heads_do_not_divide", "Heads do not divide the hidden size, or key/value heads the heads.",
     "value heads? hidden_size?"},
    {"not_even", "A width that counts two matrices is odd.", "value"},
    {"layers_differ", "A list of layers is not as long as the model.", "value expected"},
    {"model_too_large", "The config describes more parameters than are computed.", "value high"},
    // the catalog
    {"duplicate_id", "Two rows of a list have one id, or agree in all that tells such rows apart.", "value"},
    {"duplicate_name", "Two models, or two GPUs, share a name.", "value"},
    {"unknown_source", "A source id that the catalog does not list.", "value"},
    {"unsourced", "A number without a source.", ""},
    {"implausible", "A number that cannot be right beside the others of its row.", "value?"},
    {"not_sorted", "Versions that are not in order.", "value"},
    {"parts_differ", "The second part of the catalog belongs to another first part.", "value expected"},
    {"parameters_mismatch", "The stated parameters are not what the config gives.", "value expected"},
};

}  // namespace tunefit
