"""How far the fitted load model is off at loads it never saw: other lengths and other piece sizes
than those of the fit. File rows read in BREAKEVEN_BENCH_DIR, or the benchmark's build folder.
"""

import json
import os
import statistics

from harness import Unavailable, row

PREFIXES = ["fit/"]
SECONDS = 20


def rows(bench):
    directory = os.environ.get("BREAKEVEN_BENCH_DIR") or str(bench.build)
    ours = bench.worker("tier", [bench.program("breakeven_tier_worker"), bench.threads])
    for name, spec in (("memory", "memory"), ("file", f"file:{directory}")):
        request = {"op": "fit", "tier": spec, "seconds": SECONDS}
        try:
            errors = ours.answer(json.dumps(request))["errors"]
        except Unavailable as problem:
            yield row(f"fit/{name}", reason=str(problem))
            continue
        for part, error, bar in (("median", statistics.median(errors), 5.0),
                                 ("worst", max(errors), 15.0)):
            percent = 100 * error
            yield row(f"fit/{name}/{part}-error", percent, bar, "allowed", unit="%",
                      ratio=bar / max(percent, 0.01), bar=1.0,
                      reason=f"at {len(errors)} loads left out of the fit")
