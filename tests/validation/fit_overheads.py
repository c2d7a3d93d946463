#!/usr/bin/env python3
"""Fits catalog/overheads.json on published runs, and says how well it holds where a source is left out.

  build/native/tests/validation/validate --dump > runs.jsonl
  python3 tests/validation/fit_overheads.py runs.jsonl > catalog/overheads.json      (report on standard error)

What is fitted, and on what:
  library_workspace_bytes   between_steps as torch counts it, minus the weights and states of the estimate
  allocated_*_fraction      spread of max_memory_allocated around the live peak plus that workspace
  slack_*                   two shares of what comes and goes, by the least median relative error of the expected
                            value over a grid; the range's shares are the smallest step either way that holds 90 in 100
Physical constants that no run of ours shows (the driver's context) are taken from their sources.
"""
import json
import sys

GIB = 2**30
SHARE_INSIDE = 0.9
FULL_CARD = 0.92  # the allocator fills what it finds: runs this close to the card say little
# CUDA context on the card, outside torch: 0.47 to 0.9 GiB over the generations measured.
CONTEXT = {"low": round(0.47 * GIB), "expected": round(0.6 * GIB), "high": round(0.9 * GIB)}
CONTEXT_RUNS = ["nvidia-smi beside torch counters, several cards (0.47 to 0.9 GiB)"]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, int(round(share * (len(ordered) - 1)))))]


def moving(run):
    return run["peak_step_bytes"] - run["between_steps_bytes"]


def outside(run):
    """Bytes above the allocated estimate that the slack has to explain."""
    context = CONTEXT["expected"] if run["statistic"] in ("device", "unstated") else 0
    return run["measured_bytes"] - run["peak_step_bytes"] - run["workspace"] - context


def slack_error(runs, of_moving, of_loss):
    errors = []
    for run in runs:
        slack = of_moving * moving(run) + of_loss * run["loss_bytes"]
        expected = run["measured_bytes"] - outside(run) + slack
        errors.append(abs(expected / run["measured_bytes"] - 1))
    return quantile(errors, 0.5) + 0.5 * quantile(errors, 0.9)


def fit_slack(runs):
    grid = [i / 50 for i in range(0, 61)]
    best = min(((a, b) for a in grid[:26] for b in grid), key=lambda ab: slack_error(runs, *ab))
    return best


def range_of(runs, expected):
    """Scales of the expected slack between which 90 in 100 runs lie, as shares again."""
    ratios = []
    for run in runs:
        slack = expected[0] * moving(run) + expected[1] * run["loss_bytes"]
        if slack > 0:
            ratios.append(outside(run) / slack)
    tail = (1 - SHARE_INSIDE) / 2
    return max(0.0, quantile(ratios, tail)), max(1.0, quantile(ratios, 1 - tail))


def slack_json(expected, scales):
    low, high = scales
    def one(value):
        return {"low": round(value * low, 4), "expected": round(value, 4), "high": round(value * high, 4)}
    return {"of_moving": one(expected[0]), "of_loss": one(expected[1])}


def report(name, runs, expected):
    errors = [abs((run["measured_bytes"] - outside(run) + expected[0] * moving(run) + expected[1] * run["loss_bytes"])
                  / run["measured_bytes"] - 1) for run in runs]
    print(f"{name:46} {len(runs):3} runs  median {100 * quantile(errors, 0.5):6.2f} %  p90 "
          f"{100 * quantile(errors, 0.9):6.2f} %", file=sys.stderr)


def main():
    runs = [json.loads(line) for line in open(sys.argv[1])]
    steady = [r for r in runs if r["statistic"] == "between_steps"]
    workspace = max(0, quantile([r["measured_bytes"] - r["between_steps_bytes"] for r in steady], 0.5))
    allocated = [r for r in runs if r["statistic"] == "allocated"]
    ratios = [r["measured_bytes"] / (r["peak_step_bytes"] + workspace) - 1 for r in allocated]
    tail = (1 - SHARE_INSIDE) / 2
    for run in runs:
        run["workspace"] = workspace
    kept = [r for r in runs if r["statistic"] in ("reserved", "device", "unstated")
            and not (r["usable_bytes"] and r["measured_bytes"] >= FULL_CARD * r["usable_bytes"])]
    result = {
        "library_workspace_bytes": round(workspace),
        "allocated_low_fraction": round(max(0.005, -quantile(ratios, tail)), 4),
        "allocated_high_fraction": round(max(0.005, quantile(ratios, 1 - tail)), 4),
    }
    names = {"library_workspace_bytes": sorted(r["id"] for r in steady),
             "allocated_low_fraction": sorted(r["id"] for r in allocated),
             "allocated_high_fraction": sorted(r["id"] for r in allocated)}
    for key, varied in (("slack_fixed", False), ("slack_varied", True)):
        group = [r for r in kept if r["varied"] == varied]
        # Device rows are sampled once a second: lower bounds of the peak, so they fit the expected value only.
        expected = fit_slack(group)
        result[key] = slack_json(expected, range_of(group, expected))
        names[key] = sorted(r["id"] for r in group)
        report(key, group, expected)
        for source in sorted({r["source"] for r in group}):
            rest = [r for r in group if r["source"] != source]
            if rest:
                report("  without " + source[:34], [r for r in group if r["source"] == source], fit_slack(rest))
    result["contexts"] = [{"architecture": "", "bytes": CONTEXT}]
    names["contexts"] = CONTEXT_RUNS
    result["runs"] = names
    write(result)


def write(result):
    """One constant a line, so that differences read well."""
    lines = []
    for key, value in result.items():
        if key == "contexts":
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            lines.append(f'"contexts":[\n{rows}\n]')
        else:
            lines.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    print("{\n" + ",\n".join(lines) + "\n}")


if __name__ == "__main__":
    main()
