#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renders test/Bench/results/*.json as the tables of docs/Performance.md.

Writes them; with --check, fails if they are not up to date.
"""

import argparse
import difflib
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN = "<!-- results: begin; made by tools/ringlet-bench/summary.py -->"
END = "<!-- results: end -->"
KEYS = {"name", "value", "unit", "peer", "peer_value", "speedup", "goal"}


def check_result(path, result):
    """Refuses a file whose figures do not fit each other."""
    missing = {"card", "date", "versions", "command", "cases"} - result.keys()
    if missing:
        raise SystemExit(f"{path}: expected {', '.join(sorted(missing))}")
    for case in result["cases"]:
        if KEYS - case.keys():
            missing = ", ".join(sorted(KEYS - case.keys()))
            raise SystemExit(f"{path}: expected {missing} in '{case.get('name')}'")
        ratio = case["peer_value"] / case["value"]
        if abs(ratio - case["speedup"]) > 0.01 * ratio:
            raise SystemExit(
                f"{path}: '{case['name']}': expected a speedup of {ratio:.3f} = "
                f"{case['peer_value']} / {case['value']}, found {case['speedup']}"
            )


def digits(value):
    """One decimal, or three digits of what is small."""
    text = f"{value:.1f}" if value >= 10 else f"{value:.3g}"
    return text if "." in text else text + ".0"


def spread(case, prefix):
    low, high = case.get(f"{prefix}min"), case.get(f"{prefix}max")
    return f" ({digits(low)} to {digits(high)})" if low is not None else ""


def beside_peers(cases):
    """A row for each program, a column for each peer: results of a GPU."""
    peers, rows = [], {}
    for case in cases:
        # The peers of a branch gather its rows first: the page says so.
        peer = case["peer"].removeprefix("gather + ")
        if peer not in peers:
            peers.append(peer)
        rows.setdefault(case["name"], {})[peer] = case
    head = ["case", "Ringlet", "TFLOP/s"]
    optional = {
        "utilisation": "utilisation",
        "flop_per_byte": "FLOP a byte",
        "bound": "bound",
    }
    shown = [key for key in optional if any(key in case for case in cases)]
    head += [optional[key] for key in shown]
    head += [*(f"over {peer}" for peer in peers), "goal over cuDNN"]
    lines = [f"| {' | '.join(head)} |", "|---" + "|--:" * (len(head) - 1) + "|"]
    for name, by_peer in rows.items():
        case = next(iter(by_peer.values()))
        rate = case.get("gflops")
        cells = [
            name,
            f"{digits(case['value'])} {case['unit']}{spread(case, '')}",
            "" if rate is None else f"{rate / 1000:.0f}",
            *(str(case.get(key, "")) for key in shown),
        ]
        for peer in peers:
            beside = by_peer.get(peer)
            cells.append(
                f"{beside['speedup']:.2f}x ({digits(beside['peer_value'])} "
                f"{beside['unit']})"
                if beside
                else ""
            )
        cells.append(f"{case['goal']:.2f}x")
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def table(result):
    versions = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    lines = [
        f"### {result['card']}",
        "",
        f"{result['date']}; `{result['command']}`; medians of "
        f"{result.get('repeats', 1)} runs, lowest and highest in brackets.",
    ]
    if "load_before" in result:
        lines.append(f"Load of the machine before: {result['load_before']:.1f}.")
    if "matmul_gflops" in result:
        peaks = result["matmul_gflops"]
        lines.append(
            f"Matrix product by the peer: {peaks['f32']:.0f} GFLOP/s in f32, "
            f"{peaks['bf16']:.0f} in bf16."
        )
    closing = ["", f"Versions: {versions}."]
    if any("cuDNN" in case["peer"] for case in result["cases"]):
        return "\n".join([*lines, "", *beside_peers(result["cases"]), *closing])
    lines += [
        "",
        "| case | Ringlet | peer | peer's time | speedup | goal | GFLOP/s | of f32 peak |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    for case in result["cases"]:
        share = case.get("share_of_f32_peak")
        rate = case.get("gflops")
        lines.append(
            f"| {case['name']} | {digits(case['value'])} {case['unit']}{spread(case, '')} "
            f"| {case['peer']} | {digits(case['peer_value'])} {case['unit']}"
            f"{spread(case, 'peer_')} | {case['speedup']:.2f}x | {case['goal']:.2f}x "
            f"| {'' if rate is None else f'{rate:.0f}'} "
            f"| {'' if share is None else f'{share:.2f}'} |"
        )
    return "\n".join([*lines, *closing])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if out of date"
    )
    parser.add_argument("--docs", default=ROOT / "docs/Performance.md")
    parser.add_argument("--results", default=ROOT / "test/Bench/results")
    options = parser.parse_args()

    docs = pathlib.Path(options.docs)
    text = docs.read_text()
    before, found, rest = text.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not found or not found_end:
        raise SystemExit(f"{docs}: expected '{BEGIN}' and '{END}'")
    tables = []
    for path in sorted(pathlib.Path(options.results).glob("*.json")):
        try:
            result = json.loads(path.read_text())
        except ValueError as error:
            raise SystemExit(f"{path}: expected JSON: {error}") from None
        check_result(path, result)
        tables.append(table(result))
    content = "\n\n".join(tables) or "Nothing has been measured yet."
    new = f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"
    if not options.check:
        docs.write_text(new)
    elif new != text:
        sys.stdout.writelines(
            difflib.unified_diff(
                text.splitlines(True), new.splitlines(True), str(docs), "expected"
            )
        )
        raise SystemExit(
            f"{docs} does not show what was measured: run "
            "tools/ringlet-bench/summary.py"
        )


if __name__ == "__main__":
    main()
