#!/usr/bin/env python3
"""Models of PyTorch, exported as ONNX: how many requests of real lengths a second volvox-bench answers with them, and ONNX Runtime.

    NODE_PATH=… imported.py BUILD LENGTHS [--rounds 3] [--seconds 3]

BUILD is a build folder, LENGTHS a file with a length a line, NODE_PATH where npm's onnxruntime-node is. Both have two threads, are
saturated, and take turns. Prints the medians and, in brackets, the range. Needs PyTorch and python3-onnx.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile
import warnings

import torch
import torch.nn.functional as F
from torch import nn

WORDS = 20000
warnings.filterwarnings("ignore")


class Tagger(nn.Module):
    """Two layers of LSTMs in both directions, a label for every step."""

    def __init__(self):
        super().__init__()
        self.table, self.layer = nn.Embedding(WORDS, 128), nn.LSTM(128, 256, 2, batch_first=True, bidirectional=True)
        self.out = nn.Linear(512, 20)

    def forward(self, x):
        return self.out(self.layer(self.table(x))[0])


class Texts(nn.Module):
    """Windows of three, five and seven words, of each the largest."""

    def __init__(self):
        super().__init__()
        self.table, self.out = nn.Embedding(WORDS, 128), nn.Linear(300, 5)
        self.convs = nn.ModuleList([nn.Conv1d(128, 100, width, padding=width // 2) for width in (3, 5, 7)])

    def forward(self, x):
        x = self.table(x).transpose(1, 2)
        return self.out(torch.cat([F.relu(conv(x)).amax(dim=2) for conv in self.convs], dim=1))


class Attentive(nn.Module):
    """A convolution, an LSTM in both directions, the mean of its rows by learned weights."""

    def __init__(self):
        super().__init__()
        self.table, self.conv = nn.Embedding(WORDS, 128), nn.Conv1d(128, 128, 3, padding=1)
        self.layer = nn.LSTM(128, 128, batch_first=True, bidirectional=True)
        self.worth, self.out = nn.Linear(256, 1), nn.Linear(256, 5)

    def forward(self, x):
        y = self.layer(F.relu(self.conv(self.table(x).transpose(1, 2))).transpose(1, 2))[0]
        return self.out((torch.softmax(self.worth(torch.tanh(y)), dim=1) * y).sum(dim=1))


class Encoder(nn.Module):
    """Two layers of a transformer: width 256, four heads."""

    def __init__(self):
        super().__init__()
        self.table, self.places = nn.Embedding(WORDS, 256), nn.Parameter(torch.randn(1, 512, 256) / 10)
        self.blocks = nn.ModuleList([nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True) for _ in range(2)])
        self.out = nn.Linear(256, 5)

    def forward(self, x):
        x = self.table(x) + self.places[:, : x.size(1)]
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean(dim=1))


def served(build, model, lengths, seconds):
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [build / "simulation/bench/volvox-bench", "engine", "--model", model, "--lengths", lengths, "--backlog"]
        command += ["--policy", "cellular", "--threads", "2", "--max-batch", "256", "--repeat", "1", "--json", report.name]
        subprocess.run([*command, "--seconds", str(seconds)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return json.loads(pathlib.Path(report.name).read_text(encoding="utf-8"))["runs"][0]["throughput_rps"]["median"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("lengths", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        for make in (Tagger, Texts, Attentive, Encoder):
            torch.manual_seed(1)
            name, file = make.__name__.lower(), folder / f"{make.__name__.lower()}.onnx"
            axes = {"x": {0: "batch", 1: "steps"}}
            example = (torch.zeros(1, 9, dtype=torch.int64),)
            torch.onnx.export(make().eval(), example, file, input_names=["x"], output_names=["y"], opset_version=17, dynamic_axes=axes)
            subprocess.run([asked.build / "volvox", "import", file, "--as", name, "--into", folder / "models"], check=True, stdout=subprocess.DEVNULL)
            rates = {"volvox": [], "alone": [], "padded": []}
            for _ in range(asked.rounds):
                rates["volvox"].append(served(asked.build, folder / "models" / name, asked.lengths, asked.seconds))
                command = ["node", pathlib.Path(__file__).with_suffix(".mjs"), file, asked.lengths, str(asked.seconds)]
                other = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                for key, rate in other.items():
                    rates[key].append(rate)
            texts = [f"{key} {statistics.median(all):.0f} ({min(all):.0f} … {max(all):.0f})" for key, all in rates.items()]
            best = [max(pair) for pair in zip(rates["alone"], rates["padded"])]
            ratio = statistics.median(own / other for own, other in zip(rates["volvox"], best))
            print(f"{name}: {', '.join(texts)}; volvox over the better: {ratio:.2f}", flush=True)


if __name__ == "__main__":
    main()
