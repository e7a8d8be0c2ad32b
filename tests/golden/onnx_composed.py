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


class Grouped(nn.Module):
    """Products that a letter for each axis says: by groups, of all with all, and of what each step has in one number."""

    def __init__(self):
        super().__init__()
        self.weight, self.layer = nn.Parameter(torch.randn(3, 2, 4)), nn.GRU(12, 4, batch_first=True)

    def forward(self, x):
        y = torch.einsum("bti,io->bto", x, self.weight[:, 0])
        wide = torch.einsum("bti,iko->btko", x, self.weight)
        rows = self.layer(torch.cat([y, wide.flatten(2)], dim=-1))[0]
        own = torch.einsum("...i,...i->...", rows, y).unsqueeze(-1)
        return torch.cat([own, torch.einsum("bti,btj->btij", rows, x).flatten(2)], dim=-1)


class Together(nn.Module):
    """Over all steps, which have no letter in the result."""

    def __init__(self):
        super().__init__()
        self.layer, self.weight = nn.GRU(3, 4, batch_first=True), nn.Parameter(torch.randn(4))

    def forward(self, x):
        y = self.layer(x)[0]
        return torch.einsum("btj,btk->bjk", y, x).flatten(1) + torch.einsum("bti,i->b", y, self.weight).unsqueeze(1)


class Steps(nn.Module):
    """One step, of products by letters: decays, outer products, and rows of a matrix."""

    def __init__(self):
        super().__init__()
        self.decay, self.mix = nn.Parameter(torch.rand(3, 4)), nn.Linear(3, 11)

    def forward(self, x, state):
        step, left, right = torch.split(self.mix(x), [3, 4, 4], dim=-1)
        step = nn.functional.softplus(step)
        state = state * torch.exp(-torch.einsum("bd,dn->bdn", step, self.decay))
        state = state + torch.einsum("bd,bn,bd->bdn", step, left, x)
        return torch.einsum("bdn,bn->bd", state, right) + torch.einsum("bdn->bd", state), state


class Repeated(nn.Module):
    """What a layer has ended with, once for each step of the next."""

    def __init__(self, how):
        super().__init__()
        self.reads, self.says, self.how = nn.LSTM(3, 4, batch_first=True), nn.LSTM(4, 3, batch_first=True), how

    def forward(self, x):
        end = self.reads(x)[1][0][-1].unsqueeze(1)
        each = end.repeat(1, x.shape[1], 1) if self.how == "repeat" else end.expand(-1, x.shape[1], -1)
        return self.says(each)[0].repeat(1, 1, 2)


class Statistics(nn.Module):
    """Rows weighed by what each is beside the mean of all and their variance, and what they come to: divided by their number."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 4, 3, padding=1)
        self.worth, self.out = nn.Conv1d(12, 4, 1), nn.Linear(8, 2)

    def forward(self, x):
        z = torch.relu(self.conv(x.transpose(1, 2)))
        mean, spread = z.mean(2, keepdim=True).expand_as(z), z.var(2, keepdim=True).add(1e-4).sqrt().expand_as(z)
        share = torch.softmax(self.worth(torch.cat([z, mean, spread], dim=1)), dim=2)
        middle = (share * z).sum(2)
        return self.out(torch.cat([middle, (share * z * z).sum(2)], dim=1)) / x.shape[1]


def composed_cases(along, from_torch):
    back = {0: "batch", 1: "steps"}
    yield along("sequence_bent", Bent(), back, opset=17)
    yield along("sequence_sized", Sized(), back, length=6)
    yield along("sequence_marked", Marked(), back, length=6, ids=7)
    yield along("sequence_levelled", Levelled(), back, length=6)
    yield along("sequence_running", Running(), back, length=6)
    yield along("sequence_grouped", Grouped(), back, length=6)
    yield along("sequence_together", Together(), back, length=6)
    for how in ("repeat", "expand"):
        yield along(f"sequence_repeated_{how}", Repeated(how), back, length=6)
    yield along("sequence_statistics", Statistics(), back, length=7)
    yield from_torch("einsum_step", Steps(), (1, 3), {"h": (1, 3, 4)})
    yield from_torch("grown", Grown(), (1, 2, 5), {})
    yield from_torch("cut_off", Small(), (1, 2, 5), {})
