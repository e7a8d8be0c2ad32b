#!/usr/bin/env python3
"""Writes kinds.json: what PyTorch answers, in double precision, for models of the kinds of `volvox models new`.

Usage: make_kinds_golden.py > kinds.json        (Debian package python3-torch)

For each kind: its sizes, the names and shapes of its weights, and requests with their answers. Weight number i, from 1, is made as
tensor i of make_lstm_golden.py is; tests/unit/cells/kinds_golden_test.cc has the same formula, and reads all else from the file.
"""

import itertools
import json
import random

import torch
from make_lstm_golden import weights as numbered

HIDDEN, INPUT, VOCABULARY, LABELS, STEPS = 5, 4, 11, 3, 7
SIZES = {"hidden": HIDDEN, "input": INPUT, "vocabulary": VOCABULARY, "labels": LABELS, "steps": STEPS}
sigmoid, tanh, relu, exp = torch.sigmoid, torch.tanh, torch.relu, torch.exp


class Weights:
    """A kind's tensors by name, numbered in the order in which they are first asked for."""

    def __init__(self):
        self.shapes, self.tensors = [], {}
        self.scale = 1  # of all numbers: larger ones make states, and what is said, differ more
        self.input = INPUT  # the kind's own

    def __call__(self, name, *shape):
        if name not in self.tensors:
            self.shapes.append([name, list(shape)])
            self.tensors[name] = self.scale * numbered(len(self.shapes), *shape)
        return self.tensors[name]

    def linear(self, out, bias, *terms):
        total = self(bias, out) if bias else 0
        for name, x in terms:
            total = total + self(name, out, x.shape[0]) @ x
        return total

    def row(self, table, token, width=INPUT):
        return self(table, VOCABULARY, width)[token]


def zeros():
    return torch.zeros(HIDDEN, dtype=torch.float64)


def lstm(w, name, x, state):
    h, c = state
    i, f, g, o = w.linear(4 * HIDDEN, f"{name}.bias", (f"{name}.weight_ih", x), (f"{name}.weight_hh", h)).split(HIDDEN)
    c = sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def run_lstm(w, name, tokens, back=False):
    state, found = (zeros(), zeros()), []
    for token in reversed(tokens) if back else tokens:
        state = lstm(w, name, w.row(f"{name}.embedding", token), state)
        found.append(state)
    return found[::-1] if back else found


def gru(w, name, x, h):
    # PyTorch's own cell: the reset gate stands after the product.
    cell = torch.nn.GRUCell(x.shape[0], HIDDEN, dtype=torch.float64)
    with torch.no_grad():
        cell.weight_ih.copy_(w(f"{name}.weight_ih", 3 * HIDDEN, x.shape[0]))
        cell.weight_hh.copy_(w(f"{name}.weight_hh", 3 * HIDDEN, HIDDEN))
        cell.bias_ih.copy_(w(f"{name}.bias_ih", 3 * HIDDEN))
        cell.bias_hh.copy_(w(f"{name}.bias_hh", 3 * HIDDEN))
        return cell(x.unsqueeze(0), h.unsqueeze(0))[0]


# ---- Trees: node(w, token, type, states of the children) -> state, whose first part is the answer ----


def tree_lstm_leaf(w, token):
    i, g, o = w.linear(3 * HIDDEN, "tree.leaf.bias", ("tree.leaf.weight", w.row("tree.leaf.embedding", token))).split(HIDDEN)
    c = sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def tree_lstm_node(w, name, children):
    (h0, c0), (h1, c1) = children
    i, f0, f1, g, o = w.linear(5 * HIDDEN, f"{name}.bias", (f"{name}.left", h0), (f"{name}.right", h1)).split(HIDDEN)
    c = sigmoid(f0) * c0 + sigmoid(f1) * c1 + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def tree_lstm(w, token, _, children):
    return tree_lstm_node(w, "tree.internal", children) if children else tree_lstm_leaf(w, token)


def tree_lstm_2type(w, token, kind, children):
    return tree_lstm_node(w, f"{kind}.internal", children) if children else tree_lstm_leaf(w, token)


def child_sum(w, token, _, children):
    x = w.row("tree.embedding", token)
    total = sum((h for h, _ in children), zeros())
    i, g, o = w.linear(3 * HIDDEN, "tree.bias", ("tree.weight", x), ("tree.children", total)).split(HIDDEN)
    c = sigmoid(i) * tanh(g)
    for h, kept in children:
        c = c + sigmoid(w.linear(HIDDEN, "tree.forget_bias", ("tree.forget_weight", x), ("tree.forget_child", h))) * kept
    w("tree.forget_bias", HIDDEN), w("tree.forget_weight", HIDDEN, INPUT), w("tree.forget_child", HIDDEN, HIDDEN)
    return sigmoid(o) * tanh(c), c


def tree_gru(w, token, _, children):
    x = w.row("tree.embedding", token)
    total = sum((h for (h,) in children), zeros())
    z = sigmoid(w.linear(HIDDEN, "tree.update_bias", ("tree.update_weight", x), ("tree.update_children", total)))
    reset = zeros()
    for (h,) in children:
        reset = reset + h * sigmoid(w.linear(HIDDEN, "tree.reset_bias", ("tree.reset_weight", x), ("tree.reset_child", h)))
    w("tree.reset_bias", HIDDEN), w("tree.reset_weight", HIDDEN, INPUT), w("tree.reset_child", HIDDEN, HIDDEN)
    n = tanh(w.linear(HIDDEN, "tree.bias", ("tree.weight", x), ("tree.children", reset)))
    return (z * total + (1 - z) * n,)


def tree_fc(w, token, _, children):
    if not children:
        return (relu(w.linear(HIDDEN, "tree.leaf.bias", ("tree.leaf.weight", w.row("tree.leaf.embedding", token)))),)
    (h0,), (h1,) = children
    return (relu(w.linear(HIDDEN, "tree.internal.bias", ("tree.internal.left", h0), ("tree.internal.right", h1))),)


def mv_rnn(w, token, _, children):
    if not children:
        matrix = w.row("tree.leaf.matrices", token, HIDDEN * HIDDEN).reshape(HIDDEN, HIDDEN)
        return w.row("tree.leaf.embedding", token, HIDDEN), matrix
    (a, of_a), (b, of_b) = children
    h = tanh(w.linear(HIDDEN, "tree.internal.bias", ("tree.internal.left", of_b @ a), ("tree.internal.right", of_a @ b)))
    return h, w("tree.internal.joined", HIDDEN, 2 * HIDDEN) @ torch.cat([of_a, of_b])


def over_trees(node, binary=True, types=()):
    def requests(w, chance):
        for leaves in (1, 2, 5, 9):
            parents, open_nodes = [], []
            while leaves or len(open_nodes) > 1:
                count = 0
                if not leaves or (len(open_nodes) > 1 and chance.random() < 0.5):
                    count = 2 if binary else chance.randint(1, len(open_nodes))
                leaves -= count == 0
                for child in open_nodes[len(open_nodes) - count :]:
                    parents[child] = len(parents)
                del open_nodes[len(open_nodes) - count :]
                open_nodes.append(len(parents))
                parents.append(-1)
            tokens = [chance.randrange(VOCABULARY) for _ in parents]
            children = [[v for v, parent in enumerate(parents) if parent == node] for node in range(len(parents))]
            kinds = [(1 + chance.randrange(len(types) - 1) if below else 0) if types else 0 for below in children]
            states = []
            for token, kind, below in zip(tokens, kinds, children):
                states.append(node(w, token, types[kind] if types else "", [states[v] for v in below]))
            structure = {"tree": parents}
            if types:
                offsets = [sum(map(len, children[:v])) for v in range(len(parents) + 1)]
                structure = {"graph": [list(types), kinds, offsets, sum(children, [])]}
            yield {"inputs": [tokens], "structure": structure, "outputs": [torch.cat([s[0] for s in states]).tolist()]}

    return requests


# ---- Words of characters ----


def char_tagger(w, chance):
    w.scale = 4
    # Asked for in this order, words get all of the labels.
    w("words.back.weight_hh", 4 * HIDDEN, HIDDEN), w("label.weight", LABELS, 2 * HIDDEN), w("words.character.weight_hh", 4 * HIDDEN, HIDDEN)
    w("words.ahead.bias", 4 * HIDDEN), w("words.back.bias", 4 * HIDDEN), w("words.ahead.weight_hh", 4 * HIDDEN, HIDDEN)
    w("words.back.weight_ih", 4 * HIDDEN, HIDDEN), w("words.character.weight_ih", 4 * HIDDEN, INPUT), w("words.ahead.weight_ih", 4 * HIDDEN, HIDDEN)
    w("label.bias", LABELS), w("words.character.bias", 4 * HIDDEN)
    for count in (1, 2, 5, 9, 14):
        words = [[chance.randrange(VOCABULARY) for _ in range(chance.randint(1, 6))] for _ in range(count)]
        of_words = [run_lstm(w, "words.character", word)[-1][0] for word in words]
        ahead, back = [], []
        for name, order, found in (("words.ahead", of_words, ahead), ("words.back", of_words[::-1], back)):
            state = (zeros(), zeros())
            for x in order:
                state = lstm(w, name, x, state)
                found.append(state[0])
        # Each word's characters and its node ahead, and then from the last word on its node back and its label.
        types, tokens, before, ends, aheads = [], [], [], [], []

        def node(kind, *reads, token=0):
            types.append(kind), tokens.append(token), before.append([v for v in reads if v is not None])
            return len(types) - 1

        for word in words:
            last = None
            for token in word:
                last = node(0, last, token=token)
            ends.append(last)
            aheads.append(node(1, last, aheads[-1] if aheads else None))
        behind, said = None, []
        for v in reversed(range(count)):
            behind = node(2, ends[v], behind)
            node(3, aheads[v], behind)
            said.append(labels(w, "label", torch.cat([ahead[v], back[count - 1 - v]])))
        offsets = [sum(map(len, before[:v])) for v in range(len(types) + 1)]
        names = ["words.character", "words.ahead", "words.back", "label"]
        yield {"inputs": [tokens], "structure": {"graph": [names, types, offsets, sum(before, [])]}, "outputs": [said]}


# ---- Lattices ----


def lattice_lstm_word(w, token, state):
    h, c = state
    x = w.row("lattice.word.embedding", token)
    terms = (("lattice.word.weight_ih", x), ("lattice.word.weight_hh", h))
    i, f, g = w.linear(3 * HIDDEN, "lattice.word.bias", *terms).split(HIDDEN)
    return (sigmoid(f) * c + sigmoid(i) * tanh(g),)


def lattice_lstm_character(w, token, state, words):
    x, own = w.row("lattice.character.embedding", token), "lattice.character"
    h, c = state or (zeros(), zeros())
    i, f, g, o = w.linear(4 * HIDDEN, f"{own}.bias", (f"{own}.weight_ih", x), (f"{own}.weight_hh", h)).split(HIDDEN)
    shares = [sigmoid(i)]
    cells = [tanh(g)]
    for (word,) in words:
        shares.append(sigmoid(w.linear(HIDDEN, f"{own}.link_bias", (f"{own}.link_weight", x), (f"{own}.link_cell", word))))
        cells.append(word)
    w(f"{own}.link_bias", HIDDEN), w(f"{own}.link_weight", HIDDEN, INPUT), w(f"{own}.link_cell", HIDDEN, HIDDEN)
    # Zhang and Yang's normalisation: a softmax over the candidates, element by element.
    mixed = (torch.softmax(torch.stack(shares), dim=0) * torch.stack(cells)).sum(dim=0)
    c = mixed if words else sigmoid(f) * c + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(c), c


def lattice_gru_word(w, token, state):
    return (gru(w, "lattice.word", w.row("lattice.word.embedding", token), state[0]),)


def lattice_gru_character(w, token, state, words):
    x, own = w.row("lattice.character.embedding", token), "lattice.character"
    (h,) = state or (zeros(),)
    candidates = [gru(w, own, x, h)]
    shares = [sigmoid(w.linear(HIDDEN, f"{own}.own_bias", (f"{own}.own_weight", x)))]
    for (word,) in words:
        candidates.append(word)
        shares.append(sigmoid(w.linear(HIDDEN, f"{own}.link_bias", (f"{own}.link_weight", x), (f"{own}.link_state", word))))
    w(f"{own}.link_bias", HIDDEN), w(f"{own}.link_weight", HIDDEN, INPUT), w(f"{own}.link_state", HIDDEN, HIDDEN)
    return ((torch.softmax(torch.stack(shares), dim=0) * torch.stack(candidates)).sum(dim=0),)


def over_lattices(character, word):
    def requests(w, chance):
        for length, count in ((1, 0), (2, 1), (7, 5), (12, 14)):
            spans = []
            while len(spans) < count:
                start = chance.randrange(length - 1)
                spans.append((start, chance.randint(start + 2, min(length, start + 5))))
            tokens, words = ([chance.randrange(VOCABULARY) for _ in range(n)] for n in (length, count))
            states = []
            for i, token in enumerate(tokens):
                ending = [word(w, words[k], states[start]) for k, (start, end) in enumerate(spans) if end == i + 1]
                states.append(character(w, token, states[-1] if states else None, ending))
            lattice = [length, [start for start, _ in spans], [end for _, end in spans]]
            yield {"inputs": [tokens, words], "structure": {"lattice": lattice}, "outputs": [torch.cat([s[0] for s in states]).tolist()]}

    return requests


# ---- Lanes ----


def labels(w, name, x):
    best = w.linear(LABELS, f"{name}.bias", (f"{name}.weight", x)).topk(2)
    assert best.values[0] - best.values[1] > 1e-9, "a near tie: no answer to compare with"
    return int(best.indices[0])


def chains(answer):
    def requests(w, chance):
        for length in (1, 2, 6, 13):
            tokens = [chance.randrange(VOCABULARY) for _ in range(length)]
            yield {"inputs": [tokens], "structure": {"chain": length}, "outputs": [answer(w, tokens)]}

    return requests


def tagger(w, tokens):
    both = zip(run_lstm(w, "layer0", tokens), run_lstm(w, "layer0_back", tokens, back=True))
    return [labels(w, "tagger", torch.cat([ahead[0], back[0]])) for ahead, back in both]


def classifier(w, tokens):
    x = torch.stack([h for h, _ in run_lstm(w, "lstm", tokens)]).max(dim=0).values
    made = relu(w.linear(HIDDEN, "highway.bias", ("highway.weight", x)))
    t = sigmoid(w.linear(HIDDEN, "highway.gate_bias", ("highway.gate", x)))
    return [labels(w, "label", t * made + (1 - t) * x)]


def decoder(scores):
    def answer(w, tokens):
        states = run_lstm(w, "encoder", tokens)
        everything = torch.stack([h for h, _ in states])
        state, said = states[-1], [1]
        while len(said) <= STEPS and (len(said) == 1 or said[-1] != 0):
            state = lstm(w, "decoder", w.row("decoder.embedding", said[-1]), state)
            context = torch.softmax(scores(w, state[0], everything), dim=0) @ everything
            attended = tanh(w.linear(HIDDEN, "", ("decoder.mix_context", context), ("decoder.mix_h", state[0])))
            best = w.linear(VOCABULARY, "decoder.output_bias", ("decoder.output", attended)).topk(2)
            assert best.values[0] - best.values[1] > 1e-9, "a near tie: no answer to compare with"
            said.append(int(best.indices[0]))
        return said[1:]

    return chains(answer)


def philox(counter, key):
    """Salmon et al., 2011: four words of 32 bits."""
    c, k = [counter, 0, 0, 0], list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def sampling(w, chance):
    w.scale = 4
    for length in (1, 2, 6, 13):
        tokens, seed = [chance.randrange(VOCABULARY) for _ in range(length)], chance.randrange(-(2**31), 2**31)
        state, said = run_lstm(w, "encoder", tokens)[-1], [1]
        while len(said) <= STEPS and (len(said) == 1 or said[-1] != 0):
            state = lstm(w, "decoder", w.row("decoder.embedding", said[-1]), state)
            logits = w.linear(VOCABULARY, "decoder.output_bias", ("decoder.output", state[0]))
            order = logits.argsort(descending=True)
            sums = torch.softmax(logits[order], dim=0).cumsum(dim=0)
            u = (philox(len(said) - 1, (seed & 0xFFFFFFFF, 0))[0] >> 8) / 2**24
            assert (sums - u).abs().min() > 1e-9, "a near tie: no answer to compare with"
            said.append(int(order[int((sums <= u).sum())]))
        yield {"inputs": [tokens, [seed]], "structure": {"chain": length}, "outputs": [said[1:]]}


def rnnt(w, chance):
    blank, most, w.scale = 0, 3, 8
    # Asked for in this order, half of the frames say nothing, and the others up to three symbols.
    w("transducer.joint_said", HIDDEN, HIDDEN), w("transducer.embedding", VOCABULARY, HIDDEN), w("transducer.output_bias", VOCABULARY)
    w("transducer.joint_bias", HIDDEN), w("transducer.weight_hh", 4 * HIDDEN, HIDDEN), w("encoder.embedding", VOCABULARY, INPUT)
    w("encoder.weight_ih", 4 * HIDDEN, INPUT), w("transducer.weight_ih", 4 * HIDDEN, HIDDEN), w("encoder.weight_hh", 4 * HIDDEN, HIDDEN)
    w("transducer.bias", 4 * HIDDEN), w("transducer.output", VOCABULARY, HIDDEN), w("transducer.joint_frame", HIDDEN, HIDDEN)
    for _ in range(200):
        length = chance.randint(1, 9)
        tokens = [chance.randrange(VOCABULARY) for _ in range(length)]
        token, state, symbols = blank, (zeros(), zeros()), []
        for frame, _ in run_lstm(w, "encoder", tokens):
            emitted = []
            while len(emitted) < most and (not emitted or emitted[-1] != blank):
                after = lstm(w, "transducer", w.row("transducer.embedding", token, HIDDEN), state)
                terms = (("transducer.joint_frame", frame), ("transducer.joint_said", after[0]))
                joint = tanh(w.linear(HIDDEN, "transducer.joint_bias", *terms))
                best = w.linear(VOCABULARY, "transducer.output_bias", ("transducer.output", joint)).topk(2)
                assert best.values[0] - best.values[1] > 1e-9, "a near tie: no answer to compare with"
                emitted.append(int(best.indices[0]))
                if emitted[-1] != blank:
                    token, state = emitted[-1], after
            symbols += emitted + [blank] * (most - len(emitted))
        yield {"inputs": [tokens], "structure": {"chain": length}, "outputs": [symbols]}


def crf_tagger(w, chance):
    w.scale = 4
    for _ in range(20):
        length = chance.randint(1, 7)
        tokens = [chance.randrange(VOCABULARY) for _ in range(length)]
        both = zip(run_lstm(w, "layer0", tokens), run_lstm(w, "layer0_back", tokens, back=True))
        own = [w.linear(LABELS, "tagger.bias", ("tagger.weight", torch.cat([ahead[0], back[0]]))) for ahead, back in both]
        start, end, transitions = w("tagger.start", LABELS), w("tagger.end", LABELS), w("tagger.transitions", LABELS, LABELS)
        # By what all ways are worth, as there are few.
        ways = []
        for path in itertools.product(range(LABELS), repeat=length):
            total = start[path[0]] + end[path[-1]] + sum(emission[label] for emission, label in zip(own, path))
            ways.append((float(total + sum(transitions[a, b] for a, b in zip(path, path[1:]))), path))
        ways.sort(reverse=True)
        assert ways[0][0] - ways[1][0] > 1e-9, "a near tie: no answer to compare with"
        yield {"inputs": [tokens], "structure": {"chain": length}, "outputs": [ways[0][1]]}


def worth(beam):
    said, total, _, _ = beam
    return total / ((5 + len(said)) / 6) ** 0.6


def beams(w, chance):
    width, w.scale = 4, 16
    # Asked for in this order, they make beams that end early and late, and many different answers.
    w("decoder.weight_hh", 4 * HIDDEN, HIDDEN), w("decoder.bias", 4 * HIDDEN), w("decoder.output", VOCABULARY, HIDDEN)
    w("decoder.weight_ih", 4 * HIDDEN, INPUT), w("encoder.weight_ih", 4 * HIDDEN, INPUT), w("encoder.embedding", VOCABULARY, INPUT)
    w("decoder.embedding", VOCABULARY, INPUT), w("encoder.weight_hh", 4 * HIDDEN, HIDDEN)
    for _ in range(100):
        length = chance.randint(1, 13)
        tokens = [chance.randrange(VOCABULARY) for _ in range(length)]
        kept, left = [([], 0.0, False, run_lstm(w, "encoder", tokens)[-1])], []
        while len(left) < STEPS and (not left or left[-1] > 0):
            candidates = []
            for said, total, ended, state in kept:
                if ended:
                    candidates.append((said, total, True, state))
                    continue
                state = lstm(w, "decoder", w.row("decoder.embedding", said[-1] if said else 1), state)
                logits = w.linear(VOCABULARY, "decoder.output_bias", ("decoder.output", state[0]))
                for token, more in enumerate(torch.log_softmax(logits, dim=0).tolist()):
                    candidates.append((said + [token], total + more, token == 0, state))
            candidates.sort(key=worth, reverse=True)
            worths = [worth(beam) for beam in candidates[: width + 1]]
            assert min(a - b for a, b in zip(worths, worths[1:])) > 1e-9, "a near tie: no answer to compare with"
            kept = candidates[:width]
            left.append(sum(not ended for _, _, ended, _ in kept))
        best = kept[0][0]
        said = best + [0] * (len(left) - len(best))
        yield {"inputs": [tokens], "structure": {"chain": length}, "outputs": [said, left]}


def dot(_, h, everything):
    return everything @ h


def additive(w, h, everything):
    asked = w("decoder.query", HIDDEN, HIDDEN) @ h
    keys = everything @ w("decoder.key", HIDDEN, HIDDEN).T
    return tanh(keys + asked) @ w("decoder.score", 1, HIDDEN)[0]


def similarity(w, chance):
    for lengths in ([1, 1], [3, 7], [9, 2]):
        sides = [[chance.randrange(VOCABULARY) for _ in range(length)] for length in lengths]
        ends = [run_lstm(w, "encoder", tokens)[-1][0] for tokens in sides]
        cosine = torch.nn.functional.cosine_similarity(*ends, dim=0)
        yield {"inputs": sides, "structure": {"sequences": [["left", "right"], lengths]}, "outputs": [[float(cosine)]]}


# ---- Rows of numbers ----


def rows(scores, *shape):
    def requests(w, chance):
        for count in (1, 2, 5):
            # Such as are the same in float.
            x = [[chance.randrange(-128, 129) / 64 for _ in range(torch.Size(shape).numel())] for _ in range(count)]
            answers = [scores(w, torch.tensor(row, dtype=torch.float64).reshape(shape)) for row in x]
            yield {"inputs": [sum(x, [])], "structure": {"chain": count}, "outputs": [torch.cat(answers).tolist()]}

    return requests


def mlp(w, x):
    below = relu(w.linear(HIDDEN, "mlp.first_bias", ("mlp.first", x)))
    above = relu(w.linear(HIDDEN, "mlp.second_bias", ("mlp.second", below)))
    return w.linear(LABELS, "mlp.output_bias", ("mlp.output", above))


def cnn(w, x):
    nn = torch.nn.functional
    w.input = x.shape[-1]
    first = nn.conv2d(x.unsqueeze(0), w("cnn.first", 8, 1, 3, 3), w("cnn.first_bias", 8), padding=1)
    edges = nn.max_pool2d(relu(first), 3, stride=2, padding=1)
    second = nn.conv2d(edges, w("cnn.second", 16, 8, 3, 3), w("cnn.second_bias", 16), padding=1)
    parts = nn.avg_pool2d(relu(second), 3, stride=2, padding=1, count_include_pad=False)
    h = relu(w.linear(HIDDEN, "cnn.bias", ("cnn.weight", parts.flatten())))
    return w.linear(LABELS, "cnn.output_bias", ("cnn.output", h))


KINDS = {
    "tree_lstm": over_trees(tree_lstm),
    "child_sum": over_trees(child_sum, binary=False),
    "tree_gru": over_trees(tree_gru, binary=False),
    "tree_fc": over_trees(tree_fc),
    "mv_rnn": over_trees(mv_rnn),
    "tree_lstm_2type": over_trees(tree_lstm_2type, types=("tree.leaf", "tree.a", "tree.b")),
    "char_tagger": char_tagger,
    "lattice_lstm": over_lattices(lattice_lstm_character, lattice_lstm_word),
    "lattice_gru": over_lattices(lattice_gru_character, lattice_gru_word),
    "tagger": chains(tagger),
    "classifier": chains(classifier),
    "attention_seq2seq": decoder(dot),
    "additive_seq2seq": decoder(additive),
    "similarity": similarity,
    "sampling_seq2seq": sampling,
    "beam_seq2seq": beams,
    "rnnt": rnnt,
    "crf_tagger": crf_tagger,
    "mlp": rows(mlp, INPUT),
    "cnn": rows(cnn, 1, 9, 9),
}


def main():
    golden = {"made_by": f"PyTorch {torch.__version__}", "sizes": SIZES, "kinds": []}
    with torch.no_grad():
        for kind, requests in KINDS.items():
            weights = Weights()
            made = list(requests(weights, random.Random(17)))
            own = {"kind": kind, "scale": weights.scale, "input": weights.input}
            golden["kinds"].append({**own, "weights": weights.shapes, "requests": made})
    print(json.dumps(golden))


if __name__ == "__main__":
    main()
