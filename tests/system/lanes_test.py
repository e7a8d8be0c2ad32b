"""Models of several lanes on real processes: both directions, and decoders that end by themselves.

Usage: lanes_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
for place in ("protocol/python", "tests", "tests/measure"):
    sys.path.insert(0, str(ROOT / place))

from cluster_processes import Cluster, Loopback  # noqa: E402
from served import PATIENCE, Server  # noqa: E402
from v2_client import Client as HttpClient  # noqa: E402
from volvox_client import Client, Code, Sequences, SessionToken, VolvoxError  # noqa: E402

VOLVOX = "volvox"
STEPS = 40
BOTH = ("bidirectional", "both", "--layers", "2", "--hidden", "20", "--input", "12", "--vocabulary", "100")
SHORT = ("seq2seq", "short", "--hidden", "16", "--vocabulary", "8", "--steps", str(STEPS), "--seed", "13")
SEARCH = ("beam_seq2seq", "search", "--hidden", "16", "--vocabulary", "8", "--steps", str(STEPS), "--seed", "13")
LISTEN = ("rnnt", "listen", "--hidden", "16", "--vocabulary", "8", "--seed", "13")
DRAW = ("sampling_seq2seq", "draw", "--hidden", "16", "--vocabulary", "8", "--steps", str(STEPS), "--seed", "13")
LONG = ("seq2seq", "long", "--hidden", "8", "--vocabulary", "8", "--steps", "60000", "--max-batch", "2")
END = 0  # the token that ends an answer


def texts(seed, count, vocabulary, longest=20):
    chance = random.Random(seed)
    return [[chance.randrange(vocabulary) for _ in range(chance.randint(1, longest))] for _ in range(count)]


def said(reply):
    return [int(token) for token in reply["translation"].tolist()]


class Served(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.server = Server(VOLVOX, self.folder, [BOTH, SHORT, SEARCH, DRAW, LISTEN, LONG], "", http="127.0.0.1:0")
        self.addCleanup(self.server.kill)
        self.client = Client(self.server.endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def test_answers_agree_with_the_reference(self):
        for model in ("both", "short", "search", "draw"):
            report = self.folder / "report.json"
            command = [VOLVOX, "load", "--connect", self.server.endpoint, "--models", str(self.folder / "models"), "--model", model]
            command += ["--length", "12", "--concurrency", "16", "--requests", "200", "--warmup", "0", "--require-all"]
            subprocess.run([*command, "--json", str(report)], check=True, timeout=PATIENCE, capture_output=True)
            report = json.loads(report.read_text(encoding="utf-8"))
            self.assertEqual((report["completed"], report["wrong"], report["duplicates"]), (200, 0, 0), report)
            self.assertGreater(report["verified"], 0)

    def test_decoders_end_by_themselves_or_at_their_last_step(self):
        answers = [said(self.client.infer("short", {"tokens": tokens})) for tokens in texts(1, 60, 8)]
        for answer in answers:
            self.assertEqual(answer.index(END) if END in answer else STEPS - 1, len(answer) - 1)
        lengths = {len(answer) for answer in answers}
        self.assertGreater(len(lengths), 5)

    def test_company_changes_no_bit(self):
        for model, output, vocabulary in (("both", "h_back", 100), ("short", "translation", 8)):
            asked = texts(2, 60, vocabulary)
            alone = [self.client.infer(model, {"tokens": tokens}).tensors[output] for tokens in asked]
            pending = [self.client.submit(model, {"tokens": tokens}) for tokens in asked]
            for expected, answer in zip(alone, pending):
                self.assertEqual(answer.result(PATIENCE).tensors[output], expected)

    def test_a_request_may_allow_fewer_steps(self):
        for tokens in texts(3, 20, 8):
            whole = said(self.client.infer("short", {"tokens": tokens}))
            cut = self.client.infer("short", {"tokens": tokens}, structure=Sequences({"steps": len(tokens), "target": 5}))
            self.assertEqual(said(cut), whole[:5])
        with self.assertRaises(VolvoxError) as refused:
            self.client.infer("short", {"tokens": [1]}, structure=Sequences({"steps": 1, "target": STEPS + 1}))
        self.assertEqual(refused.exception.code, Code.INVALID_ARGUMENT)
        self.assertIn("the length of the sequence 'target' must be between 1 and 40", str(refused.exception))

    def test_answers_are_streamed_as_they_come(self):
        for tokens in texts(4, 20, 8):
            whole = said(self.client.infer("short", {"tokens": tokens}))
            rows = []
            self.client.infer("short", {"tokens": tokens}, on_partial=lambda part, rows=rows: rows.extend(said(part)))
            self.assertEqual(rows, whole)

    def test_the_best_path_comes_at_the_end(self):
        http = HttpClient(self.server.http)
        lengths = set()
        for tokens in texts(8, 20, 8):
            whole = self.client.infer("search", {"tokens": tokens})
            left = [int(count) for count in whole["left"].tolist()]
            self.assertEqual((len(said(whole)), min(left[:-1], default=1) > 0), (len(left), True))
            self.assertTrue(left[-1] == 0 or len(left) == STEPS)
            rows = []
            streamed = self.client.infer("search", {"tokens": tokens}, on_partial=lambda part, rows=rows: rows.append(int(part["left"].tolist()[0])))
            self.assertEqual((rows, said(streamed)), (left, said(whole)))
            _, outputs = http.infer("search", {"tokens": ("INT32", [len(tokens)], tokens)})
            self.assertEqual([int(token) for token in outputs["translation"]], said(whole))
            lengths.add(len(left))
        self.assertGreater(len(lengths), 3)

    def test_a_seed_says_what_is_drawn(self):
        answers = set()
        for seed in range(-5, 15):
            drawn = said(self.client.infer("draw", {"tokens": [1, 2, 3], "seed": [seed]}))
            pending = [self.client.submit("draw", {"tokens": [1, 2, 3], "seed": [other]}) for other in (seed, seed + 100)]
            self.assertEqual(said(pending[0].result(PATIENCE)), drawn)
            pending[1].result(PATIENCE)
            answers.add(tuple(drawn))
        self.assertGreater(len(answers), 10)
        for inputs, why in (({"tokens": [1]}, "missing"), ({"tokens": [1, 2], "seed": [1, 2]}, "seed")):
            with self.assertRaises(VolvoxError) as refused:
                self.client.infer("draw", inputs)
            self.assertEqual(refused.exception.code, Code.INVALID_ARGUMENT)
            self.assertIn(why, str(refused.exception))

    def test_a_transducer_goes_on_in_a_session(self):
        symbols = set()
        for frames in texts(9, 10, 8, longest=40):
            whole = self.client.infer("listen", {"tokens": frames})["symbols"].tolist()
            symbols.update(symbol for row in whole for symbol in row)
            heard, token, at = [], SessionToken.begin(), 0
            while at < len(frames):
                count = 1 + at % 7
                part = self.client.infer("listen", {"tokens": frames[at : at + count]}, session=token)
                heard += part["symbols"].tolist()
                at += count
                token = part.session.next(end=at + 1 + at % 7 >= len(frames))
            self.assertEqual(heard, whole)
        self.assertIn(0, symbols)
        self.assertGreater(len(symbols), 3)

    def test_a_decoder_is_cancelled_half_way(self):
        pending = [self.client.submit("long", {"tokens": tokens}) for tokens in texts(5, 8, 8)]
        for answer in pending:
            answer.cancel()
        for answer in pending:
            try:
                said(answer.result(PATIENCE))  # it ended before
            except VolvoxError as error:
                self.assertEqual(error.code, Code.CANCELLED)
        self.client.infer("short", {"tokens": [1, 2, 3]})

    def test_http_gives_the_same(self):
        http = HttpClient(self.server.http)
        for tokens in texts(6, 10, 8):
            _, outputs = http.infer("short", {"tokens": ("INT32", [len(tokens)], tokens)})
            self.assertEqual([int(token) for token in outputs["translation"]], said(self.client.infer("short", {"tokens": tokens})))

    def test_no_session_goes_on_where_a_lane_looks_back_from_the_end(self):
        for model in ("both", "short"):
            with self.assertRaises(VolvoxError) as refused:
                self.client.infer(model, {"tokens": [1, 2]}, session=SessionToken.begin())
            self.assertEqual(refused.exception.code, Code.INVALID_ARGUMENT)


class Clustered(unittest.TestCase):
    def test_a_router_passes_answers_of_any_length(self):
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(VOLVOX, folder, Loopback(), "", routers=1, nodes=2)
            self.addCleanup(cluster.end)
            cluster.new_model(*SHORT)
            cluster.start()
            client = Client(cluster.routers[0].endpoint, timeout=PATIENCE, connect_timeout=PATIENCE)
            self.addCleanup(client.close)
            asked = texts(7, 40, 8)
            pending = [client.submit("short", {"tokens": tokens}) for tokens in asked]
            for tokens, answer in zip(asked, pending):
                self.assertEqual(said(answer.result(PATIENCE)), said(client.infer("short", {"tokens": tokens})))


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
