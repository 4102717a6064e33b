# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ringlet-bench, as far as it goes without torch; the rest where there is one."""

import argparse
import dataclasses
import json
import pathlib
import shutil
import subprocess
import sys
import time

import numpy as np
import pytest

import ringlet
from conftest import ROOT, attention

BENCH = ROOT / "tools/ringlet-bench"


@pytest.fixture(autouse=True)
def modules(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCH))


def small(case):
    """The same with segments and length a 64th of it."""
    branches = tuple((w and w // 64, r) for w, r in case.branches)
    return dataclasses.replace(case, length=case.length // 64, branches=branches)


def test_flops_count_visible_pairs():
    import cases

    # At a length that ends in a segment which is cut, too.
    whole = [*map(small, cases.cpu_cases()), *map(small, cases.cuda_cases()[-1:])]
    cut = [dataclasses.replace(each, length=each.length - 3) for each in whole]
    for case in whole + cut:
        pairs = 0
        for w, r in case.branches:
            position = np.arange(case.length)
            for head in range(case.heads):
                segment, place = np.divmod(position, w or case.length)
                inside = place % r == head % r
                seen = (segment[:, None] == segment) & inside[:, None] & inside
                if case.causal:
                    seen &= position[:, None] >= position
                pairs += seen.sum()
        assert case.flops == 4 * case.dim * pairs, case


def test_texts_compute_the_case(rng):
    import cases

    chosen = {case.family: small(case) for case in cases.cpu_cases() if case.causal}
    assert set(chosen) == {"dense", "longnet"}
    for case in chosen.values():
        case = dataclasses.replace(case, dtype="f32")
        shape = (1, case.length, case.heads, case.dim)
        q, k, v = (rng.standard_normal(shape, dtype=np.float32) for _ in range(3))
        out, _ = ringlet.compile(case.text)(q, k, v)
        rows = slice(case.length - 16, None)
        want, _ = attention(q[:, rows], k, v, case.branches, case.causal)
        np.testing.assert_allclose(out[:, rows], want, rtol=1e-4, atol=2e-6)


def test_peers_and_reference():
    torch = pytest.importorskip("torch", minversion="2.0")
    import cases
    import reference
    import suite

    for case in map(small, cases.cpu_cases()):
        dtype = {"f32": torch.float32, "bf16": torch.bfloat16}[case.dtype]
        shape = (1, case.length, case.heads, case.dim)
        q, k, v = (torch.randn(shape).to(dtype) for _ in range(3))
        rows = [(p, h) for p in range(case.length) for h in range(case.heads)]
        for name, peer in case.peers.items():
            error = reference.worst_error(case, q, k, v, peer(case, q, k, v), rows)
            assert error <= suite.TOLERANCE[case.dtype], (case, name)


@pytest.mark.parametrize("pattern", ["none such", "("])
def test_wrong_pattern(pattern):
    done = subprocess.run(
        [sys.executable, BENCH / "ringlet-bench", "cpu", f"--only={pattern}"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2 and done.stderr.startswith("expected --only")


def bench(*arguments):
    return subprocess.run(
        [sys.executable, BENCH / "ringlet-bench", *arguments],
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["cuda"], "expected --prepare or --programs for cuda"),
        (["launch", "--prepare=a", "--programs=b"], "expected --prepare or --programs"),
        (["cuda", "--prepare=a", "--once"], "expected --once with cuda and --programs"),
        (["launch", "--programs=a", "--progressive"], "arguments: --progressive"),
        (["cpu", "--prepare=a"], "unrecognized arguments: --prepare=a"),
        (["memory", "--repeat=3"], "unrecognized arguments: --repeat=3"),
        ([], "arguments are required: MODE"),
        (["gpu"], "invalid choice: 'gpu'"),
        (["cuda", "--programs=a", "--once", "--utilisation"], "expected one of --once"),
        (["cuda", "--programs=a", "--burst=0"], "expected --burst of at least 1, found 0"),
        (["cuda", "--programs=a", "--limit=0"], "expected --limit above 0, found 0"),
        (["cuda", "--programs=a", "--only=none such"], "expected --only to match one"),
        (["cuda", "--programs=a", "--only=("], "to be regular expressions"),
        (["cuda", "--programs=a", "--peers=("], "to be regular expressions"),
    ],
)
def test_wrong_arguments_of_gpu_suites(arguments, message):
    done = bench(*arguments)
    assert done.returncode == 2 and message in done.stderr, done.stderr


# A mode lists its own options and no others; the tool lists the modes.
def test_help():
    found = {mode: bench(mode, "--help").stdout for mode in ("cpu", "cuda", "check")}
    assert "--mkl" in found["cpu"] and "--peers" not in found["cpu"]
    assert "--peers" in found["cuda"] and "--seed" not in found["cuda"]
    assert "--seed" in found["check"] and "--mkl" not in found["check"]
    everything = bench("--help").stdout
    assert "--seed" not in everything and "example:" in everything
    for mode in ("cpu", "cuda", "check", "launch", "orders", "memory"):
        assert f"    {mode} " in everything, mode


def test_prepare_compiles_for_gpus(tmp_path):
    only = "--only=dense S16384 H16 D128 f16"
    # The tests run in the build folder.
    for suite, count in (("cuda", 1), ("launch", 2)):
        folder = tmp_path / suite
        place = f"--prepare={folder}", f"--build={pathlib.Path.cwd()}"
        done = bench(suite, only, "--target=sm_80", *place)
        assert done.returncode == 0, done.stderr
        assert len(list(folder.glob("*.rla"))) == count


def test_check_draws_the_same_again():
    import check

    configs = check.draw(7, 62)
    assert configs == check.draw(7, 62) != check.draw(8, 62)
    # Every head size comes once before one comes again.
    sizes = set(range(16, 257, 8))
    for part in (configs[:31], configs[31:]):
        assert {each.dim for each in part} == sizes
    assert check.draw(7, 20) == configs[:20]
    assert {each.dtype for each in configs} == {"bf16", "f16"}
    # What a program may have besides is drawn, in each combination of two.
    further = "has_sink", "has_offsets", "has_lengths", "is_packed", "has_sizes"
    drawn = check.draw(7, 210)
    for first in further:
        for second in further:
            if {first, second} == {"has_lengths", "is_packed"}:
                continue
            assert any(getattr(x, first) and getattr(x, second) for x in drawn)


def test_check_compiles_what_it_draws():
    import check

    drawn = check.draw(7, 210)
    ringlet.compile(next(x for x in drawn if x.has_lengths and x.has_offsets).text)
    ringlet.compile(next(x for x in drawn if x.has_lengths and x.has_sink).text)
    ringlet.compile(next(x for x in drawn if x.has_lengths and x.has_sizes).text)
    ringlet.compile(next(x for x in drawn if x.is_packed and x.has_sizes).text)
    ringlet.compile(next(x for x in drawn if x.is_packed and x.has_offsets).text)
    ringlet.compile(next(x for x in drawn if x.is_packed and x.has_sink).text)
    ringlet.compile(next(x for x in drawn if x.has_sizes and x.has_sink and x.w).text)
    ringlet.compile(next(x for x in drawn if x.has_sizes and not x.w).text)


def test_sequences_have_their_names_and_work():
    import sequences

    every = sequences.all_cases()
    names = [case.name for case in every]
    assert len(set(names)) == len(names) == 16
    assert sequences.chosen("short.*D64.*causal") == [every[-1]]
    short = [case for case in every if case.batch == "short" and case.dim == 64]
    full, causal = (case.flops for case in short)
    rows = sum(short[0].lengths)
    # Of each square, the half below the diagonal and the diagonal.
    assert 2 * causal == full + 4 * rows * sequences.HEADS * 64
    paths = {
        sequences.artefact("programs", case, "sm_90a", name)
        for case in every
        for name in sequences.programs(case.dim, case.causal)
    }
    assert len(paths) == 4 * 4


def test_sequences_compile(rng):
    """Packed and padded texts compute the same rows."""
    import sequences

    starts = np.array([0, 5, 5, 12])
    shape = (12, sequences.HEADS, 64)
    whole = [rng.standard_normal(shape).astype(np.float32) for _ in range(3)]
    texts = sequences.programs(64, True)
    run = lambda name, *operands: ringlet.compile(
        texts[name][0].replace("bf16", "f32")
    ).run(*operands)[0]
    packed = run("", *whole, starts)
    rows = np.zeros((3, 7, *shape[1:]), np.float32)
    padded = [rows.copy() for _ in range(3)]
    for i, (first, end) in enumerate(zip(starts, starts[1:])):
        for to, source in zip(padded, whole):
            to[i, : end - first] = source[first:end]
    lengths = np.diff(starts)
    out = run(sequences.PADDED, *padded, lengths)
    dense = run(sequences.DENSE, *padded)
    for i, (first, end) in enumerate(zip(starts, starts[1:])):
        np.testing.assert_allclose(out[i, : end - first], packed[first:end], atol=1e-5)
    # Causal rows see nothing behind them: padding changes no row before it.
    np.testing.assert_allclose(dense[2], packed[5:], atol=1e-5)


def test_bytes_of_a_case():
    import cases

    case = cases.Case("dense", 100, 3, 64, "bf16", False, ((None, 1),), 1.0, batch=2)
    assert case.bytes == 4 * (2 * 100 * 3 * 64) * 2 + 2 * 3 * 100 * 4
    assert case.bytes_with_marks == case.bytes + 2 * 3 * 100 * 4
    wide = dataclasses.replace(case, dtype="f32")
    assert wide.bytes - case.bytes == 4 * (2 * 100 * 3 * 64) * 2


def test_progressive_stops_before_it_allocates():
    import cases
    import gpu_modes

    case = cases.Case("dense", 1024, 4, 64, "bf16", False, ((None, 1),), 1.0)
    needed = case.bytes_with_marks
    fits = -(-needed * 10 // 9) + 1
    assert gpu_modes.verdict(case, fits, 0.0, 0, 1.0) == ""
    refused = gpu_modes.verdict(case, fits - 3, 0.0, 0, 1.0)
    assert refused.endswith(f"found {needed}") and "90%" in refused
    # Twice the length is four times the work: 0.2 s become 0.8 s.
    longer = dataclasses.replace(case, length=2048)
    assert gpu_modes.verdict(longer, 10**12, 200.0, case.flops, 0.9) == ""
    refused = gpu_modes.verdict(longer, 10**12, 200.0, case.flops, 0.7)
    assert refused == "expected at most 0.7 s, found about 1 s"


def test_progressive_runs_each_program_once():
    import cases
    import gpu_modes

    every = cases.cuda_cases()
    families = gpu_modes.families(every)
    assert {each.text for each in families} == {each.text for each in every}
    assert len({each.text for each in families}) == len(families)
    assert families[0] == every[0]


def test_median_of_calls_settles_between_batches():
    import gpu_modes

    events = []
    value = gpu_modes.median_of_calls(
        lambda: events.append("call"), lambda: events.append("settle"), 20, 10
    )
    batch = ["settle"] + ["call"] * 11
    assert events == batch * 2 + ["settle"] and 0 < value < 1e4


class Properties:
    """What torch says of an H200."""

    major, minor, multi_processor_count = 9, 0, 132
    clock_rate, memory_clock_rate, memory_bus_width = 1980000, 3201000, 6144


def test_utilisation_and_roofline():
    import cases
    import gpu_metrics

    card = gpu_metrics.Card.of(Properties)
    assert card.peak == pytest.approx(1070.5e12, rel=1e-3)
    assert card.bandwidth == pytest.approx(4.917e12, rel=1e-3)
    # Half of the FLOP that 1000 clocks could do.
    assert gpu_metrics.utilisation(card, 132 * 4096 * 500, 1000.0) == 0.5
    long = cases.Case("dense", 16384, 1, 64, "bf16", False, ((None, 1),), 1.0)
    bounds = [
        gpu_metrics.roofline(card, dataclasses.replace(long, length=length))
        for length in (16384, 64)
    ]
    assert [each["bound"] for each in bounds] == ["tensor", "memory"]
    assert bounds[0]["flop_per_byte"] == round(long.flops / long.bytes, 1)

    class Unknown:
        major, minor, multi_processor_count = 12, 0, 170

    card = gpu_metrics.Card.of(Unknown)
    assert card.peak is None and card.bandwidth is None
    assert gpu_metrics.utilisation(card, 10**12, 1000.0) is None
    assert "bound" not in gpu_metrics.roofline(card, long)


def test_profile_is_read_by_program():
    import gpu_metrics

    time = "gpu__time_duration.sum"
    names = ("ID", "Kernel Name", time, gpu_metrics.CYCLES)
    rows = [
        names,
        ("", "", "ns", "cycle"),
        ("0", "spin_kernel(long)", "900", "1,200"),
        ("1", "attend", "2000", "3,000"),
        ("2", "attend_redo", "500", "1,000"),
        ("3", "spin_kernel(long)", "900", "1,200"),
        ("4", "attend", "7", "10"),
    ]
    table = "\n".join(",".join(f'"{cell}"' for cell in row) for row in rows)
    metrics = [gpu_metrics.CYCLES, time]
    found = gpu_metrics.read_profile("==PROF== Connected\n" + table + "\n", metrics)
    assert found == [
        {gpu_metrics.CYCLES: 4000.0, time: 2500.0},
        {gpu_metrics.CYCLES: 10.0, time: 7.0},
    ]
    assert gpu_metrics.read_profile("==ERROR== no permission\n", metrics) == []


def test_what_takes_too_long_is_stopped_with_its_children(tmp_path):
    import gpu_metrics

    log, mark = tmp_path / "log", tmp_path / "mark"
    assert gpu_metrics.run_within(["sh", "-c", "echo said; exit 3"], 60, log) == 3
    assert log.read_text() == "said\n"
    slow = ["sh", "-c", f"(sleep 2; touch {mark}) & wait"]
    assert gpu_metrics.run_within(slow, 0.3, log) is None
    time.sleep(2.2)
    assert not mark.exists()


def test_peers_that_are_missing_are_left_out(monkeypatch, capsys):
    import cases
    import gpu_peers

    def missing():
        raise ImportError("no such module\nand more")

    made = {"one": lambda: abs, "two": missing, "three": lambda: max}
    monkeypatch.setattr(gpu_peers, "makers", lambda case, programs: made)
    case = cases.cuda_cases()[0]
    assert gpu_peers.peers(case, "none") == {"one": abs, "three": max}
    said = f"two is left out of {case.name}: ImportError: no such module\n"
    assert capsys.readouterr().out == said
    assert gpu_peers.peers(case, "none", "^o") == {"one": abs}
    assert capsys.readouterr().out == ""
    assert gpu_peers.refusal(ValueError()) == "ValueError: no reason given"


def test_peers_of_a_case():
    import cases
    import gpu_peers

    dense = [each for each in cases.cuda_cases() if each.name.startswith("dense")]
    (branch,) = (each for each in cases.cuda_cases() if each.name.startswith("branch"))
    for dtype, beside in (("bf16", []), ("f32", ["mem-efficient in torch"])):
        case = next(each for each in dense if each.dtype == dtype)
        peers = ["cuDNN", "FA2 in torch", *beside, "FlexAttention"]
        assert list(gpu_peers.makers(case, "none"))[: len(peers)] == peers
    assert list(gpu_peers.makers(branch, "none")) == [
        "gather + cuDNN",
        "gather + FA2 in torch",
    ]


def options(**given):
    build = pathlib.Path.cwd()  # The tests run in the build folder.
    values = {"build": build, "target": "cpu", "only": "", "programs": None}
    values |= {"repeat": 2, "threads": 1, "out": None} | given
    return argparse.Namespace(**values)


def test_orders_compute_the_same_and_are_judged(monkeypatch, tmp_path):
    import orders
    import ringlet

    # This process may have loaded the runtime already.
    monkeypatch.setattr(ringlet, "configure", lambda **paths: None)
    monkeypatch.setattr(
        orders,
        "all_cases",
        lambda on_gpu: [
            orders.Case(5000, 4, 1024, heads=1, dim=16),
            orders.GridCase.of((12, 10), 2, heads=1, dim=16),
        ],
    )
    assert orders.run(options(out=tmp_path / "out.json"), "card") == 0
    found = json.loads((tmp_path / "out.json").read_text())["orders"]
    names = [each["order"] for each in found]
    assert names == [
        *("linear", "residue", "hilbert", "morton", "snake"),
        *("linear", "hilbert", "morton", "snake"),
    ]
    assert all(each["error"] <= orders.TOLERANCE["f32"] for each in found)
    # K and V are brought into an order; a grid is walked along it.
    assert ["reorder" in each for each in found] == [False, *[True] * 4, *[False] * 4]
    with pytest.raises(SystemExit, match="expected --only to match"):
        orders.run(options(only="nothing"), "card")

    assert orders.verdict(1.1, 0.1, 1.2) == "yes"
    assert orders.verdict(1.1, 0.05, 1.2) == "in part"
    assert orders.verdict(1.02, 0.05, 1.2) == "no"
    assert orders.verdict(1.02, 0.05, None) == ""


def test_expected_lines_are_read_from_the_compiler():
    import memory
    import orders

    case = orders.Case(4096, 2, heads=1, dim=8, tiling=(64, 64))
    found = memory.explained(options(), case, "cpu:x86-64-v3")
    assert set(found) == {text or "linear" for text in case.orders.values()}
    # Rows of half a line: every second one, or side by side.
    assert found["linear"]["lines"] == 2 * found["residue<2>"]["lines"]
    assert found["linear"]["distinct_lines"] == 2 * 4096 * 32 // 64


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs cachegrind")
def test_expected_lines_are_those_that_cachegrind_counts():
    import memory
    import orders

    class Case(orders.Case):
        @property
        def orders(self):
            every = super().orders
            return {each: every[each] for each in ("linear", "hilbert")}

    case = Case(1024, 1, heads=1, tiling=(128, 32))
    found = memory.on_cpu(options(target="cpu:x86-64-v3"), case)
    assert [each["order"] for each in found] == ["linear", "hilbert"]
    assert all(abs(each["difference"]) < 0.05 for each in found), found
    # The table of the second one is read, too.
    assert found[1]["counted"] > found[0]["counted"]


def test_misses_of_code_without_a_name_are_those_of_kernels(tmp_path):
    import memory

    path = tmp_path / "counts"
    path.write_text(
        "desc: cache\nevents: Ir DLmr\nfl=a.c\nfn=main\n1 10 3\n"
        "fl=???\nfn=???\n0 20 5\n7 1 2\nfn=exit\n0 9 9\nsummary: 40 19\n"
    )
    assert memory.misses_of_kernels(path) == {"Ir": 21, "DLmr": 7}


def test_ring_cuts_rows_and_names_programs():
    import ring_peers
    import rings

    every = rings.gpu_cases() + rings.cpu_cases()
    assert len({each.name for each in every}) == len(every) == 8
    for case in every:
        for ranks in (1, 2, 4):
            rows = [
                row
                for rank in range(ranks)
                for part in case.rows(rank, ranks)
                for row in range(part.start, part.stop)
            ]
            assert sorted(rows) == list(range(case.of.length))
            # What ringlet.Ring says.
            peer = ring_peers.Peer(None, is_zigzag=case.sharding == "zigzag")
            assert peer.rows(case.of.length, 0, ranks) == case.rows(0, ranks)
    dense = [each for each in every if each.of.family == "dense"][:2]
    paths = [
        {each.artefact("programs", "sm_90a", what) for each in dense}
        for what in (rings.ONE, rings.RING)
    ]
    # One artefact for any length, another one for one device.
    assert [len(each) for each in paths] == [1, 1] and paths[0] != paths[1]
    with pytest.raises(ValueError, match="expected a number of ranks that cuts"):
        dense[0].rows(0, 3)


def test_ring_times_the_last_rank():
    import rings

    def answer(rank, ring, one):
        # Two rounds, the first of which warms up, of bursts of 3.
        times = {"ring": [[9.0] * 3, ring], "one": [[9.0] * 3, one] if one else []}
        return {
            "rank": rank,
            "times": times,
            "errors": {"ring": 0.001},
            "estimated": 5,
            "peak": 4,
            "steps": [
                {"queue": -1, "seconds": 2e-5},
                {"queue": 0, "seconds": 0.003},
            ],
        }  # fmt: skip

    case = rings.gpu_cases()[0]
    answers = [
        answer(0, [0.5, 0.010, 0.030], [0.040, 0.040, 0.040]),
        answer(1, [0.1, 0.020, 0.010], [0.060, 0.060, 0.060]),
    ]
    found = rings.result_of(case, "nccl", answers, {"a peer": ([75.0], 0.002)})
    # Of the burst's last two, the later rank's: 20 and 30 ms.
    assert found["value"] == 25.0 and found["one"] == 50.0
    assert found["of_linear"] == 1.0 and found["peers"]["a peer"]["speedup"] == 3.0
    assert found["host_us_a_step"] == 20.0 and found["exchange_ms"] == 3.0
    # One rank alone has all threads of a CPU.
    answers[1]["times"]["one"] = []
    found = rings.result_of(case, "socket", answers, {})
    assert found["one"] == 40.0 and found["of_linear"] == 1.6


def test_ring_on_ranks_of_a_cpu(tmp_path, monkeypatch):
    """All of it but torch: compiled, run over both transports, written, shown."""
    programs = tmp_path / "programs"
    only = "--only=dense"
    build = f"--build={pathlib.Path.cwd()}"
    done = bench("ring", "--target=cpu", only, f"--prepare={programs}", build)
    assert done.returncode == 0, done.stderr
    assert len(list(programs.glob("*.rla"))) == 2
    result = tmp_path / "result.json"
    done = bench(
        "ring", "--target=cpu", only, f"--programs={programs}", build, "--repeat=1",
        "--length=1024", f"--out={result}", "--card=a machine",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(result.read_text())
    assert found["kind"] == "ring" and found["card"] == "a machine"
    assert [each["transport"] for each in found["ring"]] == ["socket", "inprocess"]
    for each in found["ring"]:
        assert each["error"] < 1e-5 and each["value"] > 0 and each["one"] > 0
        # What the estimate leaves out is what lies between blocks.
        assert 0.98 < each["peak_bytes"] / each["estimated_bytes"] < 1.02
    # The pages take it.
    page = tmp_path / "docs.md"
    page.write_text(
        "<!-- results: begin; made by tools/ringlet-bench/summary.py -->\n"
        "<!-- results: end -->\n"
    )
    command = [sys.executable, BENCH / "summary.py"]
    command += [f"--results={tmp_path}", f"--docs={page}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "| dense S1024 H4 D64 f32 causal | 2 | socket |" in page.read_text()


def test_ring_says_which_rank_fails(tmp_path):
    done = bench(
        "ring", "--target=cpu", "--only=dense", f"--programs={tmp_path}",
        f"--build={pathlib.Path.cwd()}", "--length=1024",
    )  # fmt: skip
    assert done.returncode == 1 and "No such file" in done.stderr, done.stderr
    assert "rank " in done.stderr
    for arguments, message in (
        (["--programs=a", "--transport=nccl"], "expected --transport from socket, inprocess"),
        (["--programs=a", "--ranks=0"], "expected --ranks and --threads-of-rank"),
        ([], "expected --prepare or --programs for ring"),
        (["--programs=a", "--only=none such"], "expected --only to match one"),
        (["--programs=a", "--length=0"], "expected --length of at least 1"),
    ):
        done = bench("ring", "--target=cpu", *arguments)
        assert done.returncode == 2 and message in done.stderr, done.stderr
