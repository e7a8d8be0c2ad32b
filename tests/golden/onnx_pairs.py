"""Attention with a number for each pair of steps: masks, and what depends on how far steps are apart."""

import math

import torch
from torch import nn


def bucket(distance, buckets, farthest):
    """Those of T5: near ones exactly, others by their logarithm."""
    side = buckets // 2
    distance, later = torch.abs(distance), (distance > 0).to(torch.long) * side
    exact = side // 2
    far = exact + (torch.log(distance.float() / exact) / math.log(farthest / exact) * (side - exact)).to(torch.long)
    return later + torch.where(distance < exact, distance, torch.min(far, torch.full_like(far, side - 1)))


class Paired(nn.Module):
    """Two heads of attention over rows, and what is made of their scores."""

    def __init__(self, how, rows=3):
        super().__init__()
        self.how, self.read, self.table = how, nn.Linear(rows, 12), nn.Embedding(9, rows)
        self.gate, self.apart, self.far = nn.Linear(rows, 1), nn.Parameter(torch.randn(2, 9, 9)), nn.Embedding(17, 2)
        self.near, self.slopes = nn.Embedding(8, 2), nn.Parameter(torch.tensor([0.5, 0.25]).view(2, 1, 1))
        self.register_buffer("below", torch.tril(torch.ones(9, 9)).view(1, 1, 9, 9))
        self.register_buffer("seen", torch.tril(torch.ones(9, 9)).bool())
        self.back = nn.Parameter(torch.randn(13, 2))
        self.register_buffer("turns", torch.tensor([1.0, 0.1]))

    def turned(self, x, number):
        angle = torch.outer(number.float(), self.turns)
        halves = torch.cat([-x[..., 1:], x[..., :1]], dim=-1)
        return x * torch.cos(angle) + halves * torch.sin(angle)

    def scores(self, asks, asked, ids, steps):
        number = torch.arange(steps)
        apart = number[None, :] - number[:, None]
        if self.how == "rotary":
            asks, asked = self.turned(asks, number), self.turned(asked, number)
        a = asks @ asked.transpose(-2, -1) / 1.5
        below = torch.tril(torch.ones(steps, steps))
        return {
            "triangle": lambda: a.masked_fill(self.below[:, :, :steps, :steps] == 0, float("-inf")),
            "upper": lambda: a + torch.triu(torch.full((steps, steps), float("-inf")), diagonal=1),
            "lower": lambda: a.masked_fill(~torch.tril(torch.ones((steps, steps), dtype=torch.bool)), -1e9),
            "factor": lambda: a * below - 1e10 * (1 - below),
            "ranges": lambda: a.masked_fill(apart > 0, float("-inf")),
            "window": lambda: a.masked_fill((apart < -2) | (apart > 1), float("-inf")),
            "keys": lambda: a.masked_fill((ids == 3)[:, None, None, :], float("-inf")),
            "both": lambda: a.masked_fill(~(below.bool()[None] & (ids != 3)[:, None, :])[:, None], -1e9),
            "slopes": lambda: a + self.slopes * apart,
            "table": lambda: a + self.apart[:, :steps, :steps],
            "looked_up": lambda: a + self.far(apart + 8).permute(2, 0, 1)[None],
            "buckets": lambda: a + self.near(bucket(apart, 8, 16)).permute(2, 0, 1)[None],
            "from_the_end": lambda: a + self.back[apart].permute(2, 0, 1)[None],
            "by_length": lambda: a + self.far(apart + steps - 1).permute(2, 0, 1)[None] + (apart.abs() == steps - 1).float(),
            "seen": lambda: a.masked_fill(~self.seen[:steps, :steps], float("-inf")),
            "clipped": lambda: a + self.near(apart.clamp(-3, 3) + 3).permute(2, 0, 1)[None],
            "squares": lambda: torch.tanh(a) - apart.float() ** 2 / 7,
            "expanded": lambda: a + torch.triu(torch.full((steps, steps), -1e9), 1)[None, None].expand(1, 1, steps, steps),
            "turned": lambda: a.transpose(-2, -1),
        }.get(self.how, lambda: a)()

    def forward(self, x):
        rows = self.table(x) if x.dtype == torch.long else x
        steps = rows.size(1)
        asks, asked, has = (part.view(1, steps, 2, 2).transpose(1, 2) for part in self.read(rows).split(4, dim=2))
        if self.how == "added":  # of each step a number, and no product
            return torch.softmax(torch.tanh(self.gate(rows) + self.gate(rows * rows).transpose(1, 2)), dim=-1) @ rows
        if self.how == "one_asked":  # by both heads
            return (torch.softmax(asks @ asked[:, :1].transpose(-2, -1), dim=-1) @ has[:, :1]).transpose(1, 2).reshape(1, steps, 4)
        if self.how == "picked":  # the second head's scores, and values without the first axis
            shares = torch.softmax((asks @ asked.transpose(-2, -1))[:, 1] / 3, dim=-1)
            return shares @ self.table(torch.arange(steps)) + (shares @ rows).mean(dim=1, keepdim=True)
        shares = torch.softmax(self.scores(asks, asked, x, steps), dim=-1)
        if self.how == "twice":
            shares = torch.softmax(shares * 4, dim=-1)
        if self.how == "joint":
            shares = torch.softmax(shares[:, 0].reshape(1, -1), dim=-1).reshape(1, 1, steps, steps)
        if self.how == "late":
            shares = shares * torch.tril(torch.ones(steps, steps))
        if self.how == "triangle_alone":
            return torch.tril(torch.ones(steps, steps)) @ torch.tanh(rows) + (shares @ has).sum()
        return (shares @ has).transpose(1, 2).reshape(1, steps, 4)


def pair_cases(along):
    back = {0: "batch", 1: "steps"}
    for how in ("triangle", "upper", "lower", "factor", "ranges", "window", "slopes", "table", "looked_up", "buckets", "from_the_end", "by_length", "seen", "clipped", "one_asked", "picked", "squares", "expanded", "rotary", "added"):
        yield along(f"sequence_pairs_{how}", Paired(how), back, length=6, opset=14)
    for how in ("keys", "both"):
        yield along(f"sequence_pairs_{how}", Paired(how), back, ids=9, length=8, opset=14)
    yield along("sequence_pairs_one_step", Paired("upper"), back, length=1, opset=14)
    mask = nn.Transformer.generate_square_subsequent_mask
    causal = nn.TransformerEncoderLayer(4, 2, 6, batch_first=True)
    read = nn.Linear(3, 4)
    both = nn.Module()
    both.forward = lambda x: causal(read(x), src_mask=mask(x.size(1)))
    both.add_module("causal", causal)
    both.add_module("read", read)
    yield along("sequence_pairs_encoder", both, back, length=7, opset=14)


def pair_refusals(along_refused):
    x = torch.randn(1, 5, 3)
    for how, why in {
        "turned": "(Transpose): multiplies steps of the sequence with each other, and turns those around",
        "twice": "(Mul): multiplies steps of the sequence with each other, and does something else with their shares than weighing",
        "joint": "(Gather): multiplies steps of the sequence with each other, and picks some of that",
        "late": "(Mul): multiplies steps of the sequence with each other, and does something else with their shares than weighing",
        "triangle_alone": "(MatMul): multiplies steps of the sequence with each other, without a softmax of them",
    }.items():
        yield along_refused(f"pairs_{how}", Paired(how), (x,), ["x"], why, {0: "batch", 1: "steps"})
