#include "core/codec/request.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/files.h"

namespace tunefit {
namespace {

class Request : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Issues issues;
    catalog_ = new Catalog(ReadCatalog(test::ReadFile(TUNEFIT_CATALOG), issues));
  }
  static void TearDownTestSuite() { delete catalog_; }

  static RequestReading Read(const std::string& members) {
    return ReadRequest(R"({"version":1,)" + members + "}", *catalog_);
  }
  static std::string Codes(const RequestReading& reading) {
    std::string text;
    for (const Issue& issue : reading.issues) text += issue.code + "@" + issue.field + " ";
    return text;
  }
  static const Assumption* Find(const RequestReading& reading, std::string_view field) {
    for (const Assumption& assumption : reading.assumptions) {
      if (assumption.field == field) return &assumption;
    }
    return nullptr;
  }

  static Catalog* catalog_;
};

Catalog* Request::catalog_ = nullptr;

TEST_F(Request, TakesTheStacksDefaultsAndSaysSo) {
  const RequestReading reading = Read(R"("model":"llama-3.1-8b")");
  EXPECT_EQ(Codes(reading), "");
  EXPECT_EQ(reading.workload.method.kind, MethodKind::kFull);
  EXPECT_EQ(reading.workload.batch.per_device, 8);
  ASSERT_NE(Find(reading, "batch.per_device"), nullptr);
  EXPECT_EQ(Find(reading, "batch.per_device")->value, "8");
  EXPECT_STREQ(Find(reading, "batch.per_device")->reason, "stack_default");
  EXPECT_STREQ(Find(reading, "method.kind")->reason, "core_default");
  EXPECT_STREQ(Find(reading, "stack_version")->reason, "catalog");
  EXPECT_EQ(Find(reading, "model"), nullptr);
}

TEST_F(Request, DefaultsDependOnTheVersion) {
  EXPECT_EQ(Read(R"("model":"gpt2","stack_version":"2023-05")").workload.attention, AttentionKernel::kEager);
  EXPECT_EQ(Read(R"("model":"gpt2","stack_version":"2024-05")").workload.attention, AttentionKernel::kSdpa);
  EXPECT_EQ(Read(R"("model":"gpt2","stack_version":"2024-05")").workload.optimizer, Optimizer::kAdamwForeach);
  EXPECT_EQ(Read(R"("model":"gpt2","stack_version":"2024-05")").workload.precision.weights, Dtype::kFp32);
  const RequestReading old = Read(R"("model":"gpt2","stack_version":"2019-05")");
  EXPECT_EQ(Codes(old), "version_before_catalog@stack_version ");
  EXPECT_EQ(old.workload.attention, AttentionKernel::kEager);
}

TEST_F(Request, WordsBecomeTypes) {
  const RequestReading reading = Read(
      R"("model":"llama-3.1-8b","method":{"kind":"lora","rank":64,"target_modules":"all-linear","adapter_dtype":"bf16"},)"
      R"("quantization":{"kind":"nf4","double_quant":true,"prepare_kbit":"trl"},"optimizer":"paged_adamw_8bit",)"
      R"("gradient_checkpointing":{"every":1},"attention":"flash_attention_3","loss":"fused_linear_ce",)"
      R"("batch":{"per_device":2,"packing":"padding_free","length_varies":true},"include":["limits"],"detail":"summary")");
  EXPECT_EQ(Codes(reading), "");
  const Workload& workload = reading.workload;
  EXPECT_EQ(workload.method.rank, 64);
  EXPECT_TRUE(workload.method.all_linear);
  EXPECT_EQ(workload.method.adapter_dtype, Dtype::kBf16);
  EXPECT_EQ(workload.quantization.kind, QuantizationKind::kNf4);
  EXPECT_EQ(workload.quantization.prepare, PrepareKbit::kTrl);
  EXPECT_EQ(workload.optimizer, Optimizer::kPagedAdamw8bit);
  EXPECT_EQ(workload.checkpointing, Checkpointing::kFull);
  EXPECT_EQ(workload.attention, AttentionKernel::kFlash);
  EXPECT_EQ(workload.loss, Loss::kFusedLinearCe);
  EXPECT_EQ(workload.batch.packing, Packing::kPaddingFree);
  EXPECT_TRUE(reading.includes_limits);
  EXPECT_FALSE(reading.full_detail);
}

TEST_F(Request, TargetsAreTheModelsModules) {
  const auto targets = [](const RequestReading& reading) {
    std::string text;
    for (const std::string& name : reading.workload.method.target_modules) text += name + " ";
    return text;
  };
  const RequestReading suffix =
      Read(R"("model":"qwen-7b","method":{"kind":"lora","target_modules":["c_attn","attn.c_proj","w1"]})");
  EXPECT_EQ(Codes(suffix), "");
  EXPECT_EQ(targets(suffix), "c_attn attn.c_proj w1 ");
  EXPECT_EQ(targets(Read(R"("model":"gpt2","method":{"kind":"lora","target_modules":["c_proj"]})")),
            "attn.c_proj mlp.c_proj ");
  EXPECT_EQ(targets(Read(R"("model":"llama-3.1-8b","method":{"kind":"lora","target_modules":["self_attn.q_proj"]})")),
            "q_proj ");
  // PEFT passes over names that match nothing, as long as one does.
  const RequestReading some = Read(R"("model":"gpt2","method":{"kind":"lora","target_modules":["c_attn","q_proj"]})");
  EXPECT_EQ(Codes(some), "unknown_target_module@method.target_modules.1 ");
  EXPECT_FALSE(HasError(some.issues));
  EXPECT_EQ(targets(some), "c_attn ");
  EXPECT_EQ(targets(Read(R"("model":"gpt2","method":{"kind":"lora"})")), "c_attn ");
  // The stack's targets for other types do not exist here: everything is adapted, and that is said.
  const RequestReading none = Read(R"("model":"internlm2-7b","method":{"kind":"lora"})");
  EXPECT_TRUE(none.workload.method.all_linear);
  EXPECT_STREQ(Find(none, "method.target_modules")->reason, "core_default");
}

TEST_F(Request, TargetsBesideTheModulesOfEveryLayerAreRefused) {
  const auto codes = [](const std::string& model, const std::string& target) {
    const RequestReading reading =
        Read(R"("model":")" + model + R"(","method":{"kind":"lora","target_modules":["q_proj","c_attn",")" + target +
             R"("]})");
    std::string text;
    for (const Issue& issue : reading.issues) {
      if (issue.field == "method.target_modules.2") text += issue.code + (HasError({issue}) ? "! " : " ");
    }
    return text;
  };
  for (const char* target : {"model.layers.5.self_attn.q_proj", "5.self_attn.q_proj", "layers.0.", "0", ".*q_proj",
                             "layers.(1|2).q_proj", "wpe"}) {
    EXPECT_EQ(codes("llama-3.1-8b", target), "not_modelled! ") << target;
    EXPECT_EQ(codes("gpt2", target), "not_modelled! ") << target;
  }
  // PEFT compares the end of a module's path: these are the end of none.
  for (const char* target : {"mlp.q_proj", "layers.self_attn.q_proj", "elsewhere.q_proj", "q_proj."}) {
    EXPECT_EQ(codes("llama-3.1-8b", target), "unknown_target_module ") << target;
  }
  EXPECT_EQ(codes("llama-3.1-8b", "self_attn.k_proj"), "");
  EXPECT_EQ(codes("qwen-7b", "attn.c_attn"), "");
  EXPECT_EQ(codes("internlm2-7b", "attention.wqkv"), "");
}

TEST_F(Request, TheTableAndTheHeadAreTargetsOfLora) {
  const auto adapted = [](const std::string& model, const std::string& targets) {
    const RequestReading reading =
        Read(R"("model":")" + model + R"(","method":{"kind":"lora","target_modules":)" + targets + "}");
    EXPECT_EQ(Codes(reading), "") << targets;
    const Method& method = reading.workload.method;
    return std::to_string(method.target_modules.size()) + (method.adapts_embedding ? " table" : "") +
           (method.adapts_head ? " head" : "");
  };
  EXPECT_EQ(adapted("llama-3.1-8b", R"(["q_proj","model.embed_tokens","lm_head"])"), "1 table head");
  EXPECT_EQ(adapted("llama-3.1-8b", R"(["lm_head"])"), "0 head");
  EXPECT_EQ(adapted("gpt2", R"(["c_attn","wte"])"), "1 table");
  EXPECT_EQ(adapted("chatglm3-6b", R"(["query_key_value","word_embeddings","output_layer"])"), "1 table head");
  EXPECT_EQ(adapted("llama-3.1-8b", R"("all-linear")"), "0");
  const RequestReading copied =
      Read(R"("model":"llama-3.1-8b","stack":"unsloth","method":{"kind":"lora","target_modules":["lm_head"]})");
  EXPECT_EQ(copied.issues.front().message,
            "An adapter on \"lm_head\" is a trained copy with Unsloth: name it in modules_to_save.");
}

TEST_F(Request, RanksGoByTheEndsOfPaths) {
  const auto read = [](const std::string& pattern) {
    return Read(R"("model":"llama-3.1-8b","method":{"kind":"lora","rank":8,"target_modules":"all-linear",)"
                R"("rank_pattern":)" +
                pattern + "}");
  };
  const RequestReading reading = read(R"({"self_attn.q_proj":32,"down_proj":64,"lm_head":4})");
  EXPECT_EQ(Codes(reading), "");
  const Method& method = reading.workload.method;
  EXPECT_EQ(AdapterRank(method, "q_proj"), 32);
  EXPECT_EQ(AdapterRank(method, "down_proj"), 64);
  EXPECT_EQ(AdapterRank(method, "lm_head"), 4);
  EXPECT_EQ(AdapterRank(method, "k_proj"), 8);
  EXPECT_EQ(Codes(read("{}")), "");
  const RequestReading unknown = read(R"({"c_attn":32})");
  EXPECT_EQ(Codes(unknown), "unknown_target_module@method.rank_pattern.c_attn ");
  EXPECT_FALSE(HasError(unknown.issues));
  EXPECT_EQ(Codes(read(R"({"layers.0.q_proj":32})")), "not_modelled@method.rank_pattern.layers.0.q_proj ");
  EXPECT_EQ(Codes(read(R"({"k_proj":1025})")), "rank_over_matrix@method.rank_pattern ");
}

TEST_F(Request, Ia3TakesPeftsModulesOfTheModel) {
  const auto modules = [](const std::string& model, const std::string& more) {
    const RequestReading reading = Read(R"("model":")" + model + R"(","method":{"kind":"ia3")" + more + "}");
    EXPECT_FALSE(HasError(reading.issues)) << model;
    std::string text;
    for (const std::string& name : reading.workload.method.target_modules) text += name + " ";
    text += "|";
    for (const std::string& name : reading.workload.method.feedforward_modules) text += " " + name;
    return text;
  };
  EXPECT_EQ(modules("llama-3.1-8b", ""), "k_proj v_proj down_proj | down_proj");
  EXPECT_EQ(modules("qwen3-8b", ""), "q_proj v_proj down_proj | down_proj");
  EXPECT_EQ(modules("gpt2", ""), "c_attn mlp.c_proj | mlp.c_proj");
  EXPECT_EQ(modules("google/flan-t5-base", ""),
            "SelfAttention.k SelfAttention.v wo EncDecAttention.k EncDecAttention.v | wo");
  // BERT's two modules of that name are scaled at their inputs.
  EXPECT_EQ(modules("bert-base-uncased", ""),
            "key value attention.output.dense output.dense | attention.output.dense output.dense");
  EXPECT_EQ(modules("llama-3.1-8b", R"(,"target_modules":["q_proj"])"), "q_proj |");
  EXPECT_EQ(modules("llama-3.1-8b", R"(,"target_modules":["q_proj","mlp.down_proj"])"), "q_proj down_proj | down_proj");
  EXPECT_EQ(modules("phi-4-mini", R"(,"target_modules":["qkv_proj"],"feedforward_modules":[])"), "qkv_proj |");
  const RequestReading reading = Read(R"("model":"llama-3.1-8b","method":{"kind":"ia3"})");
  EXPECT_EQ(Find(reading, "method.target_modules")->value, R"(["k_proj","v_proj","down_proj"])");
  EXPECT_EQ(Find(reading, "method.feedforward_modules")->value, R"(["down_proj"])");
  EXPECT_EQ(Find(reading, "method.rank"), nullptr);
  EXPECT_EQ(reading.workload.method.adapter_dtype, Dtype::kFp32);
  const RequestReading unknown =
      Read(R"("model":"llama-3.1-8b","method":{"kind":"ia3","feedforward_modules":["fc2"]})");
  EXPECT_EQ(Codes(unknown), "not_a_target@method.feedforward_modules.0 ");
  // A default never refuses what was asked for: it is as the targets are written.
  const RequestReading short_names =
      Read(R"("model":"llama-3.1-8b","method":{"kind":"ia3","target_modules":["k_proj","mlp.down_proj"]})");
  EXPECT_EQ(Codes(short_names), "");
  EXPECT_EQ(Find(short_names, "method.feedforward_modules")->value, R"(["mlp.down_proj"])");
  EXPECT_EQ(Codes(Read(R"("model":"llama-3.1-8b","method":{"kind":"ia3","target_modules":["q_proj","proj"]})")),
            "unknown_target_module@method.target_modules.1 ");
}

TEST_F(Request, PromptTuningHasVirtualTokens) {
  const RequestReading reading = Read(R"("model":"llama-3.1-8b","method":{"kind":"prompt_tuning"})");
  EXPECT_EQ(Codes(reading), "");
  EXPECT_EQ(reading.workload.method.virtual_tokens, 20);
  EXPECT_STREQ(Find(reading, "method.virtual_tokens")->reason, "core_default");
  EXPECT_EQ(Find(reading, "method.target_modules"), nullptr);
  // They belong to no other method.
  EXPECT_EQ(Read(R"("model":"gpt2","method":{"kind":"lora","virtual_tokens":9})").workload.method.virtual_tokens, 0);
  // The context holds them too.
  const std::string eight = R"("model":"llama-3.1-8b","batch":{"per_device":1,"sequence_length":131072},)";
  EXPECT_EQ(Codes(Read(eight + R"("method":{"kind":"lora"})")), "");
  EXPECT_EQ(Codes(Read(eight + R"("method":{"kind":"prompt_tuning"})")), "length_over_context@batch.sequence_length ");
}

TEST_F(Request, PrefixTuningIsToldWhatThereIs) {
  const RequestReading reading = Read(R"("model":"gpt2","method":{"kind":"prefix_tuning"})");
  EXPECT_EQ(Codes(reading), "not_modelled@method.kind ");
  EXPECT_NE(reading.issues.front().message.find("prompt_tuning"), std::string::npos);
}

TEST_F(Request, SavedModulesGoByManyNames) {
  const auto saved = [](const std::string& names) {
    const Method method =
        Read(R"("model":"llama-3.1-8b","method":{"kind":"lora","modules_to_save":)" + names + "}").workload.method;
    return std::pair(method.saves_embedding, method.saves_head);
  };
  EXPECT_EQ(saved("[]"), std::pair(false, false));
  EXPECT_EQ(saved(R"(["embed_tokens"])"), std::pair(true, false));
  EXPECT_EQ(saved(R"(["embed","lm_head"])"), std::pair(true, true));
}

TEST_F(Request, SavedModulesAreAnAdaptersOnly) {
  for (const char* kind : {"full", "freeze"}) {
    const RequestReading reading =
        Read(R"("model":"llama-3.1-8b","method":{"modules_to_save":["lm_head"],"kind":")" + std::string(kind) + "\"}");
    EXPECT_EQ(Codes(reading), "") << kind;
    EXPECT_FALSE(reading.completed.method.modules_to_save_dtype) << kind;
    EXPECT_FALSE(reading.workload.method.saves_head) << kind;
  }
}

TEST_F(Request, QuantizationMayComeFromTheConfig) {
  const std::string config =
      R"("model":{"config":{"model_type":"llama","hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,)"
      R"("num_attention_heads":4,"vocab_size":100,"quantization_config":{"load_in_4bit":true,)"
      R"("bnb_4bit_quant_type":"nf4"}}},"method":{"kind":"lora"})";
  const RequestReading taken = Read(config);
  EXPECT_EQ(Codes(taken), "");
  EXPECT_EQ(taken.workload.quantization.kind, QuantizationKind::kNf4);
  EXPECT_STREQ(Find(taken, "quantization.kind")->reason, "model_config");
  EXPECT_EQ(Read(config + R"(,"quantization":null)").workload.quantization.kind, QuantizationKind::kNone);
}

TEST_F(Request, AnotherQuantizationThanTheConfigsIsAWarning) {
  const auto codes = [](const std::string& stored, const std::string& asked) {
    return Codes(
        Read(R"("model":{"config":{"model_type":"llama","hidden_size":64,"intermediate_size":96,"num_hidden_layers":2,)"
             R"("num_attention_heads":4,"vocab_size":100,"quantization_config":)" +
             stored + R"(}},"method":{"kind":"lora"},"quantization":)" + asked));
  };
  const std::string nf4 = R"({"load_in_4bit":true,"bnb_4bit_quant_type":"nf4"})";
  EXPECT_EQ(codes(nf4, R"({"kind":"nf4","double_quant":true})"), "");
  EXPECT_EQ(codes(nf4, R"({"kind":"int8"})"), "quantization_differs@quantization.kind ");
  EXPECT_EQ(codes(nf4, "null"), "quantization_differs@quantization ");
  EXPECT_EQ(codes(R"({"quant_method":"gptq","bits":4})", R"({"kind":"nf4"})"),
            "quantization_differs@quantization.kind ");
  EXPECT_EQ(codes(R"({"quant_method":"gptq","bits":4})", "null"), "quantization_differs@quantization ");
}

TEST_F(Request, PreparingAQuantizedBaseSwitchesCheckpointingOn) {
  const std::string lora = R"("model":"llama-3.1-8b","method":{"kind":"lora"})";
  for (const char* prepare : {"", R"(,"prepare_kbit":"peft")", R"(,"prepare_kbit":"trl")"}) {
    const RequestReading reading = Read(lora + R"(,"quantization":{"kind":"nf4")" + prepare + "}");
    EXPECT_EQ(reading.workload.checkpointing, Checkpointing::kFull) << prepare;
    ASSERT_NE(Find(reading, "gradient_checkpointing"), nullptr) << prepare;
    EXPECT_EQ(Find(reading, "gradient_checkpointing")->value, "\"full\"");
    EXPECT_STREQ(Find(reading, "gradient_checkpointing")->reason, "prepare_kbit");
  }
  const RequestReading as_loaded = Read(lora + R"(,"quantization":{"kind":"nf4","prepare_kbit":"none"})");
  EXPECT_EQ(as_loaded.workload.checkpointing, Checkpointing::kNone);
  EXPECT_STREQ(Find(as_loaded, "gradient_checkpointing")->reason, "stack_default");
  const RequestReading said = Read(lora + R"(,"quantization":{"kind":"nf4"},"gradient_checkpointing":"none")");
  EXPECT_EQ(said.workload.checkpointing, Checkpointing::kNone);
  EXPECT_EQ(Find(said, "gradient_checkpointing"), nullptr);
  EXPECT_EQ(Read(lora).workload.checkpointing, Checkpointing::kNone);
}

TEST_F(Request, CardsWithoutTheDtypeGetAWarning) {
  EXPECT_EQ(Codes(Read(R"("model":"gpt2","hardware":{"gpu":"t4"})")), "dtype_unsupported@precision.compute ");
  EXPECT_EQ(Codes(Read(R"("model":"gpt2","hardware":{"gpu":"t4"},"precision":{"weights":"fp32","compute":"fp16"})")),
            "");
  EXPECT_EQ(Codes(Read(R"("model":"gpt2","hardware":{"gpu":"rtx-4090"})")), "");
  const std::string quantized =
      R"("model":"gpt2","method":{"kind":"lora"},"quantization":{"kind":"fp8"},"hardware":{"gpu":")";
  EXPECT_EQ(Codes(Read(quantized + R"(a100-sxm4-80gb"})")), "dtype_unsupported@quantization.kind ");
  EXPECT_EQ(Codes(Read(quantized + R"(h100-sxm"})")), "");
}

TEST_F(Request, AttentionThatTheCardOrTheLibraryRefuses) {
  const auto codes = [](const std::string& version, const std::string& gpu, const std::string& precision) {
    return Codes(Read(R"("model":"gpt2","attention":"flash_attention_)" + version + R"(","hardware":{"gpu":")" + gpu +
                      R"("},"precision":)" + precision));
  };
  const std::string half = R"({"weights":"fp32","compute":"fp16","autocast":true})";
  EXPECT_EQ(codes("2", "t4", half), "attention_unsupported@attention ");
  EXPECT_EQ(codes("2", "v100-sxm2-16gb", half), "attention_unsupported@attention ");
  EXPECT_EQ(codes("3", "rtx-4090", half), "attention_unsupported@attention ");
  EXPECT_EQ(codes("3", "b200", half), "attention_unsupported@attention ");
  EXPECT_EQ(codes("3", "mi300x", half), "attention_unsupported@attention ");
  EXPECT_EQ(codes("2", "gaudi3", half), "attention_unsupported@attention ");
  EXPECT_EQ(codes("2", "arc-b580", half), "attention_unsupported@attention ");
  for (const char* gpu : {"a100-sxm4-80gb", "rtx-4090", "h100-sxm", "b200", "mi300x"}) {
    EXPECT_EQ(codes("2", gpu, half), "") << gpu;
  }
  EXPECT_EQ(codes("3", "h100-sxm", half), "");
  const std::string full = R"({"weights":"fp32","compute":"fp32","autocast":false})";
  EXPECT_EQ(codes("2", "h100-sxm", full), "attention_needs_half@attention ");
  EXPECT_TRUE(HasError(Read(R"("model":"gpt2","attention":"flash_attention_2","precision":)" + full).issues));
  EXPECT_EQ(codes("2", "h100-sxm", R"({"weights":"bf16","compute":"fp32","autocast":false})"), "");
}

TEST_F(Request, WhatTheCardRefusesComesWithWhatItRuns) {
  const auto first = [](const std::string& members) {
    const RequestReading reading = Read(R"("model":"gpt2",)" + members);
    const Issue& issue = reading.issues.front();
    return issue.message + " [" + issue.values.back().first + ": " + issue.values.back().second + "]";
  };
  EXPECT_EQ(first(R"("hardware":{"gpu":"t4"})"),
            "The T4 does not compute in bf16; choose fp16 or another card. [other: fp16]");
  EXPECT_EQ(
      first(
          R"("precision":{"weights":"fp32","compute":"fp8","autocast":false},"stack":"torchtitan","hardware":{"gpu":"t4"})"),
      "The T4 does not compute in fp8; choose fp16 or another card. [other: fp16]");
  const std::string half = R"("precision":{"weights":"fp32","compute":"fp16","autocast":true},"attention":)";
  EXPECT_EQ(first(half + R"("flash_attention_3","hardware":{"gpu":"rtx-4090"})"),
            "flash_attention_3 does not run on the GeForce RTX 4090: it needs compute capability 9.0, Hopper; "
            "choose flash_attention_2 instead. [other: flash_attention_2]");
  EXPECT_EQ(first(half + R"("flash_attention_3","hardware":{"gpu":"t4"})"),
            "flash_attention_3 does not run on the T4: it needs compute capability 9.0, Hopper; "
            "choose sdpa instead. [other: sdpa]");
  EXPECT_EQ(first(half + R"("flash_attention_2","hardware":{"gpu":"t4"})"),
            "flash_attention_2 does not run on the T4: it needs compute capability 8.0 or newer; "
            "choose sdpa instead. [other: sdpa]");
}

TEST_F(Request, Fp16UnderFp16AutocastDoesNotTrain) {
  const std::string fp16 = R"("model":"gpt2","precision":{"weights":"fp16","compute":"fp16","autocast":true})";
  EXPECT_EQ(Codes(Read(fp16)), "fp16_gradients@precision.weights ");
  EXPECT_EQ(Codes(Read(fp16 + R"(,"method":{"kind":"lora"})")), "");
  EXPECT_EQ(Codes(Read(fp16 + R"(,"method":{"kind":"lora","adapter_dtype":"fp16"})")),
            "fp16_gradients@method.adapter_dtype ");
  EXPECT_EQ(Codes(Read(R"("model":"gpt2","precision":{"weights":"fp16","compute":"fp16","autocast":false})")), "");
  EXPECT_EQ(Codes(Read(R"("model":"gpt2","precision":{"weights":"fp32","compute":"fp16","autocast":true})")), "");
}

TEST_F(Request, FusedKernelsAreReadOnce) {
  const FusedKernels all =
      Read(R"("model":"llama-3.1-8b","method":{"kind":"lora"},"fused_kernels":["rms_norm","rope","swiglu","lora"])")
          .workload.fused;
  EXPECT_TRUE(all.rms_norm && all.rope && all.swiglu && all.lora);
  const FusedKernels one = Read(R"("model":"llama-3.1-8b","fused_kernels":["rope"])").workload.fused;
  EXPECT_TRUE(one.rope && !one.rms_norm && !one.swiglu && !one.lora);
}

TEST_F(Request, WhatChangesNothingIsANote) {
  const auto codes = [](const std::string& members) {
    const RequestReading reading = Read(R"("model":"llama-3.1-8b",)" + members);
    EXPECT_FALSE(HasError(reading.issues));
    for (const Issue& issue : reading.issues) EXPECT_EQ(issue.severity, Severity::kNote);
    return Codes(reading);
  };
  const std::string lora = R"("fused_kernels":["lora"],"method":)";
  EXPECT_EQ(codes(lora + R"({"kind":"lora","dropout":0})"), "");
  EXPECT_EQ(codes(lora + R"({"kind":"lora"})"), "no_effect@fused_kernels ");  // TRL drops out one in twenty
  EXPECT_EQ(codes(lora + R"({"kind":"lora","dropout":0.1})"), "no_effect@fused_kernels ");
  EXPECT_EQ(codes(lora + R"({"kind":"full"})"), "no_effect@fused_kernels ");
  const std::string int8 = R"("method":{"kind":"lora"},"quantization":{"kind":"int8")";
  EXPECT_EQ(codes(int8 + R"(,"bits":8,"double_quant":false})"), "");
  EXPECT_EQ(codes(int8 + R"(,"double_quant":true,"group_size":64})"),
            "no_effect@quantization.double_quant no_effect@quantization.group_size ");
  const std::string eight = R"("parallel":{"gpus":8,"strategy":)";
  EXPECT_EQ(codes(eight + R"("ddp","shard":4,"zero":{"reduce_bucket_size":1}})"),
            "no_effect@parallel.shard no_effect@parallel.zero.reduce_bucket_size ");
  EXPECT_EQ(codes(eight + R"("zero2","zero":{"overlap_comm":false,"sub_group_size":9}})"),
            "no_effect@parallel.zero.sub_group_size ");
  EXPECT_EQ(codes(eight + R"("zero2","offload":{"optimizer":"nvme"}})"), "no_effect@parallel.offload.optimizer ");
  EXPECT_EQ(codes(eight + R"("zero3","offload":{"optimizer":"nvme","parameters":"nvme"}})"), "");
  EXPECT_EQ(codes(eight + R"("fsdp2","shard":4,"gradient_as_bucket_view":true})"),
            "no_effect@parallel.gradient_as_bucket_view ");
  EXPECT_EQ(codes(R"("hardware":{"gpu":"b200","interconnect":"node-8x400"},"dataset":{},"pricing":{})"),
            "not_modelled@pricing ");
}

TEST_F(Request, SaysWhatPricesWaitFor) {
  const auto message = [](const std::string& members) {
    const RequestReading reading = Read(R"("model":"gpt2","pricing":{},)" + members);
    EXPECT_EQ(Codes(reading), "not_modelled@pricing ");
    return reading.issues.at(0).message;
  };
  EXPECT_EQ(
      message(R"("hardware":{"gpu":"b200"},"dataset":{"epochs":2})"),
      "pricing has no effect without the hours of a run, for which there is no dataset.examples or dataset.tokens.");
  EXPECT_EQ(message(R"("dataset":{"tokens":1})"),
            "pricing has no effect without the hours of a run, for which there is no hardware.gpu.");
  EXPECT_EQ(message(R"("task":"sft")"),
            "pricing has no effect without the hours of a run, for which there is no dataset.examples or "
            "dataset.tokens, and hardware.gpu.");
}

TEST_F(Request, TellsTokensThatAreNotThoseOfTheExamples) {
  const auto codes = [](const std::string& dataset) { return Codes(Read(R"("model":"gpt2","dataset":)" + dataset)); };
  EXPECT_EQ(codes(R"({"examples":1000,"mean_tokens":500,"tokens":504999})"), "");
  EXPECT_EQ(codes(R"({"examples":1000,"mean_tokens":500,"tokens":505001})"), "tokens_differ@dataset.tokens ");
  EXPECT_EQ(codes(R"({"examples":1000,"mean_tokens":500,"tokens":494999})"), "tokens_differ@dataset.tokens ");
  EXPECT_EQ(codes(R"({"examples":1000,"tokens":7})"), "") << "a length that nobody gave contradicts nothing";
}

TEST_F(Request, AssumesOneEpochAndExamplesAsLongAsASequence) {
  const auto assumed = [](const std::string& members) {
    std::string text;
    for (const Assumption& assumption :
         Read(R"("model":"gpt2","batch":{"sequence_length":256},)" + members).assumptions) {
      if (assumption.field.rfind("dataset.", 0) == 0) text += assumption.field + "=" + assumption.value + " ";
    }
    return text;
  };
  EXPECT_EQ(assumed(R"("dataset":{"examples":9})"), "dataset.mean_tokens=256 dataset.epochs=1 ");
  EXPECT_EQ(assumed(R"("dataset":{"tokens":9})"), "dataset.mean_tokens=256 dataset.epochs=1 ");
  EXPECT_EQ(assumed(R"("dataset":{"examples":9,"tokens":9,"epochs":0})"), "");
  EXPECT_EQ(assumed(R"("dataset":{})"), "");
}

TEST_F(Request, NamesMayHaveSpaceAroundThem) {
  const RequestReading reading = Read(R"("model":" gpt2\n","hardware":{"gpu":"\t H100-SXM "})");
  EXPECT_EQ(Codes(reading), "");
  EXPECT_EQ(reading.completed.model, "gpt2");
  EXPECT_EQ(reading.completed.gpu, "H100-SXM");
  EXPECT_EQ(Codes(Read(R"("model":"gpt2","hardware":{"gpu":"NVIDIA H100 80GB HBM3"})")), "");
  EXPECT_EQ(Codes(Read(R"("model":"  ")")), "unknown_model@model ");
}

TEST_F(Request, SuggestsWhatBeginsWithWhatWasWritten) {
  const auto nearest = [](const std::string& members) {
    const RequestReading reading = Read(members);
    for (const auto& [name, value] : reading.issues.at(0).values) {
      if (name == "nearest") return value;
    }
    return std::string();
  };
  const auto gpu = [&](const std::string& name) {
    return nearest(R"("model":"gpt2","hardware":{"gpu":")" + name + R"("})");
  };
  EXPECT_EQ(gpu("H100-"), "h100-sxm");
  EXPECT_EQ(gpu("h100 s"), "h100-sxm");
  EXPECT_EQ(gpu("A100"), "a100-sxm4-80gb");
  EXPECT_EQ(gpu("4090"), "rtx-4090");
  EXPECT_EQ(gpu("rtx-4080-supr"), "rtx-4080-super");
  EXPECT_EQ(gpu("abacus"), "");
  EXPECT_EQ(gpu("x"), "");
  EXPECT_EQ(nearest(R"("model":"llama-3.1")"), "llama-3.1-8b");
}

TEST_F(Request, MessagesNameTheForm) {
  EXPECT_EQ(Read(R"("model":"gpt2","stack_version":"June")").issues.front().message,
            "stack_version must be a month such as 2025-06, not \"June\".");
  EXPECT_EQ(Read(R"("model":"gpt2","":1)").issues.front().message, "The text has a field with an empty name.");
  EXPECT_EQ(Read(R"("model":"gpt2","batch":{"":1})").issues.front().message, "batch has a field with an empty name.");
  const RequestReading text = ReadRequest(R"({"version":"1","model":"gpt2"})", *catalog_);
  EXPECT_EQ(text.issues.front().values.back(), std::pair(std::string("value"), std::string("\"1\"")));
}

TEST_F(Request, LongerThanTheContextIsAWarningWithRotaryPositions) {
  EXPECT_EQ(Codes(Read(R"("model":"llama-2-7b","batch":{"sequence_length":8192})")),
            "length_over_context@batch.sequence_length ");
  EXPECT_TRUE(HasError(Read(R"("model":"gpt2","batch":{"sequence_length":8192})").issues));
}

TEST_F(Request, EveryPartMayBeIncluded) {
  const RequestReading reading = Read(R"("model":"gpt2","include":["limits","timeline","ranks","advice","scaling"])");
  EXPECT_EQ(Codes(reading), "");
  EXPECT_TRUE(reading.includes_advice);
}

TEST_F(Request, AllFaultsAreNamedTogether) {
  const RequestReading reading = Read(
      R"("model":"nobody/nothing","optimizer":"adamw_torch_xla","batch":{"per_device":0,"packing":3},"colour":"red","parallel":{"expert":2})");
  EXPECT_EQ(Codes(reading),
            "unknown_field@colour out_of_range@batch.per_device wrong_type@batch.packing unknown_model@model "
            "not_modelled@optimizer not_modelled@parallel.expert ");
}

}  // namespace
}  // namespace tunefit
