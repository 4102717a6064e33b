# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of the docs show what was measured."""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools/ringlet-bench"))
import plots

SUMMARY = ROOT / "tools/ringlet-bench/summary.py"
RESULT = {
    "card": "a machine",
    "date": "2026-01-01",
    "versions": {"ringlet": "0.1.0"},
    "command": "ringlet-bench cpu",
    "cases": [
        {
            "name": "dense",
            "value": 2.0,
            "unit": "ms",
            "peer": "torch",
            "peer_value": 3.0,
            "speedup": 1.5,
            "at_least": 1.0,
            "aim": 1.3,
        }
    ],
}


def summary(*options):
    return subprocess.run(
        [sys.executable, SUMMARY, *options], capture_output=True, text=True
    )


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "docs.md").write_text(
        "before\n<!-- results: begin; made by tools/ringlet-bench/summary.py -->\n"
        "<!-- results: end -->\nafter\n"
    )

    def write(result):
        text = result if isinstance(result, str) else json.dumps(result)
        (tmp_path / "results/cpu.json").write_text(text)
        return (f"--docs={tmp_path}/docs.md", f"--results={tmp_path}/results")

    return write


def test_committed_tables_are_up_to_date():
    done = summary("--check")
    assert done.returncode == 0, done.stdout + done.stderr


def test_stale_table_is_found(tree, tmp_path):
    options = tree(RESULT)
    assert summary("--check", *options).returncode == 1
    assert summary(*options).returncode == 0
    text = (tmp_path / "docs.md").read_text()
    assert "| dense | 2.0 ms | torch | 3.0 ms | 1.50x | 1.00x |" in text
    assert text.startswith("before\n") and text.endswith("\nafter\n")
    assert summary("--check", *options).returncode == 0
    (tmp_path / "docs.md").write_text(text.replace("1.50x", "2.50x"))
    assert summary("--check", *options).returncode == 1


def test_figures_that_do_not_fit(tree):
    wrong = json.loads(json.dumps(RESULT))
    wrong["cases"][0]["speedup"] = 9.0
    done = summary(*tree(wrong))
    assert done.returncode == 1 and "expected a speedup of 1.500" in done.stderr
    del wrong["cases"][0]["aim"]
    assert "expected aim in 'dense'" in summary(*tree(wrong)).stderr
    assert "expected JSON" in summary(*tree("{")).stderr


def gpu_result():
    """Two programs of one target beside two peers, and one of another target."""
    rows = [
        ("dense full, sm_90a", "cuDNN", 1.5, 800_000, 4096.0),
        ("dense full, sm_90a", "Flex", 2.0, 800_000, 4096.0),
        ("branch & tail, sm_90a", "gather + cuDNN", 2.25, 700_000, 128.0),
        ("dense full, sm_80", "cuDNN", 0.5, 300_000, 4096.0),
    ]
    names = ("name", "peer", "speedup", "gflops", "flop_per_byte")
    cases = [dict(zip(names, row), utilisation=0.5) for row in rows]
    return {"card": "card", "cases": cases}


def drawing(text):
    return ElementTree.fromstring(text)  # Well-formed, or this raises.


def count(tree, tag):
    return len(tree.findall(f".//{{http://www.w3.org/2000/svg}}{tag}"))


def test_pictures_have_a_mark_for_each_result_of_the_first_target():
    bars = plots.pictures(gpu_result())
    assert list(bars) == ["speedups.svg"]  # No roof without peaks.
    tree = drawing(bars["speedups.svg"])
    assert count(tree, "rect") == 3 + 2  # Bars, and peers in the legend.
    for text in ("branch &amp; tail", "1.50x", "2.25x", "Flex"):
        assert text in bars["speedups.svg"]
    assert "0.50x" not in bars["speedups.svg"]


def test_the_roof_is_that_of_the_card():
    result = gpu_result() | {"peaks": {"flops": 1e15, "bandwidth": 4e12}}
    text = plots.pictures(result)["roofline.svg"]
    assert count(drawing(text), "circle") == 2 * 2  # Points, and their names.
    for found in ("1000 TFLOP/s", "4.0 TB/s", "dense full: 800, 50%"):
        assert found in text
    # The roof bends at 250 FLOP a byte: left of it the line rises.
    path = re.search(r'd="M([^"]*)"', text).group(1).split()
    heights = [float(number) for number in path[1::2]]
    assert heights[0] > heights[1] == heights[2]


def test_pictures_are_the_same_every_time():
    assert plots.pictures(gpu_result()) == plots.pictures(gpu_result())
