# SPDX-License-Identifier: MIT
"""Builds the Python package as a user does, against this build, and runs its tests.

In <build>/python: `prefix` (the installed tree), `environment` (a virtual one that sees the system's NumPy and PyTorch,
with the pinned, hashed packages of python/tests/requirements.txt; kept between runs), `build`. Ends with 77, and a line
that says why, where this cannot be done. $ATTUNE_PYTHON: another interpreter than Debian's. ATTUNE_TEST_PYTORCH=pypi
or pypi-2.9: the tests of PyTorch alone, with PyPI's build of it (requirements_pytorch.txt or requirements_pytorch_2.9.txt, 5
GB each), in <build>/python_pypi or <build>/python_pypi-2.9; with the first also one layer of each of the four models of
python/benchmarks/models.py (requirements_transformers.txt), whose results and counts are checked. An argument names one
file of python/tests (`test_gemm.py`): only its tests run.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "python"
PYTORCHS = {
    "pypi": ("requirements_pytorch.txt", "requirements_transformers.txt"),
    "pypi-2.9": ("requirements_pytorch_2.9.txt",),
}
PYTORCH = os.environ.get("ATTUNE_TEST_PYTORCH", "")
IS_PYPIS = PYTORCH in PYTORCHS
ONLY = sys.argv[1] if sys.argv[1:] else ""
REQUIREMENTS = [PACKAGE / "tests" / name for name in ("requirements.txt", *PYTORCHS.get(PYTORCH, ()))]
BUILD = Path(os.environ["ATTUNE_BUILD_FOLDER"])
FOLDER = BUILD / (f"python_{PYTORCH}" if IS_PYPIS else "python")
PREFIX, ENVIRONMENT = FOLDER / "prefix", FOLDER / "environment"
PYTHON = ENVIRONMENT / "bin" / "python"
PIP = (PYTHON, "-m", "pip", "--disable-pip-version-check", "--quiet")
SKIPPED = 77


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def run(*command, **how):
    shown = " ".join(str(part) for part in command)
    print(f"$ {shown}", flush=True)
    done = subprocess.run([str(part) for part in command], text=True, **how)
    return done


def must(*command, **how):
    done = run(*command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **how)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}\n{done.stdout}")
    return done.stdout


def interpreter():
    named = os.environ.get("ATTUNE_PYTHON")
    found = named or shutil.which("python3", path="/usr/bin") or sys.executable
    probe = (
        "import sys, sysconfig, pathlib, ensurepip, venv\n"
        "assert sys.version_info >= (3, 11), 'Python is older than 3.11'\n"
        "header = pathlib.Path(sysconfig.get_path('include')) / 'Python.h'\n"
        "assert header.exists(), 'there are no headers of Python (python3-dev)'\n"
        "import numpy"
    )
    done = subprocess.run([found, "-c", probe], capture_output=True, text=True)
    if done.returncode != 0:
        why = done.stderr.strip().splitlines()[-1]
        skip(f"{found} cannot build the package, see the set `python` of tools/packages.txt: {why}")
    return found


def prepare_environment(python):
    """Made anew when what it is made from changed."""
    wanted = "\n".join([str(python), *(file.read_text() for file in REQUIREMENTS)])
    stamp = ENVIRONMENT / "made_from"
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    must(python, "-m", "venv", "--system-site-packages", ENVIRONMENT)
    done = run(
        *PIP,
        "install",
        "--require-hashes",
        "--only-binary=:all:",
        "--retries=1",
        "--timeout=10",
        *(option for file in REQUIREMENTS for option in ("-r", file)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if done.returncode != 0:
        if "hashes" in done.stdout.lower() and "match" in done.stdout.lower():
            sys.exit(done.stdout)
        skip(f"the pinned packages cannot be had from PyPI: {(done.stdout.strip().splitlines() or ['?'])[-1]}")
    stamp.write_text(wanted)


def run_models(environment):
    """Its status says whether results are the same and products are computed or counted; its times say nothing here."""
    program = (PYTHON, PACKAGE / "benchmarks" / "models.py", "--layers", "1", "--batches", "1")
    return run(*program, "--max-trials", "4", "--budget", "20s", "--rounds", "3", cwd=FOLDER, env=environment).returncode


def main():
    python = interpreter()
    FOLDER.mkdir(exist_ok=True)
    prepare_environment(python)
    must(os.environ.get("ATTUNE_CMAKE", "cmake"), "--install", BUILD, "--prefix", PREFIX, "--strip")
    environment = dict(
        os.environ, CMAKE_PREFIX_PATH=str(PREFIX), PYTHONDONTWRITEBYTECODE="1", ATTUNE_HOME=str(FOLDER / "home")
    )
    # Kernels that tests compile are not the user's.
    environment.setdefault("ATTUNE_CACHE", str(FOLDER / "kernels"))
    # Ops of modules, which no installed tree has.
    environment["ATTUNE_TEST_MODULES"] = str(BUILD / "toy_modules")
    environment["ATTUNE_TEST_APPLICATION"] = str(PACKAGE.parent / "tests/conformance/toys/packed_application.py")
    for variable in ("PYTHONPATH", "ATTUNE_PROGRAM"):
        environment.pop(variable, None)
    must(
        *PIP,
        "install",
        "--no-build-isolation",
        "--no-deps",
        "--force-reinstall",
        f"--config-settings=build-dir={FOLDER / 'build'}",
        PACKAGE,
        env=environment,
    )
    # Elsewhere than the sources, which lack the extension.
    failed = run(
        PYTHON,
        "-m",
        "unittest",
        "discover",
        "-s",
        PACKAGE / "tests",
        "-t",
        PACKAGE / "tests",
        "-p",
        ONLY or ("test_torch*.py" if IS_PYPIS else "test*.py"),
        cwd=FOLDER,
        env=environment,
    ).returncode
    if PYTORCH == "pypi" and not ONLY:
        failed = run_models(environment) or failed
    if IS_PYPIS or ONLY:
        sys.exit(failed)
    checked = (PYTHON, "-m", "mypy", "--config-file", PACKAGE / "pyproject.toml", "--cache-dir", FOLDER / "mypy")
    print(must(*checked, cwd=PACKAGE, env=environment))
    print(must(*checked, PACKAGE / "tests" / "typing_use.py", cwd=PACKAGE, env=environment))
    sys.exit(failed)


if __name__ == "__main__":
    main()
