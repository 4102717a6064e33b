# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""measure.py TOOL LIBRARY MAX_MB MAX_MS: sizes and the time to start.

Prints the stripped sizes of both and how long the tool takes to print its
version, and fails where one is beyond its limit. Time is that of a core and of
the fastest of 20 starts: what else the machine does would only add.
"""

import os
import subprocess
import sys
import tempfile


def stripped_megabytes(path):
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "stripped")
        subprocess.run(["llvm-strip", path, "-o", copy], check=True)
        return os.path.getsize(copy) / 1e6


def start_milliseconds(tool):
    process = subprocess.Popen([tool, "--version"], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"error: {tool} --version failed")
    process.returncode = 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


def main():
    tool, library, max_megabytes, max_milliseconds = sys.argv[1:]
    sizes = [stripped_megabytes(each) for each in (tool, library)]
    start = min(start_milliseconds(tool) for _ in range(20))
    print(
        f"tool {sizes[0]:.1f} MB, library {sizes[1]:.1f} MB, stripped; "
        f"starts in {start:.1f} ms"
    )
    if max(sizes) > float(max_megabytes) or start > float(max_milliseconds):
        sys.exit(
            f"error: expected {max_megabytes} MB and {max_milliseconds} ms at most"
        )


main()
