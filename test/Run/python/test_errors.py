# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Bad input ends in an exception that says what was expected and found."""

import os
import pathlib
import subprocess
import sys
import threading

import numpy as np
import pytest

import ringlet
from conftest import graph


def refused(status=ringlet.Status.INVALID_ARGUMENT, match=None):
    class Context:
        def __enter__(self):
            self.inner = pytest.raises(ringlet.RuntimeError, match=match)
            self.info = self.inner.__enter__()

        def __exit__(self, *what):
            result = self.inner.__exit__(*what)
            assert self.info.value.status == status
            return result

    return Context()


# The compiler says no.


def test_syntax_error_has_a_place():
    with pytest.raises(ringlet.CompileError) as caught:
        ringlet.compile("\nfunc.func @f( {\n}\n")
    error = caught.value
    assert error.location == ("<text>", 2, 14)
    assert error.returncode == 1
    first = error.diagnostics[0]
    assert first.severity == "error" and "expected" in first.message
    assert str(first) in str(error)


def test_rule_is_named():
    with pytest.raises(ringlet.CompileError, match="B1") as caught:
        ringlet.compile(graph(branches="<w = 4, r = 8>"))
    assert caught.value.location[0] == "<text>"


def test_place_in_a_file(tmp_path):
    path = tmp_path / "bad.mlir"
    path.write_text("func.func @f() { foo.bar }")
    for source in (path, str(path)):
        with pytest.raises(ringlet.CompileError) as caught:
            ringlet.compile(source)
        assert caught.value.location == (str(path), 1, 18)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        ringlet.compile(tmp_path / "none.mlir")
    with pytest.raises(FileNotFoundError):
        ringlet.Program.load(tmp_path / "none.rla")
    with pytest.raises(TypeError, match="expected IR as str"):
        ringlet.compile(17)


def test_unknown_option_and_target():
    with pytest.raises(ringlet.CompileError, match="no-such-option"):
        ringlet.compile(graph(), options=["--no-such-option"])
    with pytest.raises(ringlet.CompileError, match="z80"):
        ringlet.compile(graph(), target="z80")


def test_deeply_nested_text():
    with pytest.raises(ringlet.CompileError):
        ringlet.compile("module {" * 20000 + "}" * 20000)


# The compiler fails.


def test_crash_leaves_a_reproducer(script, dumps):
    ringlet.configure(
        compiler=script("cat > /dev/null; echo tripped >&2; kill -SEGV $$")
    )
    with pytest.raises(
        ringlet.CompileError, match="SIGSEGV.*makes it happen again"
    ) as caught:
        ringlet.compile("module {}")
    error = caught.value
    assert error.returncode == -11 and "tripped" in error.stderr
    assert pathlib.Path(error.reproducer).parent == dumps
    first, rest = pathlib.Path(error.reproducer).read_text().split("\n", 1)
    assert rest == "module {}"
    # Its first line is a command that does it again.
    again = subprocess.run(first[3:], shell=True, capture_output=True)
    assert again.returncode in (-11, 139)


def test_own_reproducer_of_the_compiler_is_kept(script):
    body = 'for a; do case $a in --reproducer=*) echo mine > "${a#*=}";; esac; done\n'
    body += "cat > /dev/null; echo '<stdin>:3:4: error: pass failed' >&2; exit 1"
    ringlet.configure(compiler=script(body))
    with pytest.raises(ringlet.CompileError, match="pass failed") as caught:
        ringlet.compile("module {}")
    assert pathlib.Path(caught.value.reproducer).read_text() == "mine\n"
    assert caught.value.location == ("<text>", 3, 4)


def test_silent_failure(script):
    ringlet.configure(compiler=script("cat > /dev/null; exit 3"))
    with pytest.raises(ringlet.CompileError, match="exit code 3"):
        ringlet.compile("module {}")


def test_compiler_that_reads_nothing(script):
    ringlet.configure(compiler=script("echo 'error: no' >&2; exit 1"))
    with pytest.raises(ringlet.CompileError, match="no"):
        ringlet.compile("module {}" + " " * 1000000)


def test_timeout(script):
    ringlet.configure(compiler=script("exec sleep 60"))
    with pytest.raises(ringlet.CompileError, match="more than 0.2 s") as caught:
        ringlet.compile("module {}", timeout=0.2)
    assert os.path.exists(caught.value.reproducer)


def test_no_compiler(tmp_path, monkeypatch):
    from ringlet import _native

    monkeypatch.setattr(_native, "_bundled", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ringlet.Error, match="expected 'ringlet-compile' in"):
        ringlet.compile("module {}")
    with pytest.raises(ringlet.Error, match="no such file"):
        ringlet.configure(compiler=tmp_path / "none")


def test_no_runtime(tmp_path):
    """In a process of its own: a runtime is loaded once."""
    broken = tmp_path / "libringlet_runtime.so.1"
    broken.write_bytes(b"not a library")
    code = (
        f"import ringlet; ringlet.configure(runtime={str(broken)!r}); ringlet.Context()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ringlet._errors.Error: expected the Ringlet runtime at" in done.stderr


def test_runtime_is_chosen_once(dense):
    with pytest.raises(ringlet.Error, match="before its first use"):
        ringlet.configure(runtime=ringlet.runtime_path())


# The runtime says no.


@pytest.mark.parametrize("at", [0, 20, 60, -1])
def test_damaged_artifact(dense, tmp_path, at):
    path = tmp_path / "program.rla"
    dense.save(path)
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    with refused(ringlet.Status.BAD_ARTIFACT):
        ringlet.Program(bytes(content))
    with refused(ringlet.Status.BAD_ARTIFACT):
        ringlet.Program(bytes(content[: len(content) // 2]))


def test_wrong_sizes_and_types(dense, inputs):
    q, k, v = inputs
    with refused(match="'k'"):
        dense(q, k[:, :, :3], v)
    with refused(match="'v'"):
        dense(q, k, v[0])
    with refused(match="expected elements of f32"):
        dense(q.astype(np.float64), k, v)
    with refused(match="expected key and value of one length"):
        dense(q, k, v[:, 1:])
    with refused(match="last axis"):
        dense(np.asfortranarray(q), k, v)


def test_refused_call_writes_nothing(dense, inputs):
    q, k, v = inputs
    out, lse = dense(q, k, v)
    out.fill(7)
    lse.fill(7)
    with refused():
        dense(q, k, v[:, 1:], out=(out, lse))
    with refused():
        dense(q, k, v, out=(out[:, 1:], lse))
    assert (out == 7).all() and (lse == 7).all()


def test_output_over_input(dense, inputs):
    q, k, v = inputs
    _, lse = dense(q, k, v)
    with refused(match="overlap"):
        dense(q, k, v, out=(q, lse))


def test_wrong_calls(dense, inputs):
    q, k, v = inputs
    for call, message in (
        (lambda: dense(q, k), "expected 3 inputs .q, k, v., found no v"),
        (lambda: dense(q, k, v, v), "expected 3 inputs .q, k, v., found 4"),
        (lambda: dense(q, k, w=v), "expected inputs named q, k, v; found 'w'"),
        (lambda: dense(q, k, v, k=k), "one value for input 'k', found two"),
        (lambda: dense(q, k, "v"), "'v': expected a numpy array.*found str"),
        (lambda: dense(q, k, 1.5), "'v': expected a numpy array.*found float"),
        (lambda: dense(q, k, v, out=q), "expected 2 outputs"),
        (lambda: dense(q, k, v, out={"result0": q}), "result0, result1; found"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    for value, message in (
        (v.astype(">f4"), "'v': expected native byte order"),
        (v.astype(complex), "'v': expected elements of f16"),
    ):
        with pytest.raises(ValueError, match=message):
            dense(q, k, value)
    with pytest.raises(ValueError, match="one of attend; found 'other'"):
        dense.run(q, k, v, entry="other")


def test_strides_that_split_elements(dense, inputs):
    _, k, v = inputs
    packed = np.zeros(37 * 4 * 64 * 5, np.int8)
    odd = np.ndarray((2, 37, 4, 64), np.float32, packed, 0, (0, 1025, 256, 4))
    with pytest.raises(ValueError, match="multiple of the element's 4 bytes"):
        dense(odd, k, v)


def test_bits_takes_integers_of_the_size():
    for bad in (np.zeros(3, np.float16), np.zeros(3, np.uint32), [1, 2]):
        with pytest.raises(TypeError, match="expected a"):
            ringlet.bits(bad, "bf16")
    with pytest.raises(TypeError, match="expected dtype"):
        ringlet.bits(np.zeros(3, np.uint16), "i16")


def test_bf16_without_ml_dtypes(dense, narrow, inputs, monkeypatch):
    """uint16 is not taken for bf16 unless the caller says so."""
    carried = [each.astype(np.uint16) for each in inputs]
    with pytest.raises(ValueError, match=r"ringlet\.bits"):
        narrow(*carried)


def test_memory_limit(inputs):
    branches = "<w = 16, r = 1>, <w = 32, r = 2>"
    program = ringlet.compile(
        graph(branches=branches), context=ringlet.Context(memory_limit=1000)
    )
    with refused(ringlet.Status.OUT_OF_MEMORY, "1000"):
        program(*inputs)
    assert program.context.stats().peak_memory_bytes <= 1000


def test_context_options():
    for bad in ({"threads": -1}, {"memory_limit": -1}, {"log_level": "loud"}):
        with pytest.raises(ValueError, match="expected"):
            ringlet.Context(**bad)


def test_target_without_code(dense, tmp_path):
    """An artefact has no code for it: the load is refused."""
    dense.save(tmp_path / "kept.rla")
    with refused(ringlet.Status.UNSUPPORTED, "z80"):
        ringlet.Program.load(tmp_path / "kept.rla", ringlet.Context(target="z80"))


def test_errors_of_threads_do_not_mix(dense, inputs):
    """Each thread has its own last error."""
    q, k, v = inputs
    seen = []

    def provoke(value, word):
        for _ in range(50):
            try:
                dense(q, k, value)
            except ringlet.RuntimeError as error:
                seen.append(word in str(error))

    threads = [
        threading.Thread(target=provoke, args=(v[:, 1:], "one length")),
        threading.Thread(target=provoke, args=(v.astype(np.float16), "elements")),
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(seen) == 100 and all(seen)
