#!/usr/bin/env python3
"""Looks at the histories that clients of the campaign wrote (campaign_history.py), without the servers.

Usage: campaign_checker.py [--allow CODE,…] FOLDER

Every answer of a session must be that of some linear history which holds exactly the parts that were answered without an error, in
their order; every other answer that of its own content alone; no request has two answers; one whose server lived has one; an
error is one of those allowed. Prints what does not hold, and exits with 1 when there is anything.
"""

import argparse
import collections
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import campaign_history as history  # noqa: E402

ROWS, BITS = "every", "lstm"  # models that answer every step; whose answers are compared with each other


class Request:
    """One that was sent, and what became of it."""

    def __init__(self, send):
        self.send, self.answers, self.gave_up = send, [], None
        self.content = tuple(send["content"]) if send.get("content") else None

    @property
    def answer(self):
        return self.answers[0] if self.answers else None

    @property
    def done(self):
        return self.answer is not None and self.answer["code"] == "OK"

    @property
    def undone(self):
        """Its error says that it left no trace."""
        return self.answer is not None and not self.done and self.answer["decided"]

    def __str__(self):
        send = self.send
        where = f" part {send['part']} of session {send['session']}" if "session" in send else ""
        return f"{send['client']} at {send['at']:.3f}: {send['op']}{where}, request {send['id']} to {send['via']}"


class Checker:
    """`violations`: (kind, what was seen); `counts`: what there was to see."""

    def __init__(self, events, allowed):
        self.allowed, self.violations, self.counts = set(allowed), [], collections.Counter()
        self.bits = {}
        self.requests = self._gather(sorted(events, key=lambda event: event["at"]))
        sessions = collections.defaultdict(list)
        went_on = {(r.send["session"], r.send["part"]): r.send["at"] for r in reversed(self.requests.values()) if "session" in r.send}
        for request in self.requests.values():
            self._check_answers(request, went_on)
            if "session" in request.send:
                sessions[request.send["session"]].append(request)
            elif request.done:
                self._check_alone(request)
        for requests in sessions.values():
            Session(self, requests).check()
        self.counts["sessions"] = len(sessions)

    def wrong(self, kind, what):
        self.violations.append((kind, str(what)))

    def _gather(self, events):
        requests = {}
        for event in events:
            key = event["client"], event.get("id")
            if event["event"] == "send":
                requests[key] = Request(event)
            elif event["event"] == "stray" or key not in requests:
                self.wrong("answer to nothing", event)
            elif event["event"] == "answer":
                requests[key].answers.append(event)
            elif event["event"] == "gave up":
                requests[key].gave_up = event["why"]
        return requests

    @staticmethod
    def _is_late_twin(request, went_on):
        """A copy of a part that comes when its client, which was answered, has gone on: it is told so."""
        send = request.send
        later = went_on.get((send.get("session"), send.get("part", 0) + 1))
        return request.answer["code"] == "INVALID_ARGUMENT" and later is not None and later < request.answer["at"]

    def _check_answers(self, request, went_on):
        self.counts["requests"] += 1
        if len(request.answers) > 1:
            self.wrong("answered twice", f"{request}: {[answer['code'] for answer in request.answers]}")
        if not request.answers:
            self.counts[f"gave up: {request.gave_up}"] += 1
            if request.gave_up in (None, "patience"):
                self.wrong("answer lost", request)
            return
        code = request.answer["code"]
        self.counts[code] += 1
        if code != "OK":
            self.counts[f"{request.send['client'].rstrip('0123456789')} refused: {code}"] += 1
        if code != "OK" and not request.answer["decided"]:
            self.counts["undecided"] += 1
        if code != "OK" and code not in self.allowed and not self._is_late_twin(request, went_on):
            self.wrong("refused", f"{request}: {code}: {request.answer.get('message')}")

    def _check_alone(self, request):
        model, state = request.send["model"], request.answer["state"]
        if model == BITS:
            expected = self.bits.setdefault(request.content, state)
        elif model == ROWS:
            expected = history.rows_digest(*request.content)
        else:
            expected = history.hexadecimal(history.fold(0, *request.content))
        if state != expected:
            self.wrong("wrong answer", f"{request}: {state}, not {expected}")


class Session:
    """All requests of one session, as its client names it."""

    def __init__(self, checker, requests):
        self.checker, self.parts = checker, collections.defaultdict(list)
        for request in sorted(requests, key=lambda request: request.send["at"]):
            self.parts[request.send["part"]].append(request)
        self.requests = [request for part in sorted(self.parts) for request in self.parts[part]]

    def check(self):
        self._check_identity()
        before, states = set(), {0}  # what the model may have been in before the part
        for part in sorted(self.parts):
            requests = self.parts[part]
            self._check_client(requests)
            done = [request for request in requests if request.done and request.content]
            for request in done:
                self._check_answer(request, states, before, requests)
            self._count(requests, done)
            before |= states
            states = self._states_after(requests, done, states)

    def _states_after(self, requests, done, states):
        """After a part without a good answer: that of each content which may have run, and that of none."""
        if done:
            return {int(request.answer["state"], 16) for request in done}
        may_have_run = {request.content for request in requests if not request.undone and request.content}
        return states | {history.fold(state, *content) for state in states for content in may_have_run}

    def _check_answer(self, request, states, before, requests):
        got = int(request.answer["state"], 16)
        if got not in {history.fold(state, *request.content) for state in states}:
            kind = self._explain(request, got, states, before, requests)
            self.checker.wrong(kind, f"{request}: {request.answer['state']}")

    def _explain(self, request, got, states, before, requests):
        others = {other.content for other in requests if other.content and other.content != request.content}
        for state in states:
            here = history.fold(state, *request.content)
            if got == history.fold(here, *request.content):
                return "part run twice"
            for other in others:
                there = history.fold(state, *other)
                if got == there:
                    return "answer of another content"
                if got == history.fold(there, *request.content):
                    return "failed part left a trace"
        if got in before | states:
            return "answer of an earlier part"
        if any(got == history.fold(state, *request.content) for state in before):
            return "earlier part missing"
        return "no history"

    def _check_identity(self):
        """After its begin a session is one token id and one model version. (Of a begin that was sent twice, where routers do not
        see the same nodes, two may have come.)"""
        for what in ("token", "version"):
            seen = {0: set(), 1: set()}
            for request in self.requests:
                if request.done and what in request.answer:
                    seen[min(1, request.send["part"])].add(request.answer[what])
            if len(seen[1]) > 1 or (seen[0] and not seen[1] <= seen[0]):
                self.checker.wrong(f"another {what}", f"{self.requests[0]}: {sorted(map(str, seen[0] | seen[1]))}")

    def _check_client(self, requests):
        """That the client did what the history is to show: another content once all before it were refused, else the same."""
        for i, request in enumerate(requests):
            earlier = [other for other in requests[:i] if other.content]
            refused = bool(earlier) and all(other.undone and other.answer["at"] <= request.send["at"] for other in earlier)
            if refused and request.content in {other.content for other in earlier}:
                self.checker.wrong("client", f"{request}: the content that was refused is sent again")
            pending = {other.content for other in earlier if not (other.undone and other.answer["at"] <= request.send["at"])}
            if pending - {request.content}:
                self.checker.wrong("client", f"{request}: another content while the one before may have run")

    def _count(self, requests, done):
        counts = self.checker.counts
        if not done:
            return
        counts["parts"] += 1
        contents = [request.content for request in requests if request.content]
        counts["parts replaced after an error"] += len(set(contents)) > 1
        counts["parts repeated"] += len(contents) > len(set(contents))


def check(folder, allowed=()):
    """(violations, counts) of the histories in the folder."""
    checker = Checker(history.read(folder), allowed)
    return checker.violations, dict(checker.counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allow", default="OVERLOADED,DEADLINE_EXCEEDED,CANCELLED,UNAVAILABLE,SESSION_LOST,SESSION_EXPIRED",
                        help="errors that are no violation (default: %(default)s)")  # fmt: skip
    parser.add_argument("folder")
    arguments = parser.parse_args()
    violations, counts = check(arguments.folder, arguments.allow.split(","))
    for kind, what in violations:
        print(f"{kind}: {what}")
    print(f"{len(violations)} violations; {counts}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
