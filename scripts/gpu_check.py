"""The steps of scripts/gpu_check, each with its own time limit; see there."""
import argparse
import json
import os
import shutil
import subprocess
import sys
import time

LIMIT_S = 480
TORCH = r"""
import json, sys, torch
import torch.nn.functional as F
from torch.nn.attention.bias import causal_lower_right
def median_s(work):
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    def timed(repeat):
        start.record()
        for i in range(repeat): work(i)
        end.record(); end.synchronize()
        return start.elapsed_time(end) * 1e-3
    timed(1)
    repeat = int(min(max(0.01 / max(timed(3) / 3, 1e-6), 1), 200))
    busy = 0.0
    while busy < 1.0: busy += timed(repeat)
    return sorted(timed(repeat) / repeat for _ in range(15))[7]
def rand(*shape): return torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1
rows = []
for name in json.load(sys.stdin):
    kind, shape, *rest = name.split("/")
    try:
        if kind == "gemm":
            m, k, n = map(int, shape.split("x"))
            x, ws = rand(m, k), [rand(n, k) for _ in range(4)]
            s = median_s(lambda i: F.linear(x, ws[i % 4]))
        else:
            heads, kv, dim = map(int, shape.split("x"))
            context, new = map(int, rest[0].split("+"))
            q, k, v = (rand(1, t, h, dim).transpose(1, 2) for t, h in
                       ((new, heads), (context + new, kv), (context + new, kv)))
            bias = causal_lower_right(new, context + new)
            s = median_s(lambda i: F.scaled_dot_product_attention(q, k, v, attn_mask=bias, enable_gqa=True))
        rows.append({"name": name, "seconds": s})
    except Exception as e:
        rows.append({"name": name, "reason": f"{type(e).__name__}: {e}"[:200]})
    torch.cuda.empty_cache()
print(json.dumps({"torch": torch.__version__, "rows": rows}))
"""
MODELS = ("llama-3.1-8b", "llama-3.2-3b")


class Check:
    def __init__(self, out):
        self.out, self.start, self.steps = out, time.time(), []

    def left_s(self):
        return LIMIT_S - (time.time() - self.start)

    def run(self, name, argv, limit_s, feed=None, env=None):
        """Runs argv; the result has status ok, failed or skipped, seconds, and its output."""
        limit_s = min(limit_s, self.left_s())
        step = {"name": name, "status": "skipped", "seconds": 0.0, "reason": ""}
        self.steps.append(step)
        if limit_s < 5:
            step["reason"] = "no time left"
            return step, ""
        begin = time.time()
        log = os.path.join(self.out, name.replace("/", "-").replace(" ", "-") + ".log")
        try:
            done = subprocess.run(argv, input=feed, capture_output=True, text=True,
                                  timeout=limit_s, env={**os.environ, **(env or {})})
            step["status"] = "ok" if done.returncode == 0 else "failed"
            text, errors = done.stdout, done.stderr
            if done.returncode != 0:
                step["reason"] = f"exit {done.returncode}: " + (errors or text).strip()[-300:]
        except subprocess.TimeoutExpired as e:
            step["status"], step["reason"] = "failed", f"longer than {limit_s:.0f} s"
            text, errors = str(e.stdout or ""), str(e.stderr or "")
        except OSError as e:
            step["reason"] = str(e)
            return step, ""
        step["seconds"] = round(time.time() - begin, 1)
        with open(log, "w") as file:
            file.write(text + "\n" + errors)
        return step, text

    def skip(self, name, reason):
        self.steps.append({"name": name, "status": "skipped", "seconds": 0.0, "reason": reason})


def build(check, folder, arch):
    if os.path.isdir(os.path.join(folder, "lib")):
        check.skip("build", "the build carried along is used")
        return
    if not shutil.which("nvcc") and not os.environ.get("CUDACXX"):
        check.skip("build", "no nvcc: the build carried along is used")
        return
    targets = ["breakeven", "breakeven_tests_cuda", "breakeven_gpu_times"]
    configure = ["cmake", "-S", ".", "-B", folder, "-DCMAKE_BUILD_TYPE=Release",
                 "-DBREAKEVEN_ENABLE_CUDA=ON", f"-DBREAKEVEN_CUDA_ARCHITECTURES={arch}"]
    step, _ = check.run("configure", configure, 60)
    if step["status"] == "ok":
        check.run("build", ["cmake", "--build", folder, "-j", str(os.cpu_count() or 2),
                            "--target", *targets], 240)
    elif os.path.exists(os.path.join(folder, "breakeven")):
        step["status"] = "skipped"  # carried along: this machine lacks what a build needs
        step["reason"] = "cannot build here, the build carried along is used: " + step["reason"]


def compare(check, folder):
    """Times of ours, of torch, and their ratio, in the order of measurement ours, torch, ours."""
    program = os.path.join(folder, "cuda", "breakeven_gpu_times")
    step, text = check.run("times ours", [program], 60)
    if step["status"] != "ok":
        return {}
    ours = json.loads(text)
    names = [row["name"] for row in ours["rows"]]
    step, text = check.run("times ours cudnn", [program], 60,
                           env={"BREAKEVEN_CUDA_ATTENTION": "cudnn"})
    if step["status"] == "ok":
        for row in json.loads(text)["rows"]:
            if row["name"].startswith("attention/"):
                ours["rows"].append({**row, "name": "cudnn-" + row["name"]})
    step, text = check.run("times torch", [sys.executable, "-c", TORCH], 90,
                           feed=json.dumps(names))
    peer = json.loads(text) if step["status"] == "ok" else {"rows": []}
    if step["status"] != "ok" and "No module named" in step["reason"]:
        step["status"], step["reason"] = "skipped", "torch is not importable"
    theirs = {row["name"]: row for row in peer["rows"]}
    for row in ours["rows"]:
        row["flop_per_s"] = row["flop"] / row["seconds"]
        other = theirs.get(row["name"].removeprefix("cudnn-"), {})
        row["torch_s"] = other.get("seconds")
        row["ratio"] = other["seconds"] / row["seconds"] if "seconds" in other else None
        row["reason"] = other.get("reason", "")
        row["bar"] = {"gemm": 0.97, "cudnn-attention": 0.95}.get(row["name"].split("/")[0], 0.5)
        row["met"] = None if row["ratio"] is None else row["ratio"] >= row["bar"]
    ours["torch"] = peer.get("torch")
    return ours


def calibrate(check, folder):
    program = os.path.join(folder, "breakeven")
    for model in MODELS:
        check.run(f"calibrate {model}",
                  [program, "calibrate", "--model", model, "--device", "cuda:0", "--tier", "memory",
                   "--budget", "60s", "--output", os.path.join(check.out, f"{model}.json")], 90)


def sanitise(check, folder):
    tool = shutil.which("compute-sanitizer")
    if not tool:
        check.skip("compute-sanitizer", "not installed")
        return
    tests = os.path.join(folder, "tests", "breakeven_tests_cuda")
    check.run("compute-sanitizer", [tool, "--error-exitcode", "7", "--leak-check", "full", tests,
                                    "[gpu]"], 120)


def table(steps, times):
    lines = [f"{'step':<28} {'status':<8} {'seconds':>8}  reason"]
    lines += [f"{s['name']:<28} {s['status']:<8} {s['seconds']:>8.1f}  {s['reason'][:90]}"
              for s in steps]
    if times:
        lines.append(f"\n{times['device']}: {times['gemm']}; {times['attention']}; "
                     f"torch {times['torch'] or 'none'}")
        lines.append(f"{'what':<36} {'TFLOP/s':>8} {'ours/torch':>10} {'bar':>5}  met")
        for row in times["rows"]:
            ratio = "-" if row["ratio"] is None else f"{row['ratio']:.2f}"
            met = {None: "-", True: "yes", False: "no"}[row["met"]]
            lines.append(f"{row['name']:<36} {row['flop_per_s'] / 1e12:>8.1f} {ratio:>10} "
                         f"{row['bar']:>5}  {met}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--arch", required=True)
    options = parser.parse_args()
    check = Check(options.out)
    build(check, options.build, options.arch)
    tests = os.path.join(options.build, "tests", "breakeven_tests_cuda")
    check.run("device tests", [tests, "[gpu]"], 90)
    times = compare(check, options.build)
    calibrate(check, options.build)
    sanitise(check, options.build)
    check.run("nvidia-smi", ["nvidia-smi", "-q", "-d", "CLOCK,POWER,PERFORMANCE,PCIE"], 15)
    text = table(check.steps, times)
    print(text)
    document = {"seconds": round(time.time() - check.start, 1), "steps": check.steps,
                "times": times}
    with open(os.path.join(options.out, "gpu_check.json"), "w") as file:
        json.dump(document, file, indent=1)
    failed = any(s["status"] == "failed" for s in check.steps)
    unmet = any(row["met"] is False for row in times.get("rows", []))
    return 1 if failed or unmet else 0


if __name__ == "__main__":
    sys.exit(main())
