"""Layers that look at steps around each one, or at all of them."""

import torch
import torch.nn.functional as F
from torch import nn


class Around(nn.Module):
    """A convolution along the sequence before a layer that goes along it: as far back as ahead."""

    def __init__(self, gap=1):
        super().__init__()
        self.conv, self.layer = nn.Conv1d(3, 4, 3, padding=gap, dilation=gap), nn.GRU(4, 5, batch_first=True)

    def forward(self, x):
        return self.layer(torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2))[0]


class Behind(nn.Module):
    """Zeros before the sequence, so that no step sees a later one."""

    def __init__(self):
        super().__init__()
        self.conv, self.layer = nn.Conv1d(3, 4, 3, dilation=2), nn.GRU(4, 5, batch_first=True)

    def forward(self, x):
        return self.layer(self.conv(F.pad(x.transpose(1, 2), (4, 0))).transpose(1, 2))[0]


class Cut(nn.Module):
    """Zeros on both sides, and what is too much cut off again; and nothing that goes along the sequence but this."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(3, 3, 3, dilation=gap, padding=2 * gap) for gap in (1, 2)])

    def forward(self, x):
        x = x.transpose(1, 2)
        for conv, gap in zip(self.convs, (1, 2)):
            x = x + torch.relu(conv(x)[:, :, : -2 * gap])
        return x.transpose(1, 2)


class Channels(nn.Module):
    """Each channel by itself, with an even window that looks further back than ahead."""

    def __init__(self):
        super().__init__()
        self.pad, self.conv, self.mix = nn.ConstantPad1d((2, 1), 0.0), nn.Conv1d(3, 6, 4, groups=3), nn.Conv1d(6, 2, 1)

    def forward(self, x):
        return self.mix(torch.tanh(self.conv(self.pad(x.transpose(1, 2))))).transpose(1, 2)


class Images(nn.Module):
    """Over the sequence and over what each step has."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 2, (3, 2), padding=(1, 1), stride=(1, 2))
        self.layer = nn.LSTM(4, 3, batch_first=True, bidirectional=True)

    def forward(self, x):
        made = torch.relu(self.conv(x.unsqueeze(1))).transpose(1, 2)
        return self.layer(made.flatten(2))[0]


class Halved(nn.Module):
    """Layers that leave out every other row before one that goes along the sequence."""

    def __init__(self, how):
        super().__init__()
        self.first, self.how = nn.Conv1d(3, 4, 3, stride=2, padding=1), how
        self.second = nn.Conv1d(4, 4, 5, stride=2, padding=2, groups=2)
        self.layer = nn.GRU(4, 3, batch_first=True, bidirectional=True)

    def forward(self, x):
        x = torch.relu(self.first(x.transpose(1, 2)))
        if self.how == "pooled":
            x = F.avg_pool1d(F.max_pool1d(x, 2), 2)
        if self.how == "twice":
            x = self.second(F.pad(x, (1, 0))[:, :, 1:])
        return self.layer(x.transpose(1, 2))[0]


class Fewer(nn.Module):
    """Rows that are left out, in pictures and otherwise, and what is made of those that stay."""

    def __init__(self, how):
        super().__init__()
        self.conv, self.how = nn.Conv2d(1, 2, 3, padding=1), how
        self.last, self.norm = nn.Conv1d(2, 2, 3, padding=1), nn.InstanceNorm1d(2)

    def forward(self, x):
        x = F.max_pool2d(torch.relu(self.conv(x.unsqueeze(1))), (2, 3)).squeeze(3)
        if self.how == "shares":
            return (F.log_softmax(x, dim=2) + F.softmax(self.last(x), dim=2)).transpose(1, 2)
        return self.norm(self.last(x)).mean(dim=2)


class Rated(nn.Module):
    """All rows weighed before any is left out: a step has two of them."""

    def __init__(self):
        super().__init__()
        self.conv, self.last = nn.Conv1d(3, 2, 3, padding=1), nn.Conv1d(2, 2, 2, stride=2)

    def forward(self, x):
        y = self.conv(x.transpose(1, 2))
        return self.last(torch.softmax(y, dim=2) * y - y.mean(dim=2, keepdim=True)).transpose(1, 2)


class Separated(nn.Module):
    """Rows of waves, all channels of a group levelled together over all steps, and waves made of them again."""

    def __init__(self, groups, pads):
        super().__init__()
        self.down, self.norm = nn.Conv1d(3, 4, 4, stride=2, padding=pads), nn.GroupNorm(groups, 4)
        self.share, self.up = nn.Conv1d(4, 4, 3, padding=1), nn.ConvTranspose1d(4, 2, 4, stride=2, padding=1)
        nn.init.uniform_(self.norm.weight)
        nn.init.uniform_(self.norm.bias)

    def forward(self, x):
        rows = torch.relu(self.down(x.transpose(1, 2)))
        made = rows * torch.sigmoid(self.share(self.norm(rows)))
        return (self.up(made) if self.down.padding[0] else made).transpose(1, 2)


class Widths(nn.Module):
    """Windows of several widths over the same rows, which are kept once."""

    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList([nn.Conv1d(3, 2, width, padding=width // 2) for width in (3, 7, 5)])

    def forward(self, x):
        x = x.transpose(1, 2)
        return torch.cat([conv(x).amax(dim=2) for conv in self.convs], dim=1)


class Summed(nn.Module):
    """One answer: what a convolution makes of all steps."""

    def __init__(self, how):
        super().__init__()
        self.conv, self.how, self.out = nn.Conv1d(3, 4, 3, padding=1), how, nn.Linear(4, 2)

    def forward(self, x):
        made = torch.relu(self.conv(x.transpose(1, 2)))
        pooled = F.adaptive_avg_pool1d(made, 1) if self.how == "mean" else F.adaptive_max_pool1d(made, 1)
        return self.out(pooled.squeeze(2))


class Weighed(nn.Module):
    """One answer: the rows of a layer, weighed by what each is worth, or by what the last one asks for."""

    def __init__(self, how):
        super().__init__()
        self.layer, self.worth, self.how = nn.GRU(3, 4, batch_first=True, bidirectional=True), nn.Linear(8, 1), how

    def forward(self, x):
        rows = self.layer(x)[0]
        if self.how == "sum":
            return (torch.softmax(self.worth(torch.tanh(rows)), dim=1) * rows).sum(dim=1)
        if self.how == "product":
            return torch.bmm(torch.softmax(self.worth(rows), dim=1).transpose(1, 2), rows).squeeze(1)
        if self.how == "shares":
            return F.log_softmax(self.worth(rows), dim=1)
        asked = torch.softmax(torch.bmm(rows, rows[:, -1:].transpose(1, 2)).squeeze(2), dim=1)
        return torch.bmm(rows.transpose(1, 2), asked.unsqueeze(2)).squeeze(2)


class Standard(nn.Module):
    """Each step, less the mean of all, in parts of how far they lie apart; and the least of what becomes of them."""

    def __init__(self, least):
        super().__init__()
        self.layer, self.least = nn.GRU(3, 4, batch_first=True), least

    def forward(self, x):
        apart = x - x.mean(dim=1, keepdim=True)
        rows = self.layer(apart / (apart.pow(2).mean(dim=1, keepdim=True) + 1e-3).sqrt())[0]
        return rows.amin(dim=1) if self.least else rows


class Regained(nn.Module):
    """Rows that were left out made again, around a layer that goes along those that were left."""

    def __init__(self, wide):
        super().__init__()
        self.down = nn.Conv1d(3, 4, 8 if wide else 2, stride=4 if wide else 2, padding=2 if wide else 0)
        self.layer, self.mix = nn.LSTM(4, 4, batch_first=True, bidirectional=True), nn.Linear(8, 4)
        self.up = nn.ConvTranspose1d(4, 2, 8, stride=4, padding=2, groups=2)
        if not wide:
            self.up = nn.ConvTranspose1d(4, 2, 2, stride=2, padding=1, output_padding=1, dilation=2)

    def forward(self, x):
        z = torch.relu(self.down(x.transpose(1, 2)))
        z = z + self.mix(self.layer(z.transpose(1, 2))[0]).transpose(1, 2)
        return self.up(z).transpose(1, 2)


def window_cases(along):
    back = {0: "batch", 1: "steps"}
    yield along("sequence_around", Around(), back)
    yield along("sequence_around_gaps", Around(3), back, length=9, opset=17)
    yield along("sequence_around_one_step", Around(), back, length=1)
    yield along("sequence_behind", Behind(), back, length=7)
    yield along("sequence_behind_opset_9", Behind(), back, length=7, opset=9)
    yield along("sequence_cut", Cut(), back, length=8)
    yield along("sequence_cut_opset_9", Cut(), back, length=8, opset=9)
    yield along("sequence_channels", Channels(), back, length=6)
    yield along("sequence_images", Images(), back)
    yield along("sequence_halved", Halved("once"), back, length=6)
    yield along("sequence_halved_twice", Halved("twice"), back, length=8)
    yield along("sequence_halved_pooled", Halved("pooled"), back, length=16, opset=17)
    yield along("sequence_fewer", Fewer("mean"), back, length=6)
    yield along("sequence_fewer_shares", Fewer("shares"), back, length=6)
    yield along("sequence_rated", Rated(), back, length=6)
    yield along("sequence_regained", Regained(True), back, length=16)
    yield along("sequence_regained_narrow", Regained(False), back, length=6)
    yield along("sequence_separated", Separated(1, 1), back, length=8)
    yield along("sequence_separated_groups", Separated(2, 1), back, length=6, opset=17)
    yield along("sequence_separated_shorter", Separated(2, 0), back, length=8)
    yield along("sequence_widths", Widths(), back, length=6)
    for how in ("mean", "largest"):
        yield along(f"sequence_summed_{how}", Summed(how), back, length=6)
    for how in ("sum", "product", "shares", "asked"):
        yield along(f"sequence_weighed_{how}", Weighed(how), back)
    yield along("sequence_weighed_opset_11", Weighed("sum"), back, opset=11)
    yield along("sequence_standard", Standard(False), back, length=6)
    yield along("sequence_least", Standard(True), back, length=6)
