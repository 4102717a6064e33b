#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Renders test/Bench/results/*.json as the tables and pictures of docs.

Writes them; with --check, fails if they are not up to date.
"""

import argparse
import difflib
import json
import pathlib
import sys

import plots

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BEGIN = "<!-- results: begin; made by tools/ringlet-bench/summary.py -->"
END = "<!-- results: end -->"
# What a result is of, and the page that shows it.
PAGES = {"peers": "docs/Performance.md", "orders": "docs/Orders.md"}
PAGES["memory"] = PAGES["orders"]
PAGES["decode"] = PAGES["peers"]
PAGES["ring"] = "docs/Ring.md"
IMAGES = "docs/Images"
KEYS = {"name", "value", "unit", "peer", "peer_value", "speedup"}
# What a result says of its goal, and the columns that show it.
GOALS = {"at_least": "at least", "aim": "aim"}


def kind_of(result):
    return result.get("kind", "peers")


def has_several_peers(result):
    """On a GPU, where a case need not have a goal beside each of them."""
    return "cuda" in result["versions"]


def check_result(path, result):
    """Refuses a file whose figures do not fit each other."""
    kind = kind_of(result)
    if kind not in PAGES:
        raise SystemExit(f"{path}: expected a kind of {', '.join(PAGES)}: {kind}")
    cases = "cases" if kind in ("peers", "decode") else kind
    missing = {"card", "date", "versions", "command", cases} - result.keys()
    if missing:
        raise SystemExit(f"{path}: expected {', '.join(sorted(missing))}")
    if kind == "memory":
        for case in result["memory"]:
            difference = case["counted"] / case["expected"] - 1
            if abs(difference - case["difference"]) > 1e-3:
                raise SystemExit(
                    f"{path}: '{case['case']}': expected a difference of "
                    f"{difference:.4f}, found {case['difference']}"
                )
    if kind == "ring":
        check_ring(path, result)
    if kind not in ("peers", "decode"):
        return
    keys = KEYS if has_several_peers(result) else KEYS | GOALS.keys()
    for case in result["cases"]:
        if keys - case.keys():
            missing = ", ".join(sorted(keys - case.keys()))
            raise SystemExit(f"{path}: expected {missing} in '{case.get('name')}'")
        ratio = case["peer_value"] / case["value"]
        if abs(ratio - case["speedup"]) > 0.01 * ratio:
            raise SystemExit(
                f"{path}: '{case['name']}': expected a speedup of {ratio:.3f} = "
                f"{case['peer_value']} / {case['value']}, found {case['speedup']}"
            )


def check_ring(path, result):
    for case in result["ring"]:
        # On a CPU one rank alone has the threads of all.
        ratios = [case["one"] / (n * case["value"]) for n in (1, case["ranks"])]
        if all(abs(ratio - case["of_linear"]) > 2e-3 for ratio in ratios):
            raise SystemExit(
                f"{path}: '{case['name']}': expected {ratios[1]:.3f} of linear, "
                f"found {case['of_linear']}"
            )
        for name, peer in case["peers"].items():
            ratio = peer["value"] / case["value"]
            if abs(ratio - peer["speedup"]) > 0.01 * ratio:
                raise SystemExit(
                    f"{path}: '{case['name']}' beside {name}: expected a speedup of "
                    f"{ratio:.3f}, found {peer['speedup']}"
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
    goals = [key for key in GOALS if any(key in case for case in cases)]
    head += [*(f"over {peer}" for peer in peers), *(GOALS[key] for key in goals)]
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
        for goal in goals:
            cells.append(
                ", ".join(
                    f"{beside[goal]:.2f}x {peer}"
                    for peer, beside in by_peer.items()
                    if goal in beside
                )
            )
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def heading(result, text):
    return [
        f"### {result['card']}: {text}",
        "",
        f"{result['date']}; `{result['command']}`.",
    ]


def closing(result):
    versions = ", ".join(f"{key} {value}" for key, value in result["versions"].items())
    return f"Versions: {versions}."


def of_orders(result):
    """A row for each case and order."""
    lines = [
        *heading(result, "orders"),
        f"Means of {result['repeats']} runs of each order in turn, with half of "
        "their 95% interval; the speedup is over the linear order of the same "
        f"round. [Published]({result['published']}) are speedups of the Hilbert "
        "order.",
        "",
        "| case | order | time | speedup | to get there | published | confirmed |",
        "|---|---|--:|--:|--:|--:|---|",
    ]
    for case in result["orders"]:
        unit = case["unit"]
        moved = case.get("reorder")
        published = case.get("published")
        first = case["order"] == "linear"
        lines.append(
            f"| {case['case'] if first else ''} | {case['order']} "
            f"| {digits(case['mean'])} ± {digits(case['interval'])} {unit} "
            f"| {'' if first else '{speedup:.3f} ± {speedup_interval:.3f}'.format(**case)} "
            f"| {'' if moved is None else f'2 x {digits(moved)} {unit}'} "
            f"| {'' if published is None else f'{published:.2f}'} "
            f"| {case.get('confirmed', '')} |"
        )
    return "\n".join([*lines, "", closing(result)])


def of_memory(result):
    """A row for each case and order."""
    lines = [
        *heading(result, "what kernels touch in memory"),
        f"Counted: {result['method']}.",
        "",
        "| case | order | unit | expected | counted | difference |",
        "|---|---|---|--:|--:|--:|",
    ]
    for case in result["memory"]:
        lines.append(
            "| {case} | {order} | {unit} | {expected} | {counted} "
            "| {difference:+.1%} |".format(**case)
        )
    return "\n".join([*lines, "", closing(result)])


def repeats(result):
    runs = result.get("repeats", 1)
    burst = result.get("burst", 1)
    return f"{runs} runs" if burst == 1 else f"{runs} bursts of {burst} runs in a row"


def of_peers(result):
    title = f": {result['title']}" if "title" in result else ""
    lines = [
        f"### {result['card']}{title}",
        "",
        f"{result['date']}; `{result['command']}`; medians of {repeats(result)}, "
        "lowest and highest in brackets.",
    ]
    if "load_before" in result:
        lines.append(f"Load of the machine before: {result['load_before']:.1f}.")
    if "matmul_gflops" in result:
        peaks = result["matmul_gflops"]
        lines.append(
            f"Matrix product by the peer: {peaks['f32']:.0f} GFLOP/s in f32, "
            f"{peaks['bf16']:.0f} in bf16."
        )
    last = ["", closing(result)]
    if has_several_peers(result):
        return "\n".join([*lines, "", *beside_peers(result["cases"]), *last])
    lines += [
        "",
        "| case | Ringlet | peer | peer's time | speedup | at least | aim "
        "| GFLOP/s | of f32 peak |",
        "|---|--:|---|--:|--:|--:|--:|--:|--:|",
    ]
    for case in result["cases"]:
        share = case.get("share_of_f32_peak")
        rate = case.get("gflops")
        lines.append(
            f"| {case['name']} | {digits(case['value'])} {case['unit']}{spread(case, '')} "
            f"| {case['peer']} | {digits(case['peer_value'])} {case['unit']}"
            f"{spread(case, 'peer_')} | {case['speedup']:.2f}x | {case['at_least']:.2f}x | {case['aim']:.2f}x "
            f"| {'' if rate is None else f'{rate:.0f}'} "
            f"| {'' if share is None else f'{share:.2f}'} |"
        )
    return "\n".join([*lines, *last])


def of_decode(result):
    """A row for each case; rates are of reading K and V once."""
    lines = [
        *heading(result, "few queries over many keys"),
        f"The shortest of many runs in {result['repeats']} rounds. Load of the "
        f"machine before: {result['load_before']:.1f}.",
        "",
        "| case | Ringlet | best of torch | speedup | at least | aim | K and V "
        "| of the rate of reading |",
        "|---|--:|---|--:|--:|--:|--:|--:|",
    ]
    for case in result["cases"]:
        lines.append(
            f"| {case['name']} | {digits(case['value'])} {case['unit']} "
            f"| {digits(case['peer_value'])} {case['unit']}, {case['peer']} "
            f"| {case['speedup']:.2f}x | {case['at_least']:.2f}x "
            f"| {case['aim']:.2f}x | {case['gigabytes_per_second']:.1f} GB/s "
            f"| {case['share_of_reading']:.2f} |"
        )
    return "\n".join([*lines, "", closing(result)])


def of_ring(result):
    """A row for each case and transport, with all peers."""
    burst = result["burst"]
    ranks = " and ".join(str(n) for n in sorted({c["ranks"] for c in result["ring"]}))
    lines = [
        *heading(result, f"a sequence on {ranks} ranks"),
        f"Medians of {result['repeats']} rounds of {burst} runs, lowest and highest "
        "in brackets, of the rank that ends last; one: the whole sequence on one "
        "device, or on one rank with the threads of all; host: its time for the "
        "kernels of a step; memory beside the tensors, as measured and as estimated.",
        "",
        "| case | ranks | over | time | one | of linear | at least | aim | beside "
        "| error | host | MiB | estimated |",
        "|---|--:|---|--:|--:|--:|--:|--:|---|--:|--:|--:|--:|",
    ]
    for case in result["ring"]:
        peers = "; ".join(
            f"{peer['speedup']:.2f}x {name} ({digits(peer['value'])} ms)"
            for name, peer in case["peers"].items()
        )
        lines.append(
            f"| {case['name']} | {case['ranks']} | {case['transport']} "
            f"| {digits(case['value'])} ms{spread(case, '')} "
            f"| {digits(case['one'])} ms | {case['of_linear']:.3f} "
            f"| {case['linear_at_least']:.2f} | {case['linear_aim']:.2f} | {peers} "
            f"| {case['error']:.1e} | {case['host_us_a_step']:.0f} us "
            f"| {case['peak_bytes'] / 2**20:.1f} "
            f"| {case['estimated_bytes'] / 2**20:.1f} |"
        )
    return "\n".join([*lines, "", closing(result)])


TABLES = {
    "peers": of_peers,
    "orders": of_orders,
    "memory": of_memory,
    "decode": of_decode,
    "ring": of_ring,
}


def write_page(docs, results, check):
    """Puts the tables of the results between the marks of a page."""
    text = docs.read_text()
    before, found, rest = text.partition(BEGIN)
    _, found_end, after = rest.partition(END)
    if not found or not found_end:
        raise SystemExit(f"{docs}: expected '{BEGIN}' and '{END}'")
    tables = [TABLES[kind_of(result)](result) for result in results]
    content = "\n\n".join(tables) or "Nothing has been measured yet."
    new = f"{before}{BEGIN}\n\n{content}\n\n{END}{after}"
    if not check:
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


def write_pictures(results, check):
    """Draws the GPU's results beside the peers that torch has."""
    for result in results:
        if "title" in result or not any("cuDNN" in c["peer"] for c in result["cases"]):
            continue
        for name, text in plots.pictures(result).items():
            path = ROOT / IMAGES / name
            if not check:
                path.write_text(text)
            elif not path.exists() or path.read_text() != text:
                raise SystemExit(
                    f"{path} does not show what was measured: run "
                    "tools/ringlet-bench/summary.py"
                )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="write nothing; fail if out of date"
    )
    parser.add_argument(
        "--docs", help="the only page, of all results (default: each kind has its own)"
    )
    parser.add_argument("--results", default=ROOT / "test/Bench/results")
    options = parser.parse_args()

    results = []
    for path in sorted(pathlib.Path(options.results).glob("*.json")):
        try:
            result = json.loads(path.read_text())
        except ValueError as error:
            raise SystemExit(f"{path}: expected JSON: {error}") from None
        check_result(path, result)
        results.append(result)
    if options.docs:
        return write_page(pathlib.Path(options.docs), results, options.check)
    for page in dict.fromkeys(PAGES.values()):
        shown = [result for result in results if PAGES[kind_of(result)] == page]
        write_page(ROOT / page, shown, options.check)
    write_pictures([r for r in results if kind_of(r) == "peers"], options.check)


if __name__ == "__main__":
    main()
