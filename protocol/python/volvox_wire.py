"""What travels between a client and Volvox, as Python values and as bytes (protocol/volvox.capnp, docs/protocol.md). Part
of volvox_client.py."""

from __future__ import annotations

import array
import dataclasses
import enum
import math
import re
import secrets
import struct
import sys
from typing import Any, NamedTuple, Optional, Union

from volvox_capnp import Builder, Malformed, Message

try:
    import numpy
except ImportError:
    numpy = None

if sys.byteorder != "little":
    raise ImportError("the wire is little-endian, and tensors travel as they lie in memory")

PROTOCOL_VERSION = 1
MAX_HEADER_BYTES, MAX_TENSORS, MAX_NAME_BYTES, MAX_RANK = 4096, 64, 128, 8
MAX_ERROR_TEXT_BYTES = 1024
# Places of modelVersion, deadlineUs and streamFrom in the header that encode_header makes.
VERSION_AT, DEADLINE_AT, STREAM_FROM_AT = 32, 40, 64
TRACEPARENT = re.compile("00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})")
MAX_BUNDLE_PARTS = 8192
REQUEST_KINDS = ("infer", "cancel", "ping", "bundle")
REPLY_KINDS = ("result", "partial", "error", "pong", "bundle")
PRIORITIES = ("normal", "high", "low")
SESSION_OPERATIONS = ("none", "begin", "continue", "end")
# Element types in the order of their numbers, with the letter that `struct` and `memoryview` have for them.
FORMATS = {"f32": "f", "f64": "d", "f16": "e", "bf16": "H", "i8": "b", "i16": "h", "i32": "i", "i64": "q",
           "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "bool8": "?"}  # fmt: skip
TYPES = tuple(FORMATS)


class Code(enum.IntEnum):
    """What went wrong; docs/protocol.md says what to do about each."""

    INVALID_ARGUMENT = 1
    MODEL_NOT_FOUND = 2
    UNSUPPORTED_VERSION = 3
    OVERLOADED = 4
    DEADLINE_EXCEEDED = 5
    CANCELLED = 6
    SESSION_EXPIRED = 7
    SESSION_LOST = 8
    UNAUTHENTICATED = 9
    PERMISSION_DENIED = 10
    UNAVAILABLE = 11
    INTERNAL = 12


class VolvoxError(Exception):
    """A request that failed. `retry_after`: seconds that the server advises to wait, 0 without advice; `local`: this
    client says so, not the server; `undecided`: the part of a session may have been done all the same, so repeat it with
    the same content, and send nothing else in its place."""

    def __init__(self, code, message, retry_after=0.0, local=True, undecided=False):
        self.code = Code(code) if code in set(Code) else Code.INTERNAL  # a newer server may know more errors
        self.message, self.retry_after, self.local, self.undecided = message, retry_after, local, undecided
        super().__init__(f"{self.code.name}: {message}")

    def judge(self, in_session, sent, doubtful):
        """Finds out whether it is undecided, for a request that was sent, perhaps elsewhere before: then `doubtful`."""
        over = self.code in (Code.SESSION_LOST, Code.SESSION_EXPIRED)
        self.undecided = in_session and not over and (self.undecided or doubtful or (self.local and sent))


def _invalid(message):
    return VolvoxError(Code.INVALID_ARGUMENT, message)


class Tensor(NamedTuple):
    """Elements of one type, row by row, as bytes."""

    type: str  # of TYPES
    shape: tuple[int, ...]
    data: Union[bytes, memoryview]

    def array(self) -> Any:
        """A numpy array, or without numpy a memoryview of the same shape (`tolist()` makes lists). Read-only, for it
        shares the reply's memory. bf16, and f16 without numpy, come as their 16 bits."""
        format_ = FORMATS[self.type]
        if numpy is not None:
            return numpy.frombuffer(self.data, "<" + format_).reshape(self.shape)
        view = memoryview(self.data).cast("B").cast("H" if format_ == "e" else format_)
        return view if len(self.shape) == 1 or 0 in self.shape else view.cast("B").cast(view.format, self.shape)


def tensor(values: Any) -> Tensor:
    """A Tensor of a Tensor, of anything that exposes its memory (numpy arrays, array.array, bytes), or of a number or
    nested lists of numbers: Python's ints become i32, with a float among them all become f32, bools bool8."""
    if isinstance(values, Tensor):
        return values
    try:
        view = memoryview(values)
    except TypeError:
        return _tensor_of_lists(values)
    for kinds, prefix in (("bhilqn", "i"), ("BHILQNc", "u"), ("efd", "f"), ("?", "bool")):
        if view.format.lstrip("@=<") in tuple(kinds):
            return Tensor(f"{prefix}{8 * view.itemsize}", tuple(view.shape), view.tobytes())
    raise _invalid(f"an array of format {view.format!r} cannot be sent; convert it to f4, i4 or another plain type")


def input_tensor(values):
    """As tensor(), but an array of 64-bit integers, which is what numpy and torch make of whole numbers, becomes i32 where
    its values fit: that is what models take. Make a Tensor to send i64."""
    made = tensor(values)
    if made.type != "i64" or isinstance(values, Tensor):
        return made
    try:
        narrow = array.array("i", memoryview(made.data).cast("q"))
    except OverflowError:
        return made
    return Tensor("i32", made.shape, narrow.tobytes())


def _tensor_of_lists(values):
    shape, flat, rows = [], [values], (list, tuple, range)
    while flat and isinstance(flat[0], rows):
        shape.append(len(flat[0]))
        if any(not isinstance(row, rows) or len(row) != shape[-1] for row in flat):
            raise _invalid("nested lists must have the same length at each level")
        flat = [item for row in flat for item in row]
    kinds = {type(item) for item in flat}
    if not kinds <= {bool, int, float}:
        raise _invalid(f"{sorted(kind.__name__ for kind in kinds)} cannot be sent; give numbers, lists or arrays of them")
    name = "f32" if float in kinds else "bool8" if kinds == {bool} else "i32"
    try:
        return Tensor(name, tuple(shape), struct.pack(f"<{len(flat)}{FORMATS[name]}", *flat))
    except (struct.error, OverflowError) as problem:
        raise _invalid(f"a number is no {name}: {problem}; send an array of a wider type") from None


class Chain(NamedTuple):
    """A sequence of `length` steps."""

    length: int


class Sequences(NamedTuple):
    """Sequences by the names that the model gives them: {"source": 12}. One that it ends by itself may be left out."""

    lengths: dict


class Tree(NamedTuple):
    """parents[node], -1 for a root; children come before their parent."""

    parents: list


class Lattice(NamedTuple):
    """A chain of `length` characters, and words that cover [starts[i], ends[i])."""

    length: int
    starts: list
    ends: list


class Graph(NamedTuple):
    """Node i is a cell cell_types[type_of[i]] and follows predecessors[offsets[i]:offsets[i + 1]], all before it."""

    cell_types: list
    type_of: list
    offsets: list
    predecessors: list


@dataclasses.dataclass(frozen=True)
class SessionToken:
    """Names a session: `begin()` for its first request, then `next()` of each reply's `session`."""

    id_hi: int = 0
    id_lo: int = 0
    model_version: int = 0
    operation: str = "none"
    model_digest: int = 0
    numerics_id: int = 0
    epoch: int = 0
    nonce: int = 0
    sequence: int = 0
    home: str = ""
    replica: str = ""
    nonce_hi: int = 0

    @classmethod
    def begin(cls) -> SessionToken:
        return cls(operation="begin", nonce=secrets.randbits(64) | 1, nonce_hi=secrets.randbits(64) | 1)

    def next(self, end: bool = False) -> SessionToken:
        return dataclasses.replace(self, operation="end" if end else "continue", sequence=self.sequence + 1)


@dataclasses.dataclass(frozen=True)
class Reply:
    """An answer; reply["h"] is the output h as an array."""

    tensors: dict[str, Tensor]
    cells: int = 0  # run for this request
    queue: float = 0.0  # seconds at the server, from arrival to the first cell
    compute: float = 0.0  # from then to the end of the last cell
    total: float = 0.0  # from arrival to this reply
    server: str = ""
    session: Optional[SessionToken] = None
    index: int = 0  # of a partial reply, from 0
    version: int = 0  # of the model that answered; 0: the server does not say

    def __getitem__(self, name: str) -> Any:
        return self.tensors[name].array()


# --- To bytes. Limits are the server's defaults, so that most violations are known before anything is sent. ---


def _check(fine, message):
    if not fine:
        raise _invalid(message)


def _check_names(what, names):
    _check(len(names) <= MAX_TENSORS, f"{len(names)} {what}s; the limit is {MAX_TENSORS}")
    _check(len(set(names)) == len(names), f"a {what} is given twice")
    for name in names:
        _check(0 < len(name.encode()) <= MAX_NAME_BYTES, f"the {what} {name!r} must have 1 to {MAX_NAME_BYTES} bytes")


def _check_tensor(name, value):
    _check(value.type in FORMATS, f"{name!r}: {value.type!r} is no type; use one of {', '.join(TYPES)}")
    _check(len(value.shape) <= MAX_RANK and min(value.shape, default=0) >= 0, f"{name!r}: bad shape {value.shape}")
    size, wanted = memoryview(value.data).nbytes, _tensor_bytes(value.type, value.shape)
    _check(size == wanted, f"{name!r}: {value.type} of shape {value.shape} takes {wanted} bytes, not {size}")


def _tensor_bytes(type_, shape):
    """None if that is more than can be; an extent of 0 does not excuse the others, as at the server."""
    most = math.prod(max(1, extent) for extent in shape) * struct.calcsize(FORMATS[type_])
    return None if most >= 1 << 63 else 0 if 0 in shape else most


def cells_of(structure):
    """About how many cells it unfolds into."""
    if isinstance(structure, Chain):
        return structure.length
    if isinstance(structure, Sequences):
        return sum(structure.lengths.values())
    if isinstance(structure, Lattice):
        return structure.length + len(structure.starts)
    return len(structure.parents if isinstance(structure, Tree) else structure.type_of)


def _trace_of(trace):
    """(number, own span, sampled) of a number, or of a `traceparent` as W3C Trace Context writes it."""
    if not isinstance(trace, str):
        return trace, 0, False
    found = TRACEPARENT.fullmatch(trace)
    _check(found is not None, f"{trace!r} is no traceparent: 00-, 32 hexadecimal digits, -, 16 more, -, 2 more, in lower case, "
                              "no part all 0")  # fmt: skip
    number, span, flags = (int(digits, 16) for digits in found.groups())
    return number, span, bool(flags & 1)


def encode_header(kind, request_id, model="", version=0, priority="normal", cells=0, trace=0, session=None,
                  stream_from=None, parts=0):  # fmt: skip
    """The first frame of a request. The deadline is written by whoever sends it, at DEADLINE_AT."""
    _check(priority in PRIORITIES, f"{priority!r} is no priority; use one of {', '.join(PRIORITIES)}")
    out = Builder(8, 2)
    numbers = (PROTOCOL_VERSION, REQUEST_KINDS.index(kind), PRIORITIES.index(priority), request_id, version, cells)
    trace, span, sampled = _trace_of(trace)
    trace_hi, trace_lo = divmod(trace, 1 << 64)
    struct.pack_into("<HHHxxQIIQQQ", out.bytes, out.root, *numbers, 0, trace_hi, trace_lo)
    struct.pack_into("<B", out.bytes, out.root + 6, (stream_from is not None) | sampled << 1)
    struct.pack_into("<IIQ", out.bytes, out.root + 48, stream_from or 0, parts, span)
    out.add_text(out.root + 64, model)
    if session is not None:
        _put_session(out, out.root + 72, session)
    _check(len(out.bytes) <= MAX_HEADER_BYTES, f"the request's header has more than {MAX_HEADER_BYTES} bytes")
    return out.finish()


def _put_session(out, pointer, token):
    _fill_session(out, out.add_struct(pointer, 9, 2), token)


def _fill_session(out, place, token):
    operation = SESSION_OPERATIONS.index(token.operation)
    numbers = (token.model_digest, token.numerics_id, token.epoch, token.nonce, token.sequence)
    struct.pack_into("<QQIHxxQQQQQ", out.bytes, place, token.id_hi, token.id_lo, token.model_version, operation, *numbers)
    struct.pack_into("<Q", out.bytes, place + 64, token.nonce_hi)
    out.add_text(place + 72, token.home)
    out.add_text(place + 80, token.replica)


def encode_body(structure, inputs, outputs=()):
    """The second frame of an infer request: a structure, Tensors by name, names of wanted outputs."""
    _check_names("wanted output", list(outputs))
    out = Builder(0, 3)
    _put_structure(out, out.root, structure)
    _put_inputs(out, out.root + 8, inputs)
    out.add_names(out.root + 16, outputs)
    return out.finish()


def _put_inputs(out, pointer, inputs):
    _check_names("input", list(inputs))
    place = out.add_structs(pointer, len(inputs), 1, 3)
    for name, value in inputs.items():
        _check_tensor(name, value)
        struct.pack_into("<H", out.bytes, place, TYPES.index(value.type))
        out.add_text(place + 8, name)
        out.add_list(place + 16, 5, len(value.shape), struct.pack(f"<{len(value.shape)}q", *value.shape))
        data = memoryview(value.data)
        out.add_list(place + 24, 2, data.nbytes, data.tobytes())
        place += 32


class Part(NamedTuple):
    """One of many that travel together: `session` as for a request, None for one that stands alone, and the inputs of its
    chain. One that ends its session may come without inputs."""

    session: Optional[SessionToken]
    inputs: dict


def encode_bundle(parts, outputs=()):
    """The second frame of a bundle, and how many steps each of its Parts has."""
    _check(0 < len(parts) <= MAX_BUNDLE_PARTS, f"a bundle has 1 to {MAX_BUNDLE_PARTS} parts, not {len(parts)}")
    _check_names("wanted output", list(outputs))
    rows, lengths = _rows_of([{name: input_tensor(values) for name, values in part.inputs.items()} for part in parts])
    out = Builder(0, 4)
    _put_tokens(out, out.root, [part.session or SessionToken() for part in parts])
    _put_column(out, out.root + 8, "I", lengths)
    _put_inputs(out, out.root + 16, rows)
    out.add_names(out.root + 24, outputs)
    return out.finish(), lengths


def _rows_of(parts):
    """The inputs of all parts, one after the other, and the steps of each."""
    lengths, first, data = [], {}, {}
    for inputs in parts:
        lengths.append(next(iter(inputs.values())).shape[0] if inputs else 0)
        for name, value in inputs.items():
            known = first.setdefault(name, value)
            _check(value.shape and value.shape[0] == lengths[-1], f"{name!r} of a part must have a row for each of its steps")
            alike = value.type == known.type and value.shape[1:] == known.shape[1:]
            _check(alike, f"the rows of {name!r} must be alike in all parts of a bundle")
            data.setdefault(name, []).append(value.data)
    steps = sum(lengths)
    rows = {name: Tensor(value.type, (steps, *value.shape[1:]), b"".join(data[name])) for name, value in first.items()}
    return rows, lengths


def _put_column(out, pointer, format_, values):
    size = struct.calcsize(format_)
    out.add_list(pointer, {2: 3, 4: 4, 8: 5}[size], len(values), struct.pack(f"<{len(values)}{format_}", *values))


def _put_tokens(out, pointer, tokens):
    kinds, kind_of, ids = {}, [], []
    for token in tokens:
        begins = token.operation == "begin"
        ids.append((token.nonce_hi, token.nonce) if begins else (token.id_hi, token.id_lo))
        kind = dataclasses.replace(token, id_hi=0, id_lo=0, nonce=0, nonce_hi=0, sequence=0)
        kind_of.append(kinds.setdefault(kind, len(kinds)))
    place = out.add_struct(pointer, 0, 5)
    kind_at = out.add_structs(place, len(kinds), 9, 2)
    for number, kind in enumerate(kinds):
        _fill_session(out, kind_at + 88 * number, kind)
    _put_column(out, place + 8, "H", kind_of)
    _put_column(out, place + 16, "Q", [hi for hi, _ in ids])
    _put_column(out, place + 24, "Q", [lo for _, lo in ids])
    _put_column(out, place + 32, "Q", [token.sequence for token in tokens])


def _put_structure(out, pointer, structure):
    kinds = (Chain, Tree, Lattice, Graph, Sequences)
    _check(isinstance(structure, kinds), f"{structure!r} is no structure; use Chain, Sequences, Tree, Lattice or Graph")
    place = out.add_struct(pointer, 1, 1)
    length = structure.length if isinstance(structure, Chain) else 0
    struct.pack_into("<HxxI", out.bytes, place, 1 + kinds.index(type(structure)), length)
    if isinstance(structure, Tree):
        out.add_ints(out.add_struct(place + 8, 0, 1), structure.parents)
    elif isinstance(structure, Lattice):
        lattice = out.add_struct(place + 8, 1, 2)
        struct.pack_into("<I", out.bytes, lattice, structure.length)
        out.add_ints(lattice + 8, structure.starts)
        out.add_ints(lattice + 16, structure.ends)
    elif isinstance(structure, Sequences):
        sequences = out.add_struct(place + 8, 0, 2)
        out.add_names(sequences, list(structure.lengths))
        out.add_ints(sequences + 8, list(structure.lengths.values()))
    elif isinstance(structure, Graph):
        graph = out.add_struct(place + 8, 0, 4)
        out.add_names(graph, structure.cell_types)
        for number, values in enumerate((structure.type_of, structure.offsets, structure.predecessors), 1):
            out.add_ints(graph + 8 * number, values)


# --- From bytes, which may be anything: what is wrong raises Malformed, or VolvoxError for another version. ---


class ReplyHeader(NamedTuple):
    """The first frame of a reply; `fields` is what a Reply is made of."""

    request_id: int
    kind: str
    final: bool
    error: Optional[VolvoxError]
    fields: dict


def read_reply_header(frame):
    """(request id, the root to read the rest of)."""
    if len(frame) > MAX_HEADER_BYTES:
        raise Malformed(f"its header has {len(frame)} bytes; the limit is {MAX_HEADER_BYTES}")
    root = Message(frame).root()
    return root.fields("<QQ")[1], root


def is_pong(root):
    """Whether the reply with this root is one."""
    kind = root.fields("<HH")[1]
    return kind < len(REPLY_KINDS) and REPLY_KINDS[kind] == "pong"


def decode_reply_header(root):
    numbers = root.fields("<HHHBxQIIQQQQI")
    version, kind, code, flags, request_id, index, cells, retry_us = numbers[:8]
    if version != PROTOCOL_VERSION:
        versions = f"the server speaks protocol version {version}, this client speaks {PROTOCOL_VERSION}"
        raise VolvoxError(Code.UNSUPPORTED_VERSION, versions)
    if kind >= len(REPLY_KINDS):
        raise Malformed(f"reply kind {kind} is not known")
    error = None
    if REPLY_KINDS[kind] == "error":
        text = root.text(1, errors="replace")[:MAX_ERROR_TEXT_BYTES]
        error = VolvoxError(code, text, retry_after=retry_us * 1e-6, local=False, undecided=bool(flags & 2))
    queue, compute, total = (us * 1e-6 for us in numbers[8:11])
    fields = {"index": index, "cells": cells, "version": numbers[11], "queue": queue, "compute": compute, "total": total}
    fields.update(server=root.text(0, errors="replace"), session=_session(root.struct(2)))
    # Only a partial reply can have a successor, whatever the flag says.
    final = bool(flags & 1) or REPLY_KINDS[kind] != "partial"
    return ReplyHeader(request_id, REPLY_KINDS[kind], final, error, fields)


def _session(token):
    if token is None:
        return None
    id_hi, id_lo, version, operation, *numbers, nonce_hi = token.fields("<QQIHxxQQQQQQ")
    if operation >= len(SESSION_OPERATIONS):
        raise Malformed(f"session operation {operation} is not known")
    return SessionToken(id_hi, id_lo, version, SESSION_OPERATIONS[operation], *numbers, token.text(0), token.text(1), nonce_hi)


def decode_body(frame):
    """Tensors by name; they share the frame's memory."""
    tensors = {}
    for item in Message(frame).root().structs(0, MAX_TENSORS):
        _add_tensor(tensors, item)
    return tensors


def _add_tensor(tensors, item):
    number, name = item.fields("<H")[0], item.text(0)
    if number >= len(TYPES):
        raise Malformed(f"element type {number} of {name!r} is not known")
    extents = item.list(1, 5, 8)
    shape = struct.unpack(f"<{len(extents) // 8}q", extents) if len(extents) <= 8 * MAX_RANK else None
    data = item.list(2, 2, 1)
    if shape is None or min(shape, default=0) < 0 or _tensor_bytes(TYPES[number], shape) != len(data):
        raise Malformed(f"the shape {shape} of {name!r} does not fit its {len(data)} bytes")
    if not name or name in tensors:
        raise Malformed(f"the output {name!r} has no name, or comes twice")
    tensors[name] = Tensor(TYPES[number], shape, data)


def decode_bundle(frame, server):
    """(number within the bundle, Reply or VolvoxError) of each part that the reply answers."""
    root = Message(frame).root()
    done = _column(root, 0, "I")
    with_outputs, count = root.fields("<I")[0], len(done)
    if count > MAX_BUNDLE_PARTS or with_outputs > count:
        raise Malformed("it has more answers than a bundle may have parts")
    tokens = _tokens(root.struct(1), count)
    numbers = [_column(root, number, "I", count) for number in range(2, 6)]
    outputs = {}
    for item in root.structs(6, MAX_TENSORS):
        _add_bundled(outputs, item, with_outputs)
    answers = []
    for i, part in enumerate(done):
        cells, queue, compute, total = (column[i] for column in numbers)
        tensors = {name: parts[i] for name, parts in outputs.items()} if i < with_outputs else {}
        answers.append((part, Reply(tensors, cells, queue * 1e-6, compute * 1e-6, total * 1e-6, server, tokens[i])))
    for item in root.structs(7, MAX_BUNDLE_PARTS):
        part, code, flags, retry_us = item.fields("<IHBxQ")
        text = item.text(0, errors="replace")[:MAX_ERROR_TEXT_BYTES]
        error = VolvoxError(code, text, retry_after=retry_us * 1e-6, local=False, undecided=bool(flags & 1))
        answers.append((part, error))
    return answers


def _column(struct_, number, format_, count=None):
    size = struct.calcsize(format_)
    data = struct_.list(number, {2: 3, 4: 4, 8: 5}[size], size)
    if count is not None and len(data) != count * size:
        raise Malformed(f"a column has {len(data) // size} entries for {count} parts")
    return struct.unpack(f"<{len(data) // size}{format_}", data)


def _tokens(columns, count):
    kinds = [] if columns is None else [_session(kind) for kind in columns.structs(0, count)]
    if not kinds:
        return [None] * count
    kind_of = _column(columns, 1, "H") or (0,) * count
    ids = (_column(columns, number, "Q", count) for number in (2, 3, 4))
    if len(kind_of) != count or max(kind_of, default=0) >= len(kinds):
        raise Malformed("an answer has no kind of token")
    tokens = []
    for kind, id_hi, id_lo, sequence in zip(kind_of, *ids):
        token = dataclasses.replace(kinds[kind], id_hi=id_hi, id_lo=id_lo, sequence=sequence)
        tokens.append(None if token.operation == "none" else token)
    return tokens


def _add_bundled(outputs, item, count):
    """The tensors of each of `count` parts, under the output's name."""
    tensor, whole = item.struct(0), {}
    if tensor is None:
        raise Malformed("an output has no tensor")
    _add_tensor(whole, tensor)
    ((name, value),) = whole.items()
    rows = _column(item, 1, "I")
    stacked = not rows
    counts = (1,) * count if stacked else rows
    if name in outputs or len(counts) != count or not value.shape or value.shape[0] != sum(counts):
        raise Malformed(f"the output {name!r} comes twice, or does not fit its parts")
    row = len(value.data) // value.shape[0] if value.shape[0] else 0
    parts, at = [], 0
    for size in counts:
        shape = value.shape[1:] if stacked else (size, *value.shape[1:])
        parts.append(Tensor(value.type, shape, value.data[at : at + size * row]))
        at += size * row
    outputs[name] = parts
