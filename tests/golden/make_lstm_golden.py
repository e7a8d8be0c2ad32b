#!/usr/bin/env python3
"""Writes lstm.json: what PyTorch's LSTM answers, in double precision, for weights that any program can make.

Usage: make_lstm_golden.py > lstm.json        (Debian package python3-torch)

Element i of the tensor number n is weight(n, i): a multiple of 2^-23, so that it is the same number in float and in
double. Tensors: 0 embedding; of layer l 1 + 3l weight_ih, 2 + 3l weight_hh, 3 + 3l bias. tests/unit/cells/golden_test.cc has the same formula.
"""

import json

import torch

VOCABULARY = 50
SIZES = (
    {"input": 8, "hidden": 8, "layers": 1},
    {"input": 20, "hidden": 33, "layers": 1},
    {"input": 20, "hidden": 17, "layers": 2},
)
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
    width, hidden, layers = sizes["input"], sizes["hidden"], sizes["layers"]
    embedding = weights(0, VOCABULARY, width)
    lstm = torch.nn.LSTM(width, hidden, num_layers=layers, dtype=torch.float64)
    with torch.no_grad():
        for layer in range(layers):
            getattr(lstm, f"weight_ih_l{layer}").copy_(weights(1 + 3 * layer, 4 * hidden, hidden if layer else width))
            getattr(lstm, f"weight_hh_l{layer}").copy_(weights(2 + 3 * layer, 4 * hidden, hidden))
            getattr(lstm, f"bias_ih_l{layer}").copy_(weights(3 + 3 * layer, 4 * hidden))
            getattr(lstm, f"bias_hh_l{layer}").zero_()
        for length in LENGTHS:
            tokens = [mixed(7, 100 * length + t) % VOCABULARY for t in range(length)]
            _, (h, _) = lstm(embedding[tokens].unsqueeze(1))
            yield {"tokens": tokens, "h": h[-1].flatten().tolist()}


def main():
    models = [dict(sizes, vocabulary=VOCABULARY, sequences=list(answers(sizes))) for sizes in SIZES]
    print(json.dumps({"made_by": f"PyTorch {torch.__version__}", "models": models}, indent=1))


if __name__ == "__main__":
    main()
