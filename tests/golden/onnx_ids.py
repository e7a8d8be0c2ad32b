"""Steps of several ids, and outputs that nobody reads."""

import numpy as np
import onnx.helper as make
from onnx_writing import INT64, case, info, model, tensor

IDS = np.array([[[3, 0, 10]], [[10, 10, 1]], [[0, 7, 2]]], dtype=np.int64)


def table(seed):
    return ((np.arange(33).reshape(11, 3) * seed % 17 - 8) / 8).astype(np.float32)


def id_cases():
    first, second = table(5), table(7)
    nodes = [
        make.make_node("Gather", ["x", "zero"], ["a"], axis=1),
        make.make_node("Slice", ["x", "two", "three", "axis"], ["b"]),
        make.make_node("Gather", ["first", "a"], ["ea"]),
        make.make_node("Gather", ["second", "b"], ["eb"]),
        make.make_node("Squeeze", ["eb", "axis"], ["flat"]),
        make.make_node("Add", ["ea", "flat"], ["y"]),
    ]
    weights = [tensor("first", first), tensor("second", second), tensor("zero", np.int64(0))]
    weights += [tensor(name, np.array([n], dtype=np.int64)) for name, n in (("axis", 1), ("two", 2), ("three", 3))]
    columns = model(nodes, [info("x", [1, 3], INT64)], [info("y", [1, 3])], weights)
    yield case("ids_in_columns", columns, {"x": IDS}, {"y": first[IDS[:, :, 0]] + second[IDS[:, :, 2]]})
    nodes = [make.make_node("Gather", ["first", "x"], ["e"]), make.make_node("Flatten", ["e"], ["y"], axis=1)]
    window = model(nodes, [info("x", [1, 3], INT64)], [info("y", [1, 9])], [tensor("first", first)])
    yield case("ids_in_a_window", window, {"x": IDS}, {"y": first[IDS].reshape(3, 1, 9)})
    nodes = [
        make.make_node("Transpose", ["x"], ["t"], perm=[1, 0]),
        make.make_node("Gather", ["t", "order"], ["o"], axis=0),
        make.make_node("Gather", ["first", "o"], ["e"]),
        make.make_node("ReduceSum", ["e", "zero"], ["y"], keepdims=0),
    ]
    weights = [tensor("first", first), tensor("order", np.array([2, 0], dtype=np.int64)), tensor("zero", np.array([0], dtype=np.int64))]
    turned = model(nodes, [info("x", [1, 3], INT64)], [info("y", [1, 3])], weights)
    yield case("ids_in_another_order", turned, {"x": IDS}, {"y": first[IDS[:, :, [2, 0]]].sum(axis=2)})
    x = table(3)[:3].reshape(3, 1, 3)
    nodes = [make.make_node("Dropout", ["x"], ["d", "mask"]), make.make_node("Relu", ["d"], ["y"])]
    dropped = model(nodes, [info("x", [1, 3])], [info("y", [1, 3])], opset=9)
    yield case("mask_that_nobody_reads", dropped, {"x": x}, {"y": np.maximum(x, 0)})
