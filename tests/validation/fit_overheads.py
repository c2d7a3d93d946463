#!/usr/bin/env python3
"""Fits catalog/overheads.json on published runs, and says how well it holds where a source is left out.

  build/native/tests/validation/validate --dump > runs.jsonl
  python3 tests/validation/fit_overheads.py runs.jsonl tests/validation/overhead_runs.json > catalog/overheads.json
                                                                                (report on standard error)

Live bytes come from the trace and reserved bytes from the simulated allocator, neither with a fitted constant but for how
many shorter batches a run of varied lengths has before its longest (core/memory/device_bytes.cc). What is fitted is how far
published runs lie around them:
  allocated_*_fraction   max_memory_allocated around the live peak plus cuBLAS's workspaces, as a share
  reserved_*_fraction    reserved bytes, or nvidia-smi's less the context, around the simulated allocator, as a share
  reserved_high_of_loss  how much further above it where logits are large, as a share of what the loss adds to the
                         forward pass: the blocks that runs with a kernel for cross entropy lack in the simulation are
                         as large as the logits
Each interval is the narrowest that holds 93 in 100 runs of every statistic (95 of `allocated`, which may be wider than it
is), and 80 in 100 with every source counted once: some sources are of stacks that are not modelled well (nanotron,
torchtune's tables), and a range that held them would say little to all others.
The driver's context is taken from its sources: few runs show it apart.
"""
import bisect
import json
import sys

GIB = 2**30
SHARE_INSIDE = 0.93
SHARE_OF_ALLOCATED_INSIDE = 0.95
SHARE_INSIDE_BY_SOURCE = 0.8
# The allocator fills what it finds: runs this close to the card say little. Where the simulated one asks for more than
# the card has, the estimate is cut off there.
FULL_CARD = 0.92
LEAST_FRACTION = 0.005
# CUDA context on the card, outside torch: 0.47 to 0.9 GiB over the generations measured.
CONTEXTS = [("", (0.4, 0.6, 0.9)), ("Ampere", (0.4, 0.5, 0.9)), ("Hopper", (0.45, 0.6, 0.9))]
CONTEXT_RUNS = ["nvidia-smi beside torch counters, several cards (0.47 to 0.9 GiB)"]

# NCCL beside it where several cards work together: about 1.4 GiB more.
COLLECTIVES = (0.6, 1.4, 2.0)
COLLECTIVES_RUNS = ["nvidia-smi beside torch counters, several cards (about 1.4 GiB more with NCCL)"]


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, int(round(share * (len(ordered) - 1)))))]


def weights_by_source(runs):
    counts = {}
    for run in runs:
        counts[run["source"]] = counts.get(run["source"], 0) + 1
    return [1 / counts[run["source"]] / len(counts) for run in runs]


def holds_enough(runs, inside):
    """By count, within each statistic, and by source."""
    for statistic in {run["statistic"] for run in runs}:
        own = [held for run, held in zip(runs, inside) if run["statistic"] == statistic]
        share = SHARE_OF_ALLOCATED_INSIDE if statistic == "allocated" else SHARE_INSIDE
        if sum(own) < share * len(own):
            return False
    weights = weights_by_source(runs)
    return sum(weight for weight, held in zip(weights, inside) if held) >= SHARE_INSIDE_BY_SOURCE


def interval(runs, values, tops=None):
    """The narrowest (low, high) around nothing that holds enough of the values; `tops` are what must be below the high
    end, where that isn't the values themselves."""
    tops = tops or values
    highs = sorted({max(0, top) for top in tops})
    best = None
    for low in sorted({min(0, value) for value in values}):
        def holds(high, low=low):
            return holds_enough(runs, [low <= value and top <= high for value, top in zip(values, tops)])
        if not holds(highs[-1]):
            break  # a higher low end holds fewer still
        high = highs[bisect.bisect_left(highs, True, key=holds)]
        if best is None or high - low < best[1] - best[0]:
            best = (low, high)
    return best


def loss_share(run):
    return run["loss_bytes"] / run["simulated_reserved"]


def reserved_interval(runs):
    """(low, high, high of the loss): the narrowest for the median run."""
    values = [reserved_ratio(run) for run in runs]
    best = None
    for step in range(0, 21):  # at most what the loss adds once more: one further set of its blocks
        of_loss = step / 20
        low, high = interval(runs, values, [value - of_loss * loss_share(run) for run, value in zip(runs, values)])
        width = quantile([high - low + of_loss * loss_share(run) for run in runs], 0.5)
        if best is None or width < best[0]:
            best = (width, low, high, of_loss)
    return best[1:]


def context_of(run):
    if run["statistic"] not in ("device", "unstated"):
        return 0
    context = dict(CONTEXTS).get(run["architecture"], CONTEXTS[0][1])[1]
    return (context + (COLLECTIVES[1] if run["gpus"] > 1 else 0)) * GIB


def fills_card(run):
    usable = run["usable_bytes"]
    return usable and (run["measured_bytes"] >= FULL_CARD * usable or run["simulated_reserved"] + context_of(run) > usable)


def allocated_ratio(run):
    return run["measured_bytes"] / (run["peak_step_bytes"] + run["workspace_bytes"]) - 1


def reserved_ratio(run):
    """Where a row's GB may be 10^9 or 2^30, whichever lies nearer: its width is the source's, not the estimate's."""
    units = (1,) if run["unit_certain"] else (1, 10**9 / GIB)
    ratios = [(unit * run["measured_bytes"] - context_of(run)) / run["simulated_reserved"] - 1 for unit in units]
    return min(ratios, key=abs)


def fit(runs, figure):
    """(low, expected, high) of a figure over runs, and of the loss for reserved bytes. Nothing is expected of a ratio."""
    if figure is reserved_ratio:
        low, high, of_loss = reserved_interval(runs)
        return low, 0, high, of_loss
    low, high = interval(runs, [figure(run) for run in runs])
    return low, 0, high


def left_out(name, runs, figure):
    """How a source's runs lie in the range that all other sources give."""
    for source in sorted({run["source"] for run in runs}):
        rest = [run for run in runs if run["source"] != source]
        own = [run for run in runs if run["source"] == source]
        if not rest:
            print(f"{name:18} only source: {source}, {len(own)} runs", file=sys.stderr)
            continue
        low, expected, high, *of_loss = fit(rest, figure)
        tops = [high + sum(of_loss) * loss_share(run) for run in own]
        inside = sum(low <= figure(run) <= top for run, top in zip(own, tops))
        errors = [abs(figure(run) - expected) for run in own]
        print(f"{name:18} without {source:44} {len(own):3} runs  off by median {100 * quantile(errors, 0.5):6.2f} %  "
              f"p90 {100 * quantile(errors, 0.9):6.2f} %  inside {100 * inside / len(own):5.1f} %", file=sys.stderr)


def report(name, runs, figure, fitted):
    errors = [abs(figure(run) - fitted[1]) for run in runs]
    print(f"{name:18} {len(runs):3} runs  median {100 * quantile(errors, 0.5):.2f} %  p90 {100 * quantile(errors, 0.9):.2f} %"
          f"  range {100 * fitted[0]:.2f} to {100 * fitted[2]:.2f} %", file=sys.stderr)
    left_out(name, runs, figure)


def main():
    runs = [json.loads(line) for line in open(sys.argv[1])]
    kept = [run for run in runs if run["statistic"] in ("reserved", "device", "unstated") and not fills_card(run)]
    groups = {"allocated": ([run for run in runs if run["statistic"] == "allocated"], allocated_ratio),
              "reserved": (kept, reserved_ratio)}
    result, names = {}, {}
    for name, (group, figure) in groups.items():
        fitted = fit(group, figure)
        report(name, group, figure, fitted)
        ids = sorted(run["id"] for run in group)
        result[f"{name}_low_fraction"] = round(max(LEAST_FRACTION, -fitted[0] + 1e-4), 4)
        result[f"{name}_high_fraction"] = round(max(LEAST_FRACTION, fitted[2] + 1e-4), 4)
        names[f"{name}_low_fraction"] = names[f"{name}_high_fraction"] = ids
        if figure is reserved_ratio:
            result["reserved_high_of_loss"], names["reserved_high_of_loss"] = fitted[3], ids
    result["contexts"] = [{"architecture": architecture,
                           "bytes": {key: round(value * GIB) for key, value in zip(("low", "expected", "high"), bounds)}}
                          for architecture, bounds in CONTEXTS]
    names["contexts"] = CONTEXT_RUNS
    result["collectives"] = {key: round(value * GIB) for key, value in zip(("low", "expected", "high"), COLLECTIVES)}
    names["collectives"] = COLLECTIVES_RUNS
    print(text_of(result))
    with open(sys.argv[2], "w") as file:
        print(text_of(names), file=file)


def text_of(result):
    """One constant a line, so that differences read well."""
    lines = []
    for key, value in result.items():
        if isinstance(value, list) and isinstance(value[0], dict):
            rows = ",\n".join(json.dumps(row, separators=(",", ":")) for row in value)
            lines.append(f'"{key}":[\n{rows}\n]')
        else:
            lines.append(f'"{key}":{json.dumps(value, separators=(",", ":"))}')
    return "{\n" + ",\n".join(lines) + "\n}"


if __name__ == "__main__":
    main()
