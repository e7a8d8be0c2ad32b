"""What the campaign's clients did and saw, written down for the checker: a file of JSON lines for each client.

    send      id, model, op, content, via; of a session: session, part. `op`: infer, begin, continue or end
    answer    id, code; with OK `state` (hexadecimal: the last state, or a digest of all rows), `server`, `version`, `token`;
              with an error `message` and `decided`: whether it says that the request left no trace
    gave up   id, why: silence (no sign of life from the server), disconnected, or patience (it lived, and said nothing)
    stray     an answer to nothing that was asked

`at` is in seconds of the monotonic clock. A content is [seed, length]: tokens_of() makes its tokens.
"""

import functools
import hashlib
import json
import pathlib
import random
import struct
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "protocol" / "python")]

from check_model import check_hash  # noqa: E402

@functools.lru_cache(maxsize=4096)
def tokens_of(seed, length):
    return tuple(random.Random(seed).choices(range(1 << 20), k=length))


@functools.lru_cache(maxsize=1 << 16)
def fold(state, seed, length):
    """The state of a check model that was in `state` when the content came."""
    return check_hash(tokens_of(seed, length), state)


@functools.lru_cache(maxsize=256)
def rows_digest(seed, length):
    """digest() of the rows of a check model that answers every step."""
    rows, state = [], 0
    for token in tokens_of(seed, length):
        state = check_hash((token,), state)
        rows.append(state)
    return digest(struct.pack(f"<{length}Q", *rows))


def digest(data):
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def hexadecimal(state):
    return f"{state:016x}"


class History:
    """One client's. For one thread."""

    def __init__(self, folder, client):
        self.client = client
        self._file = open(pathlib.Path(folder) / f"{client}.jsonl", "a", encoding="utf-8")  # noqa: SIM115

    def add(self, event, **facts):
        line = {"event": event, "at": round(time.monotonic(), 6)} | {key: value for key, value in facts.items() if value is not None}
        self._file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def close(self):
        self._file.close()


def read(folder):
    """All events of all clients, each with its `client`."""
    events = []
    for path in sorted(pathlib.Path(folder).glob("*.jsonl")):
        for line in path.read_text(encoding="utf-8").splitlines():
            events.append(json.loads(line) | {"client": path.stem})
    return events
