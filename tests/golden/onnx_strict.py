"""ONNX models that are easily read as something simpler, and those that would be something else if they were."""

import numpy as np
import onnx
import onnx.helper as make
import torch
from onnx_writing import FLOAT, INT64, STEPS, case, draw, exported, info, model, refused, scan_model, tensor
from torch import nn


def strict_cases():
    """What is easily read as something simpler."""
    x = draw(STEPS, 3) * 4
    three = [make.make_node("Max", ["x", "low", "lower"], ["m"]), make.make_node("Min", ["m", "high", "higher"], ["y"])]
    bounds = {"low": -0.5, "lower": 0.25, "high": 2.0, "higher": 1.5}
    weights = [tensor(name, np.float32(value)) for name, value in bounds.items()]
    proto = model(three, [info("x", [1, 3])], [info("y", [1, 3])], weights)
    yield case("three_inputs", proto, {"x": x}, {"y": np.clip(x, 0.25, 1.5)})

    ids = np.array([[2, 0, 5], [0, 0, 1], [7, -3, 0], [1, 1, 1]])
    mask = [make.make_node("Cast", ["x"], ["b"], to=onnx.TensorProto.BOOL), make.make_node("Cast", ["b"], ["y"], to=FLOAT)]
    proto = model(mask, [info("x", [1, 3], INT64)], [info("y", [1, 3])])
    yield case("mask_of_ids", proto, {"x": ids}, {"y": ids != 0})

    table, ids = draw(5, 2), np.array([4, 0, 2, 2])
    proto = model([make.make_node("Gather", ["table", "x"], ["y"])], [info("x", [1, 1], INT64)], [info("y", None)], [tensor("table", table)])
    yield case("ids_of_two_axes", proto, {"x": ids}, {"y": table[ids]})

    total = make.make_node("ReduceSum", ["x", "axis"], ["s"], keepdims=0)
    total.attribute[0].ClearField("i")  # as proto3 writes a 0
    nodes = [total, make.make_node("Mul", ["s", "x"], ["y"])]  # [3]·[3, 1] is [3, 3]
    proto = model(nodes, [info("x", [3, 1])], [info("y", [3, 3])], [tensor("axis", np.array([1], dtype=np.int64))])
    yield case("zero_left_out", proto, {"x": x}, {"y": x[:, None, :] * x[:, :, None]})

    h, made = np.zeros(3), []
    for row in x.astype(np.float64):
        h = np.tanh(row + h)
        made.append(h)
    nodes = [make.make_node("Add", ["x", "h"], ["z"]), make.make_node("Tanh", ["z"], ["hN"])]
    proto = model(nodes, [info("x", [1, 3]), info("h", [1, 3])], [info("hN", [1, 3])])
    yield case("all_that_is_remembered", proto, {"x": x}, {"y": made})

    chosen = make.make_node("Where", ["yes", "x", "other"], ["y"])
    weights = [tensor("yes", np.array([True])), tensor("other", np.zeros((1, 3), dtype=np.float32))]
    proto = model([chosen], [info("x", [3, 1])], [info("y", [3, 3])], weights)
    yield case("chosen_and_spread", proto, {"x": x}, {"y": np.repeat(x[:, :, None], 3, axis=2)})

    part = model([make.make_node("Mul", ["x", "c"], ["y"])], [info("x", [1, 4, 1]), info("c", [1, 4, 1])], [info("y", [1, 4, 1])])
    x, c = draw(STEPS, 4), [1, 2, 3, 4]
    yield case("constant_of_a_shape", part, {"x": x}, {"y": x * c}, set={"c": c})

    # Whole numbers stay whole: max(7, 1) / 2 * 2 is 6.
    x = np.linspace(-1, 1, STEPS * 8, dtype=np.float32).reshape(STEPS, 8)
    whole = {"seven": [7], "two": [2], "zero": [0], "one": [1]}
    weights = [tensor(name, np.array(value, dtype=np.int64)) for name, value in whole.items()] + [tensor("least", np.int64(1))]
    nodes = [make.make_node("Clip", ["seven", "least"], ["clipped"]), make.make_node("Div", ["clipped", "two"], ["half"])]
    nodes += [make.make_node("Mul", ["half", "two"], ["end"]), make.make_node("Slice", ["x", "zero", "end", "one"], ["y"])]
    yield case("whole_numbers_stay", model(nodes, [info("x", [1, 8])], [info("y", [1, 6])], weights), {"x": x}, {"y": x[:, :6]})

    shape = {"none": [], "last": [-1], "before": [-9], "zero": [0], "back": [-1], "row": [1, 8]}
    weights = [tensor(name, np.array(value, dtype=np.int64)) for name, value in shape.items()]
    nodes = [make.make_node("Slice", ["none", "last", "before", "zero", "back"], ["nothing"])]
    nodes += [make.make_node("Concat", ["nothing", "row"], ["shape"], axis=0), make.make_node("Reshape", ["x", "shape"], ["y"])]
    yield case("nothing_backwards", model(nodes, [info("x", [1, 8])], [info("y", [1, 8])], weights), {"x": x}, {"y": x})


class Alone(nn.Module):
    """Over a sequence, with a batch that the file fixes: a step of one is not what these do."""

    def __init__(self, how):
        super().__init__()
        self.how, self.table = how, nn.Embedding(4, 3)
        self.layer = nn.GRU(3, 4, bidirectional=how == "backwards")

    def forward(self, x, other=None):
        if self.how == "attending":
            return torch.tanh(x @ x.transpose(1, 2)) @ x
        if self.how == "speaker":
            return self.layer(x + self.table(other))[0]
        return self.layer(x, other)


def strict_refusals():
    steps, row = torch.randn(5, 1, 3), torch.randn(1, 5, 3)
    speaker, both = torch.zeros(1, dtype=torch.int64), torch.zeros(2, 1, 4)
    alone = {
        "attending": ((row,), ["x"], {"x": {1: "T"}}, "does not seem to be a batch; if it is one, or a step has one of it, say so with --shape x=1,1,3"),
        "speaker": ((steps, speaker), ["x", "who"], {"x": {0: "T"}}, "'who' was taken for the length of the sequence"),
        "backwards": ((steps, both), ["x", "h0"], {"x": {0: "T"}}, "input 'h0' has no axis of the sequence"),
    }
    for how, (arguments, names, axes, why) in alone.items():
        proto = exported(Alone(how).eval(), arguments, names, ["y", "hn"] if how == "backwards" else ["y"], axes, 17)
        yield refused(f"alone_{how}", proto, why)
    x, y = info("x", [1, 3]), info("y", None)
    shape = {"c": [4, 1], "axes": [0], "many": [0] * 4096, "tall": [1 << 22, 4]}
    whole = {name: tensor(name, np.array(value, dtype=np.int64)) for name, value in shape.items()}
    nodes = [make.make_node("ConstantOfShape", ["tall"], ["t"]), make.make_node("Gather", ["t", "many"], ["y"], axis=1, name="g")]
    yield refused("gathered", model(nodes, [x], [y], [whole["tall"], whole["many"]]), "more elements than a value may have")
    halves = tensor("halves", np.array([0.5, 3], dtype=np.float32))
    nodes = [make.make_node("ReduceProd", ["halves"], ["p"], keepdims=0, name="p"), make.make_node("Mul", ["x", "p"], ["y"])]
    yield refused("product_of_halves", model(nodes, [x], [y], [halves]), "node 'p' (ReduceProd): multiplies numbers that are not whole")
    ones = [tensor(name, np.ones(3, dtype=np.float32)) for name in ("s", "b", "m", "v")]
    norm = make.make_node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"], training_mode=1, name="norm")
    yield refused("training", model([norm], [x], [y], ones), "is in training")
    scanned = scan_model(8, None, [1], reverse=True)
    yield refused("scan_8_reverse", scanned, "puts its rows in the other order than it reads them")
    wide = model([make.make_node("Add", ["x", "c"], ["y"])], [info("x", [1, 4, 1]), info("c", [1, 4, 1])], [y])
    yield refused("three_of_four", wide, "the constant 'c' has 3 numbers, its shape [1, 4, 1] takes one for all, or 4") | {"set": {"c": [1, 2, 3]}}
    relu = make.make_node("Relu", ["x"], ["y"])
    yield refused("another_shape", model([relu], [x], [y]), "in the file, where -1 is open: it cannot be [7, 3]") | {"shapes": {"x": [7, 3]}}
    long = model([relu], [info("x", [1, 2, 1, 2, 1, 2])], [y])
    yield refused("axes", long, "must be a list of at most 4 extents")
    yield refused("only_states", model([relu], [x], [info("x_out", None)]), "nothing makes the output 'x_out'")
    empty = onnx.TensorProto(name="w", data_type=FLOAT, dims=[0, 1 << 62])
    yield refused("empty_and_wide", model([make.make_node("Add", ["x", "w"], ["y"])], [x], [y], [empty]), "more elements than are read")
    power = make.make_node("Pow", ["x", "e"], ["y"])
    yield refused("power", model([power], [x], [y], [tensor("e", np.float32(65))]), "raises to the")
    again = make.make_node("Einsum", ["x"], ["y"], equation="......", name="e")
    yield refused("einsum_open_twice", model([again], [x], [y]), "node 'e' (Einsum): its equation has an ellipsis twice")
    long, w = info("x", ["batch", 3, "steps"]), tensor("w", draw(3, 3, 2))
    wide = make.make_node("ConvTranspose", ["x", "w"], ["y"], strides=[2], auto_pad="SAME_UPPER", name="wide")
    yield refused("transposed_same", model([wide], [long], [y], [w]), "node 'wide' (ConvTranspose): says how large its result is")
    halves = [make.make_node("Conv", ["x", "w"], ["c"])]
    halves += [make.make_node("Conv", ["c", "w"], ["y"], strides=[2], auto_pad="SAME_UPPER", name="half")]
    yield refused("shorter_same", model(halves, [long], [y], [w]), "node 'half' (Conv): auto_pad SAME_UPPER of what was made shorter")
    yield from open_length_refusals()


def of_length(nodes, *weights):
    """A layer along the sequence, `h`, and how long that is, `T`, with nodes that make something of both."""
    first, zero = tensor("first", np.int64(0)), tensor("zero", np.array([0], dtype=np.int64))
    layer = [tensor(name, np.eye(2, dtype=np.float32)[None]) for name in ("W", "R")]
    return model([*LENGTH, *nodes], [info("x", ["steps", 1, 2])], [info("y", None)], [*layer, first, zero, *weights])


LENGTH = [make.make_node("RNN", ["x", "W", "R"], ["h", "last"], hidden_size=2)]
LENGTH += [make.make_node("Shape", ["x"], ["shape"]), make.make_node("Gather", ["shape", "first"], ["T"])]
FACTOR = [make.make_node("Cast", ["number"], ["factor"], to=FLOAT), make.make_node("Mul", ["h", "factor"], ["y"])]


def length_case():
    """By how many rows of a table there are, which are as many as steps."""
    nodes = [make.make_node("Unsqueeze", ["T", "zero"], ["end"]), make.make_node("Slice", ["table", "zero", "end"], ["cut"])]
    nodes += [make.make_node("Shape", ["cut"], ["long"]), make.make_node("Squeeze", ["long", "zero"], ["number"]), *FACTOR]
    x, h, made = draw(STEPS, 2), np.zeros(2), []
    for row in x.astype(np.float64):
        h = np.tanh(row + h)
        made.append(h * STEPS)
    return case("length_cuts", of_length(nodes, tensor("table", np.arange(512, dtype=np.int64))), {"x": x}, {"y": made})


def open_length_refusals():
    """What nobody can say of a sequence whose length is not known."""
    y, of, length, factor, first = info("y", None), of_length, LENGTH, FACTOR, tensor("first", np.int64(0))
    why = "computes with the length of the sequence, which may be any"
    many = tensor("many", np.int64(1024))
    yield refused("length_squared", of([make.make_node("Mul", ["T", "T"], ["number"]), *factor]), why)
    yield refused("length_halved", of([make.make_node("Div", ["T", "many"], ["number"]), *factor], many), why)
    yield refused("length_as_truth", of([make.make_node("Cast", ["T"], ["number"], to=onnx.TensorProto.BOOL), *factor]), why)
    nodes = [make.make_node("Expand", ["last", "shape"], ["all"]), make.make_node("ReduceSum", ["all", "zero"], ["y"])]
    yield refused("sum_of_the_same", of(nodes), "goes over what is the same at every step")

    body = [make.make_node("Cast", ["T"], ["factor"], to=FLOAT), make.make_node("Div", ["row", "factor"], ["share"])]
    body += [make.make_node("Add", ["before", "share"], ["after"]), make.make_node("Identity", ["after"], ["made"])]
    inner = make.make_graph(body, "body", [info("before", [2]), info("row", [2])], [info("after", [2]), info("made", [2])])
    scan = make.make_node("Scan", ["start", "x"], ["end", "y"], name="scan", num_scan_inputs=1, body=inner)
    proto = model([*length[1:], scan], [info("x", ["steps", 2])], [y], [first, tensor("start", np.zeros(2, dtype=np.float32))])
    yield refused("scan_by_length", proto, "reads 'T'")
