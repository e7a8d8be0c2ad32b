#!/usr/bin/env python3
"""Compares what a served translator says with PyTorch's greedy loop, token by token.

Usage: translator.py [--volvox PATH] [--lengths FILE] [--requests N] [--hidden H] [--vocabulary V] [--steps S] [--json FILE]

A model of the kind `seq2seq` (an LSTM reads, another one decodes greedily) with random weights is served, and N sentences of random
tokens, as long as those of FILE (`source<TAB>target` a line; without, 1 to 50), are all asked at once. PyTorch (python3-torch) decodes
the same sentences from the same weights, in float32. Up to the first step at which PyTorch's best two tokens are closer than 1e-4 of
the range of its logits, every token must be the same: behind such a step both may go on differently, and both are right.

Prints and, with --json, writes: `requests`, `equal` (in full), `near_ties` (have such a step), `wrong` (another token before it),
`tokens` compared, `ended` (say the end before their last step), `different_answers`. The exit status is 1 when anything is wrong.
"""

import argparse
import json
import pathlib
import random
import struct
import sys
import tempfile

import numpy
import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
for place in ("tests", "protocol/python"):
    sys.path.insert(0, str(ROOT / place))

from served import Server  # noqa: E402
from volvox_client import Client  # noqa: E402

START, END = 1, 0  # the tokens with which a decoder begins and ends
NEAR = 1e-4


def read_weights(path):
    """The tensors of a safetensors file of float32."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    weights = {}
    for name, tensor in header.items():
        begin, end = tensor["data_offsets"]
        values = numpy.frombuffer(data, dtype="<f4", count=(end - begin) // 4, offset=8 + size + begin)
        weights[name] = torch.from_numpy(values.reshape(tensor["shape"]).copy())
    return weights


def sentences(options):
    chance = random.Random(options.seed)
    if options.lengths:
        with open(options.lengths, encoding="utf-8") as file:
            known = [int(line.split("\t")[0]) for line in file if line[0].isdigit()]
        lengths = chance.sample(known, options.requests)
    else:
        lengths = [chance.randint(1, 50) for _ in range(options.requests)]
    return [[chance.randrange(2, options.vocabulary) for _ in range(length)] for length in lengths]


class Greedy:
    """PyTorch's loop, over all sentences at once."""

    def __init__(self, weights):
        self.weights = weights

    def step(self, name, tokens, state):
        w, (h, c) = self.weights, state
        x = w[f"{name}.embedding"][tokens]
        gates = x @ w[f"{name}.weight_ih"].T + h @ w[f"{name}.weight_hh"].T + w[f"{name}.bias"]
        i, f, g, o = gates.chunk(4, dim=1)
        c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c

    def read(self, asked):
        """The states behind each sentence's last word."""
        hidden = self.weights["encoder.weight_hh"].shape[1]
        h, c = torch.zeros(len(asked), hidden), torch.zeros(len(asked), hidden)
        for t in range(max(map(len, asked))):
            going = torch.tensor([row for row, tokens in enumerate(asked) if len(tokens) > t])
            words = torch.tensor([asked[int(row)][t] for row in going])
            h[going], c[going] = self.step("encoder", words, (h[going], c[going]))
        return h, c

    def decode(self, asked, steps):
        """For each sentence its tokens, and at which step its best two are too close to tell; None: at none."""
        state = self.read(asked)
        tokens = torch.full((len(asked),), START)
        said, near = [[] for _ in asked], [None] * len(asked)
        for step in range(steps):
            state = self.step("decoder", tokens, state)
            logits = state[0] @ self.weights["decoder.output"].T + self.weights["decoder.output_bias"]
            best = logits.topk(2)
            margin = (best.values[:, 0] - best.values[:, 1]) / (best.values[:, 0] - logits.min(dim=1).values)
            tokens = best.indices[:, 0]
            for row, answer in enumerate(said):
                if answer and answer[-1] == END:
                    continue
                if near[row] is None and float(margin[row]) < NEAR:
                    near[row] = step
                answer.append(int(tokens[row]))
        return said, near


def served(options, folder, asked):
    kind = ("seq2seq", "m", "--hidden", options.hidden, "--vocabulary", options.vocabulary, "--steps", options.steps)
    server = Server(options.volvox, folder, [tuple(map(str, kind))])
    try:
        with Client(server.endpoint, timeout=600) as client:
            answers = [client.submit("m", {"tokens": tokens}) for tokens in asked]
            return [list(map(int, answer.result(600)["translation"])) for answer in answers]
    finally:
        server.kill()


def compare(options, mine, theirs, near):
    counts = {"requests": len(mine), "equal": 0, "near_ties": 0, "wrong": 0, "tokens": 0, "ended": 0}
    for ours, other, tie in zip(mine, theirs, near):
        upto = len(other) if tie is None else tie
        counts["equal"] += ours == other
        counts["near_ties"] += tie is not None
        counts["wrong"] += ours[:upto] != other[:upto] or (tie is None and len(ours) != len(other))
        counts["tokens"] += upto
        counts["ended"] += len(other) < options.steps
    counts["different_answers"] = len(set(map(tuple, mine)))
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--volvox", default=str(ROOT / "build" / "release" / "volvox"), help="the executable to measure")
    parser.add_argument("--lengths", help="file of sentence lengths")
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--vocabulary", type=int, default=30000)
    parser.add_argument("--steps", type=int, default=32, help="tokens of an answer, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="where to write the figures, too")
    options = parser.parse_args()
    asked = sentences(options)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        mine = served(options, folder, asked)
        weights = read_weights(next((pathlib.Path(folder) / "models" / "m").rglob("*.safetensors")))
        theirs, near = Greedy(weights).decode(asked, options.steps)
    figures = compare(options, mine, theirs, near)
    for key, value in figures.items():
        print(f"{key.replace('_', ' '):18}{value}")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if figures["wrong"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
