#!/usr/bin/env python3
"""Writes gru.json: what PyTorch's GRU answers, in double precision, for weights that any program can make.

Usage: make_gru_golden.py > gru.json        (Debian package python3-torch)

Weights and tokens are made as those of make_lstm_golden.py are. Tensors: 0 embedding, 1 weight_ih, 2 weight_hh, 3 bias_ih,
4 bias_hh. tests/unit/cells/golden_test.cc has the same formula.
"""

import json

import torch
from make_lstm_golden import LENGTHS, VOCABULARY, mixed, weights

SIZES = ({"input": 8, "hidden": 8}, {"input": 20, "hidden": 33})


def answers(sizes):
    width, hidden = sizes["input"], sizes["hidden"]
    embedding = weights(0, VOCABULARY, width)
    gru = torch.nn.GRU(width, hidden, dtype=torch.float64)
    with torch.no_grad():
        gru.weight_ih_l0.copy_(weights(1, 3 * hidden, width))
        gru.weight_hh_l0.copy_(weights(2, 3 * hidden, hidden))
        gru.bias_ih_l0.copy_(weights(3, 3 * hidden))
        gru.bias_hh_l0.copy_(weights(4, 3 * hidden))
        for length in LENGTHS:
            tokens = [mixed(7, 100 * length + t) % VOCABULARY for t in range(length)]
            _, h = gru(embedding[tokens].unsqueeze(1))
            yield {"tokens": tokens, "h": h.flatten().tolist()}


def main():
    models = [dict(sizes, vocabulary=VOCABULARY, sequences=list(answers(sizes))) for sizes in SIZES]
    print(json.dumps({"made_by": f"PyTorch {torch.__version__}", "models": models}, indent=1))


if __name__ == "__main__":
    main()
