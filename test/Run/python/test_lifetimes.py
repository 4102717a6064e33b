# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a call reads lives until it has been read, and what nobody holds goes.

run.sh runs these tests with an allocator that overwrites what is freed.
"""

import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading
import weakref

import numpy as np
import pytest

import ringlet
from conftest import attention, graph

F32 = dict(rtol=1e-4, atol=2e-6)
SIZES = """
func.func @attend(%q: tensor<1x?x2x8xf32>, %at: tensor<i64>, %w: tensor<i64>)
    -> (tensor<1x?x2x8xf32>, tensor<1x2x?xf32>) {
  %o, %lse = ringlet.attention %q, %q, %q branches [<w = ?, r = 1>] causal
      q_offset(%at) sizes(%w)
      : (tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>, tensor<1x?x2x8xf32>,
         tensor<i64>, tensor<i64>)
      -> (tensor<1x?x2x8xf32>, tensor<1x2x?xf32>)
  return %o, %lse : tensor<1x?x2x8xf32>, tensor<1x2x?xf32>
}
"""


def tasks() -> int:
    return len(os.listdir("/proc/self/task"))


def all_at_once(*works):
    """Each in a thread of its own, which take turns as often as may be."""
    errors = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=guarded, args=(each,)) for each in works]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]


class Poisoned(np.ndarray):
    """Memory that is overwritten when it is let go."""

    alive = 0

    def __del__(self):
        if self.base is None:
            Poisoned.alive -= 1
            self.view(np.ndarray).view(np.uint8).fill(0xFF)


class Lent:
    """A tensor whose export is a copy, gone when that is given back."""

    def __init__(self, array):
        self.array = np.ascontiguousarray(array)

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **options):
        copied = Poisoned(self.array.shape, self.array.dtype)
        Poisoned.alive += 1
        copied[...] = self.array
        return copied.__dlpack__(**options)


def test_numbers_live_until_they_are_read():
    """Every call has its own q_offset and w, whatever other threads allocate."""
    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal((1, n, 1, 8), dtype=np.float32) for n in (1, 64))
    context = ringlet.Context(threads=1)
    exact = [
        ringlet.attention(q, k[:, : n + 1], k[:, : n + 1], context=context)[1].item()
        for n in range(64)
    ]
    program = ringlet.compile(SIZES, context=context)
    x = rng.standard_normal((1, 9, 2, 8), dtype=np.float32)
    whole = {w: program(x, 0, w)[1] for w in (1, 3, 9)}
    done = threading.Event()

    def churn():
        while not done.is_set():
            [ctypes.c_int64(10**6 + i) for i in range(50)]

    def work(n, w):
        try:
            for _ in range(600):
                lse = ringlet.attention(
                    q, k, k, causal=True, q_offset=n, context=context
                )[1].item()
                assert abs(lse - exact[n]) < 1e-4, (n, lse, exact[n])
                np.testing.assert_array_equal(program(x, 0, w)[1], whole[w])
                program.estimate(x, 0, w)
        finally:
            done.set()

    all_at_once(churn, *(lambda n=n, w=w: work(n, w) for n, w in ((3, 1), (17, 3), (40, 9))))


def test_exports_live_until_they_are_read(dense, inputs):
    """Those of a library that exports copies, of rows, numbers and copies of these."""
    wanted = dense(*inputs)
    given = tuple(np.zeros_like(each) for each in wanted)
    for _ in range(3):
        dense(*map(Lent, inputs), out=given)
        np.testing.assert_array_equal(given[0], wanted[0])
    q, k, _ = inputs
    lengths = np.array([20, 53]), np.array([30, 7])
    wanted = ringlet.attention(q, k, k, lengths=lengths, q_offset=np.array([3, 4]))
    given = tuple(np.zeros_like(each) for each in wanted)
    ringlet.attention(
        *map(Lent, (q, k, k)), lengths=(Lent(lengths[0].astype("i4")), Lent(lengths[1])),
        q_offset=Lent(np.array([3, 4], "i4")), out=given,
    )  # fmt: skip
    np.testing.assert_array_equal(given[0], wanted[0])
    gc.collect()
    assert Poisoned.alive == 0


def test_exports_go_where_a_call_fails(dense, inputs):
    out = dense(*inputs)
    q, k, v = map(Lent, inputs)
    for _ in range(3):
        with pytest.raises(ringlet.RuntimeError):
            dense(q, k, Lent(inputs[2][:, 1:]), out=out)
        with pytest.raises(ValueError):
            dense(q, k, v.array.astype(complex), out=out)
        with pytest.raises(TypeError, match="expected from_dlpack in the library of"):
            dense(q, k, v)
    gc.collect()
    assert Poisoned.alive == 0


def test_a_log_may_run_the_same_program(inputs):
    """In the midst of a call, with other tensors of the same layout."""
    other = [each + 1 for each in inputs]
    programs, inner = [], []

    def log(level, message):
        if programs:
            inner.append(programs.pop()(*other))

    context = ringlet.Context(threads=1, log=log, log_level="debug")
    program = ringlet.compile(graph(), context=context)
    programs.append(program)
    out, _ = program(*inputs)
    want = ringlet.compile(graph())
    np.testing.assert_array_equal(out, want(*inputs)[0])
    np.testing.assert_array_equal(inner[0][0], want(*other)[0])


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_copies_share(inputs, how):
    context = ringlet.Context(threads=2)
    program = ringlet.compile(graph(), context=context, cache=False)
    want, _ = program(*inputs)
    contexts, programs = how([context]), how({"p": program})
    handle = how(program._handle)
    del context, program
    gc.collect()
    (context,), program = contexts, programs["p"]
    assert context.stats().threads == 2 and handle
    np.testing.assert_array_equal(program(*inputs)[0], want)
    # A copy by hand of what it consists of.
    other = object.__new__(ringlet.Program)
    other.__dict__.update(program.__dict__)
    del contexts, programs, context, program, handle
    gc.collect()
    np.testing.assert_array_equal(other(*inputs)[0], want)


def test_handles_stay_in_their_process(dense):
    for each in ringlet.Context(threads=1), dense:
        with pytest.raises(TypeError, match="a value that can leave this process, found"):
            pickle.dumps(each)


def test_contexts_go_with_their_threads(inputs):
    """And with the programs that were compiled for them; nothing waits for the
    collector of cycles."""
    gc.collect()
    gc.disable()
    try:
        before = tasks()
        x = np.zeros((1, 5, 1, 4), "f4")
        for _ in range(5):
            context = ringlet.Context(threads=4)
            ringlet.attention(x, x, x, context=context)
            program = ringlet.compile(graph(), context=context)
            assert ringlet.compile(graph(), context=context) is program
            program(*inputs)
            gone = weakref.ref(context)
            del context
            assert gone() is program.context and tasks() == before + 3
            del program
            assert gone() is None and tasks() == before
    finally:
        gc.enable()


def test_artefacts_are_shared_by_contexts(script, tmp_path, inputs):
    """One compilation, whoever runs it."""
    log, real = tmp_path / "log", ringlet.compiler_path()
    ringlet.configure(compiler=script(f'echo x >> "{log}"; exec "{real}" "$@"\n'))
    contexts = [ringlet.Context(threads=1) for _ in range(3)]
    programs = [ringlet.compile(graph(), context=each) for each in contexts]
    assert [each.context for each in programs] == contexts
    assert log.read_text() == "x\n"


def run_code(code, **environment):
    """A process that begins with the package as this one has it."""
    head = f"""
        import copy, os, sys, threading, time, numpy as np
        import ringlet
        ringlet.configure(compiler={str(ringlet.compiler_path())!r},
                          runtime={ringlet.runtime_path()!r})
        q = np.random.default_rng(0).standard_normal((1, 3000, 2, 16)).astype("f4")
        small = q[:, :10]
    """
    folder = os.path.dirname(os.path.dirname(ringlet.__file__))
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": folder, **environment},
    )


@pytest.mark.parametrize("options", ["threads=1", "threads=3"])
def test_exit_while_threads_run(options):
    """The process ends as if the runtime were not there."""
    done = run_code(
        f"""
        context = ringlet.Context({options})
        begun = threading.Semaphore(0)
        def work():
            while True:
                begun.release()
                ringlet.attention(q, q, q, context=context)
        def load():
            artifact = program._loaded.artifact
            while True:
                ringlet.Program(artifact, copy.copy(context)).run(small, small, small)
        program = ringlet.compile({graph(16, 2)!r}, context=context)
        for each in work, work, load:
            threading.Thread(target=each, daemon=True).start()
        for _ in range(4):
            begun.acquire()
        print("leaving", flush=True)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


@pytest.mark.parametrize(
    "call",
    [
        "ringlet.Context(**options)",
        "ringlet.Program(artifact, here)",
        "program.run(small, small, small)",
        "ringlet.attention(small, small, small, context=here, ring=ring)",
    ],
)
def test_exit_while_threads_log(call, tmp_path):
    """No log is called while Python ends, and calls before return."""
    path = tmp_path / "attend.rla"
    ringlet.compile(graph(16, 2)).save(path)
    done = run_code(
        f"""
        logged = threading.Semaphore(0)
        def log(level, message):
            logged.release()
            time.sleep(0.002)
        options = dict(threads=1, log=log, log_level="debug")
        here = ringlet.Context(**options)
        program = ringlet.Program.load({str(path)!r}, here)
        artifact = open({str(path)!r}, "rb").read()
        def work():
            ring, = ringlet.Ring.local(1)
            while True:
                {call}
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        for _ in range(30):
            logged.acquire()
        print("leaving", flush=True)
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "leaving\n", "")


def test_contexts_have_no_log_when_python_ends():
    """Those of a process that was forked as well; new ones need none."""
    done = run_code(
        f"""
        kept = []
        options = dict(
            threads=1, log=lambda *what: kept.append(what), log_level="debug")
        context = ringlet.Context(**options)
        program = ringlet.compile({graph(16, 2)!r}, context=context)
        program(small, small, small)
        child = os.fork()
        if child:
            assert os.waitpid(child, 0)[1] == 0
        before = len(kept)
        program(small, small, small)
        assert len(kept) > before
        ringlet._context._logs.end()
        before = len(kept)
        out, _ = program(small, small, small)
        other = ringlet.Program(program._loaded.artifact, ringlet.Context(**options))
        assert np.array_equal(other(small, small, small)[0], out)
        assert len(kept) == before
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_exit_with_handles_in_cycles():
    done = run_code(
        """
        class Cycle: pass
        each = Cycle()
        each.self, each.context = each, ringlet.Context(threads=2)
        each.program = ringlet.attention(small, small, small, context=each.context)
        sys.modules["kept"] = each
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_forked_processes_have_their_own():
    """Contexts, programs and caches of a parent work in its child, and the parent's
    stay as they are."""
    done = run_code(
        f"""
        want = ringlet.attention(small, small, small)[0]
        context = ringlet.Context(threads=3)
        program = ringlet.compile({graph(16, 2)!r}, context=context)
        before = program(small, small, small)[0]
        child = os.fork()
        if not child:
            good = np.array_equal(ringlet.attention(small, small, small)[0], want)
            good &= np.array_equal(program(small, small, small)[0], before)
            good &= context.stats().runs == 1 and len(os.listdir("/proc/self/task")) > 2
            text = {graph(16, 1)!r}
            good &= ringlet.compile(text).entries is not None
            del context, program
            os._exit(0 if good else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert np.array_equal(program(small, small, small)[0], before)
        assert context.stats().runs == 2
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_results_are_right_under_threads(rng):
    """Threads with contexts, programs and layouts of their own and in common."""
    q = rng.standard_normal((1, 33, 2, 16), dtype=np.float32)
    want, _ = attention(q, q, q, causal=True)
    common = ringlet.Context(threads=2)

    def work(n):
        for i in range(20):
            context = common if i % 2 else ringlet.Context(threads=2)
            rows = slice(0, 33 - (i + n) % 5)
            out, _ = ringlet.attention(
                q[:, rows], q[:, rows], q[:, rows], causal=True, q_offset=0,
                context=context,
            )  # fmt: skip
            np.testing.assert_allclose(out, want[:, rows], **F32)

    all_at_once(*(lambda n=n: work(n) for n in range(4)))


