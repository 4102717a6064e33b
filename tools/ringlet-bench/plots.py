# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Pictures of a GPU's results as SVG: speedups over peers, and the roofline.

Text is grey and there is no background: they read on light and dark pages. The
same results give the same bytes.
"""

from __future__ import annotations

import html
import math

COLOURS = (
    "#4477aa",
    "#ee6677",
    "#228833",
    "#ccbb44",
    "#66ccee",
    "#aa3377",
    "#bb5500",
    "#44bb99",
    "#8866cc",
    "#999933",
)


def _number(value: float) -> str:
    return f"{value:.1f}".rstrip("0").rstrip(".")


def _text(x, y, text, **attributes) -> str:
    more = "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )
    return f'<text x="{_number(x)}" y="{_number(y)}"{more}>{html.escape(text)}</text>'


def _line(x1, y1, x2, y2, **attributes) -> str:
    more = "".join(
        f' {name.replace("_", "-")}="{value}"' for name, value in attributes.items()
    )
    ends = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2))
    return "<line" + "".join(f' {k}="{_number(v)}"' for k, v in ends) + more + "/>"


def _document(width, height, title, elements) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" font-family="sans-serif" '
        'font-size="12" fill="#808080">'
    )
    top = _text(width / 2, 18, title, text_anchor="middle", font_weight="bold")
    name = f"<title>{html.escape(title)}</title>"
    return "\n".join([head, name, top, *elements, "</svg>", ""])


def _legend(x, y, entries) -> list[str]:
    """Colour and meaning, beside each other."""
    lines = []
    for colour, meaning in entries:
        lines.append(
            f'<rect x="{_number(x)}" y="{_number(y - 9)}" width="10" height="10" '
            f'fill="{colour}"/>'
        )
        lines.append(_text(x + 15, y, meaning))
        x += 40 + 7 * len(meaning)
    return lines


def _target(case) -> str:
    return case["name"].rpartition(", ")[2]


def _is_drawn(case, target) -> bool:
    return _target(case) == target


def speedups(result, target) -> str:
    """A bar for each case and peer: the peer's time over ours."""
    cases = [case for case in result["cases"] if _is_drawn(case, target)]
    peers, groups = [], {}
    for case in cases:
        peer = case["peer"].removeprefix("gather + ")
        if peer not in peers:
            peers.append(peer)
        groups.setdefault(case["name"].rpartition(", ")[0], []).append((peer, case))
    left, right, top, bar, gap = 260, 60, 64, 13, 12
    span = 420
    most = math.ceil(max(case["speedup"] for case in cases) * 2) / 2
    scale = span / most
    elements, y = _legend(left, 42, zip(COLOURS, peers)), top
    for name, entries in groups.items():
        height = bar * len(entries)
        elements.append(_text(left - 8, y + height / 2 + 4, name, text_anchor="end"))
        for peer, case in entries:
            length, colour = case["speedup"] * scale, COLOURS[peers.index(peer)]
            elements.append(
                f'<rect x="{left}" y="{y}" width="{_number(length)}" '
                f'height="{bar - 2}" fill="{colour}"/>'
            )
            elements.append(_text(left + length + 4, y + 10, f"{case['speedup']:.2f}x"))
            y += bar
        y += gap
    one = left + scale
    elements.append(
        _line(one, top - 6, one, y - gap + 4, stroke="#808080", stroke_dasharray="4 3")
    )
    title = f"Time of peers over Ringlet's on {result['card']}, {target}"
    return _document(left + span + right, y + 8, title, elements)


def roofline(result, target) -> str:
    """TFLOP/s over FLOP a byte, under the card's roof."""
    peak = result["peaks"]["flops"] / 1e12
    bandwidth = result["peaks"]["bandwidth"] / 1e12
    points = {}
    for case in result["cases"]:
        if _is_drawn(case, target):
            points.setdefault(case["name"].rpartition(", ")[0], case)
    left, top, width, height = 56, 40, 440, 300
    x_range, y_range = (64, 16384), (256, 2 ** math.ceil(math.log2(peak)))

    def at(value, ends, start, length):
        low, high = (math.log2(end) for end in ends)
        return start + (math.log2(value) - low) / (high - low) * length

    x = lambda value: at(value, x_range, left, width)
    y = lambda value: at(value, y_range, top + height, -height)
    elements = []
    for power in range(int(math.log2(x_range[0])), int(math.log2(x_range[1])) + 1, 2):
        elements.append(
            _text(x(2**power), top + height + 16, str(2**power), text_anchor="middle")
        )
    for power in range(int(math.log2(y_range[0])), int(math.log2(y_range[1])) + 1):
        elements.append(
            _text(left - 6, y(2**power) + 4, str(2**power), text_anchor="end")
        )
        elements.append(
            _line(
                left,
                y(2**power),
                left + width,
                y(2**power),
                stroke="#808080",
                stroke_opacity="0.25",
            )
        )
    ridge = peak / bandwidth
    foot = max(x_range[0], y_range[0] / bandwidth)
    corners = [(foot, foot * bandwidth), (ridge, peak), (x_range[1], peak)]
    path = " ".join(f"{_number(x(a))} {_number(y(b))}" for a, b in corners)
    elements.append(f'<path fill="none" stroke="#808080" stroke-width="2" d="M{path}"/>')
    elements.append(
        _text(
            left + width,
            y(peak) - 6,
            f"{peak:.0f} TFLOP/s at the highest clock, {bandwidth:.1f} TB/s",
            text_anchor="end",
        )
    )
    middle = left + width / 2
    elements.append(_text(middle, top + height + 34, "FLOP a byte", text_anchor="middle"))
    elements.append(_text(8, top - 8, "TFLOP/s"))
    # Points of about one intensity stand side by side.
    beside = {}
    for index, (name, case) in enumerate(points.items()):
        rate, colour = case["gflops"] / 1e3, COLOURS[index % len(COLOURS)]
        px, py = x(case["flop_per_byte"]), y(rate)
        column = round(px / 12)
        px -= 14 * beside.setdefault(column, 0)
        beside[column] += 1
        elements.append(
            f'<circle cx="{_number(px)}" cy="{_number(py)}" r="4" fill="{colour}"/>'
        )
        if "utilisation" in case:
            # The roof at the clock that the power cap leaves.
            own = y(rate / case["utilisation"])
            elements.append(_line(px - 5, own, px + 5, own, stroke=colour))
            elements.append(
                _line(px, py, px, own, stroke=colour, stroke_dasharray="2 2")
            )
        share = f", {case['utilisation']:.0%}" if "utilisation" in case else ""
        line = top + 14 + 18 * index
        elements.append(
            f'<circle cx="{left + width + 24}" cy="{line - 4}" r="4" fill="{colour}"/>'
        )
        elements.append(_text(left + width + 34, line, f"{name}: {rate:.0f}{share}"))
    title = f"{result['card']}, {target}: rate and share of the tensor cores' clocks"
    return _document(left + width + 360, top + height + 48, title, elements)


def pictures(result) -> dict[str, str]:
    """File names and contents, of the best target in a GPU's results."""
    target = _target(result["cases"][0])
    drawn = {"speedups.svg": speedups(result, target)}
    if "peaks" in result:
        drawn["roofline.svg"] = roofline(result, target)
    return drawn
