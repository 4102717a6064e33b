# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Talks to a language server as an editor does.

    talk.py PROGRAM
"""

import json
import os
import signal
import subprocess
import sys
import time

REDUCE = """// A comment.

func.func @r(%x: tensor<16xf16>, %y: tensor<?xf16>) {
  %r = linalg.reduce ins(%x : tensor<16xf16>) outs(%y : tensor<?xf16>) dimensions = 0 (1) index 1 (1) ({ -1, 1 : tensor<128xf16>, -1 : tensor<128xf16>}) -> tensor<128xf16>
  return
}
"""
GOOD = "func.func @f(%q: i32) -> i32 { return %q : i32 }\n"
# A character of two units and four bytes, and one of one unit and three bytes.
FIRE = 'func.func @"\U0001f525\u4f60"(%q: i32) -> i32 {\n'
UNITS = FIRE + '  "\U0001f525.\u4f60"(%none) : (i32) -> ()\n  return %q : i32\n}\n'


class Editor:
    def __init__(self, program):
        self.server = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.number = 0
        self.version = 0

    def send(self, method, params, **more):
        body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more})
        body = body.encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.server.stdin.flush()

    def receive(self, is_it):
        while True:
            size = 0
            while line := self.server.stdout.readline().strip():
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    size = int(value)
            if not size:
                sys.exit("the server has ended")
            message = json.loads(self.server.stdout.read(size))
            if is_it(message):
                return message

    def ask(self, method, **params):
        self.number += 1
        self.send(method, params, id=self.number)
        return self.receive(lambda each: each.get("id") == self.number).get("result")

    def diagnostics(self):
        wanted = "textDocument/publishDiagnostics"
        found = self.receive(lambda each: each.get("method") == wanted)
        return found["params"]["diagnostics"]

    def open(self, uri, text):
        document = {"uri": uri, "languageId": "mlir", "version": 1, "text": text}
        self.send("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics()

    def change(self, uri, *changes):
        self.version += 1
        document = {"uri": uri, "version": self.version + 1}
        self.send(
            "textDocument/didChange",
            {"textDocument": document, "contentChanges": list(changes)},
        )
        return self.diagnostics()


def place(line, character):
    return {"line": line, "character": character}


def change(first, last, text):
    return {"range": {"start": place(*first), "end": place(*last)}, "text": text}


def show(found):
    if not found:
        return "no diagnostics"
    start = found[0]["range"]["start"]
    return f"{start['line']}:{start['character']} {found[0]['message']}"


def units(text, start, end):
    return text.encode("utf-16-le")[2 * start : 2 * end].decode("utf-16-le")


def main():
    editor = Editor(sys.argv[1])
    editor.ask("initialize", processId=None, rootUri=None, capabilities={})
    editor.send("initialized", {})
    uri = "file:///a.mlir"
    at = {"textDocument": {"uri": uri}}
    print("parser:", show(editor.open(uri, REDUCE)))
    print("parser, hover:", json.dumps(editor.ask(
        "textDocument/hover", position=place(3, 10), **at)))  # fmt: skip
    print("mended:", show(editor.change(uri, {"text": GOOD})))
    deep = "func.func @f(%c: i1) {\n" + "scf.if %c {\n" * 10000
    print("deep:", show(editor.open("file:///deep.mlir", deep)))
    print("zero byte:", show(editor.open("file:///zero.mlir", GOOD + "\0")))
    print("empty:", show(editor.open("file:///empty.mlir", "")))

    uri = "file:///units.mlir"
    at = {"textDocument": {"uri": uri}}
    # Unregistered operations want their dialect: with another name, an error at
    # the value that is not there.
    found = editor.open(uri, UNITS)
    print("units, error:", show(found))
    start = found[0]["range"]["start"]
    line = UNITS.split("\n")[start["line"]]
    print("units, text there:", units(line, start["character"], start["character"] + 5))
    text = 'func.func @"\U0001f525\u4f60"(%q: i32) -> i32 { return %q : i32 }\n'
    editor.change(uri, {"text": text})
    end = text.rindex("%q")
    column = len(text[:end].encode("utf-16-le")) // 2
    (found,) = editor.ask("textDocument/definition", position=place(0, column + 1), **at)
    span = found["range"]
    name = units(text, span["start"]["character"], span["end"]["character"])
    print(f"units, definition: 0:{span['start']['character']} {name}")
    # The name behind the character of two units, and what the function returns.
    found = editor.change(
        uri,
        change((0, 14), (0, 15), "xyz"),
        change((0, column + 2), (0, column + 4), "%q"),
    )
    print("changed:", show(found))
    found = editor.change(
        uri,
        change((99, 5), (999, 1), "\nabc"),
        change((5, 12), (2, 14), ""),
    )
    print(f"bad ranges: {len(found)} diagnostics")

    # One that ends by itself is started anew.
    (child,) = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(editor.server.pid)],
        capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    os.kill(int(child), signal.SIGSEGV)
    time.sleep(0.5)
    uri = "file:///after.mlir"
    editor.send("textDocument/didOpen", {"textDocument": {
        "uri": uri, "languageId": "mlir", "version": 1, "text": GOOD}})  # fmt: skip
    found = editor.receive(lambda each: each.get("params", {}).get("uri") == uri)
    print("killed, then:", show(found["params"]["diagnostics"]))

    editor.ask("shutdown")
    editor.send("exit", None)
    editor.server.stdin.close()
    print("exit status", editor.server.wait(20))


if __name__ == "__main__":
    main()
