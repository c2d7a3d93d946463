#!/usr/bin/env python3
"""Fits catalog/overheads.json on published runs, and says how well it holds where a source is left out.

  build/native/tests/validation/validate --dump > runs.jsonl
  python3 tests/validation/fit_overheads.py runs.jsonl > catalog/overheads.json      (report on standard error)

What is fitted, and on what:
  library_workspace_bytes   between_steps as torch counts it, minus the weights and states of the estimate
  allocated_*_fraction      spread of max_memory_allocated around the live peak plus that workspace
  slack_*                   two shares of what comes and goes: the expected ones by the least median relative error over
                            a grid; then the pair of low and high shares whose ranges are narrowest (by the median) among
                            those that hold 90 in 100 runs, spread and context included
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


def interval(values):
    """The values between which at least SHARE_INSIDE of them lie, tails alike."""
    ordered = sorted(values)
    left_out = int((1 - SHARE_INSIDE) / 2 * len(ordered))
    return ordered[left_out], ordered[-1 - left_out]


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


def bounds(run, of_moving, of_loss, side, fractions):
    """The low or high end of what the estimate would say of this run's statistic."""
    live = run["peak_step_bytes"]
    context = CONTEXT[side] if run["statistic"] in ("device", "unstated") else 0
    spread = -fractions[0] * live if side == "low" else fractions[1] * live
    return live + run["workspace"] + spread + of_moving * moving(run) + of_loss * run["loss_bytes"] + context


def candidates(runs, expected, side, fractions):
    """Pairs of shares from the expected ones outwards: their end for each run, and how many lie beyond it."""
    steps = [i / 10 for i in range(11)] if side == "low" else [1 + i / 4 for i in range(17)]
    for a in steps:
        for b in steps:
            pair = (expected[0] * a, expected[1] * b)
            ends = [bounds(run, *pair, side, fractions) for run in runs]
            sign = 1 if side == "low" else -1
            beyond = sum(1 for run, end in zip(runs, ends) if sign * (end - run["measured_bytes"]) > 0)
            width = quantile([abs(end / bounds(run, *expected, side, (0, 0)) - 1) for run, end in zip(runs, ends)], 0.5)
            yield width, beyond, pair


def fit_range(runs, expected, fractions):
    """The narrowest low and high shares that together leave out at most one run in ten."""
    allowed = int((1 - SHARE_INSIDE) * len(runs))
    lows = sorted(candidates(runs, expected, "low", fractions))
    highs = sorted(candidates(runs, expected, "high", fractions))
    best = None
    for low in lows:
        for high in highs:
            if low[1] + high[1] <= allowed and (best is None or low[0] + high[0] < best[0]):
                best = (low[0] + high[0], low[2], high[2])
    return (best[1], best[2]) if best else (lows[-1][2], highs[-1][2])


def slack_json(expected, low, high):
    def one(i):
        return {"low": round(low[i], 4), "expected": round(expected[i], 4), "high": round(high[i], 4)}
    return {"of_moving": one(0), "of_loss": one(1)}


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
    low, high = interval(ratios)
    for run in runs:
        run["workspace"] = workspace
    kept = [r for r in runs if r["statistic"] in ("reserved", "device", "unstated")
            and not (r["usable_bytes"] and r["measured_bytes"] >= FULL_CARD * r["usable_bytes"])]
    result = {
        "library_workspace_bytes": round(workspace),
        "allocated_low_fraction": round(max(0.005, -low + 1e-4), 4),
        "allocated_high_fraction": round(max(0.005, high + 1e-4), 4),
    }
    names = {"library_workspace_bytes": sorted(r["id"] for r in steady),
             "allocated_low_fraction": sorted(r["id"] for r in allocated),
             "allocated_high_fraction": sorted(r["id"] for r in allocated)}
    for key, varied in (("slack_fixed", False), ("slack_varied", True)):
        group = [r for r in kept if r["varied"] == varied]
        # Device rows are sampled once a second: lower bounds of the peak, so they fit the expected value only.
        expected = fit_slack(group)
        fractions = (result["allocated_low_fraction"], result["allocated_high_fraction"])
        result[key] = slack_json(expected, *fit_range(group, expected, fractions))
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
