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
        self.rising = nn.Conv1d(3, 4, 3, dilation=gap)  # of what stands beyond the end a number below 0
        nn.init.constant_(self.rising.weight, 0.01)
        nn.init.constant_(self.rising.bias, -0.3)
        with torch.no_grad():
            self.rising.weight[:, :, -1] = 0
            self.rising.bias += 0.8

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
            "logged": lambda: (torch.softmax(self.worth(rows), dim=1) * torch.log(self.rising(x.transpose(1, 2))).transpose(1, 2)).sum(dim=1),
            "counted": lambda: rows.sum(dim=1) / torch.zeros_like(rows[:, :, 0]).shape[1],
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


class Between(nn.Module):
    """Parts of a sequence: how each step differs from the one before, and what comes some steps later."""

    def __init__(self, how):
        super().__init__()
        self.how, self.layer, self.out = how, nn.GRU(6 if how == "changes" else 3, 4, batch_first=True), nn.Linear(4, 2)
        self.pool = nn.Conv1d(3, 3, 2, stride=2)

    def forward(self, x):
        if self.how == "changes":
            changes = F.pad(x[:, 1:] - x[:, :-1], (0, 0, 1, 0))
            return self.layer(torch.cat([x, changes], dim=-1))[0]
        if self.how == "rows":  # of a step two
            halves = self.pool(x.transpose(1, 2)[:, :, 1:] * x.transpose(1, 2)[:, :, :-1])
            return self.layer(F.pad(halves, (0, 1)).transpose(1, 2))[0]
        y = self.layer(x)[0]
        return {
            "middle": lambda: self.out(y[:, 1:-1]),
            "later": lambda: y[:, 2:].mean(dim=1),
            "earlier": lambda: torch.cat([y[:, :-2].amax(dim=1), y[:, :-2][:, -1]], dim=-1),
        }[self.how]()


def shorter_cases(along):
    back = {0: "batch", 1: "steps"}
    for how in (
        *("rows", "layer", "states", "ends", "largest", "mean", "weighed", "logged", "counted", "shares", "levelled", "padded"),
        "global",
    ):
        yield along(f"sequence_shorter_{how}", Unpadded(how), back, length=7)
    yield along("sequence_shorter_gaps", Unpadded("layer", 2), back, length=6, opset=17)
    yield along("sequence_shorter_to_one", Unpadded("layer"), back, length=3)
    for how in ("pooled", "last", "rows"):
        yield along(f"sequence_paused_{how}", Paused(how), back, length=24, opset=17)
    for how in ("changes", "middle", "later", "earlier", "rows"):
        yield along(f"sequence_between_{how}", Between(how), back, length=6)
    yield along("sequence_pictures", Pictures(), back, length=6, ids=7)
