"""What disturbances.py must notice, against servers that answer what they should not."""

import http.server
import pathlib
import random
import sys
import threading
import types
import unittest
from collections import Counter

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import disturbances  # noqa: E402
from disturbances import Code, Disturbances, VolvoxError
from volvox_client import Code  # noqa: E402


class Agreeable(http.server.BaseHTTPRequestHandler):
    """Finds everything to be in order, or says `status`."""

    status = 200

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_):
        pass


class Noticed(unittest.TestCase):
    def setUp(self):
        handler = type("Handler", (Agreeable,), {})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.quiet = Disturbances.__new__(Disturbances)  # without its threads
        self.quiet.did, self.quiet.wrong, self.quiet.random = Counter(), [], random.Random(1)
        self.quiet.server = types.SimpleNamespace(http=f"http://127.0.0.1:{self.server.server_port}")

    def test_nonsense_that_is_answered_as_if_it_made_sense(self):
        self.quiet.once(self.quiet.http_nonsense)
        self.assertEqual(self.quiet.wrong, ["nonsense over HTTP was answered 200"])

    def test_nonsense_that_is_refused(self):
        self.server.RequestHandlerClass.status = 400
        self.quiet.once(self.quiet.http_nonsense)
        self.assertEqual((self.quiet.wrong, self.quiet.did["http_nonsense"]), ([], 1))

    def test_an_error_for_a_client_that_did_nothing_wrong(self):
        def stream(code):
            raise VolvoxError(code, "no")

        for code in (Code.INTERNAL, Code.OVERLOADED):
            self.quiet.once(lambda code=code: stream(code))
        self.assertEqual(len(self.quiet.wrong), 1)
        self.assertIn("INTERNAL", self.quiet.wrong[0])

    def test_a_disturbance_that_never_was_one(self):
        self.quiet.did.update({kind: 100 for kind in disturbances.KINDS})
        self.quiet.did.update({"vanish": -100, "reload: OSError": 30, "killed: OSError": 5})
        self.quiet.judge()
        self.assertEqual([wrong.split(":")[0] for wrong in self.quiet.wrong], ["vanish", "reload"])


if __name__ == "__main__":
    unittest.main()
