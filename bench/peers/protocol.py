"""The worker side of bench/harness.py: one JSON request a line in, its seconds out."""

import json
import os
import sys


def serve(make):
    """make(request) -> callable that does the work once and returns its seconds. Kept per request,
    two at a time, so that requests may alternate."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries that print to stdout must not break the protocol
    kept = {}
    for line in sys.stdin:
        try:
            if line not in kept:
                if len(kept) >= 2:
                    kept.clear()
                kept[line] = make(json.loads(line))
            answer = {"seconds": kept[line]()}
        except Exception as problem:  # the harness turns it into the row's reason
            answer = {"error": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(answer), file=out, flush=True)


LLAMA_3_2_1B = {"hidden": 2048, "layers": 16, "heads": 32, "kv_heads": 8, "head_dim": 64,
                "intermediate": 8192, "vocabulary": 128256}
