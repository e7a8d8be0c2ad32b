"""Model folders: model.toml, cells as data and weights (docs/models.md)."""

import json
import os
import pathlib
import re
import shutil
import struct
import tempfile


class CellWriter:
    """A cell as data: operators in their order, and the type and shape of what each makes (docs/models.md, "A cell of your
    own"). Values are numbers; nothing is checked here, but by the server when it loads the model."""

    def __init__(self):
        self.states, self.values, self.operators = [], [], []

    def state(self, name, shape, dtype="f32", initial=0):
        self.states.append({"name": name, "dtype": dtype, "shape": list(shape), "initial": initial})

    def make(self, op, inputs=(), shape=(), dtype="f32", **more):
        """An operator that makes a value: `more` is its name, index, weights, attributes …"""
        self.values.append({"dtype": dtype, "shape": list(shape)})
        self.operators.append({"op": op, "inputs": list(inputs), **more, "output": len(self.values) - 1})
        return len(self.values) - 1

    def shape(self, value):
        return self.values[value]["shape"]

    def apply(self, op, *inputs, **more):
        """An operator whose value has the shape of its first input."""
        return self.make(op, inputs, self.shape(inputs[0]), **more)

    def product(self, terms, width, bias=None):
        """Σ weight·x + bias, for pairs of a weight's name and a value."""
        weights = [weight for weight, _ in terms] + ([bias] if bias else [])
        return self.make("product", [x for _, x in terms], [width], weights=weights, has_bias=bias is not None)

    def part(self, value, number, width):
        """Elements number·width … of a vector."""
        return self.make("slice", [value], [width], begin=number * width, end=(number + 1) * width)

    def scatter(self, value, state):
        self.operators.append({"op": "scatter", "inputs": [value], "name": state})

    def push(self, value, name, index=0):
        self.operators.append({"op": "push", "inputs": [value], "name": name, "index": index})

    def text(self):
        return json.dumps({"states": self.states, "values": self.values, "operators": self.operators}, indent=1)


def safetensors(tensors):
    """The bytes of a safetensors file of arrays of f32, by name."""
    import numpy as np

    header, data = {}, []
    begin = 0
    for name, array in tensors.items():
        array = np.ascontiguousarray(array, dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [begin, begin + array.nbytes]}
        data.append(array.tobytes())
        begin += array.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-(8 + len(text)) % 64)  # rows of tables then lie where a server need not copy them
    return struct.pack("<Q", len(text)) + text + b"".join(data)


def read_safetensors(path):
    """The arrays of a safetensors file by name, bfloat16 as float32; tensors of types that numpy has no name for are left out.
    ValueError for what is no such file."""
    import numpy as np

    kinds = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "<i1"}
    kinds.update({"U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "<u1", "BOOL": "?"})
    data = pathlib.Path(path).read_bytes()
    try:
        size = struct.unpack_from("<Q", data)[0]
        if size > len(data) - 8:
            raise ValueError("its header is longer than the file")
        tensors = {}
        for name, entry in json.loads(data[8 : 8 + size]).items():
            if name == "__metadata__" or entry["dtype"] not in kinds:
                continue
            begin, end = (8 + size + at for at in entry["data_offsets"])
            numbers = np.frombuffer(data[begin:end], kinds[entry["dtype"]])
            if entry["dtype"] == "BF16":
                numbers = (numbers.astype("<u4") << 16).view("<f4")
            tensors[name] = numbers.reshape(entry["shape"])
        return tensors
    except (ValueError, KeyError, TypeError, AttributeError, struct.error) as error:
        raise ValueError(f"{path} is no safetensors file that can be read here: {error}") from error


def put_in_place(staged, folder):
    """Renames a folder to one that may be there, which is there again when that fails."""
    before = staged.with_name(staged.name + ".old")
    if folder.exists():
        folder.rename(before)
    try:
        staged.rename(folder)
    except BaseException:
        if before.exists():
            before.rename(folder)
        raise
    shutil.rmtree(before, ignore_errors=True)


def check_name(name):
    """ValueError for what a server does not take for a model's name."""
    if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9._-]{0,63}", name):
        raise ValueError(f"{name!r} is no name of a model: 1 to 64 letters, digits, '_', '-' and '.', the first a letter or digit")
    return name


def write_model(folder, definition, cells, tensors, overwrite=False):
    """Writes a model's folder as a whole, or not at all: `definition` is model.toml, `cells` the texts of cells by name,
    `tensors` arrays by name. Overwrites a model only, never another folder."""
    folder = pathlib.Path(os.path.abspath(folder))
    if folder.exists() and not overwrite:
        raise FileExistsError(f"{folder}: exists already; choose another place, or ask to overwrite it")
    if folder.exists() and not (folder / "model.toml").is_file():
        raise FileExistsError(f"{folder}: is no model, and is not overwritten; name the model's own folder, REPOSITORY/NAME")
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = pathlib.Path(tempfile.mkdtemp(prefix="." + folder.name + ".", dir=folder.parent))
    try:
        os.chmod(staged, 0o755)
        (staged / "1").mkdir()
        (staged / "model.toml").write_text(definition, encoding="utf-8")
        for name, text in cells.items():
            (staged / f"{name}.cell.json").write_text(text, encoding="utf-8")
        (staged / "1" / "weights.safetensors").write_bytes(safetensors(tensors))
        put_in_place(staged, folder)
    except BaseException:
        shutil.rmtree(staged, ignore_errors=True)
        raise
