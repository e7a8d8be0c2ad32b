"""The command line itself: what it prints, how it refuses, and what ends it.

Usage: command_line_test.py VOLVOX [unittest's options]      VOLVOX: the executable
"""

import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from served import PATIENCE, Server  # noqa: E402

VOLVOX = "volvox"
COMMANDS = ("serve", "router", "node", "drain", "load", "load-agent", "infer", "status", "models", "import", "keys", "log-level",
            "metrics", "record", "simulate", "top", "trace")  # fmt: skip
MODELS = ("list", "check", "load", "unload", "reload", "new")
DOORS = {"--listen": "tcp://127.0.0.1:0", "--metrics": "", "--http": "", "--admin": ""}  # no port that another may have


def doors(**others):
    """The options of a server's doors: those of DOORS, or others ("listen")."""
    return [word for option in (DOORS | {f"--{name}": where for name, where in others.items()}).items() for word in option]


ANYWHERE = doors()


def run(*arguments, **options):
    return subprocess.run([VOLVOX, *arguments], capture_output=True, timeout=PATIENCE, check=False, **options)


def helps(*command):
    """The help of the program and of all of its subcommands, by their words, as the program itself lists them."""
    done = run(*command, "--help")
    if done.returncode != 0:
        raise AssertionError(f"{command} --help: {done.returncode}")
    text = done.stdout.decode()
    found = {command: text}
    listed = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    for name in re.findall(r"^  ([a-z][a-z0-9-]*)\b", listed, re.MULTILINE):
        found |= helps(*command, name)
    return found


class Words(unittest.TestCase):
    def test_help_is_plain_text(self):
        pages = helps()
        self.assertLessEqual({(), *((name,) for name in COMMANDS), *(("models", name) for name in MODELS)}, set(pages))
        for name in COMMANDS:
            self.assertIn(f"\n  {name} ", pages[()])
        for command, text in pages.items():
            self.assertIn("Usage: volvox", text, command)
            self.assertFalse({char for char in text if ord(char) < 32 and char != "\n"}, command)
            self.assertFalse([line for line in text.splitlines() if len(line) > 80], command)

    def test_help_says_what_values_are(self):
        for command, text in helps().items():
            # CLI11's own names of types say nothing of a unit, a file or an address.
            self.assertNotRegex(text, r"\b(TEXT|UINT|INT|FLOAT|ENUM|NONNEGATIVE|POSITIVE)\b", command)
            for option in re.findall(r"^  (-.*?)(?:  |$)", text, re.MULTILINE):
                self.assertNotIn("Excludes", option, command)
        pages = helps()
        for command, option in (
            ("serve", "--models FOLDER=models"),
            ("serve", "--drain-timeout-ms MS=10000"),
            ("node", "--listen ADDRESS=tcp://127.0.0.1:7100"),
            ("router", "--log-level {debug,info,warning,error,off}=info"),
            ("load", "--warmup SECONDS=1"),
            ("infer", "--timeout SECONDS=30"),
            ("status", "--interval SECONDS=1"),
            ("drain", "--admin SOCKET=auto"),
            ("keys", "--days DAYS="),
            ("models new", "--hidden WIDTH="),
        ):
            self.assertIn(option, " ".join(pages[tuple(command.split())].split()), command)
        for command, text in pages.items():
            # Of what may be chosen it is said which is chosen without the option. A simulation's placement is its file's.
            for option in re.findall(r"--[a-z-]+ \{[a-z0-9,]+\}(?!=)", text.replace("\n", " ")):
                self.assertIn("--placement", option, command)
        for key in ("model", "version", "tokens", "inputs", "length", "structure", "outputs", "deadline_ms", "priority"):
            self.assertRegex(pages[("infer",)], rf"(?m)^  {key}\b")

    def test_a_router_is_configured_as_a_server_is(self):
        options = ("--log-level", "error", "--log-format", "json", "--drain-timeout-ms", "1234", "--print-config")
        for command in ("serve", "router"):
            printed = run(command, *options).stdout.decode()
            for line in ('log_level = "error"', 'log_format = "json"', "drain_timeout_ms = 1234"):
                self.assertIn(line, printed, command)

    def test_a_configuration_is_checked_as_the_process_that_uses_it(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "volvox.toml")

            def refusal(*command):
                done = run(*command, "--config", str(file), "--print-config")
                self.assertEqual(done.returncode, 1 if done.stderr else 0)
                return done.stderr.decode()

            # Keys are the routers' matter; a server alone has doors of its own for its clients.
            file.write_text('[[client]]\nname = "one"\n')
            node = ("node", "--routers", "127.0.0.1:1")
            self.assertEqual(refusal(*node), "")
            self.assertIn("client", refusal("serve"))
            # What goes between router and node is bounded; a server alone has no such hop.
            mib = 1 << 20
            file.write_text(f"[wire]\nmax_body_bytes = {300 * mib}\ntraversal_words = {64 * mib}\n"
                            "[limits]\nmax_receiving_mib = 2048\n[http]\nmax_mib = 2048\n")  # fmt: skip
            self.assertEqual(refusal("serve"), "")
            self.assertIn("cluster.max_request_mib", refusal(*node))
            self.assertIn("cluster.max_request_mib", refusal("router"))

    def test_choices_are_words(self):
        self.assertIn("{auto,avx512,avx2,portable}", run("serve", "--help").stdout.decode().replace(" ", ""))
        self.assertIn("Usage: volvox serve", run("serve", "--help").stdout.decode())
        for default in ("tcp://127.0.0.1:7100", "=auto", "=cellular"):
            self.assertIn(default, run("serve", "--help").stdout.decode())
        for value in ("2", "loud", ""):
            done = run("serve", "--log-level", value)
            self.assertEqual(done.returncode, 2)
            self.assertIn("{debug,info,warning,error,off}", done.stderr.decode())

    def test_a_window_of_an_import_is_two_numbers(self):
        for text in ("input", "input=576", "input=576/0", "input=576/", "input=a/b", "input=576/512/1", "=576/512"):
            done = run("import", "no.onnx", "--window", text)
            self.assertEqual(done.returncode, 2, text)
            self.assertIn("INPUT=SAMPLES/NEW", done.stderr.decode(), text)
        self.assertEqual(run("import", "no.onnx", "--window", "input=576/512").returncode, 1, "there is no such file")

    def test_options_without_effect_are_refused(self):
        calls = ("--calls", "3", "--audio", "sounds")
        for kind, option in ((("--sessions", "3"), "--rate"), (("--sessions", "3"), "--verify"), (calls, "--requests"),
                             (("--sweep", "--rate", "9"), "--timeline"), (("--sweep", "--rate", "9"), "--verify-count")):  # fmt: skip
            done = run("load", "--model", "m", *kind, option, "5")
            self.assertEqual(done.returncode, 2, option)
            self.assertIn(f"{kind[0]} excludes {option}", done.stderr.decode())

    def test_a_capture_that_fails_leaves_the_file_of_before(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "day.csv"
            file.write_text("of before", encoding="utf-8")
            for command in ("record", "trace"):
                done = run(command, "--admin", f"{folder}/nobody.sock", "--output", str(file))
                self.assertEqual(done.returncode, 1, command)
            self.assertEqual(file.read_text(encoding="utf-8"), "of before")
            self.assertEqual(list(pathlib.Path(folder).iterdir()), [file])

    def test_what_does_not_exist_is_told_with_what_does(self):
        done = run("frob")
        self.assertEqual(done.returncode, 2)
        self.assertIn("there is no subcommand 'frob'; there are: serve, router, node", done.stderr.decode())
        self.assertEqual(run("help").stdout, run("--help").stdout)
        for wrong in ((), ("serve", "--frob"), ("keys",)):
            self.assertEqual(run(*wrong).returncode, 2, wrong)


def read_weights(file):
    """A safetensors file: its header and its data."""
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def write_weights(file, header, data):
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data)


class Mistakes(unittest.TestCase):
    """What is said of the mistakes that newcomers make: the cause, and what to do."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def refused(self, *command, **options):
        done = run(*command, **options)
        self.assertNotEqual(done.returncode, 0, command)
        return done.stderr.decode() + done.stdout.decode()

    def test_models_that_do_not_fit(self):
        model = self.folder / "models" / "lstm"
        self.assertEqual(run("models", "new", "lstm", model, "--hidden", "8", "--input", "4", "--vocabulary", "10").returncode, 0)
        (weights,) = model.rglob("*.safetensors")
        written = weights.read_bytes()

        def after(change):
            header, data = read_weights(weights)
            change(header)
            write_weights(weights, header, data)
            text = self.refused("models", "check", model)
            weights.write_bytes(written)
            return text

        def transpose(header):
            header["lstm.weight_ih"]["shape"].reverse()

        def split_bias(header):
            whole = header.pop("lstm.bias")
            begin, end = whole["data_offsets"]
            middle, half = (begin + end) // 2, [whole["shape"][0] // 2]
            header["lstm.bias_ih"] = whole | {"shape": half, "data_offsets": [begin, middle]}
            header["lstm.bias_hh"] = whole | {"shape": half, "data_offsets": [middle, end]}

        def rename_bias(header):
            header["bias"] = header.pop("lstm.bias")

        def another_layer(header):
            header["lstm.weight_ih_l1"] = header["lstm.weight_ih"] | {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}

        def widen(header):
            header["lstm.bias"] |= {"dtype": "F64", "shape": [header["lstm.bias"]["shape"][0] // 2]}

        for change, parts in {
            transpose: ("'lstm.weight_ih' is f32[4, 32]", "transposed?"),
            split_bias: ("there is no weight 'lstm.bias'; add 'lstm.bias_ih' and 'lstm.bias_hh'",),
            rename_bias: ("there is no weight 'lstm.bias'; there are 'bias', 'lstm.embedding'",),
            another_layer: ("no cell reads the weight 'lstm.weight_ih_l1'", "leave it out"),
            widen: ("served are F32, I32 and U64; convert it to one of them",),
        }.items():
            text = after(change)
            for part in parts:
                self.assertIn(part, text)
        toml = model / "model.toml"
        toml.write_text(toml.read_text().replace("max_length", "max_lenght"))
        self.assertRegex(self.refused("models", "check", model), r"model.toml:\d+: max_lenght: is unknown; there are name,")

    def test_weights_that_are_no_numbers(self):
        model = self.folder / "models" / "lstm"
        self.assertEqual(run("models", "new", "lstm", model, "--hidden", "8", "--input", "4", "--vocabulary", "10").returncode, 0)
        (weights,) = model.rglob("*.safetensors")
        header, data = read_weights(weights)
        at = header["lstm.bias"]["data_offsets"][0]
        write_weights(weights, header, data[:at] + struct.pack("<f", math.nan) + data[at + 4 :])
        done = run("models", "check", model)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: 1 of 32 values of the weight lstm.bias are infinite or no numbers", done.stdout.decode())
        asked = run("infer", "--local", model, input=b'{"model": "lstm", "tokens": [1, 2]}')
        self.assertIn("output 'h' has a NaN or an infinity; both are printed as null", asked.stderr.decode())

    def test_servers_that_cannot_start(self):
        text = self.refused("serve", "--models", self.folder / "nothing", *ANYWHERE)
        self.assertIn("write one with `volvox models new lstm", text)
        empty = self.folder / "empty"
        empty.mkdir()
        text = self.refused("serve", "--models", empty, *ANYWHERE)
        self.assertIn(f"there is no model in '{empty}'; write one with `volvox models new lstm {empty}/lstm`", text)
        self.assertIn("tcp://HOST:PORT", self.refused("serve", "--listen", "127.0.0.1:7100"))
        config = self.folder / "serve.toml"
        config.write_text('[server]\nlisten_at = "x"\n')
        self.assertRegex(self.refused("serve", "--config", config), r"serve.toml:2: server.listen_at: is unknown; \[server\] has .*listen")

    def test_two_folders_of_one_model_are_told(self):
        models = self.folder / "twins"
        self.assertEqual(run("models", "new", "check", models / "one").returncode, 0)
        shutil.copytree(models / "one", models / "other")  # whose model.toml says 'one', too
        text = self.refused("serve", "--models", models, *ANYWHERE)
        self.assertIn("is version 1 of the model 'one' as another folder is", text)

    def test_a_taken_port_is_told_before_models_are_loaded(self):
        server = Server(VOLVOX, self.folder, [("check", "m")])
        self.addCleanup(server.kill)
        none = self.folder / "none"  # so that whoever looked for models would say something else
        for option, address in (("listen", server.endpoint), ("metrics", server.metrics.removeprefix("http://"))):
            text = self.refused("serve", "--models", none, *doors(**{option: address}))
            self.assertIn(f"server.{option}: ", text)
            self.assertIn("is taken", text)

    def test_a_bad_model_may_be_skipped(self):
        for name in ("good", "bad"):
            self.assertEqual(run("models", "new", "check", self.folder / "models" / name).returncode, 0)
        (self.folder / "models" / "bad" / "model.toml").write_text("nonsense")
        self.assertIn("bad/model.toml", self.refused("serve", "--models", self.folder / "models", *ANYWHERE))
        server = Server(VOLVOX, self.folder, [("check", "good")], options=("--bad-models", "skip"))
        self.addCleanup(server.kill)
        self.assertIn("skipped model 'bad' version 1: ", server.log())
        self.assertEqual(server.values()['volvox_model_loads_total{outcome="failed"}'], 1)
        good = b'{"model": "good", "tokens": [1, 2]}'
        self.assertEqual(run("infer", "--connect", server.endpoint, input=good).returncode, 0)
        (self.folder / "models" / "good" / "model.toml").unlink()
        self.assertIn("can be loaded; the log says why", self.refused("serve", "--models", self.folder / "models", "--bad-models", "skip", *ANYWHERE))

    def test_requests_that_do_not_fit(self):
        server = Server(VOLVOX, self.folder, [("lstm", "mine", "--hidden", "8", "--vocabulary", "100")], http="127.0.0.1:0")
        self.addCleanup(server.kill)

        def refusal(request, *options):
            return self.refused("infer", "--connect", server.endpoint, *options, input=request.encode())

        for request, said in {
            '{"model": "mine", "tokens": [1, 2, 100]}': "has the id 100 at 2; ids must be at least 0 and below 100",
            '{"model": "mine", "tokens": [1.5]}': "1.5 at 0 is no i32",
            '{"model": "mine", "tokens": [1, 2}': "the request is not JSON: parse error at line 1, column 34",
            '{"model": "mine", "token": [1, 2]}': 'unknown key "token"; there are model, version, tokens, text',
            '{"model": "yours", "tokens": [1]}': "no model has this name; there are 'mine'",
            '{"model": "mine", "inputs": {"tokens": {"data": [1, 2], "shape": [1, 2]}}, "length": 2}': "leave the batch dimension out",
            '{"model": "mine", "inputs": {"words": {"data": [1]}}}': "'words' is none of the model's; it has 'tokens'",
            json.dumps({"model": "mine", "tokens": [1] * 70000}): "(the model's max_length), not 70000",
        }.items():
            self.assertIn(said, refusal(request), request[:80])
        good = '{"model": "mine", "inputs": {"tokens": {"data": [1, 2], "type": "i64"}}}'
        self.assertEqual(run("infer", "--connect", server.endpoint, input=good.encode()).returncode, 0)

        address = server.endpoint.removeprefix("tcp://")
        self.assertIn("write tcp://HOST:PORT", self.refused("infer", "--connect", address, input=good.encode()))
        http = "tcp://" + server.http.removeprefix("http://")
        text = self.refused("infer", "--connect", http, "--timeout", "3", input=good.encode())
        self.assertNotIn("UNAUTHENTICATED", text)
        self.assertIn("this is no router", self.refused("drain", "node1", "--admin", self.admin(server)))
        self.assertIn("is it the monitoring's address", self.refused("status", "http://" + address, "--interval", "0"))
        text = self.refused("status", server.endpoint, "--interval", "0")
        self.assertIn(f"'{server.endpoint}/healthz' is not of the form http://host:port/path; give the monitoring's address", text)

    def test_requests_over_http_that_do_not_fit(self):
        server = Server(VOLVOX, self.folder, [("lstm", "mine", "--hidden", "8", "--vocabulary", "100")], http="127.0.0.1:0")
        self.addCleanup(server.kill)

        def answer(content):
            request = urllib.request.Request(server.http + "/v2/models/mine/infer", content.encode(), {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
                    text = reply.read().decode()
            except urllib.error.HTTPError as error:
                with error:
                    text = error.read().decode()
            self.assertTrue(text.endswith("}\n"), text)  # so that a terminal's prompt stands on a line of its own
            return text

        def tokens(shape, data, datatype="INT32"):
            return '{"inputs": [{"name": "tokens", "datatype": "%s", "shape": %s, "data": %s}]}' % (datatype, shape, data)

        for content, said in {
            tokens([3], [1, 2, 3], "INT64"): '"datatype":"FP32","shape":[8]',
            tokens([1, 3], [1, 2, 3]): "not [1, 3]; leave the batch dimension out",
            tokens([3], [1.5, 2, 3]): "1.5 at 0 is no INT32",
            tokens([1], [1])[:-2]: "the request is no JSON: parse error at line 1, column",
        }.items():
            self.assertIn(said, answer(content), content)

    def admin(self, server):
        return server.log().rpartition(" admin ")[2].split()[0]


class Acts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def test_keys_that_are_there_stay(self):
        made = run("keys", self.folder, "--client", "alice")
        self.assertEqual(made.returncode, 0)
        for command in ("volvox serve --server-key", "volvox infer --server-key"):  # what to do with them
            self.assertIn(command, made.stdout.decode())
        before = (self.folder / "alice.key_secret").read_bytes()
        done = run("keys", self.folder, "--client", "alice", "--client", "bob")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("was there already", done.stdout.decode())
        self.assertEqual((self.folder / "alice.key_secret").read_bytes(), before)
        self.assertTrue((self.folder / "clients" / "bob.key").exists())

    def test_of_a_servers_pair_the_open_half_is_made_again(self):
        self.assertEqual(run("keys", self.folder).returncode, 0)
        before = (self.folder / "server.key").read_text(encoding="utf-8")
        (self.folder / "server.key").unlink()
        self.assertEqual(run("keys", self.folder).returncode, 0)
        public = [line for line in before.splitlines() if "public-key" in line]
        self.assertEqual(len(public), 1)
        self.assertIn(public[0], (self.folder / "server.key").read_text(encoding="utf-8").splitlines())
        (self.folder / "clients" / "client.key").unlink()  # it is not let in any more
        refused = run("keys", self.folder)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("Remove the first for a new pair", refused.stderr.decode())
        self.assertFalse((self.folder / "clients" / "client.key").exists())

    def test_a_router_has_no_tables_of_devices(self):
        ports = self.folder / "ports"
        where = ["--listen", "tcp://127.0.0.1:0", "--metrics", "127.0.0.1:0", "--http", "", "--admin", "", "--port-file", ports]
        with subprocess.Popen([VOLVOX, "router", "--cluster-listen", "127.0.0.1:0", *where], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as router:
            self.addCleanup(router.kill)
            until = time.monotonic() + PATIENCE
            while not ports.exists() and time.monotonic() < until:
                time.sleep(0.01)
            shown = run("status", ports.read_text(encoding="utf-8").split()[1], "--interval", "0").stdout.decode()
            router.terminate()
        self.assertIn("no node that takes requests has joined", shown)
        self.assertNotRegex(shown, "(?m)^(device|cell type|slots) ")

    def test_keys_do_not_close_the_door_of_http(self):
        keys = self.folder / "keys"
        self.assertEqual(run("keys", keys, "--client", "alice").returncode, 0)
        options = ("--server-key", keys / "server.key_secret", "--clients", keys / "clients")
        server = Server(VOLVOX, self.folder, [("check", "m")], http="127.0.0.1:0", options=options)
        self.addCleanup(server.kill)
        self.assertRegex(server.log(), r"warning.*clients need a key at server.listen, but none at http.listen.*set http.token")
        done = run("infer", "--connect", server.endpoint, "--timeout", "3", input=b'{"model": "m", "tokens": [1]}')
        self.assertEqual(done.returncode, 1)
        self.assertIn("UNAUTHENTICATED", done.stdout.decode() + done.stderr.decode())
        until = time.monotonic() + PATIENCE
        while "not let in" not in server.log() and time.monotonic() < until:
            time.sleep(0.05)
        self.assertRegex(server.log(), r"connections that were not let in: \d+(; the last one: \S.*)?\n")

    def test_what_was_done_to_a_model_is_told(self):
        server = Server(VOLVOX, self.folder, [("check", "m")])
        self.addCleanup(server.kill)
        admin = server.log().rpartition(" admin ")[2].split()[0]
        for act, told in (("unload", "unloaded m"), ("load", "loaded m")):
            done = run("models", act, "m", "--admin", admin)
            self.assertEqual((done.returncode, done.stdout.decode().strip()), (0, told), done.stderr)

    def test_a_hang_up_drains(self):
        server = Server(VOLVOX, self.folder, [("check", "m")])
        server.process.send_signal(signal.SIGHUP)
        self.assertEqual(server.process.wait(PATIENCE), 0, server.log())
        self.assertIn("signal 1", server.log())

    def test_nobody_need_read_what_a_server_prints(self):
        folder = self.folder
        self.assertEqual(run("models", "new", "check", folder / "models" / "m").returncode, 0)
        ends = os.pipe()
        os.set_blocking(ends[1], False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(ends[1], b"x")
        os.set_blocking(ends[1], True)
        for command in (["serve", "--models", folder / "models", "--http", ""], ["router", "--cluster-listen", "127.0.0.1:0", "--http", ""]):
            ports = folder / f"{command[0]}.ports"
            where = ["--listen", "tcp://127.0.0.1:0", "--metrics", "127.0.0.1:0", "--admin", "", "--port-file", ports]
            log = folder / f"{command[0]}.log"
            with open(log, "wb") as file, subprocess.Popen([VOLVOX, *command, *where], stdout=ends[1], stderr=file) as server:
                self.addCleanup(server.kill)
                until = time.monotonic() + PATIENCE
                while not ports.exists() and time.monotonic() < until:
                    time.sleep(0.01)
                server.terminate()
                self.assertEqual(server.wait(PATIENCE), 0, command)
            self.assertNotIn("took too long", log.read_text(encoding="utf-8"))

    def test_a_hang_up_is_nothing_to_who_was_started_to_survive_it(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        server = Server(VOLVOX, self.folder, [("check", "m")])
        self.addCleanup(server.kill)
        server.process.send_signal(signal.SIGHUP)
        self.assertIn("volvox_requests_in_flight", server.page())
        self.assertEqual(server.stop(), 0)
        self.assertNotIn("signal 1\n", server.log() + "\n")


if __name__ == "__main__":
    VOLVOX = sys.argv.pop(1)
    unittest.main()
