# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a result says of one case."""

import statistics


def beside(name: str, times: list, peer: str, peer_times: list, digits: int) -> dict:
    """Our times and those of a peer, in milliseconds."""
    value, peer_value = statistics.median(times), statistics.median(peer_times)
    return {
        "name": name,
        "value": round(value, digits),
        "unit": "ms",
        "peer": peer,
        "peer_value": round(peer_value, digits),
        "speedup": round(peer_value / value, 3),
        "min": round(min(times), digits),
        "max": round(max(times), digits),
        "peer_min": round(min(peer_times), digits),
        "peer_max": round(max(peer_times), digits),
    }
