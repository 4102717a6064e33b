# ===- lit.cfg.py - How the text tests run ---------------------------------===#
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===#
"""Configures lit for the tests in this folder.

Substitutions, beside lit's own:
  %root    the source tree          %build   the build folder
  %python  the Python of the build  %cc %cxx the C and C++ compilers
  %data    test/Data

Features for REQUIRES:
  thorough              whoever waits for the answer has time: absent with the
                        parameter quick, which tools/check --quick sets
  x86-64-v3, x86-64-v4, x86-64-v4-bf16, x86-64-v4-amx
                        instruction-set levels of this machine
  flatc-2.0.8           the schema compiler that made ArtifactGenerated.h
  clang-format          the version that the sources are formatted with
  libfuzzer             clang 22 with the runtime of libFuzzer: %fuzzer compiles
  torch                 a Python that has torch: python3 on PATH or Debian's
  root                  the tests run as root
  dpkg                  a Debian system
"""

import importlib.util
import os
import re
import shutil
import subprocess

import lit.formats

config.name = "Ringlet"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Data", "Unit"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.ringlet_obj_root, "test")

# The tools of the build come first, then those of the LLVM that it links:
# FileCheck and not are installed outside of the usual PATH.
config.environment["PATH"] = os.pathsep.join(
    [
        config.ringlet_tools_dir,
        config.llvm_tools_dir,
        config.environment["PATH"],
    ]
)
# A capture ends at the next CHECK-LABEL unless it is named $LIKE_THIS, and a
# prefix that matches no line is a mistake.
config.environment["FILECHECK_OPTS"] = (
    "--enable-var-scope --allow-unused-prefixes=false"
)
# A test that hangs is a test that fails. lit can only stop a test's children
# with psutil.
if importlib.util.find_spec("psutil"):
    lit_config.maxIndividualTestTime = 900
# What pip and ccache need to find their registry and their files.
for name in os.environ:
    if name in ("HOME", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE") or name.lower(
    ).startswith(("pip_", "ccache_", "http_proxy", "https_proxy", "no_proxy")):
        config.environment[name] = os.environ[name]
# Whatever the user has set, tests see none of it.
for name in ("RINGLET_DUMP_DIR", "RINGLET_LOG"):
    config.environment.pop(name, None)

if "quick" not in lit_config.params:
    config.available_features.add("thorough")
config.substitutions += [
    (r"%root", config.ringlet_src_root),
    (r"%build", config.ringlet_obj_root),
    (r"%data", os.path.join(config.ringlet_src_root, "test", "Data")),
    (r"%python", config.python),
    (r"%cxx", config.cxx),
    (r"%cc", config.cc),
]


def output_of(*command):
    """What `command` prints, or nothing where it does not exist."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=30
        ).stdout
    except OSError:
        return ""


def cpu_flags():
    try:
        with open("/proc/cpuinfo") as info:
            match = re.search(r"^flags\s*:(.*)$", info.read(), re.M)
    except OSError:
        match = None
    return set(match.group(1).split()) if match else set()


V3 = {"avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"}
V4 = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
if V3 <= cpu_flags():
    config.available_features.add("x86-64-v3")
    if V4 <= cpu_flags():
        config.available_features.add("x86-64-v4")
        if "avx512_bf16" in cpu_flags():
            config.available_features.add("x86-64-v4-bf16")
            if {"amx_bf16", "amx_tile"} <= cpu_flags():
                config.available_features.add("x86-64-v4-amx")
if output_of("flatc", "--version").strip() == "flatc version 2.0.8":
    config.available_features.add("flatc-2.0.8")
for candidate in ("clang-format-22", "clang-format"):
    found = shutil.which(candidate, path=config.environment["PATH"])
    if found and " version 22." in output_of(found, "--version"):
        config.available_features.add("clang-format")
        config.substitutions.append((r"%clang_format", found))
        break
finds_torch = "import importlib.util as u; print(u.find_spec('torch') and 'found')"
for candidate in ("python3", "/usr/bin/python3"):
    if output_of(candidate, "-c", finds_torch).strip() == "found":
        config.available_features.add("torch")
        break
clang = shutil.which("clang++-22", path=config.environment["PATH"])
if clang and os.path.exists(
    output_of(clang, "--print-file-name=libclang_rt.fuzzer-x86_64.a").strip()
):
    config.available_features.add("libfuzzer")
    config.substitutions.append(
        (
            r"%fuzzer",
            f"{clang} -std=c++17 -O1 -g -w -fsanitize=fuzzer,address,undefined "
            "-fno-sanitize-recover=undefined "
            f"-I{config.ringlet_src_root} -I{config.ringlet_src_root}/include",
        )
    )
if output_of("dpkg-query", "-W", "-f", "${Status}", "dpkg"):
    config.available_features.add("dpkg")
if os.geteuid() == 0:
    config.available_features.add("root")
