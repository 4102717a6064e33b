#!/usr/bin/env python3
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Says which files of a build no listed package brings.

    tools/scripts/check_packages.py BUILD [PACKAGE ...]

A machine keeps what somebody once installed, so that a build works there
proves nothing about another one. This looks at what BUILD has read outside of
the source tree: headers, libraries, programs that CMake has found and its
scripts. Each file has to come from one of the packages that install_deps.sh
lists (or from PACKAGE ...), from what those depend on that are not optional, or
from Debian's smallest system. Exits 1 and names the others. Only for Debian.

What tests run is seen by tools/scripts/fresh_machine.sh alone.
"""

import collections
import os
import pathlib
import re
import subprocess
import sys

SCRIPTS = pathlib.Path(__file__).resolve().parent
FIELDS = ("Package", "Status", "Essential", "Priority", "Provides")
# Found by the CMake files of LLVM and GoogleTest where they are installed, and
# used by nothing here.
UNUSED = {"libgmock-dev", "libxml2-utils", "pkgconf", "pkgconf-bin", "pkg-config"}
# Files outside of these folders belong to nobody's package.
SYSTEM = ("/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/", "/etc/")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def listed_packages(which):
    return run(str(SCRIPTS / "install_deps.sh"), "--list", which).split()


def split_names(relations):
    """`a (>= 1) | b, c` as [[a, b], [c]]."""
    return [
        [re.sub(r"[ (:].*", "", each.strip()) for each in group.split("|")]
        for group in relations.split(",")
        if group.strip()
    ]


class Installed:
    """What dpkg knows of the packages of this machine."""

    def __init__(self):
        self.groups = {}
        self.base = set()
        self.providers = collections.defaultdict(set)
        form = "\t".join("${%s}" % field for field in (*FIELDS, "Depends", "Pre-Depends")) + "\n"
        for line in run("dpkg-query", "-W", "-f", form).splitlines():
            name, status, essential, priority, provides, *depends = line.split("\t")
            if not status.endswith(" installed"):
                continue
            self.groups[name] = [g for each in depends for g in split_names(each)]
            if essential == "yes" or priority == "required":
                self.base.add(name)
            for names in split_names(provides):
                self.providers[names[0]].add(name)

    def choose(self, group):
        """The packages of this machine that a fresh one gets for `group`."""
        for name in group:
            if name in self.groups:
                return {name}
            if self.providers[name]:
                return self.providers[name]
        return set()

    def closure(self, names):
        """`names`, Debian's smallest system, and what they depend on."""
        missing = [name for name in names if name not in self.groups]
        todo = [*(set(names) - set(missing)), *self.base, "apt"]
        seen = set()
        while todo:
            name = todo.pop()
            if name in seen or name not in self.groups:
                continue
            seen.add(name)
            for group in self.groups[name]:
                todo += self.choose(group)
        return seen, missing


def used_files(build):
    """What `build` has read, as absolute paths without links."""
    headers = run("ninja", "-C", build, "-t", "deps")
    found = set(re.findall(r"^ {4}(/\S+)$", headers, re.M))
    rules = pathlib.Path(build, "build.ninja").read_text()
    found |= set(re.findall(r"(?<=[\s=])/[^\s:;$\"']+", rules))
    cache = pathlib.Path(build, "CMakeCache.txt").read_text()
    found |= set(re.findall(r"^\w+:FILEPATH=(/.*)$", cache, re.M))
    return {
        real
        for path in found
        for real in [os.path.normpath(path)]
        if real.startswith(SYSTEM) and os.path.isfile(real)
    }


def ask_dpkg(asked):
    """The packages of the paths in `asked`, a name to the paths it stands for."""
    result = collections.defaultdict(set)
    names = sorted(asked)
    for begin in range(0, len(names), 500):
        answer = subprocess.run(
            ["dpkg-query", "-S", *names[begin : begin + 500]],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        for packages, name in re.findall(r"^([^:\n]+(?::\w+)?(?:, [^:\n]+)*): (/.*)$",
                                         answer, re.M):
            for path in asked.get(name, ()):
                result[path] |= {re.sub(":.*", "", p) for p in packages.split(", ")}
    return result


def owners(files):
    """The packages of each file, under the name by which dpkg knows it."""
    # Since the folders of / are links, dpkg has some files as /lib/..., others
    # as /usr/lib/....
    def names_of(path, name):
        return {name: {path}, name.removeprefix("/usr"): {path}, "/usr" + name: {path}}

    def ask(paths, resolve):
        asked = collections.defaultdict(set)
        for path in paths:
            for name, of in names_of(path, resolve(path)).items():
                asked[name] |= of
        return ask_dpkg(asked)

    result = ask(files, str)
    # A link may be nobody's, an alternative above all. One of a package is what a
    # build needs, not the file that it leads to: libz.so, which zlib1g-dev brings.
    result |= ask(set(files) - set(result), os.path.realpath)
    return {path: result[path] for path in files}


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip())
        return 0 if sys.argv[1:] == ["--help"] else 2
    build, *packages = sys.argv[1:]
    # What only an optional package brings is missing where that is not asked for.
    optional = set(listed_packages("optional"))
    required = [
        each for each in packages or listed_packages("test") if each not in optional
    ]
    known, missing = Installed().closure(required)
    # Of others' their own files and libraries: liblld-22-dev's are of liblld-22.
    known |= optional | {each.removesuffix("-dev") for each in optional}
    faults = collections.defaultdict(list)
    files = used_files(build)
    for path, names in owners(files).items():
        # What no package has, say an alternative that points elsewhere, is seen
        # by its target.
        if names and not names & (known | UNUSED):
            faults[" or ".join(sorted(names))].append(path)
    for name, paths in sorted(faults.items()):
        print(
            f"error: expected each file that the build reads to come from a "
            f"package of install_deps.sh, found {len(paths)} of {name}: "
            f"{min(paths)}"
        )
    if missing:
        print(f"note: not installed here: {' '.join(sorted(missing))}")
    if not faults:
        print(f"{len(files)} files of {len(known)} packages")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
