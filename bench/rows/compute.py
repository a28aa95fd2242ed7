"""Prefill on the CPU: GEMMs against oneDNN alone, attention against torch, steps against both
engines."""

from harness import Comparison, Unavailable

PREFIXES = ["gemm/", "attention/", "step/"]

# (k, n) of qkv, attention output, gate and up, down
GEMMS = {"llama-3.2-1b": [(2048, 3072), (2048, 2048), (2048, 16384), (8192, 2048)],
         "llama-3.1-8b": [(4096, 6144), (4096, 4096), (4096, 28672), (14336, 4096)]}


def unavailable(problem):
    def raise_it():
        raise Unavailable(str(problem))
    return raise_it


def peer_timer(bench, script, request):
    try:
        return bench.peer(script).timer(request)
    except Unavailable as problem:
        return unavailable(problem)


def rows(bench):
    ours = bench.compute()
    for model, shapes in GEMMS.items():
        for k, n in shapes:
            for count in (128, 512, 2048):
                request = {"k": k, "n": n, "rows": count}
                yield Comparison(
                    f"gemm/{model}/{k}x{n}/{count}", ours.timer({"op": "gemm", **request}),
                    {"onednn": ours.timer({"op": "gemm_raw", **request})}, 0.97,
                    quick=model == "llama-3.2-1b" and count == 512, seconds=5)
    for dim in (64, 128):
        for context in (0, 1000, 4096, 16384):
            request = {"op": "attention", "heads": 32, "kv_heads": 8, "dim": dim,
                       "context": context, "new": 512}
            yield Comparison(f"attention/32x8x{dim}/{context}+512", ours.timer(request),
                             {"torch": peer_timer(bench, "torch_worker", request)}, 1.0,
                             quick=context in (0, 4096), seconds=10)
    for new in (512, 2048):
        for context in (0, 8192):
            request = {"op": "step", "model": "llama-3.2-1b", "context": context, "new": new}
            yield Comparison(f"step/llama-3.2-1b/{context}+{new}", ours.timer(request),
                             {"torch": peer_timer(bench, "torch_worker", request),
                              "llama.cpp": peer_timer(bench, "llama_worker", request)}, 1.0,
                             quick=new == 512 and context == 0, seconds=60, rounds=5)
