# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and prints its exit status: "exit 4"."""

import subprocess
import sys

done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
print(f"{done.stdout.decode()}exit {done.returncode}")
