"""What measure.py does without a GPU: arguments, requests, rows."""
import contextlib
import io
import json
import os
import tempfile
import unittest

import measure

QLORA = {"version": 1, "model": "meta-llama/Llama-3.1-8B", "method": {"kind": "lora", "rank": 16},
         "quantization": {"kind": "nf4", "double_quant": True, "prepare_kbit": "peft"},
         "precision": {"weights": "bf16", "compute": "bf16", "autocast": True}, "optimizer": "paged_adamw_8bit",
         "batch": {"per_device": 2, "gradient_accumulation": 4, "sequence_length": 2048},
         "gradient_checkpointing": "full", "attention": "flash_attention_2", "loss": "fused_linear_ce"}
FULL = {"version": 1, "model": {"config": {"model_type": "llama", "hidden_size": 64}}, "method": {"kind": "full"},
        "precision": {"weights": "fp32", "compute": "bf16", "autocast": False}}
MACHINE = {"gpu": "NVIDIA H100", "driver": "550.1", "versions": "torch 2.8", "date": "2026-12"}


class Plan(unittest.TestCase):
    def test_qlora(self):
        plan = measure.plan_of(QLORA, 8)
        self.assertEqual(plan["arguments"]["attn_implementation"], "flash_attention_2")
        self.assertEqual(plan["arguments"]["quantization_config"],
                         {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_compute_dtype": "bfloat16",
                          "bnb_4bit_use_double_quant": True})
        self.assertEqual(plan["lora"]["r"], 16)
        self.assertEqual(plan["lora"]["target_modules"], "all-linear")
        self.assertEqual(plan["prepare_kbit"], "peft")
        training = plan["training"]
        self.assertEqual((training["per_device_train_batch_size"], training["gradient_accumulation_steps"]), (2, 4))
        self.assertTrue(training["bf16"] and training["gradient_checkpointing"] and training["use_liger_kernel"])
        self.assertEqual((training["optim"], training["max_steps"]), ("paged_adamw_8bit", 8))

    def test_full_without_autocast(self):
        plan = measure.plan_of(FULL, 4)
        self.assertIsNone(plan["lora"])
        self.assertEqual(plan["model"], {"model_type": "llama", "hidden_size": 64})
        self.assertEqual(plan["arguments"], {"dtype": "float32", "attn_implementation": "sdpa"})
        self.assertFalse(plan["training"]["bf16"] or plan["training"]["fp16"])

    def test_what_it_cannot_run_is_refused_by_field(self):
        for change, field in (({"task": "dpo"}, "task"), ({"stack": "torchtune"}, "stack"),
                              ({"loss": "chunked"}, "loss"), ({"attention": "xformers"}, "attention"),
                              ({"gradient_checkpointing": {"every": 2}}, "gradient_checkpointing"),
                              ({"quantization": {"kind": "gptq"}}, "quantization.kind"),
                              ({"parallel": {"gpus": 8, "strategy": "zero3"}}, "parallel.strategy"),
                              ({"batch": {"packing": "padding_free"}}, "batch.packing"),
                              ({"method": {"kind": "full"}}, "full fine-tuning")):
            with self.assertRaisesRegex(measure.Refused, field):
                measure.plan_of({**QLORA, **change}, 8)

    def test_lengths(self):
        self.assertEqual(measure.lengths_of(QLORA, 3), [2048] * 3)
        varied = measure.lengths_of({"batch": {"sequence_length": 1600, "length_varies": True}}, 9)
        self.assertEqual(max(varied), 1600)
        self.assertEqual(min(varied), 800)
        self.assertEqual(len(set(varied)), 9)


class Rows(unittest.TestCase):
    def test_one_a_statistic_as_the_validation_set_has_them(self):
        measured = {"between_steps": 1, "allocated": 2, "reserved": 3, "device": 4, "seconds_per_step": 0.51239}
        rows = measure.rows_of("a", QLORA, measured, MACHINE)
        self.assertEqual([row["id"] for row in rows], ["a-between_steps", "a-allocated", "a-reserved", "a-device"])
        self.assertEqual(rows[1]["measured"],
                         {"statistic": "allocated", "bytes": 2, "unit_certain": True, "sec_per_iter": 0.5124})
        for row in rows:
            self.assertEqual(row["request"], QLORA)
            self.assertEqual((row["quality"], row["published"]), ("A", "2026-12"))
            self.assertEqual(row["source"]["locator"], "NVIDIA H100")

    def test_a_hidden_process_leaves_the_device_row_out(self):
        rows = measure.rows_of("a", QLORA, {"allocated": 2, "device": None}, MACHINE)
        self.assertEqual([row["measured"]["statistic"] for row in rows], ["allocated"])

    def test_out_of_memory(self):
        self.assertEqual([row["measured"] for row in measure.rows_of("a", QLORA, {"oom": True}, MACHINE)], [{"oom": True}])

    def test_nvidia_smi(self):
        listing = "12, 1000\n34, 22511\n56, [N/A]\n"
        self.assertEqual(measure.used_by_process(listing, 34), 22511 * 2**20)
        self.assertIsNone(measure.used_by_process(listing, 56))
        self.assertIsNone(measure.used_by_process(listing, 78))
        machine = measure.machine_of("NVIDIA A100-SXM4-80GB, 535.104\n", "torch 2.8", "2026-12")
        self.assertEqual((machine["gpu"], machine["driver"]), ("NVIDIA A100-SXM4-80GB", "535.104"))
        self.assertEqual(measure.machine_of("", "", "")["gpu"], "unknown")


class CommandLine(unittest.TestCase):
    def test_too_few_steps(self):
        with contextlib.redirect_stderr(io.StringIO()), self.assertRaises(SystemExit):
            measure.parse_arguments(["--steps", "2", "requests.jsonl"])

    def test_dry_run_prints_plans_and_refusals(self):
        lines = [{"id": "one", "request": QLORA}, {**QLORA, "task": "ppo"}]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "requests.jsonl")
            with open(path, "w") as file:
                file.write("\n".join(json.dumps(line) for line in lines) + "\n\n")
            out, err = io.StringIO(), io.StringIO()
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                self.assertEqual(measure.main(["--dry-run", path]), 0)
        self.assertEqual([json.loads(line)["id"] for line in out.getvalue().splitlines()], ["one"])
        self.assertEqual(err.getvalue(), "request-2: not run, task: ppo\n")


if __name__ == "__main__":
    unittest.main()
