#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what a run of lit has found, ending in
`N passed, N failed, N skipped`.

    tools/scripts/summarize_tests.py RESULTS.json --build-passed 1

The build counts as one test; one that this machine cannot run is skipped. A run of
lit that left no result counts as one failure. Of the first tests that failed the
end of what they have written comes before the list of all. Exits 1 if anything
failed.
"""

import argparse
import collections
import json
import sys

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
NEUTRAL = {"UNSUPPORTED", "EXCLUDED", "SKIPPED"}

# Whoever sees only the last 55 lines of a log sees why.
MOST_OUTPUTS = 3
OUTPUT_LINES = 40
LINE_LENGTH = 200


def failed(test):
    return test["code"] not in PASSED | NEUTRAL


def print_outputs(tests):
    """The last lines of what the first of these tests have written."""
    shown = tests[:MOST_OUTPUTS]
    for test in shown:
        lines = (test.get("output") or "").rstrip().splitlines() or ["nothing"]
        print(f"the end of what {test['name']} has written:")
        for line in lines[-(OUTPUT_LINES // len(shown)) :]:
            cut = line if len(line) <= LINE_LENGTH else line[:LINE_LENGTH] + "..."
            print(f"  | {cut}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results")
    parser.add_argument("--build-passed", type=int, choices=(0, 1), required=True)
    options = parser.parse_args()

    counts = collections.Counter()
    failures = [] if options.build_passed else ["the build"]
    passed = options.build_passed
    try:
        with open(options.results) as file:
            tests = json.load(file)["tests"]
    except (OSError, ValueError, KeyError) as error:
        tests = []
        failures.append(f"the tests: no result ({error})")
    slowest = sorted(tests, key=lambda test: -(test.get("elapsed") or 0))[:5]
    for test in tests:
        counts[test["code"]] += 1
        if test["code"] in PASSED:
            passed += 1
        elif failed(test):
            failures.append(f"{test['name']} ({test['code']})")
    if not tests and not failures:
        failures.append("the tests: none was found")

    skipped = sum(counts[code] for code in NEUTRAL - {"EXCLUDED"})
    for test in tests:
        if test["code"] in NEUTRAL - {"EXCLUDED"}:
            print(f"skipped on this machine: {test['name']}")
    if tests:
        print("slowest:")
        for test in slowest:
            print(f"  {test.get('elapsed') or 0:7.1f} s  {test['name']}")
    # A test may write anything.
    sys.stdout.reconfigure(errors="backslashreplace")
    print_outputs([test for test in tests if failed(test)])
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
