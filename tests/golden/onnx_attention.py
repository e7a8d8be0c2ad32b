"""Attention of each step to all of them, and steps that know their number."""

import torch
from torch import nn


class Asking(nn.Module):
    """Rows of a layer, each with what it asks of all; in as many heads as there are."""

    def __init__(self, heads, how="shares"):
        super().__init__()
        self.layer, self.how = nn.GRU(3, 4, batch_first=True), how
        self.heads = nn.MultiheadAttention(4, heads, batch_first=True)

    def forward(self, x):
        y = self.layer(x)[0]
        if self.how == "heads":
            return y + self.heads(y, y, y)[0]
        scores = y @ y.transpose(1, 2) / 1.5
        if self.how == "scores":
            return torch.softmax(scores, dim=-1)
        if self.how == "biased":
            scores = scores + self.heads.in_proj_bias[0] + 1
        return torch.softmax(scores, dim=1 if self.how == "columns" else -1) @ y


class Numbered(nn.Module):
    """Rows of a table by the number of each step: a table that is cut to their length, or looked up in."""

    def __init__(self, looks_up):
        super().__init__()
        self.table, self.places = nn.Embedding(9, 3), nn.Parameter(torch.randn(1, 12, 3))
        self.layer, self.looks_up = nn.GRU(3, 4, batch_first=True), looks_up

    def forward(self, x):
        places = self.table(torch.arange(x.size(1)).unsqueeze(0)) if self.looks_up else self.places[:, : x.size(1)]
        return self.layer(x + places)[0]


class Encoder(nn.Module):
    """Nothing but attention goes along the sequence."""

    def __init__(self):
        super().__init__()
        self.read, self.places = nn.Linear(3, 4), nn.Parameter(torch.randn(1, 20, 4))
        self.block = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)

    def forward(self, x):
        return self.block(self.read(x) + self.places[:, : x.size(1)]).mean(dim=1)


def attention_cases(along):
    back = {0: "batch", 1: "steps"}
    yield along("sequence_attention", Asking(1), back, length=6)
    yield along("sequence_attention_heads", Asking(2, "heads"), back, length=6, opset=17)
    yield along("sequence_attention_biased", Asking(1, "biased"), back, length=6)
    yield along("sequence_attention_opset_11", Asking(2, "heads"), back, opset=11)
    yield along("sequence_places", Numbered(False), back, length=6)
    yield along("sequence_numbers", Numbered(True), back, length=6)
    yield along("sequence_encoder", Encoder(), back, length=6, opset=17)


def attention_refusals(along_refused):
    x = torch.randn(1, 5, 3)
    for how, why in {
        "columns": "(Softmax): multiplies steps of the sequence with each other, and goes over them otherwise than by a softmax along the last axis",
        "scores": "the output 'y' has other rows than its sequence has steps",
    }.items():
        yield along_refused(f"attention_{how}", Asking(1, how), (x,), ["x"], why, {0: "batch", 1: "steps"})
