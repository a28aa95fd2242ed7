#!/usr/bin/env python3
"""Writes many break-even files as nodes of one kind would, from a measured one: bench/make_fleet.py FILE
FOLDER [COUNT]. Times differ by 2 % between nodes; every 100th node has a drive at half rate whose link is
narrower, every 150th a processor at two thirds. To time `breakeven fleet` and to see what it finds."""
import json
import pathlib
import random
import sys


def scale(measurement, factor):
    for key in ("median_s", "lo_s", "hi_s"):
        measurement[key] *= factor
    measurement["samples_s"] = [s * factor for s in measurement["samples_s"]]


def node(base, index):
    chance = random.Random(index)
    file = json.loads(base)
    slow_drive, slow_cpu = index % 100 == 99, index % 150 == 149
    compute = chance.gauss(1, 0.02) * (1.5 if slow_cpu else 1)
    prefill = file["prefill"]
    for point in prefill["dense"]["seconds"] + [m for g in prefill["attention"] for r in g["seconds"] for m in r]:
        scale(point, compute)
    for check in prefill["step_checks"]:
        scale(check["measured"], compute)
    file["node"]["governor"] = "powersave" if slow_cpu else "performance"
    for tier in file["tiers"]:
        load = chance.gauss(1, 0.02) * (2 if slow_drive and tier["kind"] == "file" else 1)
        tier["identity"]["pcie_width"] = "x2" if slow_drive and tier["kind"] == "file" else "x4"
        if "load" not in tier:
            continue
        for estimate in (tier["load"]["fixed_s"], tier["load"]["piece_s"]):
            for key in estimate:
                estimate[key] *= load
        for point in tier["load"]["bandwidth"]:
            for key in point["bandwidth_Bps"]:
                point["bandwidth_Bps"][key] /= load
    return file


def main():
    base = pathlib.Path(sys.argv[1]).read_text()
    folder = pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for index in range(int(sys.argv[3]) if len(sys.argv) > 3 else 2000):
        (folder / f"node{index:05}.json").write_text(json.dumps(node(base, index)))


main()
