# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a program says of itself, how it is kept, and who may use it."""

import gc
import os
import re
import stat
import textwrap
import threading

import numpy as np
import pytest

import ringlet
from conftest import ROOT, graph

TWO = """
func.func @one(%x: tensor<1x?x4x32xf32>) -> tensor<1x?x4x32xf32> {
  %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>]
      : (tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>)
      -> (tensor<1x?x4x32xf32>, tensor<1x4x?xf32>)
  return %o : tensor<1x?x4x32xf32>
}
func.func @two(%x: tensor<1x?x4x32xf32>) -> tensor<1x?x4x32xf32> {
  %o, %lse = ringlet.attention %x, %x, %x branches [<w = *, r = 1>] causal
      : (tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>, tensor<1x?x4x32xf32>)
      -> (tensor<1x?x4x32xf32>, tensor<1x4x?xf32>)
  return %o : tensor<1x?x4x32xf32>
}
"""


def test_entries(dense):
    entry = dense.entries["attend"]
    assert [each.name for each in entry.inputs] == ["q", "k", "v"]
    assert [each.name for each in entry.outputs] == ["result0", "result1"]
    assert entry.inputs[0] == ringlet.Argument("q", "f32", (-1, -1, 4, 64))
    assert str(entry.outputs[1]) == "result1: f32[?, 4, ?]"
    assert "attend(q: f32[?, ?, 4, 64]" in repr(dense)
    with pytest.raises(TypeError):
        dense.entries["attend"] = None


def test_several_entries(rng):
    program = ringlet.compile(TWO)
    assert list(program.entries) == ["one", "two"]
    x = rng.standard_normal((1, 20, 4, 32), dtype=np.float32)
    one, two = program.run(x, entry="one"), program.run(x, entry="two")
    assert isinstance(one, np.ndarray)
    np.testing.assert_allclose(one[:, -1], two[:, -1], rtol=1e-5)
    assert not np.allclose(one[:, 0], two[:, 0])
    with pytest.raises(ValueError, match="one of one, two; found none"):
        program(x)


def test_what_it_was_made_for(dense):
    assert dense.target in dense.targets
    assert "ringlet" in dense.compiler
    assert "kernel:" in dense.explain() and dense.explain("attend") == dense.explain()


def test_save_and_load(dense, inputs, tmp_path):
    path = tmp_path / "kept.rla"
    dense.save(path)
    assert stat.S_IMODE(path.stat().st_mode) & 0o444 == 0o444
    assert set(os.listdir(tmp_path)) == {"dumps", "kept.rla"}
    again = ringlet.Program.load(path)
    for got, want in zip(again(*inputs), dense(*inputs)):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(OSError):
        dense.save(tmp_path / "none" / "kept.rla")


def test_inspect(dense, inputs, tmp_path):
    dense.save(tmp_path / "kept.rla")
    program = ringlet.Program.load(tmp_path / "kept.rla", inspect=True)
    assert program.target == "" and program.entries == dense.entries
    with pytest.raises(ringlet.RuntimeError):
        program(*inputs)


def test_estimate(dense, inputs):
    program = ringlet.compile(
        graph(dtype="bf16", branches="<w = 16, r = 1>, <w = 32, r = 2>")
    )
    size = (1, 1000, 4, 64)
    guess = program.estimate(size, size, size)
    # Two branches: an f32 output travels between their kernels.
    assert guess.workspace_bytes >= 1000 * 4 * 64 * 4
    assert guess.launches >= 2
    assert guess.total_bytes == (
        guess.workspace_bytes + guess.scratch_bytes + guess.table_bytes
    )
    double = program.estimate((1, 2000, 4, 64), k=(1, 2000, 4, 64), v=(1, 2000, 4, 64))
    assert double.workspace_bytes >= 2 * guess.workspace_bytes - 4096
    assert dense.estimate(*inputs) == dense.estimate(*(each.shape for each in inputs))
    with pytest.raises(ringlet.RuntimeError, match="one length"):
        program.estimate(size, size, (1, 999, 4, 64))


def test_cache(inputs):
    text = graph(dim=32)
    first = ringlet.compile(text)
    assert ringlet.compile(text) is first
    assert ringlet.compile(text + "\n") is not first
    assert ringlet.compile(text, options=["--explain"]) is not first
    assert ringlet.compile(text, cache=False) is not first
    context = ringlet.Context(threads=1)
    other = ringlet.compile(text, context=context)
    assert other is not first and other.context is context
    ringlet.clear_cache()
    assert ringlet.compile(text) is not first


def test_cache_knows_the_compiler(script):
    text = graph(dim=32)
    first = ringlet.compile(text)
    real = ringlet.compiler_path()
    ringlet.configure(compiler=script(f'exec "{real}" "$@"\n'))
    second = ringlet.compile(text)
    assert second is not first
    # A rebuilt compiler is another one.
    os.utime(ringlet.compiler_path(), (1, 1))
    assert ringlet.compile(text) is not second


def test_one_compilation_for_many_threads(script, tmp_path):
    log = tmp_path / "log"
    real = ringlet.compiler_path()
    body = f'echo x >> "{log}"; sleep 0.2; exec "{real}" "$@"\n'
    ringlet.configure(compiler=script(body))
    programs = []
    threads = [
        threading.Thread(target=lambda: programs.append(ringlet.compile(graph(dim=32))))
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(programs) == 4 and len(set(map(id, programs))) == 1
    assert log.read_text() == "x\n"


def test_threads_share_a_program(dense, inputs):
    want, _ = dense(*inputs)
    results = []
    threads = [
        threading.Thread(
            target=lambda: results.extend(dense(*inputs)[0] for _ in range(10))
        )
        for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(results) == 40
    for each in results:
        np.testing.assert_array_equal(each, want)


def test_context_threads_and_stats(inputs):
    messages = []
    context = ringlet.Context(
        threads=3, log=lambda *what: messages.append(what), log_level="debug"
    )
    program = ringlet.compile(
        graph(branches="<w = 16, r = 1>, <w = 32, r = 2>"), context=context
    )
    program(*inputs)
    stats = context.stats()
    assert stats.threads == 3 and stats.runs == 1
    assert stats.launches >= 2
    assert stats.peak_memory_bytes >= stats.workspace_bytes > 0
    context.check()
    context.trim()
    assert context.stats().workspace_bytes == 0
    assert any(level == "debug" and "attend" in text for level, text in messages)


def test_result_does_not_depend_on_threads(inputs):
    results = [
        ringlet.compile(graph(), context=ringlet.Context(threads=n))(*inputs)[0]
        for n in (1, 2, 5)
    ]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_program_outlives_its_context(inputs):
    program = ringlet.compile(graph(), context=ringlet.Context(threads=1), cache=False)
    gc.collect()
    out, _ = program(*inputs)
    assert np.isfinite(out).all()


def test_examples_compile():
    """Every example of the tree, from its file."""
    examples = sorted((ROOT / "test/Examples").glob("*.mlir"))
    # A whole model, of which only attention has a lowering here.
    examples.remove(ROOT / "test/Examples/two-layer.mlir")
    assert len(examples) >= 3
    for path in examples:
        assert ringlet.compile(path).entries, path


@pytest.mark.parametrize(
    "name", ["README.md", "python-bindings/README.md", "python-bindings/ringlet/__init__.py"]
)
def test_documented_code_runs(name, rng, tmp_path, monkeypatch):
    text = (ROOT / name).read_text()
    if name.endswith(".md"):
        # The blocks in a list want a GPU.
        blocks = re.findall(r"^( *)```python\n(.*?)```", text, re.S | re.M)
        on_gpus = [textwrap.dedent(block) for indent, block in blocks if indent]
        code = "".join(block for indent, block in blocks if not indent)
    else:
        (code,) = re.findall(r"\n\n(    import.*?)\n\nThis", text, re.S)
        code, on_gpus = textwrap.dedent(code), []
    for each in on_gpus:
        compile(each, name, "exec")
    (tmp_path / "test").symlink_to(ROOT / "test")
    monkeypatch.chdir(tmp_path)
    # The overview in front does without making arrays.
    q, k, v = rng.standard_normal((3, 1, 5000, 4, 32)).astype("f2")
    names = {"np": np, "q": q, "k": k, "v": v} if name == "README.md" else {}
    exec(code, names)
    assert np.isfinite(names["out"]).all() and np.isfinite(names["lse"]).all()
