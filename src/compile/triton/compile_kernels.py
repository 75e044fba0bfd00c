# SPDX-License-Identifier: MIT
"""Compiles Triton kernels for src/compile/triton, one request after another.

usage: compile_kernels.py PACKAGES       PACKAGES: a folder with the package triton; empty: Python's own
Reads requests from descriptor 3 and answers each on descriptor 4; both are JSON objects, one a line:
    {"number", "source", "arch": "sm_90", "entry", "options": ["--argument=a:*fp16:16", …], "output"}
    {"number", "ok": true, "facts": {"shared_bytes", "num_warps", "scratch_bytes"}, "log"}   the cubin is in `output`
    {"number", "ok": false, "rejected", "log"}      rejected: for what the kernel says, as it would be the next time
Relative paths are those of the working folder, in which it writes all of its files.
"""
import contextlib
import gc
import importlib.util
import io
import json
import linecache
import os
import shutil
import sys

REQUESTS, ANSWERS = 3, 4
MAX_LOG = 16000  # Characters.
LOW_SPACE = 4 << 20  # Bytes. Triton reports a full disk as an error of the kernel.
DIVISORS = ("2", "4", "8", "16")


class Refused(Exception):
    """The request is wrong, and Triton was not asked."""


def integer(text, option):
    try:
        return int(text)
    except ValueError:
        raise Refused(f"an option expects an integer: '{option}'") from None


def constant(text, option):
    if len(text) > 2 and text[0] == text[-1] == "'":
        return text[1:-1]
    return {"True": True, "False": False, "None": None}[text] if text in ("True", "False", "None") else integer(text, option)


def defaults_of(kernel):
    return {one.name: one.default for one in getattr(kernel, "params", ()) if one.is_constexpr and one.has_default}


def parsed(options, names, defaults):
    """The options as ASTSource and triton.compile() take them. `names`: the kernel's parameters; `defaults`: of some."""
    signature, constants, attributes, launch = {}, {}, {}, {}
    for option in options:
        key, _, value = option.partition("=")
        pieces = value.split(":")
        if key == "--argument" and (len(pieces) == 2 or (len(pieces) == 3 and pieces[2] in DIVISORS)):
            kind = pieces[1]
        elif key == "--constant" and len(pieces) == 2:
            kind = "constexpr"
        elif key in ("--num-warps", "--num-stages", "--maxnreg"):
            launch[key[2:].replace("-", "_")] = integer(value, option)
            continue
        else:
            raise Refused(f"no such option: '{option}'")
        name = pieces[0]
        if name not in names or name in signature:
            raise Refused(f"the kernel has no other parameter of this name: '{option}'")
        place = (names.index(name),)
        signature[name] = kind
        if kind == "constexpr":
            constants[place] = constant(pieces[1], option)
        elif len(pieces) == 3:
            attributes[place] = [["tt.divisibility", int(pieces[2])]]
    for name in [name for name in defaults if name not in signature]:
        signature[name] = "constexpr"
        constants[(names.index(name),)] = defaults[name]
    missing = [name for name in names if name not in signature]
    if missing:
        raise Refused(f"no option gives these parameters of the kernel: {', '.join(missing)}")
    return {name: signature[name] for name in names}, constants, attributes, launch


def imported(file, name):
    """Triton reads the text of a kernel from its file."""
    spec = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(request):
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    name, file = "kernel", "kernel.py"  # The same each time: a cubin may contain them.
    with open(file, "w", encoding="utf-8") as sink:
        sink.write(request["source"])
    said = io.StringIO()
    try:
        kernel = getattr(imported(file, name), request["entry"], None)
        while not isinstance(kernel, triton.runtime.JITFunction) and hasattr(kernel, "fn"):  # An autotuner.
            kernel = kernel.fn
        if not isinstance(kernel, triton.runtime.JITFunction):
            raise Refused(f"the source has no @triton.jit function of this name: '{request['entry']}'")
        signature, constants, attributes, launch = parsed(request["options"], kernel.arg_names, defaults_of(kernel))
        target = GPUTarget("cuda", integer(request["arch"].removeprefix("sm_"), request["arch"]), 32)
        with contextlib.redirect_stdout(said):  # The report of ptxas.
            binary = triton.compile(ASTSource(kernel, signature, constants, attributes), target=target, options=launch)
        with open(request["output"], "wb") as sink:
            sink.write(binary.asm["cubin"])
        facts = {
            "shared_bytes": binary.metadata.shared,
            "num_warps": binary.metadata.num_warps,
            "scratch_bytes": binary.metadata.global_scratch_size,
        }
        return {"ok": True, "facts": facts, "log": said.getvalue()[:MAX_LOG]}
    finally:
        sys.modules.pop(name, None)
        os.remove(file)


def chain(error):
    """The error and its causes, the innermost last."""
    errors = []
    while error is not None and len(errors) < 8:
        errors.append(error)
        error = error.__cause__ or error.__context__
    return errors


def described(errors):
    """The innermost error first: it says what is wrong, the others where."""
    texts = [str(error) if isinstance(error, Refused) else f"{type(error).__name__}: {error}" for error in reversed(errors)]
    return ("error: " + "\n".join(texts))[:MAX_LOG]


def is_rejection(errors):
    """Whether Triton or ptxas rejected the kernel, and no machine without memory, disk or processes did. In doubt not."""
    if any(isinstance(error, (MemoryError, OSError, SystemExit)) for error in errors):
        return False
    kinds = {kind.__name__ for error in errors for kind in type(error).__mro__}
    is_ptxas_error = "PTXASError" in kinds and "Internal Triton PTX codegen error" in str(errors[0]) and "ptxas error" in str(errors[0])
    return is_ptxas_error or not kinds.isdisjoint(("CompilationError", "SyntaxError"))


def answer_to(request):
    try:
        return compiled(request)
    except (Exception, SystemExit) as error:
        if shutil.disk_usage(".").free < LOW_SPACE:
            sys.exit("no space is left in the folder of temporary files")
        errors = chain(error)
        return {"ok": False, "rejected": is_rejection(errors), "log": described(errors)}


def forget():
    """Frees what Triton keeps of a kernel, on disk and in memory."""
    linecache.clearcache()
    gc.collect()
    shutil.rmtree(os.environ["TRITON_CACHE_DIR"], ignore_errors=True)


def main():
    for descriptor in (REQUESTS, ANSWERS):
        os.set_inheritable(descriptor, False)  # Triton starts ptxas with all inheritable descriptors.
    if sys.argv[1]:
        sys.path.insert(0, sys.argv[1])
    with open(REQUESTS, encoding="utf-8") as requests, open(ANSWERS, "w", encoding="utf-8") as answers:
        for line in requests:
            os.ftruncate(1, 0)
            os.lseek(1, 0, os.SEEK_SET)
            request = json.loads(line)
            answer = answer_to(request)
            answers.write(json.dumps({"number": request["number"], **answer}) + "\n")
            answers.flush()
            forget()


if __name__ == "__main__":
    main()
