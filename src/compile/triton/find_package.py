# SPDX-License-Identifier: MIT
"""Looks for the package triton without importing it, for src/compile/triton, and prints one line about it.

usage: find_package.py PACKAGES     PACKAGES: a folder to search first; empty: none
Prints `attune-triton: ` and a JSON object: {"python", "folder", "version", "hash"}, or {"flaw"} and {"file"} if there is one.
The hash is that of the package's list of files, which has a hash of each.
"""
import csv
import hashlib
import importlib.metadata
import json
import os
import sys


def found():
    try:
        package = importlib.metadata.distribution("triton")
    except importlib.metadata.PackageNotFoundError:
        return {"flaw": "absent"}
    rows = csv.reader((package.read_text("RECORD") or "").splitlines())
    # Its start scripts depend on the place of the installation; a file that Python compiled has no hash.
    files = sorted(row for row in rows if len(row) == 3 and row[0].startswith("triton/") and row[1])
    for name, _, size in files:
        path = str(package.locate_file(name))
        if not os.path.isfile(path) or (size and os.path.getsize(path) != int(size)):
            return {"flaw": "incomplete", "file": path}
    if not files:
        return {"flaw": "without a list of its files"}
    digest = hashlib.sha256(json.dumps(files).encode()).hexdigest()
    folder = os.path.abspath(str(package.locate_file("triton")))
    return {"python": os.path.abspath(sys.executable), "folder": folder, "version": package.version, "hash": digest}


if __name__ == "__main__":
    if sys.argv[1]:
        sys.path.insert(0, sys.argv[1])
    print("\nattune-triton: " + json.dumps(found()))
