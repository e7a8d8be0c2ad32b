#!/usr/bin/env python3
"""Writes lanes.json: what PyTorch answers, in double precision, for models that are made of several lanes.

Usage: make_lanes_golden.py > lanes.json        (Debian package python3-torch)

Weights and tokens are made as those of make_lstm_golden.py are; tests/unit/cells/lanes_golden_test.cc has the same formula.

* bidirectional: torch.nn.LSTM(bidirectional=True), all steps of the topmost layer. Tensors: 0 embedding; of layer l and
  direction d 1 + 6l + 3d weight_ih, then weight_hh, then bias.
* seq2seq: an encoder and a greedy decoder, which goes on from the encoder's last state, reads the token 1 first, and ends with
  the token 0. Tensors: 0 embedding of both; 1 to 3 the encoder's weights, 4 to 6 the decoder's, 7 output, four times as large, and 8 its bias, a
  quarter, so that what is said depends on what was read.
"""

import json

import torch
from make_lstm_golden import LENGTHS, VOCABULARY, mixed, weights

BIDIRECTIONAL = ({"input": 8, "hidden": 5, "layers": 1}, {"input": 20, "hidden": 17, "layers": 2})
SEQ2SEQ = ({"input": 12, "hidden": 9, "vocabulary": 7, "steps": 12}, {"input": 20, "hidden": 33, "vocabulary": 20, "steps": 40})


def tokens_of(length, vocabulary=VOCABULARY):
    return [mixed(7, 100 * length + t) % vocabulary for t in range(length)]


def load(lstm, suffix, first, width, hidden):
    with torch.no_grad():
        getattr(lstm, f"weight_ih_{suffix}").copy_(weights(first, 4 * hidden, width))
        getattr(lstm, f"weight_hh_{suffix}").copy_(weights(first + 1, 4 * hidden, hidden))
        getattr(lstm, f"bias_ih_{suffix}").copy_(weights(first + 2, 4 * hidden))
        getattr(lstm, f"bias_hh_{suffix}").zero_()


def bidirectional(sizes):
    width, hidden, layers = sizes["input"], sizes["hidden"], sizes["layers"]
    embedding = weights(0, VOCABULARY, width)
    lstm = torch.nn.LSTM(width, hidden, num_layers=layers, bidirectional=True, dtype=torch.float64)
    for layer in range(layers):
        for direction, suffix in enumerate((f"l{layer}", f"l{layer}_reverse")):
            load(lstm, suffix, 1 + 6 * layer + 3 * direction, 2 * hidden if layer else width, hidden)
    with torch.no_grad():
        for length in LENGTHS:
            tokens = tokens_of(length)
            answer, _ = lstm(embedding[tokens].unsqueeze(1))
            yield {"tokens": tokens, "h": answer[:, 0, :hidden].flatten().tolist(),
                   "h_back": answer[:, 0, hidden:].flatten().tolist()}  # fmt: skip


def translate(encoder, decoder, sizes, tokens):
    embedding, output = weights(0, sizes["vocabulary"], sizes["input"]), 4 * weights(7, sizes["vocabulary"], sizes["hidden"])
    bias = weights(8, sizes["vocabulary"]) / 4
    _, state = encoder(embedding[tokens].unsqueeze(1))
    said, closest = [1], float("inf")
    while len(said) <= sizes["steps"] and (len(said) == 1 or said[-1] != 0):
        answer, state = decoder(embedding[[said[-1]]].unsqueeze(1), state)
        logits = output @ answer.flatten() + bias
        best = logits.topk(2)
        closest = min(closest, float(best.values[0] - best.values[1]))
        said.append(int(best.indices[0]))
    return said[1:], closest


def seq2seq(sizes):
    width, hidden = sizes["input"], sizes["hidden"]
    encoder, decoder = (torch.nn.LSTM(width, hidden, dtype=torch.float64) for _ in range(2))
    load(encoder, "l0", 1, width, hidden)
    load(decoder, "l0", 4, width, hidden)
    with torch.no_grad():
        for length in range(1, 13):
            tokens = tokens_of(length, sizes["vocabulary"])
            said, closest = translate(encoder, decoder, sizes, tokens)
            assert closest > 1e-9, "a near tie: no answer to compare with"
            yield {"tokens": tokens, "translation": said}


def main():
    golden = {"made_by": f"PyTorch {torch.__version__}"}
    golden["bidirectional"] = [dict(sizes, vocabulary=VOCABULARY, sequences=list(bidirectional(sizes))) for sizes in BIDIRECTIONAL]
    golden["seq2seq"] = [dict(sizes, sequences=list(seq2seq(sizes))) for sizes in SEQ2SEQ]
    print(json.dumps(golden, indent=1))


if __name__ == "__main__":
    main()
