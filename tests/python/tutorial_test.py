# SPDX-License-Identifier: MIT
"""Runs the commands of docs/tutorial.md in their order, and the Python of README.md, in a home and a folder of their own.

A block of Python whose first line is `# name.py` becomes that file, and a block of `sh` is run. A block of `text` shows the output
of the block before it: what stands between its `…` stands in the output, up to numbers, except on lines that depend on the
machine. Budgets are cut (SHORTER). Uses the environment that wheel_test.py makes. Ends with 77, and a line that says why, where
this cannot be done.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import wheel_test as wheel

DOCS = wheel.REPOSITORY / "docs"
# What the page has a user type to install Attune; here it is done as wheel_test.py does it.
INSTALLED = (
    "cmake --build build/release && cmake --install build/release --prefix ~/attune",
    "python3 -m venv --system-site-packages ~/venv",
    "CMAKE_PREFIX_PATH=~/attune pip install ./python",
)
# Less work and smaller products, and no claim about times: the machine may be busy.
SHORTER = {
    "1536": "96",
    "576": "64",
    "2048": "256",
    "--budget 2m": "--budget 200s --quiet-wait 0 --max-trials 2",
    'budget="2m"': 'budget="200s", quiet_wait=0, max_trials=2',
    "attune check tuned.csv": "attune check tuned.csv --quiet-wait 0 --max-slowdown 100000 --slower-than 100000",
}
NEEDS_PYTORCH = "model.py"
# Lines with a winner, a status, a device, or a lookup that depends on the winner.
DEPENDS_ON_THE_MACHINE = re.compile(r"jit_cpu|onednn|generated kernels|padded_fine|\bok\b|x86-64|'routed'")


def blocks(page):
    """(language, text) of each fenced block."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", page.read_text(encoding="utf-8"), re.M | re.S)


def shortened(text):
    for long, short in SHORTER.items():
        text = text.replace(long, short)
    return text


def masked(text):
    """The text without its numbers and the width of its columns."""
    return " ".join(re.sub(r"\d+(\.\d+)?", "0", text).split())


def missing_parts(shown, output):
    """What a block of output shows and the output lacks."""
    lines = [line for line in shown.splitlines() if not DEPENDS_ON_THE_MACHINE.search(line)]
    parts = [masked(part) for line in lines for part in line.split("…")]
    return [part for part in parts if part not in masked(output)]


def install():
    python = wheel.interpreter()
    wheel.FOLDER.mkdir(exist_ok=True)
    wheel.prepare_environment(python)
    wheel.must(os.environ.get("ATTUNE_CMAKE", "cmake"), "--install", wheel.BUILD, "--prefix", wheel.PREFIX, "--strip")
    environment = dict(os.environ, CMAKE_PREFIX_PATH=str(wheel.PREFIX))
    wheel.must(*wheel.PIP, "install", "--no-build-isolation", "--no-deps", "--force-reinstall",
               f"--config-settings=build-dir={wheel.FOLDER / 'build'}", wheel.PACKAGE, env=environment)


class Reader:
    """Who follows a page: a home with ~/attune and ~/venv, a folder, and a shell whose variables last from block to block."""

    def __init__(self, folder):
        self.home, self.work = folder / "home", folder / "work"
        self.home.mkdir()
        self.work.mkdir()
        (self.home / "attune").symlink_to(wheel.PREFIX)
        (self.home / "venv").symlink_to(wheel.ENVIRONMENT)
        kept = {name: os.environ[name] for name in ("PATH", "CC", "CXX", "ATTUNE_CACHE") if name in os.environ}
        kept.setdefault("ATTUNE_CACHE", str(wheel.FOLDER / "kernels"))
        self.environment = {**kept, "HOME": str(self.home), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
        self.variables = folder / "variables"
        self.variables.touch()

    def run(self, text):
        """Returns what the commands print, standard error too; ends the test if one fails."""
        print("$ " + text.rstrip().replace("\n", "\n$ "), flush=True)
        began = time.monotonic()
        script = f"set -e\n. {self.variables}\n{text}\nexport -p > {self.variables}\n"
        done = subprocess.run(["bash", "-c", script], cwd=self.work, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=400)
        print(f"{done.stdout}({time.monotonic() - began:.1f} s)", flush=True)
        if done.returncode != 0:
            sys.exit(f"status {done.returncode}: {text}")
        return done.stdout


def has_pytorch():
    return subprocess.run([wheel.PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


def follow(page, folder):
    """Runs the blocks of a page; returns what its blocks of output show and the output lacks."""
    reader, output, missing = Reader(folder), "", []
    for language, text in blocks(page):
        if language == "python":
            name = re.match(r"# (\w+\.py)\n", text)
            if name is None:
                sys.exit(f"{page}: a block of Python begins with the name of its file: {text}")
            (reader.work / name[1]).write_text(shortened(text), encoding="utf-8")
        elif language == "sh":
            if NEEDS_PYTORCH in text and not has_pytorch():
                print(f"SKIPPED tutorial.{NEEDS_PYTORCH}: PyTorch is not installed (python3-torch)")
                output = None
                continue
            lines = [line for line in text.splitlines() if line not in INSTALLED]
            output = reader.run(shortened("\n".join(lines)))
            if NEEDS_PYTORCH in text and "'routed': 1," not in output:
                missing.append(f"{NEEDS_PYTORCH} is served from the table: 'routed': 1")
        elif language == "text" and output is not None:
            missing += missing_parts(text, output)
        elif language != "text":
            sys.exit(f"{page}: not a block of sh, python or text: {text}")
    return missing


def check_tutorial():
    page = DOCS / "tutorial.md"
    typed = page.read_text(encoding="utf-8").splitlines()
    for line in INSTALLED:
        if line not in typed:
            sys.exit(f"{page} installs in another way: change INSTALLED. It lacks: {line}")
    with tempfile.TemporaryDirectory(prefix="attune_tutorial_") as folder:
        missing = follow(page, Path(folder))
        report = Path(folder) / "work" / "report.html"
        if not report.exists() or "<html" not in report.read_text(encoding="utf-8"):
            sys.exit(f"{page}: there is no report")
    return [f"{page}: the output lacks: {part}" for part in missing]


def check_readme():
    """The Python of README.md, and that its last call is served from the table."""
    (program,) = [text for language, text in blocks(wheel.REPOSITORY / "README.md") if language == "python"]
    with tempfile.TemporaryDirectory(prefix="attune_readme_") as folder:
        reader = Reader(Path(folder))
        (reader.work / "readme.py").write_text(shortened(program) + "assert y.shape == (8, 256) and np.all(y == 256)\n"
                                               'print(attune.explain("gemm_a16w16 m=8 n=256 k=256 dtype=fp32"))\n', encoding="utf-8")
        output = reader.run(". ~/venv/bin/activate\npython readme.py")
    return [] if "tuned.csv" in output else ["README.md: the last call is not served from tuned.csv"]


def main():
    install()
    wrong = check_tutorial() + check_readme()
    sys.exit("\n".join(wrong) or 0)


if __name__ == "__main__":
    main()
