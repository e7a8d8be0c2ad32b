"""Cap'n Proto, as much of it as protocol/volvox.capnp needs (https://capnproto.org/encoding.html). Part of
volvox_client.py."""

import array
import struct

NESTING, MAX_SEGMENTS = 16, 512


class Builder:
    """Writes one message in one segment: the segment table, the root's pointer, then the objects in a row. A place is
    a byte's number in the message."""

    def __init__(self, data_words, pointers):
        self.bytes = bytearray(16)
        self.root = self.add_struct(8, data_words, pointers)

    def _append(self, pointer, kind, upper, content):
        place = len(self.bytes)
        struct.pack_into("<II", self.bytes, pointer, kind | ((place - pointer) // 8 - 1) << 2, upper)
        self.bytes += content
        self.bytes += bytes(-len(content) % 8)
        return place

    def add_struct(self, pointer, data_words, pointers):
        return self._append(pointer, 0, data_words | pointers << 16, bytes(8 * (data_words + pointers)))

    def add_list(self, pointer, size_code, count, content):
        return self._append(pointer, 1, size_code | count << 3, content)

    def add_structs(self, pointer, count, data_words, pointers):
        words = count * (data_words + pointers)
        tag = struct.pack("<II", count << 2, data_words | pointers << 16)
        return self.add_list(pointer, 7, words, tag + bytes(8 * words)) + 8

    def add_ints(self, pointer, values):
        self.add_list(pointer, 4, len(values), array.array("i", values).tobytes())

    def add_text(self, pointer, text):
        content = text.encode()
        if content:
            self.add_list(pointer, 2, len(content) + 1, content + b"\0")

    def add_names(self, pointer, names):
        place = self.add_list(pointer, 6, len(names), bytes(8 * len(names)))
        for number, name in enumerate(names):
            self.add_text(place + 8 * number, name)

    def finish(self):
        struct.pack_into("<II", self.bytes, 0, 0, len(self.bytes) // 8 - 1)
        return self.bytes


class Malformed(Exception):
    """Why bytes cannot be read."""


class Message:
    """Reads one message, whoever made it: every pointer is checked against its segment, depth is bounded, and no more
    is visited than twice the message, so that pointers which share a target gain nothing."""

    def __init__(self, frame):
        self.bytes = memoryview(frame)
        size = len(self.bytes)
        if size == 0 or size % 8 != 0:
            raise Malformed(f"{size} bytes are not a whole number of words")
        self.words_left = 2 * size // 8
        count = self._number("<I", 0) + 1
        end = 8 * (count // 2 + 1)
        if count > MAX_SEGMENTS or end > size:
            raise Malformed("its segment table is too large")
        self.segments = []
        for number in range(count):
            begin, end = end, end + 8 * self._number("<I", 4 + 4 * number)
            self.segments.append((begin, end))
        if end != size:
            raise Malformed(f"its segments have {end} bytes, but there are {size}")

    def _number(self, format_, place):
        return struct.unpack_from(format_, self.bytes, place)[0]

    def _inside(self, segment, place, size):
        """`place`, if the segment holds `size` bytes from there on."""
        if segment >= len(self.segments):
            raise Malformed("a pointer names a segment that does not exist")
        begin, end = self.segments[segment]
        if place < begin or size > end - place:
            raise Malformed("a pointer leads out of its segment")
        return place

    def _far(self, far):
        """Where a far pointer leads: (segment, place, pointer), the pointer's own offset already applied."""
        segment = far >> 32
        pads = 2 if far & 4 else 1
        begin = self.segments[segment][0] if segment < len(self.segments) else 0
        pad = self._inside(segment, begin + 8 * (far >> 3 & 0x1FFFFFFF), 8 * pads)
        pointer = self._number("<Q", pad)
        if pads == 1:
            return segment, pad + 8 + self._offset(pointer), pointer
        if pointer & 7 != 2 or pointer >> 32 >= len(self.segments):
            raise Malformed("a double far pointer has a bad landing pad")
        segment = pointer >> 32
        return segment, self.segments[segment][0] + 8 * (pointer >> 3 & 0x1FFFFFFF), self._number("<Q", pad + 8)

    @staticmethod
    def _offset(pointer):
        offset = pointer >> 2 & 0x3FFFFFFF
        return 8 * (offset - (1 << 30) if offset >> 29 else offset)

    def target(self, segment, place, kind):
        """What the pointer at `place` leads to: (segment, place, upper half of the pointer); None if it is null."""
        pointer = self._number("<Q", place)
        if pointer == 0:
            return None
        if pointer & 3 == 2:
            segment, place, pointer = self._far(pointer)
        else:
            place += 8 + self._offset(pointer)
        if pointer & 3 != kind:
            raise Malformed("a pointer is of another kind than the schema's")
        return segment, place, pointer >> 32

    def visit(self, segment, place, size):
        """`place`, if `size` bytes may be read there; they are charged."""
        self.words_left -= max(1, (size + 7) // 8)
        if self.words_left < 0:
            raise Malformed("its pointers share targets")
        return self._inside(segment, place, size)

    def root(self):
        self._inside(0, self.segments[0][0], 8)
        return self.struct(0, self.segments[0][0], NESTING) or Struct(self, 0, 0, 0, 0, 0)

    def struct(self, segment, pointer, depth):
        if depth <= 0:
            raise Malformed("it is nested too deeply")
        found = self.target(segment, pointer, 0)
        if found is None:
            return None
        segment, place, upper = found
        data, pointers = upper & 0xFFFF, upper >> 16
        return Struct(self, segment, self.visit(segment, place, 8 * (data + pointers)), data, pointers, depth - 1)


class Struct:
    """One struct of a message. What its sender did not know reads as 0, empty or None."""

    def __init__(self, message, segment, place, data_words, pointers, depth):
        self.message, self.segment, self.depth = message, segment, depth
        self.data = message.bytes[place : place + 8 * data_words]
        self.pointers = range(place + 8 * data_words, place + 8 * (data_words + pointers), 8)

    def fields(self, format_):
        size = struct.calcsize(format_)
        return struct.unpack(format_, bytes(self.data[:size]).ljust(size, b"\0"))

    def struct(self, number):
        if number >= len(self.pointers):
            return None
        return self.message.struct(self.segment, self.pointers[number], self.depth)

    def list(self, number, size_code, item_bytes):
        """The bytes of a list of plain elements."""
        found = self.message.target(self.segment, self.pointers[number], 1) if number < len(self.pointers) else None
        if found is None:
            return self.data[:0]
        segment, place, upper = found
        if upper & 7 != size_code or self.depth <= 0:
            raise Malformed("a list has elements of another size than the schema's, or is nested too deeply")
        size = (upper >> 3) * item_bytes
        place = self.message.visit(segment, place, size)
        return self.message.bytes[place : place + size]

    def text(self, number, errors="strict"):
        content = bytes(self.list(number, 2, 1))
        if content and content[-1] != 0:
            raise Malformed("a text has no end")
        try:
            return content[:-1].decode(errors=errors)
        except UnicodeDecodeError:
            raise Malformed("a text is not UTF-8") from None

    def structs(self, number, most):
        """The structs of a list of at most `most`."""
        found = self.message.target(self.segment, self.pointers[number], 1) if number < len(self.pointers) else None
        if found is None:
            return []
        segment, place, upper = found
        words = upper >> 3
        if upper & 7 != 7 or self.depth <= 0:
            raise Malformed("a list is not one of structs, or is nested too deeply")
        place = self.message.visit(segment, place, 8 * (words + 1))
        tag, data, pointers = struct.unpack_from("<IHH", self.message.bytes, place)
        count, stride = tag >> 2, data + pointers
        if tag & 3 != 0 or count > most or count * stride > words:
            raise Malformed(f"a list of {count} structs does not fit (at most {most})")
        places = (place + 8 + 8 * stride * i for i in range(count))
        return [Struct(self.message, segment, at, data, pointers, self.depth - 1) for at in places]
