#!/usr/bin/env python3
"""What PyTorch reaches on this GPU with a TreeLSTM over real trees, and with an encoder and a greedy decoder.

Trees: the nodes of a window of trees that have their children ready are one batch, level by level (TensorFlow Fold's way, which is
PyTorch's best): all leaves first, then a product and an update for each level; the indices of a window are made beforehand, travel with its
tokens, and the time they take to make is not counted. Decoder: sentences of similar length are encoded packed, and the decoder's
steps of a batch are one CUDA graph, with tokens that never leave the GPU. All requests decode equally long, so that no batch waits for
its longest; whoever batches whole requests could only be slower. The best of several batch sizes counts. Prints a JSON object for each part.
"""

import argparse
import collections
import random
import re
import sys

from peer_torch import Account, Batch, OnDevice, batches_of, rate_of, read_lengths, torch_for


def read_trees(path):
    """Trees of a file in brackets, one a line: each a list of (left, right), children before parents; leaves have None."""
    trees = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            nodes, stack = [], []
            for mark in re.findall(r"\(|\)|[^\s()]+", line):
                if mark == "(":
                    stack.append([])
                elif mark == ")":
                    children = stack.pop()
                    nodes.append((children[0], children[-1]) if len(children) == 2 else (None, None))
                    if stack:
                        stack[-1].append(len(nodes) - 1)
            if nodes:
                trees.append(nodes)
    return trees


class Window:
    """Some trees, level by level: tokens of all leaves, then for each level the rows of its left and right children, in pinned memory."""

    def __init__(self, peer, trees):
        torch, levels = peer.torch, collections.defaultdict(list)
        for tree, nodes in enumerate(trees):
            depth = []
            for node, (left, right) in enumerate(nodes):
                depth.append(0 if left is None else 1 + max(depth[left], depth[right]))
                levels[depth[-1]].append((tree, node))
        row = {place: i for i, place in enumerate(place for level in sorted(levels) for place in levels[level])}
        children = [row[tree, trees[tree][node][side]] for level in sorted(levels)[1:] for side in (0, 1) for tree, node in levels[level]]
        self.sizes = [len(levels[level]) for level in sorted(levels)]
        self.requests, self.cells = len(trees), len(row)
        roots = [row[tree, len(nodes) - 1] for tree, nodes in enumerate(trees)]
        tokens = [random.randrange(peer.vocabulary) for _ in levels[0]]
        # One stretch of memory, one copy: tokens, roots, children level by level.
        self.numbers = torch.tensor(tokens + roots + children)
        self.answers = torch.empty(len(trees), peer.hidden)
        if peer.device == "cuda":
            self.numbers, self.answers = self.numbers.pin_memory(), self.answers.pin_memory()


class Peer(OnDevice):
    """Both models on the GPU, with the sizes of Volvox's."""

    def __init__(self, torch, hidden, dtype, device="cuda", vocabulary=30000):
        super().__init__(torch, device)
        self.hidden, self.vocabulary = hidden, vocabulary

        def made(kind, *sizes, **more):
            return kind(*sizes, **more).to(device, dtype)

        self.embedding = made(torch.nn.Embedding, vocabulary, hidden)
        self.leaf = made(torch.nn.Linear, hidden, 3 * hidden)
        self.inner = made(torch.nn.Linear, 2 * hidden, 5 * hidden)
        self.encoder = made(torch.nn.LSTM, hidden, hidden, batch_first=True)
        self.encoder.flatten_parameters()
        self.target = made(torch.nn.Embedding, vocabulary, hidden)
        self.decoder = made(torch.nn.LSTMCell, hidden, hidden)
        self.words = made(torch.nn.Linear, hidden, vocabulary)

    def leaves(self, tokens):
        i, g, o = self.leaf(self.embedding(tokens)).chunk(3, 1)
        c = i.sigmoid() * g.tanh()
        return o.sigmoid() * c.tanh(), c

    def parents(self, h, c, left, right):
        z = self.inner(self.torch.cat((h[left], h[right]), 1))
        i, f0, f1, g, o = z.chunk(5, 1)
        new_c = i.sigmoid() * g.tanh() + f0.sigmoid() * c[left] + f1.sigmoid() * c[right]
        return o.sigmoid() * new_c.tanh(), new_c

    def trees(self, window):
        numbers, sizes = window.numbers.to(self.device, non_blocking=True), window.sizes
        h, c = (self.torch.empty(window.cells, self.hidden, device=self.device, dtype=self.leaf.weight.dtype) for _ in range(2))
        h[:sizes[0]], c[:sizes[0]] = self.leaves(numbers[:sizes[0]])
        roots = numbers[sizes[0]:sizes[0] + window.requests]
        at, row = sizes[0] + window.requests, sizes[0]
        for size in sizes[1:]:
            left, right = numbers[at:at + size], numbers[at + size:at + 2 * size]
            h[row:row + size], c[row:row + size] = self.parents(h, c, left, right)
            at, row = at + 2 * size, row + size
        window.answers.copy_(h[roots].float(), non_blocking=True)


class Translator:
    """Batches of one size: packed encoding, then `steps` greedy steps as one graph."""

    def __init__(self, peer, size, steps):
        self.peer, self.size, self.steps = peer, size, steps
        torch = peer.torch
        self.h, self.c = (torch.zeros(size, peer.hidden, device=peer.device, dtype=peer.words.weight.dtype) for _ in range(2))
        self.out = torch.empty(steps, size, device=peer.device, dtype=torch.int64)
        self.first = torch.ones(size, device=peer.device, dtype=torch.int64)
        self.graph = None
        if peer.device == "cuda":
            side = torch.cuda.Stream()
            with torch.cuda.stream(side):
                self.decode()
            torch.cuda.synchronize()
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):
                self.decode()

    def decode(self):
        token, state = self.first, (self.h, self.c)
        for step in range(self.steps):
            state = self.peer.decoder(self.peer.target(token), state)
            token = self.peer.words(state[0]).argmax(1)
            self.out[step] = token

    def run(self, batch):
        peer = self.peer
        tokens = batch.tokens.to(peer.device, non_blocking=True)
        packed = peer.torch.nn.utils.rnn.pack_padded_sequence(peer.embedding(tokens), batch.lengths, batch_first=True)
        _, (h, c) = peer.encoder(packed)
        self.h.copy_(h[0])
        self.c.copy_(c[0])
        if self.graph is None:
            self.decode()
        else:
            self.graph.replay()
        batch.answers.copy_(self.out, non_blocking=True)


def best_trees(peer, trees, sizes, seconds):
    found = []
    for size in sizes:
        windows = [Window(peer, trees[i:i + size]) for i in range(0, max(1, len(trees) - size + 1), size)]
        found.append({"window": size, "rps": rate_of(peer, peer.trees, windows, seconds)})
    return found


def best_translations(peer, lengths, sizes, steps, seconds):
    found, torch = [], peer.torch
    for size in sizes:
        translator = Translator(peer, size, steps)
        full = [group for group in batches_of(lengths, size, 10) if len(group) == size] or [(lengths * size)[:size]]
        random.shuffle(full)
        batches = [Batch(peer, group, torch.empty(steps, size, dtype=torch.int64)) for group in full]
        found.append({"batch": size, "rps": rate_of(peer, translator.run, batches, seconds)})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", required=True, help="file of lengths, of sentences to translate")
    parser.add_argument("--trees", help="file of trees in brackets, one a line; left out: no TreeLSTM")
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=24, help="that every request decodes")
    parser.add_argument("--windows", type=int, nargs="+", default=[64, 256, 1024])
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 256, 512, 1024])
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--json", help="also write what has been measured to this file, part by part")
    options = parser.parse_args()
    torch = torch_for(options.device)
    if torch is None:
        return 3
    random.seed(1)
    lengths = read_lengths(options.lengths)
    random.shuffle(lengths)
    account = Account(options.json, torch=torch.__version__, steps=options.steps)
    peer = Peer(torch, options.hidden, torch.bfloat16 if options.device == "cuda" else torch.float32, options.device)
    with torch.inference_mode():
        if options.trees:
            trees = read_trees(options.trees)
            random.shuffle(trees)
            account.keep(trees=best_trees(peer, trees, options.windows, options.seconds), mean_nodes=sum(map(len, trees)) / len(trees))
        account.keep(translations=best_translations(peer, lengths[:4096], options.batches, options.steps, options.seconds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
