"""Convolutions without pads: their sequence has fewer rows than their input."""

import torch
import torch.nn.functional as F
from torch import nn


class Unpadded(nn.Module):
    """Convolutions without pads, and what goes along the rows that are left, or over all of them."""

    def __init__(self, how, gap=1):
        super().__init__()
        self.how, self.conv, self.again = how, nn.Conv1d(3, 4, 3, dilation=gap), nn.Conv1d(4, 4, 4, padding=2)
        self.layer, self.worth, self.out = nn.GRU(4, 3, batch_first=True, bidirectional=True), nn.Linear(4, 1), nn.Linear(6, 2)
        self.norm = nn.InstanceNorm1d(4, affine=True)

    def forward(self, x):
        z = torch.tanh(self.conv(x.transpose(1, 2)))
        rows = z.transpose(1, 2)
        return {
            "rows": lambda: F.log_softmax(rows, dim=-1),
            "layer": lambda: self.out(self.layer(rows)[0]),
            "states": lambda: self.layer(rows)[1].transpose(0, 1).flatten(1),
            "ends": lambda: self.out(torch.cat([self.layer(rows)[0][:, -1, :3], self.layer(rows)[0][:, 0, 3:]], dim=1)),
            "largest": lambda: z.amax(dim=2) - z.amin(dim=2),
            "mean": lambda: torch.cat([z.mean(dim=2), z.std(dim=2), z.sum(dim=2), z.mean(dim=(1, 2), keepdim=True)[:, 0]], dim=1),
            "weighed": lambda: (torch.softmax(self.worth(rows), dim=1) * rows).sum(dim=1),
            "shares": lambda: F.log_softmax(rows, dim=1),
            "levelled": lambda: self.norm(z).transpose(1, 2),
            "padded": lambda: self.again(z).transpose(1, 2),
            "global": lambda: torch.cat([rows, rows.mean(dim=1, keepdim=True).expand_as(rows)], dim=-1),
        }[self.how]()


class Paused(nn.Module):
    """Rows that are left out, of which the last steps have none: pools, strides, and windows over what is left."""

    def __init__(self, how):
        super().__init__()
        self.how, self.first, self.second = how, nn.Conv1d(3, 4, 5, stride=2), nn.Conv1d(4, 4, 3)
        self.layer, self.norm = nn.LSTM(4, 3, batch_first=True), nn.InstanceNorm1d(4)

    def forward(self, x):
        z = F.leaky_relu(self.norm(self.first(x.transpose(1, 2))))
        z = self.second(F.max_pool1d(z, 2))
        if self.how == "pooled":
            return torch.cat([z.mean(dim=2), z.amax(dim=2)], dim=1)
        y = self.layer(z.transpose(1, 2))[0]
        return y[:, -1] if self.how == "last" else y


class Pictures(nn.Module):
    """Words beside each other, by windows of several heights over the whole of each."""

    def __init__(self):
        super().__init__()
        self.table, self.convs = nn.Embedding(7, 3), nn.ModuleList([nn.Conv2d(1, 2, (height, 3)) for height in (2, 4, 3)])

    def forward(self, ids):
        picture = self.table(ids).unsqueeze(1)
        return torch.cat([torch.relu(conv(picture)).squeeze(3).amax(dim=2) for conv in self.convs], dim=1)


def shorter_cases(along):
    back = {0: "batch", 1: "steps"}
    for how in ("rows", "layer", "states", "ends", "largest", "mean", "weighed", "shares", "levelled", "padded", "global"):
        yield along(f"sequence_shorter_{how}", Unpadded(how), back, length=7)
    yield along("sequence_shorter_gaps", Unpadded("layer", 2), back, length=6, opset=17)
    yield along("sequence_shorter_to_one", Unpadded("layer"), back, length=3)
    for how in ("pooled", "last", "rows"):
        yield along(f"sequence_paused_{how}", Paused(how), back, length=24, opset=17)
    yield along("sequence_pictures", Pictures(), back, length=6, ids=7)
