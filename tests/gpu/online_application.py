# SPDX-License-Identifier: MIT
"""A server in small on a GPU: PyTorch calls one product again and again with attune.torch patched in, until a row serves it or the time is
over. Prints a JSON object: whether a row served it and after how many seconds, the longest call in between, how far the results are apart,
and the GPUs, numbered as this process sees them, on which processes that it started held memory.

usage: online_application.py SECONDS M N K"""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import torch

import attune.torch

F = torch.nn.functional
LOOK_S = 0.2  # Between two looks at the processes on GPUs.


def descendants():
    """Processes that this one started, and those that they did."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(status.parent.name)] = int(status.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue  # It has ended.
    found, own = set(), os.getpid()
    while more := {pid for pid, parent in parents.items() if parent in found | {own}} - found:
        found |= more
    return found


def gpus_of(processes):
    """The GPUs on which these hold memory, by the driver's own account."""
    listed = subprocess.run(["nvidia-smi", "--query-compute-apps=pid,gpu_uuid", "--format=csv,noheader"], capture_output=True, text=True).stdout
    uuids = {uuid.strip() for pid, _, uuid in (line.partition(",") for line in listed.splitlines()) if pid.isdigit() and int(pid) in processes}
    numbers = {f"GPU-{torch.cuda.get_device_properties(i).uuid}": i for i in range(torch.cuda.device_count())}
    return {numbers.get(uuid, uuid) for uuid in uuids}


def main():
    seconds, m, n, k = float(sys.argv[1]), *map(int, sys.argv[2:])
    x, w = (torch.rand(shape, device="cuda", dtype=torch.float32).to(torch.bfloat16) - 0.5 for shape in ((m, k), (n, k)))
    with torch.inference_mode():
        stock = F.linear(x, w)
        attune.torch.patch("dispatcher")
        began, longest, tuners, next_look = time.monotonic(), 0.0, set(), 0.0
        is_served = False
        while not is_served and time.monotonic() - began < seconds:
            before = time.monotonic()
            result = F.linear(x, w)
            torch.cuda.synchronize()
            longest = max(longest, time.monotonic() - before)
            is_served = attune.torch.calls()["routed"] > 0
            if time.monotonic() >= next_look:
                tuners |= gpus_of(descendants())
                next_look = time.monotonic() + LOOK_S
            time.sleep(0.001)
    print(json.dumps({"served": is_served, "seconds": round(time.monotonic() - began, 1), "longest_s": round(longest, 3),
                      "difference": float((result.float() - stock.float()).abs().max() / stock.float().abs().max()),
                      "tuned_on": sorted(tuners, key=str), "counted": {name: number for name, number in attune.torch.calls().items() if number}}))


main()
