# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The tables of the docs show what was measured."""

import json
import subprocess
import sys

import pytest

from conftest import ROOT

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
            "goal": 1.0,
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
    del wrong["cases"][0]["goal"]
    assert "expected goal in 'dense'" in summary(*tree(wrong)).stderr
    assert "expected JSON" in summary(*tree("{")).stderr
