"""What scripts/bench and the row files in bench/rows share.

A row file defines rows(bench), a generator of Comparison (run here, ours and the peers in turn) or
of finished rows made with row(). Standard library only: peers live in a Python of their own.
"""

import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

ROOT = Path(__file__).resolve().parent.parent


class Unavailable(Exception):
    """A part that cannot be had here; the message becomes the row's reason."""


@dataclass
class Comparison:
    """Two or more callables that do the same work once and return its seconds."""

    name: str
    ours: Callable[[], float]
    peers: dict  # peer name -> callable; the fastest counts
    bar: float
    quick: bool = False  # also run with --quick
    seconds: float = 20.0  # stop adding rounds after this long
    rounds: int = 15
    unit: str = "s"
    work: float = 0  # of one run, where the unit is work per second ("GB/s"); 0 = seconds are shown

    def figure(self, seconds):
        return self.work / seconds if self.work else seconds


def row(name, ours=None, peer=None, peer_name="", unit="s", ratio=None, ratio_lo=None,
        ratio_hi=None, bar=None, reason=""):
    """One line of the table; ratio above 1 is always better for us."""
    met = None if ratio is None or bar is None else ratio >= bar
    return {"name": name, "ours": ours, "peer": peer, "peer_name": peer_name, "unit": unit,
            "ratio": ratio, "ratio_lo": ratio_lo, "ratio_hi": ratio_hi, "bar": bar, "met": met,
            "reason": reason}


class Worker:
    """A process that answers one JSON request a line with {"seconds": x} or {"error": text}."""

    def __init__(self, command, environment=None):
        self.command = [str(part) for part in command]
        self.environment = environment
        self.process: Optional[subprocess.Popen] = None

    def timer(self, request):
        line = json.dumps(request)
        return lambda: self.ask(line)

    def ask(self, line):
        return self.answer(line)["seconds"]

    def answer(self, line):
        if self.process is None:
            try:
                self.process = subprocess.Popen(
                    self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL, text=True, env=self.environment)
            except OSError as problem:
                raise Unavailable(f"cannot start {self.command[0]}: {problem.strerror}")
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        if not answer:
            code = self.process.wait()
            self.process = None
            raise Unavailable(f"{Path(self.command[0]).name} ended with status {code}")
        reply = json.loads(answer)
        if "error" in reply:
            raise Unavailable(reply["error"])
        return reply

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()
            self.process = None


@dataclass
class Bench:
    quick: bool
    build: Path
    threads: int
    peers_dir: Path
    workers: dict = field(default_factory=dict)

    def worker(self, name, command, environment=None):
        """The worker of that name, started on its first request."""
        if name not in self.workers:
            self.workers[name] = Worker(command, environment)
        return self.workers[name]

    def program(self, name):
        """A program of the benchmark build; build it with scripts/bench."""
        path = self.build / "bench" / name
        if not path.exists():
            raise Unavailable(f"{name} was not built")
        return path

    def compute(self):
        return self.worker("compute", [self.program("breakeven_compute_worker"), self.threads])

    def peer(self, script):
        """A worker bench/peers/SCRIPT.py in the peers' own Python."""
        python = self.peers_dir / "venv" / "bin" / "python"
        if not python.exists():
            raise Unavailable("peers are not set up: run bench/peers/setup")
        environment = dict(os.environ, OMP_NUM_THREADS=str(self.threads),
                           BREAKEVEN_PEERS_DIR=str(self.peers_dir))
        return self.worker(script, [python, ROOT / "bench" / "peers" / f"{script}.py",
                                    self.threads], environment)

    def close(self):
        for worker in self.workers.values():
            worker.close()


def median_interval(values):
    """Median and its distribution-free 95 % interval (the range for few values)."""
    ordered = sorted(values)
    n = len(ordered)
    half = 0.98 * n ** 0.5  # normal approximation of the binomial
    lo = max(0, int(n / 2 - half))
    hi = min(n - 1, int(n / 2 + half))
    return statistics.median(ordered), ordered[lo], ordered[hi]


def compare(comparison):
    """Runs ours and every peer in turn, in random order within a round."""
    peers, reasons = {}, []
    try:
        comparison.ours()  # warm-up, and builds what it needs
    except Unavailable as problem:
        return row(comparison.name, bar=comparison.bar, reason=f"ours: {problem}")
    for name, run in comparison.peers.items():
        try:
            run()
            peers[name] = run
        except Unavailable as problem:
            reasons.append(f"{name}: {problem}")
    if not peers:
        return row(comparison.name, ours=comparison.figure(comparison.ours()), bar=comparison.bar,
                   unit=comparison.unit, reason="; ".join(reasons))
    seconds = {"ours": []} | {name: [] for name in peers}
    order = list(seconds)
    start = time.monotonic()
    while len(seconds["ours"]) < comparison.rounds:
        random.shuffle(order)
        for name in order:
            seconds[name].append(comparison.ours() if name == "ours" else peers[name]())
        if time.monotonic() - start > comparison.seconds and len(seconds["ours"]) >= 3:
            break
    fastest = min(peers, key=lambda name: statistics.median(seconds[name]))
    ratios = [theirs / mine for theirs, mine in zip(seconds[fastest], seconds["ours"])]
    ratio, lo, hi = median_interval(ratios)
    return row(comparison.name, ours=comparison.figure(statistics.median(seconds["ours"])),
               peer=comparison.figure(statistics.median(seconds[fastest])), peer_name=fastest,
               unit=comparison.unit, ratio=ratio, ratio_lo=lo, ratio_hi=hi, bar=comparison.bar,
               reason="; ".join(reasons))


def figure(value, unit):
    if value is None:
        return "-"
    if unit == "s":
        for factor, name in ((1, "s"), (1e3, "ms"), (1e6, "us"), (1e9, "ns")):
            if value * factor >= 1 or name == "ns":
                return f"{value * factor:.3g} {name}"
    return f"{value:.4g} {unit}"


def print_row(r, out=sys.stdout):
    ratio = "-" if r["ratio"] is None else f"{r['ratio']:.2f}x"
    spread = "" if r["ratio_lo"] is None else f"[{r['ratio_lo']:.2f}, {r['ratio_hi']:.2f}]"
    met = {True: "met", False: "NOT MET", None: "-"}[r["met"]]
    bar = "-" if r["bar"] is None else f"{r['bar']:.2f}x"
    peer = figure(r["peer"], r["unit"])
    print(f"{r['name']:<44} {figure(r['ours'], r['unit']):>9} {peer:>9} {r['peer_name']:<12} "
          f"{ratio:>7} {spread:<14} {bar:>6} {met:<8} {r['reason']}".rstrip(), file=out, flush=True)


def print_header(out=sys.stdout):
    print(f"{'name':<44} {'ours':>9} {'peer':>9} {'':<12} {'ratio':>7} {'95 %':<14} {'bar':>6} "
          f"{'':<8} note", file=out, flush=True)
