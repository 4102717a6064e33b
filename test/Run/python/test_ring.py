# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ringlet.Ring: parts of sequences on ranks, and what ends a call on all of them."""

import copy
import gc
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest

import ringlet
from conftest import attention

F32 = dict(rtol=1e-4, atol=2e-6)


def on_ranks(rings, body):
    """body(ring) of each rank in a thread of its own: results or exceptions."""
    results = [None] * len(rings)

    def run(number):
        try:
            results[number] = body(rings[number])
        except Exception as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(rings))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return results


def gathered(rings, q, k, v, layout="bshd", **clauses):
    """The output and lse of all ranks, in the order of the sequence."""
    axis = 1 if layout == "bshd" else 2
    rows = [ring.rows(q.shape[axis]) for ring in rings]
    keys = [ring.rows(k.shape[axis]) for ring in rings]

    def body(ring):
        mine = np.take(q, rows[ring.rank], axis)
        others = [np.take(each, keys[ring.rank], axis) for each in (k, v)]
        return ringlet.attention(mine, *others, ring=ring, layout=layout, **clauses)

    results = on_ranks(rings, body)
    for each in results:
        if isinstance(each, Exception):
            raise each
    order = np.argsort(np.concatenate(rows))
    out, lse = (np.concatenate(each, i) for each, i in zip(zip(*results), (axis, 2)))
    return np.take(out, order, axis), np.take(lse, order, 2)


@pytest.mark.parametrize("sharding", ["contiguous", "zigzag", "striped"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_parts_make_the_whole(rng, ranks, sharding):
    block = 7 if sharding == "striped" else 0
    q = rng.standard_normal((2, 61, 4, 16), dtype=np.float32)
    k, v = (rng.standard_normal((2, 83, 2, 16), dtype=np.float32) for _ in range(2))
    rings = ringlet.Ring.local(ranks, sharding=sharding, block=block)
    assert [each.rank for each in rings] == list(range(ranks))
    assert sorted(sum((each.rows(61) for each in rings), [])) == list(range(61))
    for clauses in (
        dict(causal=True),
        dict(branches=[(16, 1), (40, 3)], window=(30, 4)),
        dict(branches=[(24, 2)], sink=np.arange(4, dtype=np.float32)),
    ):
        found = gathered(rings, q, k, v, **clauses)
        for one, other in zip(found, attention(q, k, v, **clauses)):
            np.testing.assert_allclose(one, other, **F32)
    records = rings[-1].records()
    assert records and all(each.complete for each in records)
    assert {each.call for each in records} == {1, 2, 3}
    received = sum(each.received for each in records)
    assert (received > 0) == (ranks > 1)


def test_heads_before_rows(rng):
    q, k, v = (rng.standard_normal((1, 2, 40, 8), dtype=np.float32) for _ in range(3))
    found = gathered(ringlet.Ring.local(3), q, k, v, layout="bhsd", causal=True)
    wanted = ringlet.attention(q, k, v, layout="bhsd", causal=True)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one, other, **F32)


def test_packed_sequences(rng):
    q, k, v = (rng.standard_normal((50, 2, 8), dtype=np.float32) for _ in range(3))
    starts = [0, 13, 13, 50]
    rings = ringlet.Ring.local(2, sharding="zigzag")
    rows = [each.rows(50) for each in rings]
    results = on_ranks(
        rings,
        lambda ring: ringlet.attention(
            *(each[rows[ring.rank]] for each in (q, k, v)),
            starts=starts,
            causal=True,
            ring=ring,
        ),
    )
    wanted, wanted_lse = ringlet.attention(q, k, v, starts=starts, causal=True)
    for i, (out, lse) in enumerate(results):
        np.testing.assert_allclose(out, wanted[rows[i]], **F32)
        np.testing.assert_allclose(lse, wanted_lse[:, rows[i]], **F32)


@pytest.mark.parametrize("q_offset", [None, 3, [5, 0, -2]])
def test_padded_sequences(rng, q_offset):
    """Each has rows of its own, and what lies behind these is nothing."""
    q, k, v = (rng.standard_normal((3, 50, 2, 8), dtype=np.float32) for _ in range(3))
    lengths = ([50, 17, 0], [31, 50, 9])
    for tensor, counts in zip((q, k, v), (lengths[0], lengths[1], lengths[1])):
        for each, count in zip(tensor, counts):
            each[count:] = np.nan
    clauses = dict(
        branches=[(16, 1), (None, 2)], causal=True, lengths=lengths, q_offset=q_offset
    )
    rings = ringlet.Ring.local(3, sharding="striped", block=5)
    found = gathered(rings, q, k, v, **clauses)
    for one, other in zip(found, ringlet.attention(q, k, v, **clauses)):
        np.testing.assert_allclose(one, other, **F32)


def test_contiguous_parts_of_any_lengths(rng):
    q, k, v = (rng.standard_normal((1, 40, 2, 8), dtype=np.float32) for _ in range(3))
    ends = [0, 0, 31, 40]
    results = on_ranks(
        ringlet.Ring.local(3),
        lambda ring: ringlet.attention(
            *(each[:, ends[ring.rank] : ends[ring.rank + 1]] for each in (q, k, v)),
            causal=True,
            ring=ring,
        ),
    )
    out = np.concatenate([each[0] for each in results], 1)
    np.testing.assert_allclose(out, attention(q, k, v, causal=True)[0], **F32)


def test_all_ranks_refuse_a_call_that_one_makes_otherwise(rng):
    q = rng.standard_normal((1, 8, 2, 8), dtype=np.float32)
    rings = ringlet.Ring.local(3)
    results = on_ranks(
        rings,
        lambda ring: ringlet.attention(q, q, q, causal=ring.rank == 1, ring=ring),
    )
    for each in results:
        assert isinstance(each, ringlet.RuntimeError)
        assert "rank 1: expected artefact" in str(each)
        assert "(G3)" in str(each)
    # Nothing was sent: the ring is as it was.
    for each in on_ranks(rings, lambda r: ringlet.attention(q, q, q, ring=r)):
        assert isinstance(each, tuple)


def test_a_failure_ends_every_rank(rng):
    q = rng.standard_normal((1, 8, 2, 8), dtype=np.float32)
    rings = ringlet.Ring.local(3, wait=5)

    def body(ring):
        if ring.rank == 1:
            return ring.abort("enough")
        return ringlet.attention(q, q, q, ring=ring)

    results = on_ranks(rings, body)
    for each in results[0], results[2]:
        assert isinstance(each, ringlet.RuntimeError)
        assert each.status == ringlet.Status.PEER_ERROR
        assert "rank 1" in str(each) and "enough" in str(each)
    for each in rings:
        with pytest.raises(ringlet.RuntimeError, match="enough"):
            each.check()


def test_calls_wait_in_a_queue(rng):
    """They are made in order, and nobody waits for them but `wait`."""
    inputs = [
        [rng.standard_normal((1, 40, 2, 8), dtype=np.float32) for _ in range(3)]
        for _ in range(5)
    ]
    clauses = [dict(causal=bool(i % 2), q_offset=i) for i in range(5)]
    ends = [0, 13, 20, 40]
    begin = threading.Barrier(3)

    def body(ring):
        part = slice(ends[ring.rank], ends[ring.rank + 1])
        results = []
        for tensors, each in zip(inputs, clauses):
            mine = [tensor[:, part] for tensor in tensors]
            results.append(ringlet.attention(*mine, **each, ring=ring, wait=False))
            del mine
            if len(results) == 1:
                # Every rank has queued one: none waits for what others queue.
                begin.wait(30)
        # Behind those that are queued.
        last = ringlet.attention(*(t[:, part] for t in inputs[0]), ring=ring)
        ring.wait()
        return results + [last]

    results = on_ranks(ringlet.Ring.local(3), body)
    for each in results:
        assert isinstance(each, list), each
    for i, (tensors, each) in enumerate(zip(inputs + inputs[:1], clauses + [{}])):
        wanted = attention(*tensors, **each)[0]
        found = np.concatenate([rank[i][0] for rank in results], 1)
        np.testing.assert_allclose(found, wanted, **F32)


def test_failure_of_a_queued_call(rng):
    """`wait` says it, or the next call, once."""
    q = rng.standard_normal((1, 8, 2, 8), dtype=np.float32)
    for ask in (
        lambda ring: ring.wait(),
        lambda ring: ringlet.attention(q, q, q, ring=ring, wait=False),
    ):
        rings = ringlet.Ring.local(2, wait=30)
        ended = threading.Event()

        def body(ring, ask=ask, ended=ended):
            if ring.rank == 1:
                ended.wait(30)
                return ring.abort("enough")
            ringlet.attention(q, q, q, ring=ring, wait=False)
            ended.set()
            while True:  # Until the call has ended: it may be asked too early.
                try:
                    ring.check()
                except ringlet.RuntimeError:
                    break
                time.sleep(0.01)
            time.sleep(0.2)
            with pytest.raises(ringlet.RuntimeError, match="rank 1.*enough"):
                ask(ring)
            ring.wait()  # Has been said.
            with pytest.raises(ringlet.RuntimeError, match="enough"):
                ring.check()
            return True

        results = on_ranks(rings, body)
        assert results == [True, None], results


def test_a_queued_call_is_checked_at_once(rng):
    q = rng.standard_normal((1, 8, 2, 8), dtype=np.float32)
    (ring,) = ringlet.Ring.local(1)
    out = np.empty((1, 7, 2, 8), np.float32), np.empty((1, 2, 7), np.float32)
    with pytest.raises(ringlet.RuntimeError, match="expected"):
        ringlet.attention(q, q, q, ring=ring, wait=False, out=out)
    # Nobody keeps what a refused call was given.
    last = weakref.ref(out[0])
    del out
    gc.collect()
    assert last() is None
    ring.wait()
    with pytest.raises(ValueError, match="expected a ring beside wait=False"):
        ringlet.attention(q, q, q, wait=False)
    with pytest.raises(TypeError, match="expected wait as True or False, found 2"):
        ringlet.attention(q, q, q, ring=ring, wait=2)


def test_what_has_no_ring(rng):
    q = rng.standard_normal((1, 64, 2, 8), dtype=np.float32)
    (ring,) = ringlet.Ring.local(1)
    for clauses, rule in (
        (dict(key_begins=[9]), "S5"),
        (dict(mix="sum"), "R2"),
        (dict(grid_window=((8, 8), (1, 1))), "O2, B5, B6"),
    ):
        with pytest.raises(ringlet.CompileError, match=rf"ring.*\({rule}\)"):
            ringlet.attention(q, q, q, ring=ring, **clauses)
    with pytest.raises(TypeError, match=r"a ringlet.Ring, found int \(G1\)"):
        ringlet.attention(q, q, q, ring=3)
    for one in copy.copy(ring), copy.deepcopy(ring):
        assert one is ring
    with pytest.raises(TypeError, match="makes its own end"):
        pickle.dumps(ring)


def test_arguments_of_a_ring():
    for given, error, message in (
        (dict(sharding="zig"), ValueError, "'contiguous' or 'zigzag' or 'striped'"),
        (dict(block=3), ValueError, "expected block from 0 to 0, found 3"),
        (dict(sharding="striped"), ValueError, "expected block from 1"),
        (dict(wait=0), ValueError, "expected wait above 0"),
    ):
        with pytest.raises(error, match=message):
            ringlet.Ring.local(2, **given)
    with pytest.raises(ValueError, match="found no ranks"):
        ringlet.Ring(rank=0)
    with pytest.raises(ValueError, match="expected rank from 0 to 1, found 2"):
        ringlet.Ring(rank=2, ranks=2, port=1)
    with pytest.raises(TypeError, match="a process group of torch.distributed"):
        ringlet.Ring(3)
    rings = ringlet.Ring.local(2)
    with pytest.raises(ValueError, match="expected rank from 0 to 1, found 2"):
        rings[0].rows(9, 2)
    assert rings[1].rows(0) == []
    assert repr(rings[1]) == "<ringlet.Ring rank 1 of 2, contiguous, inprocess>"


_RANK = """
import numpy as np, ringlet, sys
rng = np.random.default_rng(1)
q, k, v = (rng.standard_normal((1, 61, 2, 8), dtype=np.float32) for _ in range(3))
ring = ringlet.Ring(sharding="zigzag", wait=30)
mine = ring.rows(61)
parts = [each[:, mine] for each in (q, k, v)]
out, lse = ringlet.attention(*parts, branches=[(32, 1), (None, 3)], causal=True, ring=ring)
want, want_lse = ringlet.attention(q, k, v, branches=[(32, 1), (None, 3)], causal=True)
np.testing.assert_allclose(out, want[:, mine], rtol=1e-4, atol=2e-6)
np.testing.assert_allclose(lse, want_lse[:, :, mine], rtol=1e-4, atol=2e-6)
print("rank", ring.rank, "of", ring.ranks, ring.transport)
"""


def run_ranks(ranks, text, **more):
    """Processes with torchrun's environment; what each has printed. Another process
    may take the port before rank 0 listens there."""
    for _ in range(3):
        said = _run_ranks(ranks, text, **more)
        if not any("refused" in each or "in use" in each for each in said):
            break
    return said


def _run_ranks(ranks, text, **more):
    with socket.create_server(("127.0.0.1", 0)) as ear:
        port = ear.getsockname()[1]
    given = dict(
        os.environ, WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port), RINGLET_RING_SECRET="a secret of this test", **more,
    )  # fmt: skip
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", text],
            env=dict(given, RANK=str(rank)),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(ranks)
    ]
    return [each.communicate(timeout=120)[0].strip() for each in processes]


def test_processes_of_a_job():
    said = run_ranks(3, _RANK)
    assert said == [f"rank {rank} of 3 socket" for rank in range(3)]


@pytest.mark.torch
def test_ranks_of_a_process_group():
    """Which has a port of its own, and tells the ring's secret."""
    pytest.importorskip("torch.distributed")
    import torch

    if not torch.distributed.is_available():
        pytest.skip("torch without torch.distributed")
    text = (
        "import os, torch\n"
        "del os.environ['RINGLET_RING_SECRET']\n"
        "torch.distributed.init_process_group('gloo')\n"
        + _RANK.replace("rng.standard_normal(", "torch.from_numpy(rng.standard_normal(")
        .replace("dtype=np.float32)", "dtype=np.float32))")
        + "torch.distributed.destroy_process_group()\n"
    )
    said = run_ranks(2, text)
    assert [each.splitlines()[-1] for each in said] == [
        f"rank {rank} of 2 socket" for rank in range(2)
    ]
