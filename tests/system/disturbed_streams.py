"""Streams over HTTP whose requests are sent twice, given up, or given too little time; every answer is looked at."""

import json
import random
import socket
import threading

from v2_client import ServerError, expect, state_after


class Stream:
    """One sequence to a check model; each of its requests is repeated until it is answered."""

    def __init__(self, client, model, sequence, chance):
        self.client, self.model, self.sequence, self.chance = client, model, sequence, chance
        self.sent = []

    def request(self, number, tokens, timeout=0):
        tensor = {"name": "tokens", "datatype": "INT32", "shape": [len(tokens)], "data": tokens}
        parameters = {"sequence_id": self.sequence, "sequence_start": number == 0, "timeout": timeout}
        return json.dumps({"id": str(number), "parameters": parameters, "inputs": [tensor]}).encode()

    def post(self, content):
        answer = self.client.call(f"/v2/models/{self.model}/infer", content)
        return self.client.read_answer(*answer)[1]["state"]

    def hang_up(self, content):
        host, port = self.client.url.split("//")[1].split(":")
        head = f"POST /v2/models/{self.model}/infer HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(content)}\r\n\r\n"
        with socket.create_connection((host, int(port)), self.client.timeout) as connection:
            connection.sendall(head.encode() + content)

    def hurry(self, content):
        try:
            self.post(content)
        except ServerError as error:
            expect(error.status in (429, 504), True, f"in a hurry: {error}")

    def part(self, number):
        tokens = [self.chance.randrange(30000) for _ in range(self.chance.randint(1, 30))]
        self.sent += tokens
        content = self.request(number, tokens)
        trouble = self.chance.choice(["none", "hang up", "hurry", "twice"])
        if trouble == "hang up":
            self.hang_up(content)
        elif trouble == "hurry":
            self.hurry(self.request(number, tokens, timeout=1))
        for _ in range(2 if trouble == "twice" else 1):
            expect(self.post(content), [state_after(self.sent)], f"part {number}, {trouble}")

    def end(self):
        parameters = {"sequence_id": self.sequence, "sequence_end": True}
        self.client.infer(self.model, {}, parameters=parameters)


def run_streams(client, model, threads=6, streams=4, parts=8):
    """What was wrong, of so many streams in each thread, one after the other."""
    wrong = []

    def work(worker):
        try:
            for i in range(streams):
                stream = Stream(client, model, 1 + streams * worker + i, random.Random(100 * worker + i))
                for number in range(parts):
                    stream.part(number)
                stream.end()
        except (AssertionError, ServerError, OSError) as error:
            wrong.append(error)

    workers = [threading.Thread(target=work, args=(worker,)) for worker in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return wrong
