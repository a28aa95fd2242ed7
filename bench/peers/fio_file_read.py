#!/usr/bin/env python3
"""fio's best read rate in a directory: io_uring with O_DIRECT, over a grid of block size and depth.

  fio_file_read.py DIRECTORY [--bytes N]   prints the grid and the best of it
  fio_file_read.py --serve                 the worker of scripts/bench: one JSON request a line,
                                           {"directory", "bytes", "rank"}, answers with the seconds
                                           that the rank-th best setting takes for those bytes

The file is laid out once, with data that cannot be compressed, and removed at the end. Every
measurement reads all of it once, as a load does.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys

BLOCKS = [256 << 10, 1 << 20, 4 << 20]
DEPTHS = [8, 32]


class Fio:
    def __init__(self, directory, size):
        self.size = size
        self.path = os.path.join(directory, f".breakeven-fio-{os.getpid()}")
        if shutil.which("fio") is None:
            raise RuntimeError("fio is not installed")
        self.run(["--rw=write", "--bs=1m", "--end_fsync=1", "--refill_buffers", "--direct=1",
                  "--ioengine=psync"])

    def run(self, options):
        command = ["fio", "--name=breakeven", f"--filename={self.path}", f"--size={self.size}",
                   "--output-format=json", "--thread", "--norandommap", *options]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            words = (done.stderr or done.stdout).strip().splitlines()
            raise RuntimeError(f"fio: {words[-1] if words else done.returncode}")
        # Notices may come before the document.
        return json.loads(done.stdout[done.stdout.index("{"):])["jobs"][0]

    def read_s(self, setting):
        """Seconds to read the file once."""
        block, depth, fixed = setting
        options = ["--rw=read", "--ioengine=io_uring", "--direct=1", f"--bs={block}",
                   f"--iodepth={depth}"]
        if fixed:
            options += ["--fixedbufs=1", "--registerfiles=1"]
        job = self.run(options)
        if job["error"] != 0 or job["read"]["io_bytes"] != self.size:
            raise RuntimeError(f"fio read {job['read']['io_bytes']} of {self.size} bytes")
        return self.size / job["read"]["bw_bytes"]

    def ranked(self):
        """Settings, the fastest first, by the best of two runs each, and their seconds."""
        settings = [(block, depth, fixed) for block in BLOCKS for depth in DEPTHS
                    for fixed in (False, True)]
        seconds = {}
        for _ in range(2):
            for setting in settings:
                try:
                    seconds[setting] = min(self.read_s(setting), seconds.get(setting, 1e9))
                except RuntimeError:
                    if not setting[2]:  # registered buffers may exceed RLIMIT_MEMLOCK
                        raise
        return sorted(seconds.items(), key=lambda item: item[1])

    def close(self):
        if os.path.exists(self.path):
            os.unlink(self.path)


def name(setting):
    block, depth, fixed = setting
    return f"{block >> 10} KiB x {depth}{' registered' if fixed else ''}"


def serve():
    fio, key, ranks = None, None, []
    try:
        for line in sys.stdin:
            try:
                request = json.loads(line)
                wanted = (request["directory"], request["bytes"])
                if wanted != key:
                    if fio:
                        fio.close()
                    fio = Fio(*wanted)
                    key, ranks = wanted, [setting for setting, _ in fio.ranked()]
                answer = {"seconds": fio.read_s(ranks[request["rank"]])}
            except Exception as problem:
                answer = {"error": f"{type(problem).__name__}: {problem}"}
            print(json.dumps(answer), flush=True)
    finally:
        if fio:
            fio.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--serve", action="store_true")
    options = parser.parse_args()
    if options.serve:
        return serve()
    if options.directory is None:
        parser.error("name a directory")
    fio = Fio(options.directory, options.bytes)
    try:
        for setting, seconds in fio.ranked():
            print(f"{name(setting):<28} {options.bytes / seconds / 1e9:7.3f} GB/s")
    finally:
        fio.close()


if __name__ == "__main__":
    main()
