#!/usr/bin/env python3
"""What a decision costs in Python: ours, the plain inequality, and a threshold lookup.

  python_decide.py FILE   (a break-even file with a tier "memory"; needs the breakeven package)

Prints one JSON object: the median seconds of a call per candidate, with all the samples, taken in
turn in one run. The two peers are what a connector would write by itself: a dictionary of
thresholds by tier, as KV-cache managers in Python keep it, and the inequality
load_s < saved_s evaluated over the measured points.
"""

import bisect
import json
import statistics
import sys
import time

import breakeven
from breakeven import _breakeven


class Thresholds:
    """A table of tier -> fewest tokens worth loading."""

    def __init__(self, thresholds):
        self.thresholds = thresholds

    def should_load(self, tier, cached):
        least = self.thresholds.get(tier)
        return least is not None and cached >= least


def line(xs, ys, x):
    if len(xs) == 1:
        return ys[0]
    i = min(max(bisect.bisect_right(xs, x) - 1, 0), len(xs) - 2)
    return ys[i] + (ys[i + 1] - ys[i]) * (x - xs[i]) / (xs[i + 1] - xs[i])


class Inequality:
    """load_s < saved_s, straight from the file, for the whole hit only."""

    def __init__(self, data):
        self.chunk = data["model"]["chunk_tokens"]
        self.token_bytes = data["model"]["kv_bytes_per_token"]
        dense = data["prefill"]["dense"]
        self.dense = (dense["new_tokens"], [m["median_s"] for m in dense["seconds"]])
        self.grids = [(g["context_tokens"], g["new_tokens"],
                       [[m["median_s"] for m in row] for row in g["seconds"]])
                      for g in data["prefill"]["attention"]]
        tier = next(t for t in data["tiers"] if t["name"] == "memory")
        self.layout = tier["layout"]
        self.fixed_s = tier["load"]["fixed_s"]["value"]
        self.piece_s = tier["load"]["piece_s"]["value"]
        self.bandwidth = tier["load"]["bandwidth"][0]["bandwidth_Bps"]["value"]

    def step_s(self, context, new):
        total = line(*self.dense, new)
        for contexts, news, rows in self.grids:
            total += line(contexts, [line(news, row, new) for row in rows], context)
        return total

    def prefill_s(self, context, new):
        total = 0.0
        while new > 0:
            total += self.step_s(context, min(new, self.chunk))
            context += self.chunk
            new -= self.chunk
        return total

    def should_load(self, prompt, cached):
        chunks = -(-cached // self.layout["chunk_tokens"])
        load_s = (self.fixed_s + chunks * self.layout["pieces_per_chunk"] * self.piece_s
                  + cached * self.token_bytes / self.bandwidth)
        return load_s < self.prefill_s(0, prompt) - self.prefill_s(cached, prompt - cached)


def loop(call, arguments):
    """Seconds of one call in a plain for loop, the loop itself included."""
    start = time.perf_counter()
    for a, b in arguments:
        call(a, b)
    return (time.perf_counter() - start) / len(arguments)


def main():
    with open(sys.argv[1], encoding="utf-8") as stream:
        data = json.load(stream)
    policy = breakeven.Policy.load(sys.argv[1])
    memory = policy.find_tier("memory")
    lengths = [(16 * i * 7) % 30000 + 1 for i in range(20000)]
    tiers = [(memory, n) for n in lengths]
    prompts = [(n + 100, n) for n in lengths]
    table = Thresholds({"memory": 512})
    inequality = Inequality(data)
    for prompt, cached in prompts[:200]:  # the peer computes what we do
        ours = policy.decide(prompt, memory, cached, block=1)
        if ours.load_tokens == cached and not inequality.should_load(prompt, cached):
            raise SystemExit("the plain inequality disagrees")

    candidates = {
        "loop": (lambda a, b: None, tiers),
        "empty_call": (_breakeven._empty_call, tiers),
        "should_load": (policy.should_load, tiers),
        "threshold_lookup": (table.should_load, [("memory", n) for n in lengths]),
        "decide": (lambda p, c: policy.decide(p, memory, c), prompts[:4000]),
        "inequality": (inequality.should_load, prompts[:400]),
    }
    samples = {name: [] for name in candidates}
    for _ in range(15):
        for name, (call, arguments) in candidates.items():
            samples[name].append(loop(call, arguments))
    json.dump({"median_s": {n: statistics.median(s) for n, s in samples.items()},
               "samples_s": samples}, sys.stdout)
    print()


if __name__ == "__main__":
    main()
