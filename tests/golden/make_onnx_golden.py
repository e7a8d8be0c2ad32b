#!/usr/bin/env python3
"""Writes onnx.json: small ONNX models, what they make of random rows step after step (by PyTorch, or by numpy for what PyTorch
cannot say), and files that must be refused. Needs Debian's python3-torch, python3-numpy and python3-onnx.

    make_onnx_golden.py > onnx.json
"""

import json
import sys

import numpy as np
import onnx
import onnx.helper as make
import torch
from onnx_attention import attention_cases, attention_refusals
from onnx_batches import batches
from onnx_composed import composed_cases
from onnx_ids import id_cases
from onnx_pairs import pair_cases, pair_refusals
from onnx_shorter import shorter_cases
from onnx_strict import length_case, strict_cases, strict_refusals
from onnx_windows import window_cases
from onnx_writing import FLOAT, INT64, SCAN_START, STEPS, case, draw, exported, info, model, refused, scan_model, tensor
from torch import nn


def from_torch(name, module, x_shape, states, opset=13, axes=None, ids=None, **options):
    """A module that takes x and its states by name, and returns y and the next states; run for some steps."""
    module.eval()
    current = [torch.zeros(shape) for shape in states.values()]
    names = ["x", *states]
    first = torch.randint(ids, x_shape) if ids else torch.randn(x_shape)
    proto = exported(module, (first, *current), names, ["y", *(f"{state}N" for state in states)], axes, opset)
    rows, made = [], []
    with torch.no_grad():
        for _ in range(STEPS):
            x = torch.randint(ids, x_shape) if ids else torch.randn(x_shape)
            y, *current = module(x, *current) if states else (module(x),)
            rows.append(x.numpy())
            made.append(y.numpy())
    return case(name, proto, {"x": np.stack(rows)}, {"y": np.stack(made)}, **options)


class Step(nn.Module):
    """One step of a recurrent layer, with its states as arguments."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, *states):
        y, after = self.layer(x, states[0] if len(states) == 1 else states)
        return (y, after) if len(states) == 1 else (y, *after)


class Detector(nn.Module):
    """Like a detector of speech: mirrored edge, windows, magnitudes, convolutions, one packed state, a head."""

    def __init__(self):
        super().__init__()
        self.pad = nn.ReflectionPad1d((0, 4))
        self.basis = nn.Conv1d(1, 10, 8, stride=4, bias=False)
        self.narrow = nn.Conv1d(5, 6, 3, stride=2, padding=1)
        self.deep = nn.Conv1d(6, 6, 3, padding=1, groups=3)
        self.cell = nn.LSTMCell(6, 16)
        self.head = nn.Conv1d(16, 1, 1)

    def forward(self, x, state):
        bands = self.basis(self.pad(x.unsqueeze(1)))
        magnitude = torch.sqrt(bands[:, :5] ** 2 + bands[:, 5:] ** 2)
        deep = torch.relu(self.deep(torch.relu(self.narrow(magnitude)))).mean(dim=2)
        h, c = self.cell(deep, (state[0], state[1]))
        return torch.sigmoid(self.head(torch.relu(h).unsqueeze(2))).mean(dim=2), torch.stack([h, c])


class Reader(nn.Module):
    """A token a step."""

    def __init__(self):
        super().__init__()
        self.table, self.cell, self.out = nn.Embedding(11, 5), nn.GRUCell(5, 16), nn.Linear(16, 3)

    def forward(self, x, h):
        after = self.cell(self.table(x), h)
        return torch.log_softmax(self.out(after), dim=1), after


class Mixture(nn.Module):
    """No states; whatever else there is."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(2, 4, (3, 2), padding=(1, 0)), nn.BatchNorm2d(4)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)
        self.lines, self.layer = nn.Linear(6, 5), nn.LayerNorm(5)

    def forward(self, x):
        image = nn.functional.max_pool2d(nn.functional.elu(self.norm(self.conv(x))), 2)
        rows = self.layer(self.lines(image.reshape(1, 4, 6)))
        scores = torch.softmax(rows @ rows.transpose(1, 2) / 2.0, dim=-1) @ rows
        left, right = scores.split([2, 3], dim=2)
        mixed = torch.cat([right.clamp(-0.5, 0.5), torch.exp(-left.abs()), nn.functional.softplus(left)], dim=2)
        return (mixed - mixed.mean(dim=(1, 2), keepdim=True)).permute(0, 2, 1).flatten(1)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def recurrent(op, gates, hidden, width, extra=(), **attributes):
    """A node of one step, whose states are inputs and outputs of the model."""
    w, r, b = draw(1, gates * hidden, width), draw(1, gates * hidden, hidden), draw(1, 2 * gates * hidden)
    states = ["h", "c"] if op == "LSTM" else ["h"]
    inputs = ["x", "W", "R", "B", "", *states]
    if extra:
        inputs += ["" if op == "LSTM" and "c" not in inputs else "P"]
    node = make.make_node(op, inputs, ["Y", *(f"{state}n" for state in states)], hidden_size=hidden, **attributes)
    squeeze = make.make_node("Squeeze", ["Y", "axes"], ["y"])
    weights = [tensor("W", w), tensor("R", r), tensor("B", b), tensor("axes", np.array([0, 1], dtype=np.int64)), *extra]
    shapes = [info(state, [1, 1, hidden]) for state in states]
    nexts = [info(f"{state}n", [1, 1, hidden]) for state in states]
    made = model([node, squeeze], [info("x", [1, 1, width]), *shapes], [info("y", [1, hidden]), *nexts], weights)
    return made, *(part.astype(np.float64)[0] for part in (w, r, b))


def peephole_case():
    """Peepholes, clipping, coupled gates: ONNX's equations, in doubles."""
    hidden, width, clip = 5, 3, 0.6
    p = draw(1, 3 * hidden)
    proto, w, r, b = recurrent("LSTM", 4, hidden, width, [tensor("P", p)], clip=clip, activations=["Sigmoid", "Tanh", "Tanh"])
    pi, po, pf = np.split(p[0].astype(np.float64), 3)
    h, c = np.zeros(hidden), np.zeros(hidden)
    x = draw(STEPS, width)
    made = []
    for row in x.astype(np.float64):
        i, o, f, g = np.split(w @ row + r @ h + b[: 4 * hidden] + b[4 * hidden :], 4)
        i = sigmoid(np.clip(i + pi * c, -clip, clip))
        f = sigmoid(np.clip(f + pf * c, -clip, clip))
        c = f * c + i * np.tanh(np.clip(g, -clip, clip))
        h = sigmoid(np.clip(o + po * c, -clip, clip)) * np.tanh(c)
        made.append(h)
    return case("lstm_peephole_clip", proto, {"x": x}, {"y": made})


def reset_before_case():
    hidden, width = 5, 3
    proto, w, r, b = recurrent("GRU", 3, hidden, width)
    h, x, made = np.zeros(hidden), draw(STEPS, width), []
    for row in x.astype(np.float64):
        (wz, wr, wh), (rz, rr, rh) = np.split(w @ row + b[: 3 * hidden], 3), np.split(r, 3)
        bz, br, bh = np.split(b[3 * hidden :], 3)
        z, reset = sigmoid(wz + rz @ h + bz), sigmoid(wr + rr @ h + br)
        new = np.tanh(wh + rh @ (reset * h) + bh)
        h = (1 - z) * new + z * h
        made.append(h)
    return case("gru_reset_before", proto, {"x": x}, {"y": made})


def branch_case(rate):
    """The graph of one of two rates, which is known, around arithmetic with shapes."""

    def branch(factor):
        nodes = [
            make.make_node("Shape", ["x"], [f"shape{factor}"]),
            make.make_node("Gather", [f"shape{factor}", "last"], [f"extent{factor}"]),
            make.make_node("Cast", [f"extent{factor}"], [f"real{factor}"], to=FLOAT),
            make.make_node("Constant", [], [f"factor{factor}"], value=tensor("t", np.float32(factor))),
            make.make_node("Mul", [f"real{factor}", f"factor{factor}"], [f"by{factor}"]),
            make.make_node("Mul", ["x", f"by{factor}"], [f"out{factor}"]),
        ]
        return make.make_graph(nodes, f"branch{factor}", [], [info(f"out{factor}", None)])

    nodes = [
        make.make_node("Equal", ["sr", "high"], ["is_high"]),
        make.make_node("If", ["is_high"], ["y"], then_branch=branch(2), else_branch=branch(3)),
    ]
    weights = [tensor("high", np.int64(16000)), tensor("last", np.int64(-1))]
    proto = model(nodes, [info("x", ["batch", "length"]), info("sr", [], INT64)], [info("y", None)], weights)
    x = draw(STEPS, 3)
    factor = 2 if rate == 16000 else 3
    made = x.astype(np.float64) * 3 * factor
    return case(f"if_{rate}", proto, {"x": x}, {"y": made}, set={"sr": [rate]}, shapes={"x": [1, 3]})


def along(name, module, axes, length=5, ids=None, opset=13, **options):
    """A module over a whole sequence of any length, with a batch of 1: a row a step, or one answer at the end."""
    module.eval()
    steps_first = axes[0] == "steps"
    x = torch.randint(ids, (length,)) if ids else torch.randn(length, 3)
    batch = x.unsqueeze(1 if steps_first else 0)
    proto = exported(module, (batch,), ["x"], ["y"], {"x": axes}, opset)
    with torch.no_grad():
        made = module(batch)
    return case(name, proto, {"x": x.numpy()}, {"y": made.numpy()}, **options)


class Rows(nn.Module):
    """Only the rows of a recurrent layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)[0]


class Tagger(nn.Module):
    """Ids, an embedding, two layers in both directions, a label for every step."""

    def __init__(self):
        super().__init__()
        self.table, self.layer = nn.Embedding(7, 3), nn.GRU(3, 4, num_layers=2, bidirectional=True)
        self.out = nn.Linear(8, 3)

    def forward(self, ids):
        return torch.log_softmax(self.out(self.layer(self.table(ids))[0]), dim=-1)


class Ending(nn.Module):
    """One answer: of the last row, in which the backward direction has seen one step."""

    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.LSTM(3, 4, batch_first=True, bidirectional=True), nn.Linear(8, 2)

    def forward(self, x):
        return self.out(torch.relu(self.layer(x)[0][:, -1]))


class Residual(nn.Module):
    """Linear layers, a normalisation and residuals around layers of one and of both directions."""

    def __init__(self):
        super().__init__()
        self.first, self.norm, self.last = nn.Linear(3, 4), nn.LayerNorm(4), nn.Linear(8, 3)
        self.forth, self.both = nn.GRU(4, 4), nn.LSTM(4, 2, bidirectional=True)

    def forward(self, x):
        x = torch.relu(self.first(x))
        y = self.norm(self.forth(x)[0] + x)
        return self.last(torch.cat([self.both(y)[0] + y, torch.sigmoid(x)], dim=-1))


class Handed(nn.Module):
    """States at the beginning: trained ones, and then those that another layer has ended with."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.LSTM(3, 4), nn.LSTM(3, 4)
        self.h, self.c = nn.Parameter(torch.randn(1, 1, 4)), nn.Parameter(torch.full((1, 1, 4), 0.5))

    def forward(self, x):
        return self.second(x, self.first(x, (self.h, self.c))[1])[0]


class Pooled(nn.Module):
    """One answer: of the mean, the largest and the sum of all rows."""

    def __init__(self):
        super().__init__()
        self.layer, self.out = nn.GRU(3, 4, bidirectional=True), nn.Linear(20, 2)

    def forward(self, x):
        y, h = self.layer(x)
        pooled = [y.mean(dim=0), torch.tanh(y).amax(dim=0), h[0]]
        return self.out(torch.cat(pooled, dim=1)) + y.sum(dim=(0, 2))


def scan_case(name, opset, length, reverse=False):
    proto = scan_model(opset, length, [1] if opset < 9 else [], reverse)
    x = draw(length or 5, 2)
    state, made = SCAN_START.astype(np.float64), np.zeros(x.shape)
    for step in reversed(range(len(x))) if reverse else range(len(x)):
        state = state * [0.5, 0.75] + x[step]
        made[step] = np.tanh(state)
    return case(name, proto, {"x": x}, {"y": made})


def loop_model(pick="iteration", ends=False):
    """The same sum as a loop with a round for each step of x."""
    end = make.make_node("Less", ["largest", "most"], ["on"]) if ends else make.make_node("Identity", ["go"], ["on"])
    body = make.make_graph(
        [
            make.make_node("ReduceMax", ["before"], ["largest"], keepdims=0),
            end,
            make.make_node("Sub", ["iteration", "one"], ["earlier"]),
            make.make_node("Gather", ["x", pick], ["row"]),
            make.make_node("Mul", ["before", "factor"], ["kept"]),
            make.make_node("Add", ["kept", "row"], ["after"]),
            make.make_node("Tanh", ["after"], ["made"]),
        ],
        "body",
        [info("iteration", [], INT64), info("go", [], onnx.TensorProto.BOOL), info("before", [2])],
        [info("on", [], onnx.TensorProto.BOOL), info("after", [2]), info("made", [2])],
    )
    nodes = [
        make.make_node("Shape", ["x"], ["shape"]),
        make.make_node("Gather", ["shape", "zero"], ["rounds"]),
        make.make_node("Loop", ["rounds", "true", "start"], ["end", "y"], name="loop", body=body),
    ]
    weights = [tensor("start", np.array([0.25, -0.5], dtype=np.float32)), tensor("factor", np.array([0.5, 0.75], dtype=np.float32))]
    weights += [tensor("zero", np.int64(0)), tensor("one", np.int64(1)), tensor("most", np.float32(3)), tensor("true", np.array(True))]
    return model(nodes, [info("x", ["steps", 2])], [info("y", None), info("end", None)], weights)


def loop_case():
    x = draw(6, 2)
    state, made = np.array([0.25, -0.5]), []
    for row in x:
        state = state * [0.5, 0.75] + row
        made.append(np.tanh(state))
    return case("sequence_loop", loop_model(), {"x": x}, {"y": made})


def cases():
    yield from_torch("lstm", Step(nn.LSTM(5, 16)), (1, 1, 5), {"h": (1, 1, 16), "c": (1, 1, 16)})
    yield from_torch("lstm_two_layers", Step(nn.LSTM(5, 16, num_layers=2)), (1, 1, 5), {"h": (2, 1, 16), "c": (2, 1, 16)})
    yield from_torch("gru", Step(nn.GRU(5, 4)), (1, 1, 5), {"h": (1, 1, 4)})
    yield from_torch("gru_opset_9", Step(nn.GRU(5, 4)), (1, 1, 5), {"h": (1, 1, 4)}, opset=9)
    yield from_torch("rnn_relu", Step(nn.RNN(5, 4, nonlinearity="relu")), (1, 1, 5), {"h": (1, 1, 4)})
    axes = {"x": {0: "batch"}, "state": {1: "batch"}}
    yield from_torch("detector", Detector(), (1, 20), {"state": (2, 1, 16)}, axes=axes)
    yield from_torch("detector_opset_16", Detector(), (1, 20), {"state": (2, 1, 16)}, opset=16, axes=axes)
    yield from_torch("reader", Reader(), (1,), {"h": (1, 16)}, ids=11)
    yield from_torch("mixture", Mixture(), (1, 2, 6, 5), {}, opset=17)
    yield from_torch("mixture_opset_11", Mixture(), (1, 2, 6, 5), {}, opset=11)
    both = nn.LSTM(3, 4, bidirectional=True, num_layers=2, batch_first=True)
    wrapped = nn.Sequential()
    wrapped.forward = lambda x: both(x)[0]
    wrapped.add_module("both", both)
    yield from_torch("bidirectional_inside", wrapped, (1, 6, 3), {})
    yield peephole_case()
    yield reset_before_case()
    yield branch_case(16000)
    yield branch_case(8000)
    forth, back = {0: "steps", 1: "batch"}, {0: "batch", 1: "steps"}
    yield along("sequence_lstm", Rows(nn.LSTM(3, 4)), {0: "steps"})
    yield along("sequence_tagger", Tagger(), forth, ids=7)
    yield along("sequence_tagger_long", Tagger(), forth, ids=7, length=40, opset=9)
    yield along("sequence_batch_first", Rows(nn.LSTM(3, 4, num_layers=2, bidirectional=True, batch_first=True)), back)
    yield along("sequence_end", Ending(), back)
    yield along("sequence_residual", Residual(), forth, length=9)
    yield along("sequence_normalised", Residual(), forth, length=9, opset=17)
    yield along("sequence_handed", Handed(), forth)
    yield along("sequence_pooled", Pooled(), forth, opset=17)
    yield along("sequence_one_step", Tagger(), forth, ids=7, length=1)
    yield scan_case("sequence_scan", 11, None)
    yield scan_case("sequence_scan_known", 9, 6)
    yield scan_case("sequence_scan_8", 8, None)
    yield scan_case("sequence_scan_reverse", 11, None, reverse=True)
    yield loop_case()
    yield from strict_cases()
    yield length_case()
    yield from id_cases()
    yield from window_cases(along)
    yield from shorter_cases(along)
    yield from composed_cases(along, from_torch)
    yield from attention_cases(along)
    yield from pair_cases(along)


PADS = {"longer": 4, "shorter": 0, "shorter_turned": 0, "shorter_attention": 0}


class Attending(nn.Module):
    """What no lane does: steps that read all other steps."""

    def __init__(self, how):
        super().__init__()
        self.layer, self.how, self.mix = nn.GRU(3, 4), how, nn.Conv1d(3, 3, 3, padding=PADS.get(how, 1))
        self.other = nn.Conv1d(3, 3, 2, stride=2)

    def forward(self, x):
        y = self.layer(self.mix(x.permute(1, 2, 0)).permute(2, 0, 1) if self.how in PADS else x)[0]
        rows = y.transpose(0, 1)
        return {
            "attention": lambda: torch.tanh(rows @ rows.transpose(1, 2)) @ rows,
            "shorter": lambda: torch.cumsum(y, 0),
            "rates": lambda: x[: self.other(x.permute(1, 2, 0)).shape[2]],
            "rates_apart": lambda: x * (x.shape[0] - self.other(x.permute(1, 2, 0)).shape[2]),
            "shorter_turned": lambda: y.flip(0),
            "shorter_attention": lambda: torch.softmax(rows @ rows.transpose(1, 2), dim=-1) @ rows,
            "product": lambda: y.prod(dim=0),
            "half": lambda: y[::2],
            "turned": lambda: y + y.flip(0),
            "order": lambda: y.flip(0),
            "padded": lambda: torch.cat([y, torch.zeros(1, 1, 4)], dim=0),
            "merged": lambda: y.reshape(-1, 2, 2).reshape(-1, 2),
            "length": lambda: y / (2 * x.shape[0]),
        }.get(self.how, lambda: y)()


class Begins(nn.Module):
    """The state at the beginning comes with the request."""

    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(3, 4)

    def forward(self, x, h):
        return torch.tanh(self.layer(x, h)[0])


def along_refused(name, module, arguments, names, why, of_x=None):
    axes = {"x": of_x or {0: "steps", 1: "batch"}, "h": {1: "batch"}}
    proto = exported(module.eval(), arguments, names, ["y"], {key: axes[key] for key in names}, 17)
    return refused(f"sequence_{name}", proto, why)


def sequence_refusals():
    x, h = torch.randn(5, 1, 3), torch.randn(1, 1, 4)
    reasons = {
        "attention": "(MatMul): multiplies steps of the sequence with each other, without a softmax of them",
        "product": "(ReduceProd): is not there for the steps of a sequence",
        "half": "(Slice): takes a part of a sequence",
        "turned": "(Add): puts steps of the sequence together with steps in the other order",
        "order": "the rows of the output 'y' are in the other order than its sequence",
        "padded": "(Concat): puts something before or behind the steps",
        "merged": "(Reshape): puts the steps of the sequence into one axis with others",
        "length": "computes with the length of the sequence, which may be any",
        "longer": "reads a sequence that was made longer",
        "shorter": "goes along a sequence that a convolution made shorter, by 2 rows; pad it",
        "rates": "(Slice): takes as many rows of a sequence as another one has",
        "rates_apart": "(Sub): computes with the length of the sequence, which may be any",
        "shorter_turned": "(Slice): turns around what was made shorter",
        "shorter_attention": "(MatMul): attends to what was made shorter",
    }
    for how, why in reasons.items():
        yield along_refused(how, Attending(how), (x,), ["x"], why)
    yield refused("sequence_loop_ends", loop_model(ends=True), "node 'loop' (Loop): ends by a condition")
    yield refused("sequence_loop_before", loop_model(pick="earlier"), "otherwise than by picking the step of its own round")
    longer = nn.Sequential(nn.Conv1d(3, 2, 3, padding=1), nn.ConstantPad1d((2, 1), 0.0))
    yield along_refused("longer_output", longer, (torch.randn(1, 3, 5),), ["x"], "has other rows", {0: "batch", 2: "steps"})
    deep = nn.RNN(3, 2, num_layers=65)
    yield along_refused("deep", Rows(deep), (x,), ["x"], "the model would have more than 64 lanes")
    yield along_refused("begins", Begins(), (x, h), ["x", "h"], "input 'h' has no axis of the sequence (axis 0 of x)")


def refusals():
    x, y = info("x", [1, 3]), info("y", [1, 3])

    def of(nodes, weights=(), opset=14, given=x):
        return model(nodes, [given], [y], weights, opset)

    relu = make.make_node("Relu", ["x"], ["y"], name="r")
    yield refused("no_model", b"not a model", "is no ONNX model")
    yield refused("old", of([relu], opset=6), "is of opset 6")
    yield refused("new", of([relu], opset=99), "is of opset 99")
    yield refused("unknown", of([make.make_node("NonZero", ["x"], ["y"], name="n")]), "node 'n' (NonZero): is not read")
    foreign = make.make_node("Thing", ["x"], ["y"], name="n", domain="com.example")
    yield refused("domain", of([foreign]), "com.example.Thing")
    circle = [make.make_node("Add", ["x", "b"], ["a"], name="one"), make.make_node("Relu", ["a"], ["b"]), relu]
    yield refused("circle", of(circle), "node 'one' (Add): reads 'b', which nothing before it makes")
    yield refused("twice", of([relu, relu]), "makes 'y', which is there already")
    outside = tensor("w", np.zeros(3, dtype=np.float32))
    outside.ClearField("raw_data")
    outside.data_location = onnx.TensorProto.EXTERNAL
    entry = outside.external_data.add()
    entry.key, entry.value = "location", "../../secret"
    yield refused("outside", of([make.make_node("Add", ["x", "w"], ["y"])], [outside]), "lies in another file")
    huge = onnx.TensorProto(name="w", data_type=FLOAT, dims=[1 << 40, 1 << 40])
    yield refused("huge", of([make.make_node("Add", ["x", "w"], ["y"])], [huge]), "more elements than are read")
    short = onnx.TensorProto(name="w", data_type=FLOAT, dims=[1000], raw_data=b"1234")
    yield refused("short", of([make.make_node("Add", ["x", "w"], ["y"])], [short]), "its shape takes 4000")
    shape = tensor("s", np.array([1 << 40, 1 << 20], dtype=np.int64))
    yield refused("filled", of([make.make_node("ConstantOfShape", ["s"], ["y"])], [shape]), "more elements than a value may have")
    axis = make.make_node("Concat", ["x", "x"], ["y"], axis=7, name="c")
    yield refused("axis", of([axis]), "node 'c' (Concat): axis 7 of a tensor with 2 axes")
    window = tensor("w", np.zeros((2, 5, 3), dtype=np.float32))
    yield refused("kernels", of([make.make_node("Conv", ["x", "w"], ["y"])], [window], given=info("x", [1, 4, 8])), "do not fit")
    inner = make.make_graph([make.make_node("Relu", ["x"], ["z"])], "inner", [], [info("z", None)])
    asked = make.make_node("If", ["x"], ["y"], then_branch=inner, else_branch=inner, name="if")
    yield refused("condition", of([asked]), "node 'if' (If): its condition depends on what the model is given")
    deep = inner
    for _ in range(60):
        node = make.make_node("If", ["k"], ["z"], then_branch=deep, else_branch=inner)
        deep = make.make_graph([node], "inner", [], [info("z", None)])
    nested = make.make_node("If", ["k"], ["y"], then_branch=deep, else_branch=inner)
    yield refused("deep", of([nested], [tensor("k", np.array(True))]), "is no ONNX model")
    yield refused("open", of([relu], given=info("x", ["a", "b"])), "leaves more than one extent open")
    yield from sequence_refusals()
    yield from strict_refusals()
    yield from attention_refusals(along_refused)
    yield from pair_refusals(along_refused)


def main():
    json.dump({"cases": list(cases()), "refused": list(refusals()), "batches": batches()}, sys.stdout, indent=0)


if __name__ == "__main__":
    main()
