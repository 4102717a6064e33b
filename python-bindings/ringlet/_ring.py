# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rings of ranks that each hold a part of a sequence."""

from __future__ import annotations

import ctypes
import dataclasses
import os
import secrets
import socket
import sys
from typing import Any, Optional

from ringlet import _capi
from ringlet._handles import Handle, Shared
from ringlet._values import integer, number, one_of, text

SHARDINGS = ("contiguous", "zigzag", "striped")
TRANSPORTS = ("p2p", "nccl")
_MOST_RANKS = 4096


@dataclasses.dataclass(frozen=True)
class RingRecord:
    """One exchange of a rank, or the computation of a step.

    call, step       numbers, of the call on this ring from 1 on
    begin, seconds   when, in seconds since the ring was made, and for how long
    sent, received   bytes
    queue            0 within a host, 1 between hosts, -1 for a computation
    complete         False if it failed
    """

    call: int
    step: int
    begin: float
    seconds: float
    sent: int
    received: int
    queue: int
    complete: bool


class Ring(Shared):
    """This process's end of a ring of processes, each with a part of a sequence.

        ring = ringlet.Ring(sharding="zigzag")   # in a job of torchrun
        mine = ring.rows(length)                 # which rows this rank holds
        out, lse = ringlet.attention(
            q[:, mine], k[:, mine], v[:, mine], causal=True, ring=ring)

    group     a process group of torch.distributed, by whose means the ranks find
              each other; None is the default one, if there is one
    sharding  how sequences are cut: "contiguous", rank i has the i-th stretch, of
              any length; "zigzag", rank i of W has chunks i and 2W - 1 - i of 2W,
              for causal attention; "striped", blocks are dealt in turn (G1)
    block     rows of a block of striped parts
    rank, ranks, address, port, secret
              without a group: which rank this is of how many, where rank 0 listens,
              and what the ranks have to know. None of them, in a job of torchrun:
              what the environment says, with the secret RINGLET_RING_SECRET
    listen    where this rank listens for others; None is the address by which it
              reaches rank 0
    transport how messages between GPUs go: "p2p", copies from one to another of the
              same host, or "nccl"; None is p2p if that is possible, else nccl
    wait      seconds that a rank waits for another one at most
    silence   seconds without a sign of life until a rank counts as failed

    Making one waits for all ranks. All ranks make the same calls in the same order,
    one at a time. What a rank raises of another one's failure names it: an
    ringlet.RuntimeError with Status.PEER_ERROR, after which the ring is of no more
    use. With tensors on GPUs, each rank has one of its own, and a call comes after
    all that is queued on its stream.
    """

    _instead_of_pickle = "each process makes its own end"

    def __init__(
        self,
        group: Any = None,
        *,
        sharding: str = "contiguous",
        block: int = 0,
        rank: Optional[int] = None,
        ranks: Optional[int] = None,
        address: Optional[str] = None,
        port: Optional[int] = None,
        secret: Optional[str] = None,
        listen: Optional[str] = None,
        transport: Optional[str] = None,
        wait: float = 60,
        silence: float = 10,
    ):
        options = _capi.RingOptions()
        if transport is not None:
            options.transport = one_of("transport", transport, TRANSPORTS).encode()
        options.wait_seconds = _seconds("wait", wait)
        options.silence_seconds = _seconds("silence", silence)
        options.listen = None if listen is None else text("listen", listen)
        given = {
            "rank": rank, "ranks": ranks, "address": address, "port": port
        }  # fmt: skip
        named = [name for name, value in given.items() if value is not None]
        if group is None and not named:
            group = _default_group()
        if group is not None:
            if named or secret is not None:
                raise ValueError(
                    f"expected a group or {', '.join([*given, 'secret'])}, found both"
                )
            given, secret = _meet(group)
        elif named:
            for name in ("rank", "ranks", "port"):
                if given[name] is None:
                    raise ValueError(
                        f"expected rank, ranks and port together, found no {name}"
                    )
        if named or group is not None:
            options.ranks = integer("ranks", given["ranks"], 1, _MOST_RANKS)
            options.rank = integer("rank", given["rank"], 0, options.ranks - 1)
            options.port = integer("port", given["port"], 1, 65535)
            if given["address"] is not None:
                options.address = text("address", given["address"])
        if secret is not None:
            options.secret = text("secret", secret)

        def create() -> ctypes.c_void_p:
            handle = ctypes.c_void_p()
            _capi.check(
                _capi.library().rl_ring_create(
                    ctypes.byref(options), ctypes.byref(handle)
                )
            )
            return handle

        self._open(create, sharding, block)

    @classmethod
    def local(
        cls,
        ranks: int,
        *,
        sharding: str = "contiguous",
        block: int = 0,
        wait: float = 60,
    ) -> list:
        """All ends of a ring of threads of this process, one for each thread."""
        ranks = integer("ranks", ranks, 1, _MOST_RANKS)
        options = _capi.RingOptions()
        options.wait_seconds = _seconds("wait", wait)
        handles = (ctypes.c_void_p * ranks)()
        _capi.check(
            _capi.library().rl_ring_create_local(ctypes.byref(options), ranks, handles)
        )
        left = [ctypes.c_void_p(each) for each in handles]

        def take() -> ctypes.c_void_p:
            if not left:
                raise ValueError(
                    "expected a ring of threads in the process that made it, found a "
                    "process that was forked"
                )
            return left.pop(0)

        ends = [cls.__new__(cls) for _ in range(ranks)]
        for each in ends:
            each._open(take, sharding, block)
        return ends

    def _open(self, create: Any, sharding: str, block: int) -> None:
        self.sharding = one_of("sharding", sharding, SHARDINGS, rule="G1")
        is_striped = sharding == "striped"
        least, most = (1, 2**31) if is_striped else (0, 0)
        self.block = integer("block", block, least, most, rule="G1")
        self._handle = Handle(create, _capi.library().rl_ring_destroy)
        self._held: list = []  # By calls that are queued.

    @property
    def rank(self) -> int:
        """The number of this end, from 0 on."""
        return _capi.library().rl_ring_rank(self._handle)

    @property
    def ranks(self) -> int:
        """How many there are."""
        return _capi.library().rl_ring_ranks(self._handle)

    @property
    def transport(self) -> str:
        """What messages of the last call went over: "socket" or "inprocess", on GPUs
        "p2p" or "nccl"."""
        return _capi.library().rl_ring_transport(self._handle).decode()

    def rows(self, length: int, rank: Optional[int] = None) -> list:
        """The rows of a sequence that a rank holds, None being this one, in the
        order in which its parts have them. Contiguous parts may have other lengths
        than these, which differ by one at most."""
        length = integer("length", length, 0, 2**31)
        rank = self.rank if rank is None else integer("rank", rank, 0, self.ranks - 1)
        count = ctypes.c_int64()

        def ask(rows: Any) -> None:
            _capi.check(
                _capi.library().rl_ring_rows(
                    self.sharding.encode(), self.block, length, rank, self.ranks,
                    rows, ctypes.byref(count),
                )  # fmt: skip
            )

        ask(None)
        rows = (ctypes.c_int64 * max(1, count.value))()
        if count.value:
            ask(rows)
        return rows[: count.value]

    def records(self) -> list:
        """The last exchanges and computations of this rank, `RingRecord`s."""
        count = ctypes.c_uint32(128)
        raw = (_capi.RingRecord * count.value)()
        for each in raw:
            each.struct_size = ctypes.sizeof(each)
        _capi.check(
            _capi.library().rl_ring_records(self._handle, raw, ctypes.byref(count))
        )
        names = [each.name for each in dataclasses.fields(RingRecord)]
        return [
            RingRecord(*(getattr(each, name) for name in names[:-1]), bool(each.complete))
            for each in raw[: count.value]
        ]

    def hold(self, *tensors: Any) -> None:
        """Keeps what a call that is queued reads and writes, until `wait`."""
        self._held.append(tensors)

    def wait(self) -> None:
        """Waits for calls that are queued (`wait=False`). Raises what the first one
        that failed would have raised."""
        held, self._held = self._held, []
        status = _capi.library().rl_ring_wait(self._handle)
        del held
        _capi.check(status)

    def check(self) -> None:
        """Raises ringlet.RuntimeError if the ring has failed, and says why."""
        _capi.check(_capi.library().rl_ring_status(self._handle))

    def abort(self, reason: str = "aborted") -> None:
        """Ends the ring on all ranks. Any thread may call it, also while another one
        is in a call."""
        _capi.check(
            _capi.library().rl_ring_abort(self._handle, text("reason", reason))
        )

    def __repr__(self) -> str:
        block = f", block {self.block}" if self.block else ""
        return (
            f"<ringlet.Ring rank {self.rank} of {self.ranks}, {self.sharding}{block}, "
            f"{self.transport}>"
        )


def _seconds(name: str, value: Any) -> float:
    found = number(name, value)
    if not 0 < found <= 1e6:
        raise ValueError(f"expected {name} above 0 and up to 1e6 seconds, found {found}")
    return found


def _default_group() -> Any:
    """That of torch.distributed, if somebody uses it."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available():
        return None
    return distributed.group.WORLD if distributed.is_initialized() else None


def _meet(group: Any) -> tuple:
    """What the ranks of a process group have to know of each other: rank 0 tells."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not isinstance(group, distributed.ProcessGroup):
        raise TypeError(
            "expected a process group of torch.distributed, found "
            f"{type(group).__name__}"
        )
    rank, ranks = distributed.get_rank(group), distributed.get_world_size(group)
    told: list = [None]
    if rank == 0:
        told = [(_own_address(), _free_port(), secrets.token_hex(32))]
    first = distributed.get_global_rank(group, 0)
    distributed.broadcast_object_list(told, src=first, group=group)
    address, port, secret = told[0]
    given = {"rank": rank, "ranks": ranks, "address": address, "port": port}
    return given, secret


def _own_address() -> str:
    """By which others reach this host: that of torchrun's rendezvous, if it is here."""
    address = os.environ.get("MASTER_ADDR", "127.0.0.1")
    try:
        with socket.create_server((address, 0)):
            return address
    except OSError:
        return socket.gethostbyname(socket.gethostname())


def _free_port() -> int:
    with socket.create_server(("", 0)) as ear:
        return ear.getsockname()[1]
