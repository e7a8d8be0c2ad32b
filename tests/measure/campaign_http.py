"""A client of the campaign that keeps sequences over HTTP, through whatever router takes its connections."""

import http.client
import json

from campaign_clients import MAX_ATTEMPTS, OVER, Client
from campaign_history import hexadecimal, tokens_of

TIMEOUT_S = 30.0


class Sequences(Client):
    """`servers`: name → "host:port". A sequence stays with one router as long as that takes connections, as behind a balancer
    that goes by the client."""

    def __init__(self, *arguments, parts=(2, 10), lengths=(1, 20), pause=0.05, timeouts=None):
        super().__init__(*arguments)
        self.parts, self.lengths, self.pause, self.timeouts = parts, lengths, pause, timeouts
        self.turns, self.number, self.sequences = list(self.servers.items()), 0, 0

    def open(self, journal):
        super().open(journal)
        self.random.shuffle(self.turns)

    def step(self):
        self.sequences += 1
        self.sequence = f"{self.name}-{self.sequences}"
        count = self.random.randint(*self.parts)
        for part in range(count):
            if not self.run_part(part, last=part == count - 1):
                return
            self.stopping.wait(self.pause * self.random.random())

    def run_part(self, part, last):
        """False when the sequence is over."""
        content, name = self.new_content(*self.lengths), f"{part}.0"
        for attempt in range(1, MAX_ATTEMPTS):
            code, decided = self.ask(part, name, content, last)
            if code == "OK":
                return True
            if code in OVER or self.stopping.is_set():
                return False
            if code is None:  # nobody takes connections here
                self.turns.append(self.turns.pop(0))
            elif decided:
                content, name = self.new_content(*self.lengths), f"{part}.{attempt}"
            self.stopping.wait(0.05)
        return False

    def ask(self, part, name, content, last):
        """The answer's code, None when the connection broke, and whether it decides. `name` is the request's id."""
        self.number += 1
        via, address = self.turns[0]
        timeout = int(1e6 * self.random.uniform(*self.timeouts)) if self.timeouts else 0
        parameters = {"sequence_id": self.sequence, "sequence_start": part == 0, "sequence_end": last, "timeout": timeout}
        tensor = {"name": "tokens", "datatype": "INT32", "shape": [content[1]], "data": list(tokens_of(*content))}
        body = json.dumps({"id": name, "parameters": parameters, "inputs": [tensor]})
        facts = {"op": "continue" if part else "begin", "session": self.sequence, "part": part}
        self.journal.add("send", id=self.number, model="check", content=content, via=via, **facts)
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        try:
            connection.request("POST", "/v2/models/check/infer", body, {"Content-Type": "application/json"})
            return self.settle(connection.getresponse())
        except TimeoutError:
            self.journal.add("gave up", id=self.number, why="patience")
            return "UNAVAILABLE", False
        except (OSError, http.client.HTTPException):
            self.journal.add("gave up", id=self.number, why="disconnected")
            return None, False
        finally:
            connection.close()

    def settle(self, response):
        content = json.loads(response.read())
        if response.status == 200:
            state = hexadecimal(int(content["outputs"][0]["data"][0]))
            self.journal.add("answer", id=self.number, code="OK", state=state, version=content["model_version"])
            self.note_ok()
            return "OK", True
        code = response.headers.get("Volvox-Error", str(response.status))
        decided = code != "INTERNAL" and "Volvox-Undecided" not in response.headers  # docs/protocol.md §9
        self.journal.add("answer", id=self.number, code=code, message=content.get("error"), decided=decided)
        return code, decided
