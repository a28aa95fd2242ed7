"""The admission library: the cost of a call in C++ against its target, and in Python against what a
connector would write by itself."""

import json
import os
import statistics
import subprocess
import sys

from harness import ROOT, Unavailable, row

PREFIXES = ["should_load/", "decide/"]

# Google Benchmark name -> (row, target in nanoseconds). A hit that leaves a single token to compute
# is the dear case: below the floor of a step, tokens that are not loaded may cost nothing to compute,
# so that a third of the queries need a search. It has no target of its own.
CALLS = {"BM_should_load/threads:1": ("should_load/c++", 2.0),
         "BM_should_load_live_swapped/threads:1": ("should_load/c++-swapped-1000-a-second", None),
         "BM_decide_1_segment/threads:1": ("decide/c++-1-segment", 60.0),
         "BM_decide_1_segment_full_hit": ("decide/c++-1-segment-full-hit", None),
         "BM_decide_4_segments/threads:1": ("decide/c++-4-segments", 250.0),
         "BM_decide_4_segments_full_hit": ("decide/c++-4-segments-full-hit", None)}


def run(command, **options):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, **options)
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise Unavailable(words[-1] if words else f"{command[0]} failed")
    return done.stdout


def cxx_samples(bench):
    """Nanoseconds of each repetition per benchmark; the repetitions are interleaved."""
    text = run([bench.program("bench_admission"), "--benchmark_format=json",
                "--benchmark_repetitions=9", "--benchmark_min_time=0.05",
                "--benchmark_enable_random_interleaving=true"])
    samples = {}
    for entry in json.loads(text)["benchmarks"]:
        if entry["run_type"] == "iteration":
            samples.setdefault(entry["run_name"], []).append(entry["cpu_time"])
    return samples


def ratio_row(name, ours, peer, peer_name, bar):
    """Samples in seconds; the ratio's spread is that of the middle half."""
    ratios = sorted(p / o for o, p in zip(ours, peer))
    n = len(ratios)
    return row(name, statistics.median(ours), statistics.median(peer), peer_name,
               ratio=statistics.median(ours) and statistics.median(peer) / statistics.median(ours),
               ratio_lo=ratios[n // 4], ratio_hi=ratios[n - 1 - n // 4], bar=bar)


def cxx_rows(bench):
    samples = cxx_samples(bench)
    empty = [x * 1e-9 for x in samples["BM_empty_call"]]
    for name, (title, target_ns) in CALLS.items():
        ours = [x * 1e-9 for x in samples[name]]
        if target_ns is not None:
            yield ratio_row(title, ours, [target_ns * 1e-9] * len(ours), "target", 1.0)
        yield ratio_row(title + "/empty-call", ours, empty, "empty call", None)


def python_environment(bench):
    """A virtual environment with our wheel; built once per library version."""
    folder = bench.peers_dir / "breakeven-python"
    python = folder / "environment" / "bin" / "python"
    newest = max(path.stat().st_mtime for part in ("include/breakeven", "python")
                 for path in (ROOT / part).rglob("*") if path.is_file())
    if not python.exists() or python.stat().st_ctime < newest:
        run([ROOT / "python" / "test_wheel", folder])
    return python


def python_rows(bench):
    text = run([python_environment(bench), ROOT / "bench" / "peers" / "python_decide.py",
                ROOT / "tests" / "admission" / "sample.json"],
               env=dict(os.environ, PYTHONDONTWRITEBYTECODE="1"))
    samples = json.loads(text)["samples_s"]
    yield ratio_row("should_load/python/threshold-lookup", samples["should_load"],
                    samples["threshold_lookup"], "Python dict lookup", None)
    yield ratio_row("decide/python/inequality", samples["decide"], samples["inequality"],
                    "Python inequality", 1.0)
    above = [o - e for o, e in zip(samples["should_load"], samples["empty_call"])]
    above = [max(x, 1e-10) for x in above]
    yield ratio_row("should_load/python-above-empty-call", above, [100e-9] * len(above), "target",
                    1.0)


def rows(bench):
    for part, title in ((cxx_rows, "should_load/c++"), (python_rows, "should_load/python")):
        try:
            yield from part(bench)
        except Unavailable as problem:
            yield row(title, reason=str(problem))


if __name__ == "__main__":
    sys.exit("run scripts/bench --only should_load or --only decide")
