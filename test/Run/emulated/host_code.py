# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""LLVM IR of GPU kernels as LLVM IR for the CPU, by its text.

Instructions of the GPU become calls of prelude.ll. Shared memory lies at the
address that Block.cpp gives it; there is one address space. A kernel that uses
what prelude.ll does not have (wgmma, tensor maps) keeps its name and no code.
"""

import pathlib
import re

# `shared` of Block.cpp: the address fits in 32 bits, as on the GPU.
SHARED = "inttoptr (i64 1342177280 to ptr)"
PRELUDE = pathlib.Path(__file__).with_name("prelude.ll")

# Inline assembly and the function that does the same.
ASSEMBLY = {
    "mov.b32 $0, $1;": "asm.opaque.{result}",
    "": "asm.opaque.{result}",
    "griddepcontrol.launch_dependents;": "asm.nothing",
    "griddepcontrol.wait;": "asm.nothing",
    "bar.red.or.pred $0, 0, $1;": "asm.barrier.or",
    "vote.sync.any.pred $0, $1, -1;": "asm.any",
    "@$3 cp.async.cg.shared.global [$0], [$1], 16, $2;": "asm.copy",
    "mov.u32 $0, 0; @$2 ld.global.u8 $0, [$1];": "asm.load.u8",
    "mov.b16 $0, 0; @$2 ld.global.b16 $0, [$1];": "asm.load.i16",
    "mov.b32 $0, 0; @$2 ld.global.b32 $0, [$1];": "asm.load.i32",
    "mov.b64 $0, 0; @$2 ld.global.b64 $0, [$1];": "asm.load.i64",
    "@$2 st.global.b16 [$1], $0;": "asm.store.i16",
    "@$5 st.shared.v4.b32 [$0], {$1, $2, $3, $4};": "asm.store.shared",
    "@$2 st.global.b32 [$1], $0;": "asm.store.i32",
    "@$2 st.global.b64 [$1], $0;": "asm.store.i64",
}
STORE = re.compile(
    r"@\$(\d+) st\.global(?:\.v\d)?\.\w+ \[\$(\d+)\+(\d+)\], \{?([$\d, ]+)\}?;"
)
CALL = re.compile(r'call (\S+) asm sideeffect "([^"]*)", "[^"]*"\((.*)\)')
KERNEL = re.compile(r'^define void @"?([\w$]+)"?\((.*?)\)', re.M)


class _Code:
    def __init__(self):
        self.stores = {}

    def _store(self, text, arguments):
        """A function for stores of some operands, if `if`, at an offset."""
        found = STORE.fullmatch(text)
        if not found:
            return None
        condition, address, offset = (int(group) for group in found.groups()[:3])
        values = [int(number) for number in re.findall(r"\d+", found.group(4))]
        types = [argument.split()[0] for argument in arguments]
        key = (text, *types)
        if key in self.stores:
            return self.stores[key][0]
        name = f"asm.store.many{len(self.stores)}"
        body = [
            f"define void @{name}("
            + ", ".join(f"{kind} %o{i}" for i, kind in enumerate(types))
            + ") {",
            f"  br i1 %o{condition}, label %store, label %end",
            "store:",
        ]
        for place, value in enumerate(values):
            at = f"%at{place}"
            size = {"i32": 4, "float": 4, "i64": 8, "i16": 2}[types[value]]
            body += [
                f"  {at} = getelementptr i8, ptr %o{address}, "
                f"i64 {offset + place * size}",
                f"  store {types[value]} %o{value}, ptr {at}",
            ]
        body += ["  br label %end", "end:", "  ret void", "}"]
        self.stores[key] = name, "\n".join(body)
        return name

    def _call(self, match):
        result, text, arguments = match.groups()
        name = ASSEMBLY.get(text)
        if name is None:
            name = self._store(text, arguments.split(", "))
        if name is None:
            return match.group(0)
        return f"call {result} @{name.format(result=result)}({arguments})"

    def line(self, line):
        line = re.sub(r" addrspace\(\d+\)", "", line)
        line = re.sub(r" (local_unnamed_addr )?#\d+(?= \{$|$|, )", "", line)
        line = line.replace("ptx_kernel ", "").replace("tail call", "call")
        line = line.replace("@ringlet_shared", SHARED)
        line = re.sub(r" range\(i\d+ 0, \d+\)", "", line)
        return CALL.sub(self._call, line).replace("@llvm.nvvm.", "@nvvm.")


def translate(text: str) -> tuple[str, list]:
    """The module for the CPU, and the names of kernels that have no code."""
    code = _Code()
    lines = [
        code.line(line)
        for line in text.splitlines()
        if not re.match(r"target |source_filename|; ModuleID|@ringlet_shared", line)
        and not re.match(r"attributes #|declare .*@llvm\.nvvm\.|!nvvm", line)
    ]
    prelude = PRELUDE.read_text()
    known = set(re.findall(r"^define .*?@([\w.]+)\(", prelude, re.M))
    body, *functions = re.split(r"(?m)^(?=define )", "\n".join(lines))
    table, left_out = [], []
    for function in functions:
        name, parameters = KERNEL.match(function).groups()
        count = parameters.count(",") + 1 if parameters.strip() else 0
        kernel, _, rest = function.partition("\n}\n")
        calls = set(re.findall(r"@(nvvm\.[\w.]+)", kernel))
        if " asm " in kernel or not calls <= known:
            left_out.append(name)
            table.append((name, "null", count))
            body += rest
            continue
        table.append((name, f'@"{name}"', count))
        body += function
    for _, definition in code.stores.values():
        body += definition + "\n"
    kind = "{ ptr, ptr, i32 }"
    entries = [f"{kind} zeroinitializer"]
    for number, (name, function, count) in reversed(list(enumerate(table))):
        body += f'@name{number} = constant [{len(name) + 1} x i8] c"{name}\\00"\n'
        entry = f"{kind} {{ ptr @name{number}, ptr {function}, i32 {count} }}"
        entries.insert(0, entry)
    body += f"@gpu_kernels = constant [{len(entries)} x {kind}] ["
    body += ", ".join(entries) + "]\n"
    return prelude + body, left_out
