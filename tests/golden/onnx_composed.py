"""Operators that are said by others, in a step and along a sequence."""

import torch
import torch.nn.functional as F
from torch import nn


class Bent(nn.Module):
    """Activations that bend otherwise."""

    def __init__(self):
        super().__init__()
        self.layer, self.own = nn.GRU(3, 4, batch_first=True), nn.PReLU()

    def forward(self, x):
        y = 2 * self.layer(x)[0]
        bent = [F.selu(y), F.celu(y, 0.7), F.hardswish(3 * y), F.mish(y), self.own(y), F.softsign(y), torch.sign(y)]
        return torch.cat(bent, dim=-1)


class Sized(nn.Module):
    """How large each row is, and how large all are together."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(3, 4, batch_first=True)

    def forward(self, x):
        y = self.layer(x)[0]
        own = [F.normalize(y, dim=-1), torch.logsumexp(y, -1, keepdim=True), y.norm(p=1, dim=-1, keepdim=True)]
        return torch.cat(own, dim=-1) / (1 + y.norm(dim=1, keepdim=True).sum(dim=-1, keepdim=True))


class Marked(nn.Module):
    """Ids as rows with a one among zeros, and the mean of those that are not 0."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(7, 4, batch_first=True)

    def forward(self, ids):
        mark = (ids != 0).float().unsqueeze(-1)
        return (self.layer(F.one_hot(ids, 7).float())[0] * mark).sum(dim=1) / mark.sum(dim=1)


class Levelled(nn.Module):
    """Each channel over all steps, and what each step has of them."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(3, 4, 3, padding=1), nn.InstanceNorm1d(4, affine=True)
        self.layer = nn.GRU(4, 2, batch_first=True)

    def forward(self, x):
        return self.layer(self.norm(self.conv(x.transpose(1, 2))).transpose(1, 2))[0]


class Running(nn.Module):
    """Sums of the steps so far, and of those that are to come."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(3, 4, batch_first=True)

    def forward(self, x):
        y = self.layer(torch.cumsum(x, 1))[0]
        return torch.cat([torch.cumsum(y, 1), torch.cumsum(y.flip(1), 1).flip(1), torch.cumsum(y, 2)], dim=-1)


class Grown(nn.Module):
    """A step's picture, made larger."""

    def __init__(self):
        super().__init__()
        self.wide = nn.ConvTranspose1d(2, 4, 4, stride=3, padding=1, output_padding=2, groups=2)
        self.tall = nn.ConvTranspose2d(4, 2, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2))
        self.own, self.norm = nn.PReLU(4), nn.InstanceNorm2d(2, affine=True)

    def forward(self, x):
        wide = self.own(self.wide(x))
        return self.norm(self.tall(wide.unsqueeze(2)[:, :, :, :9].reshape(1, 4, 3, 3)))


class Small(nn.Module):
    """Less than it was: what a transposed convolution makes is cut off."""

    def __init__(self):
        super().__init__()
        self.conv = nn.ConvTranspose1d(2, 3, 2, padding=2)

    def forward(self, x):
        return self.conv(x)


def composed_cases(along, from_torch):
    back = {0: "batch", 1: "steps"}
    yield along("sequence_bent", Bent(), back, opset=17)
    yield along("sequence_sized", Sized(), back, length=6)
    yield along("sequence_marked", Marked(), back, length=6, ids=7)
    yield along("sequence_levelled", Levelled(), back, length=6)
    yield along("sequence_running", Running(), back, length=6)
    yield from_torch("grown", Grown(), (1, 2, 5), {})
    yield from_torch("cut_off", Small(), (1, 2, 5), {})
