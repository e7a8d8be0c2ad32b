"""What make_onnx_golden.py and its parts write ONNX models with."""

import io
import warnings

import numpy as np
import onnx
import onnx.helper as make
import onnx.numpy_helper
import torch

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64
STEPS = 4
rng = np.random.default_rng(18)
torch.manual_seed(18)
warnings.filterwarnings("ignore")


def rounded(values):
    return [float(f"{value:.9g}") for value in np.ravel(values)]


def case(name, proto, inputs, outputs, **options):
    """`inputs`, `outputs`: by name, rows of all steps."""
    return {
        "name": name,
        "onnx": (proto if isinstance(proto, bytes) else proto.SerializeToString()).hex(),
        "inputs": {key: rounded(value) for key, value in inputs.items()},
        "outputs": {key: rounded(value) for key, value in outputs.items()},
        **options,
    }


def exported(module, arguments, inputs, outputs, axes=None, opset=13):
    file = io.BytesIO()
    torch.onnx.export(module, arguments, file, input_names=inputs, output_names=outputs, opset_version=opset, dynamic_axes=axes)
    proto = onnx.load_from_string(file.getvalue())
    for node in proto.graph.node:
        node.ClearField("doc_string")  # where in which file it was written
    return proto


def tensor(name, array):
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def info(name, shape, kind=FLOAT):
    return make.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=(), opset=14):
    graph = make.make_graph(nodes, "graph", inputs, outputs, list(weights))
    return make.make_model(graph, opset_imports=[make.make_opsetid("", opset)])


def draw(*shape):
    return rng.uniform(-0.7, 0.7, shape).astype(np.float32)


def refused(name, proto, why):
    return {"name": name, "onnx": (proto if isinstance(proto, bytes) else proto.SerializeToString()).hex(), "why": why}


SCAN_START = np.array([0.25, -0.5], dtype=np.float32)


def scan_model(opset, length, batch, reverse=False):
    """A sum that leaks, over the steps; its body sees a factor of the graph around it."""
    body = make.make_graph(
        [
            make.make_node("Mul", ["before", "factor"], ["kept"]),
            make.make_node("Add", ["kept", "row"], ["after"]),
            make.make_node("Tanh", ["after"], ["made"]),
        ],
        "body",
        [info("before", [2]), info("row", [2])],
        [info("after", [2]), info("made", [2])],
    )
    attributes = {"num_scan_inputs": 1, "body": body}
    if reverse:
        attributes.update({"directions": [1]} if opset < 9 else {"scan_input_directions": [1], "scan_output_directions": [1]})
    inputs = ["start", "x"] if opset > 8 else ["", "start", "x"]
    node = make.make_node("Scan", inputs, ["end", "y"], name="scan", **attributes)
    weights = [tensor("start", SCAN_START.reshape(*batch, 2)), tensor("factor", np.array([0.5, 0.75], dtype=np.float32))]
    shape = [*batch, length or "steps", 2]
    return model([node], [info("x", shape)], [info("y", None), info("end", None)], weights, opset)
