#!/usr/bin/env python3
"""Derives vocabulary.bin from the model's tokenizer.json: python3 vocabulary.py tokenizer.json vocabulary.bin

A byte trie laid out so that it is read in place, with nothing to build at start. Little endian:

    "NWV1", u32 pieces P, u32 nodes N, f32 lowest score
    f32 score[P]      by piece id
    u32 first[N + 1]  children of node i are the nodes first[i] .. first[i + 1]
    u32 piece[N]      the piece that ends here, 0 for none
    u8  label[N]      the byte that leads here; sorted among siblings

Nodes are numbered breadth first and node 0 is the root. The four special pieces (ids 0 to 3) are
not in the trie: what a user writes never becomes a control token.
"""
import json
import struct
import sys

source, target = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    tokenizer = json.load(file)
model = tokenizer["model"]
assert model["type"] == "Unigram" and model["unk_id"] == 3
assert [n["type"] for n in tokenizer["normalizer"]["normalizers"]] == ["Precompiled", "Replace"]
vocabulary = model["vocab"]

root = [{}, 0]
for identity, (piece, _) in enumerate(vocabulary):
    if identity < 4:
        continue
    node = root
    for byte in piece.encode():
        node = node[0].setdefault(byte, [{}, 0])
    assert node[1] == 0, piece
    node[1] = identity

first, pieces, labels, queue = [], [], [0], [root]
for node in queue:
    first.append(len(queue))
    pieces.append(node[1])
    for byte, child in sorted(node[0].items()):
        labels.append(byte)
        queue.append(child)
first.append(len(queue))

scores = [score for _, score in vocabulary]
with open(target, "wb") as out:
    out.write(b"NWV1" + struct.pack("<IIf", len(vocabulary), len(queue), min(scores)))
    out.write(struct.pack(f"<{len(scores)}f", *scores))
    out.write(struct.pack(f"<{len(first)}I", *first))
    out.write(struct.pack(f"<{len(pieces)}I", *pieces))
    out.write(bytes(labels))
