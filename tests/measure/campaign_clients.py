"""The campaign's clients: each a thread, which does one thing over and over until it is told to stop."""

import random
import threading
import time
import traceback

from campaign_history import History
from campaign_wire import Wire
from volvox_wire import SessionToken

OVER = ("SESSION_LOST", "SESSION_EXPIRED")
MAX_ATTEMPTS = 60  # at one part, before its session is left


class Client(threading.Thread):
    """`failed` holds what was wrong with the program itself."""

    def __init__(self, name, servers, folder, keys=(None, None)):
        super().__init__(name=name, daemon=True)
        self.servers, self.folder, self.keys, self.stopping, self.failed = servers, folder, keys, threading.Event(), None
        self.contents, self.good, self.last_ok = 0, 0, time.monotonic()

    def run(self):
        journal = History(self.folder, self.name)
        try:
            self.open(journal)
            while not self.stopping.is_set():
                self.step()
            self.shut()
        except Exception:  # noqa: BLE001  whatever it is, the campaign says so
            self.failed = traceback.format_exc()
        journal.close()

    def open(self, journal):
        self.journal, self.random = journal, random.Random(self.name)

    def shut(self):
        pass

    def new_content(self, shortest, longest):
        self.contents += 1
        return [f"{self.name}-{self.contents}", self.random.randint(shortest, longest)]

    def note_ok(self):
        self.last_ok, self.good = time.monotonic(), self.good + 1

    def step(self):
        raise NotImplementedError


class Wired(Client):
    """One that speaks ZeroMQ, and stays connected."""

    def open(self, journal):
        super().open(journal)
        self.wire = Wire(self.name, self.servers, journal, self.keys)

    def shut(self):
        self.wire.wait(list(self.wire.waiting))
        self.wire.close()

    def note(self, attempts):
        for attempt in attempts:
            if attempt.done:
                self.note_ok()

    def link(self):
        """One that answers, or None after a second without any."""
        return self.wire.wait_for_link(1.0)


class Alone(Wired):
    """Requests that stand alone, `window` at once. `deadlines`: shortest and longest, in seconds; none: without."""

    def __init__(self, *arguments, model="check", lengths=(1, 40), window=4, pause=0.05, deadlines=None, patience=30.0, contents=0, **more):
        super().__init__(*arguments)
        self.model, self.lengths, self.window, self.pause, self.deadlines = model, lengths, window, pause, deadlines
        self.patience, self.more, self.latencies = patience, more, []  # (seconds, when it was sent)
        self.few = [[f"few-{i}", lengths[1]] for i in range(contents)]  # the same ones again and again: large ones take long to check

    def step(self):
        if (link := self.link()) is None:
            return
        attempts, begin = [], time.monotonic()
        for _ in range(self.window):
            deadline = self.random.uniform(*self.deadlines) if self.deadlines else 0.0
            content = self.random.choice(self.few) if self.few else self.new_content(*self.lengths)
            attempts.append(self.wire.send(link, self.model, content, deadline=deadline, patience=self.patience + deadline, **self.more))
        self.wire.wait(attempts)
        took = time.monotonic() - begin
        self.latencies += [(took, begin) for attempt in attempts if attempt.done]
        self.note(attempts)
        self.wire.rest(self.pause + max((attempt.answer or {}).get("retry_after", 0.0) for attempt in attempts))


class Comers(Alone):
    """Connects anew for each request."""

    def step(self):
        super().step()
        self.wire.reconnect()


class Streams(Wired):
    """Sessions, one after the other, of `parts` parts each. A part is sent twice, or cancelled, now and then. After an error
    that decides, something else is sent in its place; when nothing is known, the same once more."""

    def __init__(self, *arguments, parts=(2, 12), lengths=(1, 30), deadlines=None, patience=30.0, pause=0.03, twice=0.1, cancelled=0.1,
                 model="check", version=0, keep_going=True):  # fmt: skip
        super().__init__(*arguments)
        self.parts, self.lengths, self.deadlines, self.patience, self.pause = parts, lengths, deadlines, patience, pause
        self.twice, self.cancelled, self.model, self.version, self.keep_going = twice, cancelled, model, version, keep_going
        self.sessions = 0

    def step(self):
        self.sessions += 1
        self.session, token = f"{self.name}-{self.sessions}", self.new_token()
        count = self.random.randint(*self.parts)
        for part in range(count):
            token = self.run_part(part, token, last=part == count - 1)
            if token is None or (self.stopping.is_set() and not self.keep_going):
                return
            self.wire.rest(self.pause * self.random.random())

    def new_token(self):
        return SessionToken.begin()

    def run_part(self, part, token, last):
        """The token to go on from; None when the session is over."""
        if part > 0:
            token = token.next(end=last)
        content, attempts = self.new_content(*self.lengths), []

        def what_to_send():
            """To be asked when it is sent: answers come until then. Something else, if it is certain that nothing was done."""
            nonlocal content
            if attempts and all(attempt.answer and not attempt.done and attempt.answer["decided"] for attempt in attempts):
                content = self.new_content(*self.lengths)
                attempts.clear()
            return content

        for _ in range(MAX_ATTEMPTS):
            if (done := self.token_of(attempts)) is not None:
                return done
            tried = self.try_part(part, token, what_to_send, attempts)
            self.note(tried)
            if (done := self.token_of(attempts)) is not None:
                return done
            if any(attempt.code in OVER for attempt in tried) or (self.stopping.is_set() and not self.keep_going):
                return None
            self.wire.rest(0.02 + max([0.0, *((attempt.answer or {}).get("retry_after", 0.0) for attempt in tried)]))
        return None

    def token_of(self, attempts):
        """That of the first good answer; also of one that came when it was no longer waited for."""
        return next((attempt.token for attempt in attempts if attempt.done), None)

    def try_part(self, part, token, what_to_send, attempts):
        """Sends it, perhaps twice, and waits; the attempts, which are appended, none when nobody could be reached."""
        tried = []
        for _ in range(2 if self.random.random() < self.twice else 1):
            if (link := self.link()) is None:
                break
            deadline = self.random.uniform(*self.deadlines) if self.deadlines else 0.0
            facts = {"op": token.operation, "session": self.session, "part": part}
            tried.append(self.wire.send(link, self.model, what_to_send(), token=token, deadline=deadline, version=self.version,
                                        patience=self.patience + deadline, **facts))  # fmt: skip
            attempts.append(tried[-1])
        if tried and self.random.random() < self.cancelled:
            self.wire.rest(0.05 * self.random.random())
            self.wire.cancel(tried[0])
        self.wire.wait(tried)
        return tried


class Twins(Streams):
    """Begins each session through two routers at once, with one nonce; goes on with the one that is answered first."""

    def step(self):
        self.sessions += 1
        self.session, begin = f"{self.name}-{self.sessions}", SessionToken.begin()
        self.wire.wait_for_link(1.0)
        content, links, tried = self.new_content(*self.lengths), self.wire.usable()[:2], []
        for link in links:
            facts = {"op": "begin", "session": f"{self.session}-{self.wire.names[link]}", "part": 0}
            tried.append(self.wire.send(link, self.model, content, token=begin, patience=self.patience, **facts))
        self.wire.wait(tried)
        self.note(tried)
        if not (done := [attempt for attempt in tried if attempt.done]):
            return
        self.session, token = f"{self.session}-{self.wire.names[done[0].link]}", done[0].token
        count = self.random.randint(*self.parts)
        for part in range(1, count):
            token = self.run_part(part, token, last=part == count - 1)
            if token is None:
                return
