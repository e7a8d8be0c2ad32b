"""ONNX models with an open axis that is read as a batch: of some it is one, others mix what lies along it."""

import numpy as np
import onnx.helper as make
from onnx_writing import FLOAT, INT64, info, model, tensor

own = np.random.default_rng(20)  # the other models stay as they are


def numbers(name, *shape):
    return tensor(name, own.uniform(-0.7, 0.7, shape).astype(np.float32))


def whole(name, *values):
    return tensor(name, np.array(values, dtype=np.int64))


def node(op, inputs, outputs, **attributes):
    return make.make_node(op, inputs.split(), outputs.split(), **attributes)


def of_points(nodes, *weights, inputs=(), outputs="y", axis="points", width=4, kind=FLOAT, opset=14):
    x = info("x", [axis, width] if width else [axis], kind)
    return model(nodes, [x, *inputs], [info(name, None) for name in outputs.split()], weights, opset)


def mixing():
    """Models, and the shapes with which they are a step."""
    shape = {"x": [1, 4]}
    mean = node("ReduceMean", "x", "m", axes=[0], keepdims=1)
    yield "softmax", of_points([node("Softmax", "x", "y", axis=0)]), shape
    yield "mean", of_points([mean, node("Add", "x m", "y")]), shape
    yield "mean_of_a_batch", of_points([mean, node("Add", "x m", "y")], axis="batch"), shape
    yield "sum_alone", of_points([node("ReduceSum", "x axis", "y", keepdims=0)], whole("axis", 0)), shape
    yield "largest", of_points([node("ReduceMax", "x", "y", axes=[0], keepdims=0)], width=1), {"x": [1, 1]}
    yield "squares", of_points([node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "t x", "y")]), shape
    yield "products", of_points([node("Transpose", "x", "t", perm=[1, 0]), node("MatMul", "x t", "y")]), shape
    count = [node("Shape", "x", "shape"), node("Gather", "shape zero", "n"), node("Cast", "n", "r", to=FLOAT)]
    yield "count", of_points([*count, node("Div", "x r", "y")], tensor("zero", np.int64(0))), shape
    pooled = [node("ReduceMean", "x", "m", axes=[0], keepdims=1), node("Add", "m h", "z"), node("Tanh", "z", "hN")]
    yield "state", of_points([*pooled, node("Relu", "x", "y")], inputs=[info("h", [1, 4])], outputs="y hN"), shape
    pair = [node("MatMul", "x w", "a"), node("Softmax", "y0", "b", axis=0), node("Add", "a b", "y")]
    yield "second", of_points(pair, numbers("w", 4, 4), inputs=[info("y0", ["others", 4])]), {"x": [1, 4], "y0": [1, 4]}
    words = [node("Gather", "table x", "e"), node("ReduceSum", "e axis", "y")]
    yield "words", of_points(words, numbers("table", 5, 3), whole("axis", 0), width=None, kind=INT64), {"x": [1]}
    slid = [node("Conv", "i k", "c"), node("MaxPool", "c", "p", kernel_shape=[2]), node("Softmax", "p", "y", axis=0)]
    slid.insert(0, node("Unsqueeze", "x middle", "i"))
    yield "convolution", of_points(slid, numbers("k", 2, 1, 2), whole("middle", 1)), shape
    two = [node("Relu", "x", "y"), node("Softmax", "x", "other", axis=0)]
    yield "other_output", of_points(two, outputs="y other"), shape


def apart():
    layers = [node("Gemm", "x w0 b0", "z", transB=1), node("Relu", "z", "a"), node("Gemm", "a w1 b1", "y", transB=1)]
    weights = [numbers("w0", 6, 4), numbers("b0", 6), numbers("w1", 3, 6), numbers("b1", 3)]
    yield "layers", of_points(layers, *weights)
    yield "softmax_of_rows", of_points([node("Softmax", "x", "y", axis=-1)])
    yield "softmax_before_13", of_points([node("Softmax", "x", "y", axis=1)], opset=11)
    norm = [node("ReduceMean", "x", "m", axes=[-1]), node("Sub", "x m", "d"), node("Mul", "d d", "s"), node("ReduceMean", "s", "v", axes=[-1])]
    norm += [node("Add", "v e", "w"), node("Sqrt", "w", "r"), node("Div", "d r", "y")]
    yield "norm_of_rows", of_points(norm, tensor("e", np.float32(1e-5)))
    yield "norm", of_points([node("LayerNormalization", "x g b", "y", axis=-1)], numbers("g", 4), numbers("b", 4), opset=17)
    yield "ids", of_points([node("Gather", "table x", "y")], numbers("table", 5, 3), width=None, kind=INT64)
    slid = [node("Unsqueeze", "x middle", "i"), node("Conv", "i k b", "c", pads=[1, 1]), node("AveragePool", "c", "p", kernel_shape=[2])]
    slid.append(node("MaxPool", "p", "y", kernel_shape=[2], auto_pad="SAME_UPPER"))
    yield "convolution", of_points(slid, numbers("k", 2, 1, 2), numbers("b", 2), whole("middle", 1))
    yield "counts", of_points([node("Cast", "x", "r", to=FLOAT), node("Tanh", "r", "y")], kind=INT64)
    yield "reals_to_ids", of_points([node("Cast", "x", "y", to=INT64)])

    step = [node("Gather", "state zero", "h0", axis=0), node("Gather", "state one", "h1", axis=0)]
    step += [node("Gemm", "x w0", "a0"), node("Gemm", "h0 u0 a0", "b0"), node("Tanh", "b0", "n0")]
    step += [node("Gemm", "n0 w1", "a1"), node("Gemm", "h1 u1 a1", "b1"), node("Tanh", "b1", "n1")]
    step += [node("Unsqueeze", "n0 first", "s0"), node("Unsqueeze", "n1 first", "s1"), node("Concat", "s0 s1", "stateN", axis=0)]
    step += [node("Gemm", "n1 w", "y")]
    weights = [tensor("zero", np.int64(0)), tensor("one", np.int64(1)), whole("first", 0), numbers("w0", 4, 16), numbers("u0", 16, 16)]
    weights += [numbers("w1", 16, 16), numbers("u1", 16, 16), numbers("w", 16, 1)]
    yield "state", of_points(step, *weights, inputs=[info("state", [2, "batch", 16])], outputs="y stateN", axis="batch")
    # A state for one row, to which those of several are added as they are.
    added = [node("Add", "x h", "z"), node("Tanh", "z", "hN"), node("Relu", "z", "y")]
    yield "state_of_one", of_points(added, inputs=[info("h", [1, 4])], outputs="y hN")
    # Several steps at once: each reads the one before the last.
    late = [node("Concat", "cache x", "all", axis=0), node("Slice", "all minus2 end first", "cacheN")]
    late += [node("Slice", "all first minus2 first", "before"), node("Sub", "x before", "y")]
    ends = [whole("minus2", -2), whole("end", 1 << 40), whole("first", 0)]
    yield "steps", of_points(late, *ends, inputs=[info("cache", [2, 4])], outputs="y cacheN")

    yield "first_row", of_points([node("Relu", "x", "a"), node("Gather", "a zero", "y")], tensor("zero", np.int64(0)))
    yield "without_axes", of_points([node("Relu", "x", "a"), node("Squeeze", "a", "y")])
    yield "halves", of_points([node("Reshape", "x halves", "a"), node("Tanh", "a", "y")], whole("halves", -1, 2))
    yield "columns", of_points([node("Tanh", "x", "a"), node("Transpose", "a", "y", perm=[1, 0])])
    constant = [node("Relu", "x", "y"), node("Shape", "x", "shape"), node("Cast", "shape", "extents", to=FLOAT)]
    yield "extents", of_points(constant, outputs="y extents")
    # What cannot be told is no reason to refuse: a graph that takes one row, and one that makes no numbers.
    yield "one_row", of_points([node("Reshape", "x row", "a"), node("Softmax", "a", "y", axis=0)], whole("row", 1, 4))
    traced = [node("Reshape", "x row", "a"), node("Softmax", "a", "y", axis=-1)]
    yield "traced_with_one", of_points(traced, whole("row", 1, 4, -1))
    yield "no_numbers", of_points([node("Neg", "x", "n"), node("Log", "n", "l"), node("Softmax", "l", "y", axis=0)])


def batches():
    return {
        "mixing": [{"name": name, "onnx": proto.SerializeToString().hex(), "shapes": shapes} for name, proto, shapes in mixing()],
        "apart": [{"name": name, "onnx": proto.SerializeToString().hex()} for name, proto in apart()],
    }
