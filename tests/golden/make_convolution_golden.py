#!/usr/bin/env python3
"""Writes convolution.json: what PyTorch's conv2d answers, in double precision, for numbers that any program can make.

Usage: make_convolution_golden.py > convolution.json        (Debian package python3-torch)

Numbers as in make_lstm_golden.py. Tensors: 0 x, 1 kernels, 3 bias.
"""

import json

import torch
from make_lstm_golden import weights

CASES = (
    {"channels": 1, "height": 1, "width": 9, "kernels": 1, "kernel_height": 1, "kernel_width": 3},
    {"channels": 3, "height": 1, "width": 17, "kernels": 5, "kernel_height": 1, "kernel_width": 4, "stride": [1, 3],
     "padding": [0, 2]},
    {"channels": 2, "height": 5, "width": 7, "kernels": 4, "kernel_height": 3, "kernel_width": 2, "padding": [1, 0]},
    {"channels": 4, "height": 6, "width": 5, "kernels": 3, "kernel_height": 2, "kernel_width": 5, "stride": [3, 2],
     "padding": [2, 3]},
    {"channels": 2, "height": 3, "width": 3, "kernels": 2, "kernel_height": 3, "kernel_width": 3},
)


def answer(case):
    x = weights(0, 1, case["channels"], case["height"], case["width"])
    kernels = weights(1, case["kernels"], case["channels"], case["kernel_height"], case["kernel_width"])
    y = torch.nn.functional.conv2d(x, kernels, weights(3, case["kernels"]), stride=case["stride"], padding=case["padding"])
    return y.flatten().tolist()


def main():
    cases = [dict({"stride": [1, 1], "padding": [0, 0]}, **case) for case in CASES]
    for case in cases:
        case["y"] = answer(case)
    print(json.dumps({"made_by": f"PyTorch {torch.__version__}", "cases": cases}, indent=1))


if __name__ == "__main__":
    main()
