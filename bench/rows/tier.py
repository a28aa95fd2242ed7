"""Tiers: file reads against fio, memory copies against a plain multi-threaded copy.

File rows read in BREAKEVEN_BENCH_DIR, or the benchmark's build folder: a real drive, not /tmp where
that is memory.
"""

import os
import sys

from harness import ROOT, Comparison, Unavailable, row

PREFIXES = ["file-read/", "memory-copy/"]
GIB = 1 << 30


def worker(bench):
    """Tiers by the library; every row file gets a process of its own."""
    return bench.worker("tier", [bench.program("breakeven_tier_worker"), bench.threads])


def file_rows(bench, directory):
    ours = worker(bench)
    fio = bench.worker("fio", [sys.executable, ROOT / "bench" / "peers" / "fio_file_read.py",
                               "--serve"])
    for size in (GIB, GIB // 4):
        # fio's three best settings of its grid, so that its best is not the luck of one probe.
        peers = {f"fio #{rank + 1}": fio.timer({"directory": directory, "bytes": size,
                                                "rank": rank}) for rank in range(3)}
        request = {"op": "ideal", "tier": f"file:{directory},access=ideal", "bytes": size,
                   "pieces": 1}
        yield Comparison(f"file-read/ideal/{size >> 20}-MiB", ours.timer(request), peers, 0.98,
                         quick=size == GIB, seconds=25, unit="GB/s", work=size / 1e9)


def memory_rows(bench):
    ours = worker(bench)
    plain = bench.worker("plain", [bench.program("breakeven_plain_copy"), bench.threads])
    for size, pieces, label in ((GIB // 2, 1, "512-MiB"), (32 << 20, 1, "32-MiB"),
                                (GIB // 2, 1024, "512-MiB-in-512-KiB-blocks")):
        peers = {method: plain.timer({"method": method, "bytes": size})
                 for method in ("loop", "memcpy", "nontemporal")}
        request = {"op": "load", "tier": "memory", "bytes": size, "pieces": pieces}
        yield Comparison(f"memory-copy/{label}", ours.timer(request), peers, 0.97,
                         quick=pieces == 1, seconds=10, rounds=25, unit="GB/s", work=size / 1e9)


def rows(bench):
    directory = os.environ.get("BREAKEVEN_BENCH_DIR") or str(bench.build)
    for title, part in (("file-read/ideal", file_rows(bench, directory)),
                        ("memory-copy", memory_rows(bench))):
        try:
            yield from part
        except Unavailable as problem:
            yield row(title, reason=str(problem))
