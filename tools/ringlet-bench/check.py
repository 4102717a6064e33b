# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random attention on an NVIDIA GPU, compared with f64 (docs, section 7).

As `gpu_suite`, in two halves: `prepare` compiles where the compiler is, `run` checks
where the GPU is. Both draw the same configurations from the same seed. Each
program runs at several lengths, with ordinary scores and with scores that are
hard for a streaming softmax.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import pathlib
import random
import re
import subprocess
import sys

import gpu_suite
import hostile

LAYOUTS = (
    "BSHD",
    "BSHD",
    "BHSD",
    "one of three",
    # Of K and V: stride 0 on the batch, on the sequence.
    "one batch of K and V",
    "one row of K and V",
    # Nothing that copies 16 bytes at a time can read these.
    "2 bytes behind",
    "rows of 8 bytes more",
)

PACKED = 6  # Sequences of a packed batch.


@dataclasses.dataclass(frozen=True)
class Config:
    """One program; `lengths` are the (queries, keys) that it runs at."""

    batch: int
    heads: int
    key_heads: int
    dim: int
    value_dim: int
    dtype: str
    causal: bool
    window: tuple | None
    w: int | None
    r: int
    lengths: tuple
    layout: str
    softcap: float | None = None
    has_sink: bool = False
    # A q_offset for each sequence.
    has_offsets: bool = False
    # Queries and keys of each sequence, of which some are no lengths (S2).
    has_lengths: bool = False
    # Sequences one behind the other, of which some are empty (S2).
    is_packed: bool = False
    # w and r are given with the call (B1).
    has_sizes: bool = False

    @property
    def name(self) -> str:
        parts = [
            f"B{self.batch} H{self.heads}/{self.key_heads} D{self.dim}",
            f"Dv{self.value_dim}" if self.value_dim != self.dim else "",
            self.dtype,
            "causal" if self.causal else "full",
            f"window {list(self.window)}" if self.window else "",
            f"w {self.w} r {self.r}" if self.w else "",
            self.layout,
            f"softcap {self.softcap}" if self.softcap else "",
            "sink" if self.has_sink else "",
            "offsets" if self.has_offsets else "",
            "lengths" if self.has_lengths else "",
            "packed" if self.is_packed else "",
            "sizes of the call" if self.has_sizes else "",
        ]
        return " ".join(part for part in parts if part)

    def products(self, q, k):
        """Those of queries and keys, and of weights and values, in the precision of
        the kernel; of f32 exact numbers may come."""
        return q.float() @ k.float().T

    def weighted(self, weights, values):
        return weights.double() @ values

    def rounding(self, most) -> float:
        """What scores of up to `most` may change results by, relative to the greatest,
        because sums of products have another order: nothing beside 16-bit weights."""
        return 0.0

    @property
    def sequences(self) -> int:
        return PACKED if self.is_packed else self.batch

    @property
    def sizes(self) -> dict:
        """What the call may give, in the order of the operands."""
        return {"r": self.r} if self.w is None else {"w": self.w, "r": self.r}

    @property
    def text(self) -> str:
        batch = "" if self.is_packed else f"{self.batch}x"

        def tensor(heads, dim):
            return f"tensor<{batch}?x{heads}x{dim}x{self.dtype}>"

        q, o = tensor(self.heads, self.dim), tensor(self.heads, self.value_dim)
        k = tensor(self.key_heads, self.dim)
        v = tensor(self.key_heads, self.value_dim)
        lse = f"tensor<{batch}{self.heads}x?xf32>"
        extra = " causal" if self.causal else ""
        if self.window:
            extra += f" window = [{self.window[0]}, {self.window[1]}]"
        if self.softcap:
            extra += f" softcap = {self.softcap}"
        operands = {"q": q, "k": k, "v": v}
        if self.has_offsets:
            operands["offsets"] = f"tensor<{self.sequences}xi64>"
            extra += " q_offset(%offsets)"
        if self.has_lengths:
            for name in ("q_lengths", "k_lengths"):
                operands[name] = f"tensor<{self.batch}xi64>"
            extra += " lengths(%q_lengths, %k_lengths)"
        if self.is_packed:
            for name in ("q_starts", "k_starts"):
                operands[name] = f"tensor<{PACKED + 1}xi64>"
            extra += " packed(%q_starts, %k_starts)"
        if self.has_sizes:
            sizes = self.sizes
            operands |= {name: "tensor<i64>" for name in sizes}
            extra += " sizes(" + ", ".join(f"%{name}" for name in sizes) + ")"
        if self.has_sink:
            operands["sink"] = f"tensor<{self.heads}xf32>"
            extra += " sink(%sink)"
        arguments = ", ".join(f"%{name}: {type}" for name, type in operands.items())
        types = ", ".join(operands.values())
        w, r = "*" if self.w is None else self.w, self.r
        if self.has_sizes:
            w, r = "?" if "w" in self.sizes else w, "?"
        return f"""
func.func @attend({arguments}) -> ({o}, {lse}) {{
  %o, %lse = ringlet.attention %q, %k, %v branches [<w = {w}, r = {r}>]{extra}
      : ({types}) -> ({o}, {lse})
  return %o, %lse : {o}, {lse}
}}
"""

    def arguments(self, tensors, further, out, lse) -> tuple:
        if not self.is_packed:
            return *tensors, *further.values(), out, lse
        return *(tensor[0] for tensor in tensors), *further.values(), out[0], lse[0]

    def counts(self, head, rows, offset, keys):
        """How often each key counts for a row, [rows, keys] (B3, B4), and how many
        keys of padding do (B7)."""
        import torch

        p = (rows + offset)[:, None]
        u = torch.arange(keys, device="cuda")[None]
        seen = torch.ones(p.shape[0], keys, dtype=torch.bool, device="cuda")
        residue = head // (self.heads // self.key_heads) % self.r
        if self.w:
            inside = p % self.w % self.r == residue
            seen &= inside & (u // self.w == p // self.w)
            seen &= u % self.w % self.r == residue
        if self.causal:
            seen &= u <= p
        if self.window:
            left, right = self.window
            if left >= 0:
                seen &= u >= p - left
            if right >= 0:
                seen &= u <= p + right
        return seen.double(), torch.zeros(p.shape[0], device="cuda")

    def lse_of(self, lse, head):
        """The lse of a head, of those that the program wrote."""
        return lse[head]

    def lse_shape(self, queries) -> tuple:
        return (self.batch, self.heads, queries)


def draw(seed: int, count: int) -> list[Config]:
    """Every head size is met before one comes again."""
    dice = random.Random(seed)
    # What programs may have besides.
    further = random.Random(seed + 1)
    of_sequences = random.Random(seed + 2)
    of_calls = random.Random(seed + 3)
    of_packs = random.Random(seed + 4)
    sizes = []
    configs = []
    while len(configs) < count:
        if not sizes:
            sizes = list(range(16, 257, 8))
            dice.shuffle(sizes)
        dim = sizes.pop()
        group = dice.choice((1, 1, 1, 2, 4))
        key_heads = dice.choice((1, 2, 3))
        w, r = dice.choice(
            ((None, 1),) * 5
            # Whole key tiles, in sequences that the rate does not divide, too.
            + ((256, 1), (512, 2), (1024, 4), (1024, 8), (384, 3))
            # Segments that end inside of a tile, also at another residue.
            + ((100, 7), (1000, 3), (250, 1))
        )
        causal = dice.random() < 0.5
        window = None
        if dice.random() < 0.25:
            window = (dice.choice((-1, 0, 70, 300)), dice.choice((-1, 0, 65)))
        lengths = []
        for _ in range(3):
            keys = dice.choice(
                (1, 5, 127, 128, 129, 256, 640, 1000, 1023, 1024, 2048, 2050, 3001)
            )
            lengths.append((keys if dice.random() < 0.7 else max(1, keys // 3), keys))
        batch = dice.choice((1, 2))
        has_lengths = of_sequences.random() < 0.2
        is_packed = of_packs.random() < 0.2 and not has_lengths
        configs.append(
            Config(
                batch=1 if is_packed else batch,
                heads=key_heads * group,
                key_heads=key_heads,
                dim=dim,
                value_dim=dice.choice(range(16, 257, 8)) if dice.random() < 0.2 else dim,
                dtype=dice.choice(("bf16", "bf16", "f16")),
                causal=causal,
                window=window,
                w=w,
                r=r,
                lengths=tuple(lengths),
                layout=dice.choice(LAYOUTS),
                softcap=further.choice((None, None, None, 2.0, 30.0)),
                has_sink=further.random() < 0.2,
                has_offsets=further.random() < 0.2,
                has_lengths=has_lengths,
                is_packed=is_packed,
                has_sizes=of_calls.random() < 0.2,
            )
        )
    return configs


def large() -> list[Config]:
    """Buffers of more than 2^31 elements, in segments to keep the work small."""
    length = 2**20 + 2048
    return [
        Config(1, 16, 16, 128, 128, "bf16", causal, None, 2048, r, ((length,) * 2,),
               "BSHD")
        for causal, r in ((False, 1), (True, 4))
    ]


def configs_of(options) -> list[tuple[int, Config]]:
    """Those that are asked for, each with its number; of a module that has such."""
    kinds = ("lists", "pages", "begins", "narrow", "precisions")
    kinds = [each for each in kinds if getattr(options, each)]
    of = importlib.import_module(kinds[0]).draw if kinds else draw
    drawn = of(options.seed, options.count)
    drawn += large() if options.large else []
    return [
        (number, config)
        for number, config in enumerate(drawn)
        if number >= options.first and re.search(options.only, config.name)
    ]


def artefact(folder, number: int, target: str) -> pathlib.Path:
    return pathlib.Path(folder) / f"check-{number}-{target}.rla"


def prepare(options) -> int:
    folder = pathlib.Path(options.prepare)
    folder.mkdir(parents=True, exist_ok=True)
    failures = 0
    configs = configs_of(options)
    for number, config in configs:
        for target in options.target.split(","):
            path = artefact(folder, number, target)
            command = gpu_suite.compile_command(options, target, path)
            done = subprocess.run(
                command, input=config.text, text=True, capture_output=True
            )
            if done.returncode:
                failures += 1
                print(f"{number} {config.name}, {target}: {done.stderr.strip()[:300]}")
    print(f"{len(configs)} configurations, {failures} refused or failed")
    return 1 if failures else 0


def _allocate(config, batch, length, heads, dim, dtype):
    """A tensor [batch, length, heads, dim] that lies as the layout says."""
    import torch

    def new(*shape):
        return torch.randn(shape, device="cuda").to(dtype)

    if config.layout == "BHSD":
        return new(batch, heads, length, dim).transpose(1, 2)
    if config.layout == "one of three":
        return new(batch, length, 3, heads, dim)[:, :, 1]
    if config.layout == "2 bytes behind":
        flat = new(batch * length * heads * dim + 1)[1:]
        return flat.view(batch, length, heads, dim)
    if config.layout == "rows of 8 bytes more":
        return new(batch, length, heads * dim + 4)[..., :-4].view(
            batch, length, heads, dim
        )
    return new(batch, length, heads, dim)


def _inputs(config, queries, keys, scores):
    import torch

    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32}
    dtype = dtype[config.dtype]
    batch = 1 if config.layout == "one batch of K and V" else config.batch
    rows = 1 if config.layout == "one row of K and V" else keys
    q = _allocate(config, config.batch, queries, config.heads, config.dim, dtype)
    k = _allocate(config, batch, rows, config.key_heads, config.dim, dtype)
    v = _allocate(config, batch, rows, config.key_heads, config.value_dim, dtype)
    hostile.change(config, q, k, scores)
    # Views of what is there, as often as it takes.
    k, v = (x.expand(config.batch, keys, -1, -1) for x in (k, v))
    return q, k, v


def _softmax(config, scores, counts, padding, sink):
    """Weights, their sum and lse of keys that count so often, beside `padding` keys
    of zeros; a row without keys has weights 0, and lse -inf or the sink (R3)."""
    import torch

    if config.softcap:
        scores = config.softcap * torch.tanh(scores / config.softcap)
    scores = scores.masked_fill(counts == 0, -math.inf)
    padding = padding[:, None].to(scores.dtype)
    top = torch.maximum(scores.amax(-1, keepdim=True), torch.where(padding > 0, 0.0, -math.inf))
    if sink is not None:
        sink = sink.to(scores.dtype)
        top = torch.maximum(top, sink)
    base = top.masked_fill(top == -math.inf, 0.0)
    weights = counts * torch.exp(scores - base)
    zeros = torch.where(padding > 0, padding * torch.exp(-base), 0.0)
    total = weights.sum(-1, keepdim=True) + zeros
    if sink is not None:
        total = total + torch.exp(sink - base)
    lse = (top + total.log()).squeeze(-1)
    return weights, total, lse


def _further_inputs(config, queries, keys):
    """Offsets, lengths, sizes and sink, in the order of the arguments."""
    import torch

    inputs = {}
    if config.has_offsets:
        distance = torch.randint(-70, 71, (config.sequences,), device="cuda")
        inputs["offsets"] = keys - queries + distance
    if config.has_lengths:
        for name, rows in ("q_lengths", queries), ("k_lengths", keys):
            inputs[name] = torch.randint(-3, rows + 4, (config.batch,), device="cuda")
    if config.is_packed:
        for name, rows in ("q_starts", queries), ("k_starts", keys):
            starts = torch.randint(0, rows + 4, (PACKED + 1,), device="cuda")
            starts[2] = starts[1]
            starts[0] = -3
            inputs[name] = starts.sort().values
    if config.has_sizes:
        # The host reads them.
        inputs |= {name: torch.tensor(size) for name, size in config.sizes.items()}
    if config.has_sink:
        inputs["sink"] = 4.0 * torch.randn(config.heads, device="cuda")
    return inputs


def _clamped(further, name, number, rows) -> int:
    """A length, or a start, of a list: all rows without the list (S2)."""
    if name not in further:
        return rows
    return min(max(further[name][number].item(), 0), rows)


def _poison(tensors, further):
    """Rows past the lengths, or of no sequence, become NaN, but where they lie in
    other rows, too."""
    for tensor, side in zip(tensors, "qkk"):
        if 0 in tensor.stride():
            continue
        rows = tensor.shape[1]
        for batch in range(tensor.shape[0]):
            end = min(
                _clamped(further, f"{side}_lengths", batch, rows),
                _clamped(further, f"{side}_starts", -1, rows),
            )
            tensor[batch, end:] = math.nan


def _sequences(config, tensors, further, out, lse):
    """Some of a batch; all packed ones that have rows, and the rows of none as one
    without valid rows. Of each a head to look at, the tensors [rows, heads, dim] and
    results, how many rows of queries and of keys are valid, and the q_offset."""
    q, k, v = tensors
    queries, keys = q.shape[1], k.shape[1]

    def offset(number, usual):
        return further["offsets"][number].item() if config.has_offsets else usual

    if not config.is_packed:
        for batch, head in {(0, 0), (config.batch - 1, config.heads - 1)}:
            q_length = _clamped(further, "q_lengths", batch, queries)
            k_length = _clamped(further, "k_lengths", batch, keys)
            views = [tensor[batch] for tensor in (q, k, v, out)]
            views.append(lse[..., batch, :, :])
            p = offset(batch, k_length - q_length)
            yield head, views, q_length, k_length, p
        return
    q_starts, k_starts = (
        [_clamped(further, name, number, rows) for number in range(PACKED + 1)]
        for name, rows in (("q_starts", queries), ("k_starts", keys))
    )
    for number in range(PACKED + 1):
        begin, end = (*q_starts, queries)[number : number + 2]
        # One row of keys at least, be it valid or not.
        k_begin, k_end = (*k_starts, k_starts[-1])[number : number + 2]
        first = min(k_begin, keys - 1)
        some = slice(first, max(k_end, first + 1))
        q_length, k_length = end - begin, k_end - k_begin
        if q_length == 0:
            continue
        rows = slice(begin, end)
        views = q[0, rows], k[0, some], v[0, some], out[0, rows], lse[0, :, rows]
        if number == PACKED:
            yield 0, views, 0, 0, 0
        else:
            p = offset(number, k_length - q_length)
            yield number % config.heads, views, q_length, k_length, p


def _worst(config, tensors, further, out, lse) -> list:
    """What breaks section 7, for some sequences, heads and rows."""
    sequences = _sequences(config, tensors, further, out, lse)
    return [what for sequence in sequences for what in _check(config, sequence, further)]


def _check(config, sequence, further) -> list:
    """What breaks section 7, for some rows."""
    import torch

    head, (q, k, v, out, lse), q_length, k_length, offset = sequence
    queries, keys = q.shape[0], k.shape[0]
    rows = torch.unique(
        torch.cat(
            [
                torch.arange(0, min(queries, 140)),
                torch.arange(max(0, queries - 140), queries),
                torch.randint(0, queries, (100,)),
            ]
        )
    ).cuda()
    wrong = []
    scale = 1 / math.sqrt(config.dim)
    bits = {"bf16": 7, "f16": 10, "f32": 23}[config.dtype]
    key_head = head // (config.heads // config.key_heads)
    past = rows >= q_length
    sink = further["sink"][head] if config.has_sink else None
    counts, padding = config.counts(head, rows, offset, keys)
    counts[past] = 0
    counts[:, k_length:] = 0
    q64, k64 = q[rows, head].double(), k[:, key_head].double()
    v64 = v[:, key_head].double()
    # Copies: what lies past a length is not of the sequence.
    q64[past], k64[k_length:], v64[k_length:] = 0.0, 0.0, 0.0
    exact = q64 @ k64.T * scale
    weights, total, expected_lse = _softmax(config, exact, counts, padding, sink)
    expected = torch.where(total > 0, weights @ v64 / total, 0.0)
    expected_lse[past] = -math.inf
    # The same in the precision of the kernel, with all scores at once (R4).
    near = config.products(q64, k64) * scale
    weights, total, near_lse = _softmax(config, near, counts, padding, sink)
    same = config.weighted(weights.to(q.dtype), v64)
    same = torch.where(total > 0, same / total, 0.0).to(q.dtype).double()

    found = out[rows, head].double()
    error, allowed = (found - expected).abs(), (same - expected).abs()
    largest = max(expected.abs().amax().item(), 2.0**-14)
    unit = 2.0 ** (math.floor(math.log2(largest)) - bits)
    if exact.numel():
        unit += largest * config.rounding(exact.abs().max().item())
    rms = lambda x: x.square().mean().sqrt()
    checks = [
        ("largest error", error.max(), 2 * allowed.max() + unit),
        ("rms error", rms(error), 2 * rms(allowed) + unit),
    ]
    empty = expected_lse == -math.inf
    found_lse = config.lse_of(lse, head)[rows].double()
    if not torch.equal(found_lse == -math.inf, empty):
        wrong.append(f"head {head}: lse -inf in other rows than those without keys")
    else:
        difference = (found_lse - expected_lse)[~empty].abs()
        near_difference = (near_lse.double() - expected_lse)[~empty].abs()
        most = exact.abs().max() if exact.numel() else torch.tensor(0.0)
        if difference.numel():
            # A score is a sum of `dim` products in an order of its own.
            rounding = 2.0**-24 * math.sqrt(config.dim) * most
            limit = 2 * near_difference.max() + 2e-6 + rounding
            checks.append(("error of lse", difference.max(), limit))
    for what, value, limit in checks:
        if not value <= limit:
            wrong.append(
                f"head {head}: {what} {value:.3e}, expected at most {limit:.3e}"
            )
    return wrong


def run(options) -> int:
    import torch

    context, library = gpu_suite.open_context(options)
    torch.manual_seed(options.seed)
    checked, failed, repeats = 0, [], 0
    for number, config in configs_of(options):
        for target in options.target.split(","):
            path = artefact(options.programs, number, target)
            if not path.exists():
                failed.append(f"{config.name}, {target}: not compiled")
                continue
            program = gpu_suite.Program(library, context, path)
            for index, (queries, keys) in enumerate(config.lengths):
                scores = hostile.SCORES[(number + index) % len(hostile.SCORES)]
                tensors = _inputs(config, queries, keys, scores)
                further = _further_inputs(config, queries, keys)
                _poison(tensors, further)
                shape = (config.batch, queries, config.heads, config.value_dim)
                out = torch.full(shape, math.nan, device="cuda", dtype=tensors[0].dtype)
                lse = torch.full(config.lse_shape(queries), math.nan, device="cuda")
                arguments = config.arguments(tensors, further, out, lse)
                name = f"{config.name}, {queries} x {keys}, {scores}, {target}"
                try:
                    program(*arguments)
                    torch.cuda.synchronize()
                except RuntimeError as error:
                    # Nothing can be done on the device after a fault.
                    print(f"{number}: {name}: {error}")
                    return 1
                checked += 1
                if options.sanitize:
                    continue
                wrong = _worst(config, tensors, further, out, lse)
                first = out.clone(), lse.clone()
                many = options.repeats if number % 20 == 0 and index == 0 else 1
                for _ in range(many):
                    program(*arguments)
                    repeats += 1
                    if not (
                        torch.equal(out.view(torch.int16), first[0].view(torch.int16))
                        and torch.equal(lse, first[1])
                    ):
                        wrong.append("a repeat differs")
                        break
                if wrong:
                    failed.append(f"{name}: {'; '.join(wrong)}")
                    print(failed[-1], flush=True)
    verb = "ran" if options.sanitize else "passed"
    print(f"{checked - len(failed)} {verb}, {len(failed)} failed; {repeats} repeats")
    result = {
        "card": torch.cuda.get_device_properties(0).name,
        "configurations": checked,
        "repeats": repeats,
        "failed": failed,
    }
    gpu_suite.write_result(options, result)
    return 1 if failed else 0
