# SPDX-License-Identifier: MIT
"""Describes a Triton kernel of a user's file for src/compile/triton, without compiling it.

usage: describe_kernel.py PACKAGES FUNCTION     PACKAGES: a folder with the package triton; empty: Python's own
Imports kernel.py of the working folder and prints a line, `attune-kernel: ` and a JSON object:
    {"parameters": [{"name", "constexpr", "default"?}], "autotuned", "configs": [{"constants", "num_warps", "num_stages", "maxnreg"?}],
     "reset_to_zero": [names], "restore_value": [names], "line"?}      a default that is no integer is null
    {"flaw", "line"?}                                                  why the kernel cannot be used
What the file prints is lost.
"""
import importlib.util
import json
import os
import re
import sys
import traceback

NAME, FILE = "kernel", "kernel.py"  # As compile_kernels.py has them.
MAX_CONFIGS = 10000
MAX_DECORATORS = 8
TEXT = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")


class Refused(Exception):
    """The kernel has something that Attune does not support."""


def imported():
    spec = importlib.util.spec_from_file_location(NAME, os.path.abspath(FILE))
    module = sys.modules[NAME] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unwrapped(kernel, name):
    """The function and its autotuner, which may be None."""
    import triton

    tuner = None
    while not isinstance(kernel, triton.runtime.JITFunction):
        kind = type(kernel).__name__
        if kind == "Heuristics":
            raise Refused(f"'{name}' has @triton.heuristics, which is not supported: make its values constants of the configs")
        if kind != "Autotuner" or tuner is not None:
            raise Refused(f"'{name}' is no @triton.jit function")
        tuner, kernel = kernel, kernel.fn
    return kernel, tuner


def is_integer(value):
    return isinstance(value, int) and not isinstance(value, bool)


def parameter(one):
    described = {"name": one.name, "constexpr": bool(one.is_constexpr)}
    if one.has_default:
        described["default"] = one.default if is_integer(one.default) else None
    return described


def constant(name, value):
    is_name = isinstance(value, str) and TEXT.fullmatch(value) and value not in ("True", "False", "None")
    if value is None or isinstance(value, (bool, int)) or is_name:
        return value
    raise Refused(f"a config gives {name} a value that is no integer, truth value, name or None: {value!r}")


def config(one):
    for name in ("pre_hook", "ir_override"):
        if getattr(one, name, None) is not None:
            raise Refused(f"a config has a {name}, which is not supported")
    if getattr(one, "num_ctas", 1) not in (1, None):
        raise Refused(f"a config has num_ctas={one.num_ctas}, and only 1 is supported")
    described = {"constants": {name: constant(name, value) for name, value in one.kwargs.items()}}
    for name in ("num_warps", "num_stages", "maxnreg"):
        value = getattr(one, name, None)
        if value is not None and not (is_integer(value) and value > 0):
            raise Refused(f"a config has {name}={value!r}, which must be an integer above 0")
        if value is not None:
            described[name] = value
    return described


def described(name):
    kernel, tuner = unwrapped(getattr(imported(), name), name)
    if kernel.__name__ != name:
        raise Refused(f"'{name}' is another name of the function '{kernel.__name__}', give that")
    found = {"parameters": [parameter(one) for one in kernel.params], "autotuned": tuner is not None, "configs": [],
             "reset_to_zero": [], "restore_value": []}
    if tuner is None:
        return found
    for hook in ("pre_hook", "post_hook"):
        if getattr(tuner, "user_defined_" + hook, False):
            raise Refused(f"@triton.autotune has a {hook}, which is not supported")
    if len(tuner.configs) > MAX_CONFIGS:
        raise Refused(f"@triton.autotune has {len(tuner.configs)} configs, and at most {MAX_CONFIGS} are supported")
    found["configs"] = [config(one) for one in tuner.configs]
    found["reset_to_zero"] = list(tuner.reset_to_zero)
    found["restore_value"] = list(tuner.restore_value)
    return found


def line_of(error):
    """The last line of the user's file that took part; None: none did."""
    if isinstance(error, SyntaxError) and os.path.basename(error.filename or "") == FILE:
        return error.lineno
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if os.path.basename(frame.filename) == FILE]
    return lines[-1] if lines else None


def line_of_function(name):
    """Where the function or its first decorator stands; None: unknown."""
    function = getattr(sys.modules.get(NAME), name, None)
    for _ in range(MAX_DECORATORS):
        if hasattr(function, "__code__"):
            return function.__code__.co_firstlineno
        function = getattr(function, "fn", None)
    return None


def with_line(answer, line):
    return answer if line is None else {**answer, "line": line}


def answer_to(name):
    try:
        return with_line(described(name), line_of_function(name))
    except Refused as error:
        return with_line({"flaw": str(error)}, line_of_function(name))
    except BaseException as error:
        if isinstance(error, AttributeError) and getattr(error, "obj", None) is sys.modules.get(NAME) and line_of(error) is None:
            return {"flaw": f"there is no function '{name}'"}
        return with_line({"flaw": traceback.format_exception_only(error)[-1].strip()[:1000]}, line_of(error))


def main():
    process = os.getpid()
    answers = os.dup(1)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    if sys.argv[1]:
        sys.path.insert(0, sys.argv[1])
    answer = answer_to(sys.argv[2])
    if os.getpid() == process:  # Else the file forked.
        os.write(answers, ("\nattune-kernel: " + json.dumps(answer) + "\n").encode())
    os._exit(0)  # Threads of the file may not end.


if __name__ == "__main__":
    main()
