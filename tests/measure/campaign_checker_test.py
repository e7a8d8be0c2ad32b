"""The campaign's checker finds what is wrong with a history, and nothing where nothing is."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import campaign_history as history  # noqa: E402
from campaign_checker import Checker, check  # noqa: E402

A, B, C, D = (1, 3), (2, 1), (3, 4), (4, 2)  # contents


def state_of(*contents):
    state = 0
    for content in contents:
        state = history.fold(state, *content)
    return history.hexadecimal(state)


class World:
    """A history, event by event."""

    def __init__(self):
        self.events, self.now = [], 0.0

    def add(self, **event):
        self.now += 1
        self.events.append(event | {"at": self.now, "client": "c"})
        return len(self.events)

    def send(self, part, content, session="s"):
        """Its request's id."""
        op = "continue" if part else "begin"
        return self.add(event="send", id=self.now, model="check", op=op, session=session, part=part, content=content, via="r0") - 1

    def infer(self, content, model="check"):
        return self.add(event="send", id=self.now, model=model, op="infer", content=content, via="r0") - 1

    def ok(self, request, state, token="t", version=1):
        self.add(event="answer", id=float(request), code="OK", state=state, token=token, version=version)

    def error(self, request, code="CANCELLED", decided=True):
        self.add(event="answer", id=float(request), code=code, message="", decided=decided)

    def gave_up(self, request, why):
        self.add(event="gave up", id=float(request), why=why)

    def part(self, part, content, *contents):
        self.ok(self.send(part, content), state_of(*contents, content))

    def kinds(self, allowed=("CANCELLED", "UNAVAILABLE")):
        self.checker = Checker(self.events, allowed)
        return [kind for kind, _ in self.checker.violations]


class GoodHistories(unittest.TestCase):
    def test_parts_in_order(self):
        world = World()
        world.part(0, A)
        world.part(1, B, A)
        world.part(2, C, A, B)
        self.assertEqual(world.kinds(), [])
        self.assertEqual(world.checker.counts["parts"], 3)

    def test_a_copy_that_comes_when_its_client_has_gone_on(self):
        world = World()
        world.part(0, A)
        twin = world.send(1, B)
        world.part(1, B, A)
        world.part(2, C, A, B)
        world.error(twin, code="INVALID_ARGUMENT")
        self.assertEqual(world.kinds(), [])

    def test_a_copy_that_comes_before_that_is_answered(self):
        world = World()
        world.part(0, A)
        twin = world.send(1, B)
        world.part(1, B, A)
        world.error(twin, code="INVALID_ARGUMENT")
        self.assertEqual(world.kinds(), ["refused"])

    def test_something_else_after_an_error(self):
        world = World()
        world.part(0, A)
        world.error(world.send(1, B))
        world.part(1, C, A)
        self.assertEqual(world.kinds(), [])
        self.assertEqual(world.checker.counts["parts replaced after an error"], 1)

    def test_the_same_again_when_nothing_is_known(self):
        for unknown in (lambda world, part: world.gave_up(part, "silence"), lambda world, part: world.error(part, "UNAVAILABLE", False)):
            world = World()
            world.part(0, A)
            unknown(world, world.send(1, B))
            world.part(1, B, A)
            self.assertEqual(world.kinds(), [])
            self.assertEqual(world.checker.counts["parts repeated"], 1)

    def test_a_part_whose_answers_never_came_may_have_run_or_not(self):
        for ran in (True, False):
            world = World()
            world.part(0, A)
            world.gave_up(world.send(1, B), "disconnected")
            world.part(2, C, *((A, B) if ran else (A,)))
            self.assertEqual(world.kinds(), [])

    def test_late_answer_to_one_that_was_given_up(self):
        world = World()
        first = world.send(0, A)
        world.gave_up(first, "silence")
        world.part(0, A)
        world.ok(first, state_of(A))
        self.assertEqual(world.kinds(), [])

    def test_a_begin_that_two_nodes_took(self):
        world = World()
        first = world.send(0, A)
        world.ok(world.send(0, A), state_of(A), token="u")
        world.ok(first, state_of(A))
        world.part(1, B, A)
        self.assertEqual(world.kinds(), [])

    def test_requests_that_stand_alone(self):
        world = World()
        world.ok(world.infer(A), state_of(A))
        world.ok(world.infer(B, "every"), history.rows_digest(*B))
        world.ok(world.infer(C, "lstm"), "f00")
        world.ok(world.infer(C, "lstm"), "f00")
        self.assertEqual(world.kinds(), [])


class Violations(unittest.TestCase):
    def after_a_refusal(self, answer):
        world = World()
        world.part(0, A)
        world.error(world.send(1, B))
        world.ok(world.send(1, C), answer)
        return world.kinds()

    def test_answer_of_the_content_that_was_refused(self):
        self.assertEqual(self.after_a_refusal(state_of(A, B)), ["answer of another content"])

    def test_trace_of_the_content_that_was_refused(self):
        self.assertEqual(self.after_a_refusal(state_of(A, B, C)), ["failed part left a trace"])

    def test_part_run_twice(self):
        self.assertEqual(self.after_a_refusal(state_of(A, C, C)), ["part run twice"])

    def test_answer_of_an_earlier_part(self):
        self.assertEqual(self.after_a_refusal(state_of(A)), ["answer of an earlier part"])

    def test_earlier_part_missing(self):
        self.assertEqual(self.after_a_refusal(state_of(C)), ["earlier part missing"])

    def test_anything_else(self):
        self.assertEqual(self.after_a_refusal("1" * 16), ["no history"])

    def test_a_wrong_answer_is_told_once(self):
        world = World()
        world.ok(world.send(0, A), state_of(A, A))
        world.part(1, B, A, A)
        self.assertEqual(world.kinds(), ["part run twice"])

    def test_answer_to_a_repeat_that_differs(self):
        world = World()
        first = world.send(0, A)
        world.gave_up(first, "silence")
        world.part(0, A)
        world.ok(first, state_of(B))
        self.assertEqual(world.kinds(), ["no history"])

    def test_answer_to_a_part_behind_one_that_was_refused(self):
        world = World()
        world.part(0, A)
        world.error(world.send(1, B))
        world.part(2, C, A, B)
        self.assertEqual(world.kinds(), ["no history"])

    def test_two_answers(self):
        world = World()
        request = world.infer(A)
        world.ok(request, state_of(A))
        world.ok(request, state_of(A))
        self.assertEqual(world.kinds(), ["answered twice"])

    def test_no_answer_from_a_server_that_lived(self):
        world = World()
        world.gave_up(world.infer(A), "patience")
        world.infer(B)
        self.assertEqual(world.kinds(), ["answer lost", "answer lost"])

    def test_no_answer_from_one_that_did_not(self):
        world = World()
        world.gave_up(world.infer(A), "disconnected")
        self.assertEqual(world.kinds(), [])

    def test_answers_that_stand_alone(self):
        world = World()
        world.ok(world.infer(A), state_of(B))
        world.ok(world.infer(B, "every"), history.rows_digest(*A))
        world.ok(world.infer(C, "lstm"), "f00")
        world.ok(world.infer(C, "lstm"), "f01")
        self.assertEqual(world.kinds(), ["wrong answer"] * 3)

    def test_an_error_that_is_not_allowed(self):
        world = World()
        world.error(world.infer(A), "INTERNAL")
        self.assertEqual(world.kinds(), ["refused"])

    def test_answer_to_nothing(self):
        world = World()
        world.ok(5, state_of(A))
        self.assertEqual(world.kinds(), ["answer to nothing"])

    def test_another_session_or_version(self):
        world = World()
        world.part(0, A)
        world.ok(world.send(1, B), state_of(A, B), token="u")
        self.assertEqual(world.kinds(), ["another token"])
        world.ok(world.send(2, C), state_of(A, B, C), version=2)
        self.assertEqual(world.kinds(), ["another token", "another version"])

    def test_a_client_that_does_not_do_what_it_should(self):
        world = World()
        world.error(world.send(0, A))
        world.error(world.send(0, A))  # the same after a refusal
        world.gave_up(world.send(0, B), "silence")
        world.gave_up(world.send(0, C), "silence")  # another while the one before may have run
        self.assertEqual(world.kinds(), ["client", "client"])


class Files(unittest.TestCase):
    def test_what_was_written_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            client = history.History(folder, "c1")
            client.add("send", id=1, model="check", op="infer", content=A, via="r0")
            client.add("answer", id=1, code="OK", state=state_of(B))
            client.close()
            violations, counts = check(folder)
        self.assertEqual([kind for kind, _ in violations], ["wrong answer"])
        self.assertEqual(counts, {"requests": 1, "OK": 1, "sessions": 0})

    def test_a_content_is_the_same_tokens_every_time(self):
        self.assertEqual(history.tokens_of(7, 5), history.tokens_of(7, 5))
        self.assertEqual(history.fold(history.fold(0, 1, 3), 2, 1), int(state_of(A, B), 16))


if __name__ == "__main__":
    unittest.main()
