#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints what a run of lit has found, ending in
`N passed, N failed, N skipped`.

    tools/scripts/summarize_tests.py RESULTS.json --build-passed 1

The build counts as one test; one that this machine cannot run is skipped. A run of lit that left no result counts as one
failure. Exits 1 if anything failed.
"""

import argparse
import collections
import json
import sys

PASSED = {"PASS", "FLAKYPASS", "XFAIL"}
NEUTRAL = {"UNSUPPORTED", "EXCLUDED", "SKIPPED"}


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
        elif test["code"] not in NEUTRAL:
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
    for failure in failures:
        print(f"failed: {failure}")
    print(f"{passed} passed, {len(failures)} failed, {skipped} skipped", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
