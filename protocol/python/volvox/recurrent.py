"""Recurrent layers of PyTorch as models of a server: torch.nn.LSTM, GRU, RNN, and LSTMCell, GRUCell, RNNCell.

`export` takes a live module, `export_state` its weights by PyTorch's own names, from wherever they come. Each layer and
direction becomes a cell as data, of the operators that Volvox has fused kernels for. Nothing of torch is imported here:
tensors are whatever numpy can read.
"""

import json
import pathlib
import re

from volvox.model import CellWriter, check_name, write_model

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
WEIGHT = re.compile(r"(weight_ih|weight_hh|weight_hr|bias_ih|bias_hh)(?:_l(\d+)(_reverse)?)?")


def _floats(tensor, name):
    """A tensor of torch or numpy as float32."""
    import numpy

    if hasattr(tensor, "detach"):
        tensor = tensor.detach().cpu().float().numpy()
    array = numpy.ascontiguousarray(tensor, dtype="<f4")
    if not numpy.isfinite(array).all():
        raise ValueError(f"{name} holds values that are infinite or no numbers")
    return array


class _Cell:
    """One direction of one layer: what it reads, its weights, and itself as data."""

    def __init__(self, kind, name, layer):
        self.kind, self.name, self.layer = kind, name, layer
        self.writer, self.tensors = CellWriter(), {}
        self.hidden = layer["weight_hh"].shape[0] // GATES[kind]
        self.width = layer["weight_hr"].shape[0] if "weight_hr" in layer else self.hidden

    def weight(self, name, array):
        full = f"{self.name}.{name}"
        self.tensors[full] = array
        return full

    def step(self, x, pushes):
        w = self.writer
        w.state("h", [self.width])
        h = w.make("gather", shape=[self.width], name="h")
        after = {"lstm": self._lstm, "gru": self._gru}.get(self.kind, self._rnn)(x, h)
        w.scatter(after, "h")
        if pushes:
            w.push(after, "h")

    def _product(self, terms, width, bias=None):
        return self.writer.product([(self.weight(name, self.layer[name]), x) for name, x in terms], width, bias)

    def _of_both(self, x, h):
        """weight_ih·x + weight_hh·h, and both biases as one."""
        bias = self.weight("bias", self.layer["bias_ih"] + self.layer["bias_hh"]) if "bias_ih" in self.layer else None
        return self._product([("weight_ih", x), ("weight_hh", h)], GATES[self.kind] * self.hidden, bias)

    def _of_one(self, side, value):
        name = f"bias_{side}"
        bias = self.weight(name, self.layer[name]) if name in self.layer else None
        product = self._product([(f"weight_{side}", value)], 3 * self.hidden, bias)
        return [self.writer.part(product, number, self.hidden) for number in range(3)]

    def _lstm(self, x, h):
        w = self.writer
        w.state("c", [self.hidden])
        c = w.make("gather", shape=[self.hidden], name="c")
        z = self._of_both(x, h)
        i, f, g, o = (w.part(z, number, self.hidden) for number in range(4))
        added = w.apply("mul", w.apply("sigmoid", i), w.apply("tanh", g))
        after = w.apply("mul_add", w.apply("sigmoid", f), c, added)
        w.scatter(after, "c")
        shown = w.apply("mul", w.apply("sigmoid", o), w.apply("tanh", after))
        return self._product([("weight_hr", shown)], self.width) if "weight_hr" in self.layer else shown

    def _gru(self, x, h):
        w = self.writer
        (rx, zx, nx), (rh, zh, nh) = self._of_one("ih", x), self._of_one("hh", h)
        reset, update = w.apply("sigmoid", w.apply("add", rx, rh)), w.apply("sigmoid", w.apply("add", zx, zh))
        new = w.apply("tanh", w.apply("mul_add", reset, nh, nx))
        return w.apply("mul_add", update, w.apply("sub", h, new), new)

    def _rnn(self, x, h):
        return self.writer.apply(self.kind[len("rnn_") :], self._of_both(x, h))


def _layers(kind, state):
    """[layer][direction] -> weights by PyTorch's names without their ends, with shapes that fit each other."""
    if kind not in GATES:
        raise ValueError(f"kind is {kind!r}; there are {', '.join(GATES)}")
    found = {}
    for name, tensor in state.items():
        match = WEIGHT.fullmatch(name)
        if not match:
            raise ValueError(f"{name} is no weight of a {kind}")
        found.setdefault((int(match[2] or 0), 1 if match[3] else 0), {})[match[1]] = _floats(tensor, name)
    count, directions = 1 + max((at for at, _ in found), default=-1), 1 + max((way for _, way in found), default=0)
    if not found or count * directions != len(found):
        raise ValueError("weights of a layer or a direction are missing: there must be weight_ih_l0, weight_hh_l0, …")
    layers = [[found[at, way] for way in range(directions)] for at in range(count)]
    below = None
    for at, row in enumerate(layers):
        below = sum(_checked_width(kind, at, layer, below) for layer in row)
    return layers


def _checked_width(kind, at, layer, below):
    """How wide its h is; `below` is what it must read, None: anything."""
    for name in ("weight_ih", "weight_hh"):
        if name not in layer or layer[name].ndim != 2:
            raise ValueError(f"layer {at} has no matrix {name}")
    rows = layer["weight_hh"].shape[0]
    hidden = rows // GATES[kind]
    width = layer["weight_hr"].shape[0] if "weight_hr" in layer else hidden
    wanted = {"weight_ih": (GATES[kind] * hidden, below or layer["weight_ih"].shape[1]), "weight_hh": (GATES[kind] * hidden, width),
              "weight_hr": (width, hidden), "bias_ih": (rows,), "bias_hh": (rows,)}  # fmt: skip
    if "weight_hr" in layer and kind != "lstm":
        raise ValueError("only LSTMs have a projection (weight_hr)")
    if ("bias_ih" in layer) != ("bias_hh" in layer):
        raise ValueError(f"layer {at} has one of bias_ih and bias_hh; there must be both, or none")
    for name, array in layer.items():
        if array.shape != wanted[name]:
            raise ValueError(f"layer {at}: {name} is {list(array.shape)}, needs {list(wanted[name])}")
    return width


def _table(head, **members):
    return ["", f"[[{head}]]"] + [f"{key} = {json.dumps(value)}" for key, value in members.items() if value is not None]


def export_state(kind, state, folder, *, embedding=None, output=None, every_step=True, name=None, max_batch=64, overwrite=False):
    """Writes a model of these weights, by PyTorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0 … (or weight_ih … of a
    cell), with its order of gates. `kind` is lstm, gru, rnn_tanh or rnn_relu; tensors are of torch or numpy.

    A request is a sequence of "x": rows of f32 as wide as weight_ih, or with `embedding`, a matrix, of i32 ids. The answer is
    "h" of the topmost layer, and in both directions "h_back" beside it; with `output`, a pair of the weight and the bias (or
    None) of a linear layer above, it is "y". For every step, or the last one: each direction's own last, as PyTorch's h_n, but "y" of
    the sequence's last row, as of output[-1]. One direction runs in sessions, too.

    ValueError for weights that do not fit, and names that a server does not take; FileExistsError when the folder is there and
    not to be overwritten.
    """
    import numpy

    folder = pathlib.Path(folder)
    layers = _layers(kind, state)
    width = layers[0][0]["weight_ih"].shape[1]
    lines = [f"name = {json.dumps(check_name(name or folder.name))}", 'unfolding = "lanes"', "max_length = 65536"]
    cells, lanes, tensors, below = {}, [], {}, []
    if embedding is not None:
        embedding = _floats(embedding, "embedding")
        if embedding.ndim != 2 or embedding.shape[1] != width:
            raise ValueError(f"the embedding has rows of {embedding.shape[-1]}, the module reads {width}")
        tensors["embedding"] = embedding
    for at, row in enumerate(layers):
        top, made = at + 1 == len(layers), []
        for way, layer in enumerate(row):
            cell = _Cell(kind, f"layer{at}" + ("_back" if way else ""), layer)
            w = cell.writer
            if below:
                parts = [w.make("gather", shape=[one.width], name="h", index=1 + i) for i, one in enumerate(below)]
                x = parts[0] if len(parts) == 1 else w.make("concat", parts, [sum(one.width for one in below)])
            elif embedding is None:
                x = w.make("pull", shape=[width], name="x")
            else:
                x = w.make("embed", [w.make("pull", dtype="i32", name="x")], [width], weights=["embedding"])
            cell.step(x, pushes=top and output is None)
            made.append(cell)
            cells[cell.name] = w.text()
            tensors.update(cell.tensors)
            lines += _table("cell", name=cell.name, kind="file", max_batch=max_batch)
            push = ["h_back" if way else "h"] if top and output is None else None
            reads = [one.name for one in below] or None
            lanes += _table("lane", cell=cell.name, over="x", **{"from": reads}, reverse=True if way else None, push=push)
        below = made
    outputs = ["h", "h_back"][: len(below)]
    if output is not None:
        weight = _floats(output[0], "output")
        bias = numpy.zeros(len(weight), "<f4") if output[1] is None else _floats(output[1], "output")
        reads = sum(cell.width for cell in below)
        if weight.ndim != 2 or weight.shape[1] != reads or bias.shape != weight.shape[:1]:
            raise ValueError(f"the output layer is {list(weight.shape)} and {list(bias.shape)}, the module makes vectors of {reads}")
        tensors.update({"output.weight": weight, "output.bias": bias})
        projection = "projection" if len(below) == 1 else "projection_2"
        lines += _table("cell", name="output", kind=projection, input=below[0].width, hidden=len(weight), max_batch=max_batch)
        lanes += _table("lane", cell="output", over="x", **{"from": [cell.name for cell in below]}, push=["y"])
        outputs = ["y"]
    given = {"dtype": "f32", "shape": [width]} if embedding is None else {}
    lines += lanes + _table("input", name="x", **given)
    for one in outputs:
        lines += _table("output", name=one, every=every_step)
    write_model(folder, "\n".join(lines) + "\n", cells, tensors, overwrite)


def export(module, folder, *, embedding=None, output=None, **options):
    """Writes a torch.nn.LSTM, GRU, RNN, LSTMCell, GRUCell or RNNCell as a model, as it answers in eval(): any number of
    layers, one or both directions, projections. `embedding` is the torch.nn.Embedding in front of it, `output` the
    torch.nn.Linear above; all else is as export_state says.

    TypeError for other modules (see export_step).
    """
    kind = type(module).__name__
    kind = (kind[: -len("Cell")] if kind.endswith("Cell") else kind).lower()
    if kind == "rnn":
        kind = f"rnn_{module.nonlinearity}"
    if kind not in GATES or not hasattr(module, "hidden_size"):
        raise TypeError(f"{type(module).__name__} is none of torch.nn.LSTM, GRU, RNN; export_step takes any module of one step")
    if embedding is not None:
        if getattr(embedding, "max_norm", None) is not None:
            raise ValueError("the embedding has a max_norm, by which its rows change as they are looked up; export one without")
        embedding = getattr(embedding, "weight", embedding)
    if output is not None:
        output = output.weight, output.bias
    export_state(kind, module.state_dict(), folder, embedding=embedding, output=output, **options)
