#!/usr/bin/env python3
"""Writes lstm.json: what PyTorch's LSTM answers, in double precision, for weights that any program can make.

Usage: make_lstm_golden.py > lstm.json        (Debian package python3-torch)

Element i of the tensor number n is weight(n, i): a multiple of 2^-23, so that it is the same number in float and in
double. Tensors: 0 embedding, 1 weight_ih, 2 weight_hh, 3 bias. tests/unit/cells/golden_test.cc has the same formula.
"""

import json

import torch

VOCABULARY = 50
SIZES = ({"input": 8, "hidden": 8}, {"input": 20, "hidden": 33})
LENGTHS = (1, 2, 3, 7, 30)


def mixed(tensor, i):
    x = (i * 2654435761 + tensor * 40503 + 12345) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    x = ((x ^ (x >> 16)) * 0x45D9F3B) & 0xFFFFFFFF
    return x ^ (x >> 16)


def weight(tensor, i):
    scale = 1.0 if tensor == 0 else 0.5
    return ((mixed(tensor, i) >> 8) - (1 << 23)) / (1 << 23) * scale


def weights(tensor, *shape):
    count = 1
    for extent in shape:
        count *= extent
    return torch.tensor([weight(tensor, i) for i in range(count)], dtype=torch.float64).reshape(shape)


def answers(sizes):
    width, hidden = sizes["input"], sizes["hidden"]
    embedding = weights(0, VOCABULARY, width)
    lstm = torch.nn.LSTM(width, hidden, dtype=torch.float64)
    with torch.no_grad():
        lstm.weight_ih_l0.copy_(weights(1, 4 * hidden, width))
        lstm.weight_hh_l0.copy_(weights(2, 4 * hidden, hidden))
        lstm.bias_ih_l0.copy_(weights(3, 4 * hidden))
        lstm.bias_hh_l0.zero_()
        for length in LENGTHS:
            tokens = [mixed(7, 100 * length + t) % VOCABULARY for t in range(length)]
            _, (h, _) = lstm(embedding[tokens].unsqueeze(1))
            yield {"tokens": tokens, "h": h.flatten().tolist()}


def main():
    models = [dict(sizes, vocabulary=VOCABULARY, sequences=list(answers(sizes))) for sizes in SIZES]
    print(json.dumps({"made_by": f"PyTorch {torch.__version__}", "models": models}, indent=1))


if __name__ == "__main__":
    main()
