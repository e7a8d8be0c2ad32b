#!/usr/bin/env python3
"""Shows that check_tree.py catches each kind of offence, and lets the innocent pass."""

import contextlib
import io
import pathlib
import tempfile
import unittest

import check_tree


def run_check(check, files):
    """The exit status and the lines of one check over a tree of the given files."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_tree.main(["--root", folder, check])
        return status, output.getvalue().splitlines()


class CheckTest(unittest.TestCase):
    def assert_caught(self, check, files, place, word):
        status, lines = run_check(check, files)
        self.assertEqual(status, 1, lines)
        self.assertEqual(len(lines), 1, lines)
        self.assertTrue(lines[0].startswith(place + ":"), lines)
        self.assertIn(word, lines[0])

    def assert_passes(self, check, files):
        status, lines = run_check(check, files)
        self.assertEqual(status, 0, lines)


class IncludesTest(CheckTest):
    CELL = {"cells/ir/cell.h": "#pragma once\n"}
    QUEUE = {"device/queue.h": "#pragma once\n"}

    def test_allowed_include_passes(self):
        self.assert_passes("includes", self.CELL | {"device/queue.h": '#include "cells/ir/cell.h"\n#include <vector>\n'})

    def test_include_that_goes_up_is_caught_with_its_line(self):
        files = self.QUEUE | {"cells/ir/cell.h": '#pragma once\n\n#include "device/queue.h"\n'}
        self.assert_caught("includes", files, "cells/ir/cell.h:3", 'may not include device')

    def test_include_with_spaces_or_angle_brackets_is_caught(self):
        self.assert_caught("includes", self.QUEUE | {"cells/a.cc": "# include <device/queue.h>\n"}, "cells/a.cc:1", "device")

    def test_include_that_is_not_from_the_root_is_caught(self):
        self.assert_caught("includes", self.CELL | {"cells/a.cc": '#include "cell.h"\n'}, "cells/a.cc:1", "root")

    def test_a_sideways_include_is_caught(self):
        files = {"actors/worker.h": "", "loadgen/load.cc": '#include "actors/worker.h"\n'}
        self.assert_caught("includes", files, "loadgen/load.cc:1", "may not include actors")

    def test_serving_libraries_below_the_line_are_caught(self):
        for header in ("caf/all.hpp", "zmq.h", "zmq.hpp", "capnp/message.h", "kj/io.h", "prometheus/counter.h", "spdlog/spdlog.h"):
            with self.subTest(header):
                self.assert_caught("includes", {"cells/a.cc": f"#include <{header}>\n"}, "cells/a.cc:1", "engine")

    def test_serving_libraries_above_the_line_pass(self):
        self.assert_passes("includes", {"actors/a.cc": "#include <caf/all.hpp>\n", "protocol/b.cc": "#include <zmq.hpp>\n"})

    def test_threads_in_batching_are_caught(self):
        self.assert_caught("includes", {"batching/a.h": "#include <mutex>\n"}, "batching/a.h:1", "pure")
        self.assert_passes("includes", {"cpu/a.h": "#include <mutex>\n"})

    def test_batching_sees_no_test_device(self):
        files = {"device/fake_device.h": "", "batching/a.h": '#include "device/fake_device.h"\n'}
        self.assert_caught("includes", files, "batching/a.h:1", "interface only")

    def test_cuda_outside_its_folder_is_caught(self):
        self.assert_caught("includes", {"device/a.h": "#include <cuda_runtime.h>\n"}, "device/a.h:1", "CUDA")
        self.assert_passes("includes", {"gpu/a.cu": "#include <cuda_runtime.h>\n"})

    def test_only_the_bench_of_simulation_names_a_backend(self):
        device = {"cpu/cpu_device.h": ""}
        self.assert_caught(
            "includes", device | {"simulation/clock.cc": '#include "cpu/cpu_device.h"\n'}, "simulation/clock.cc:1", "bench"
        )
        self.assert_passes("includes", device | {"simulation/bench/kernel.cc": '#include "cpu/cpu_device.h"\n'})


class PurityTest(CheckTest):
    def test_reading_a_clock_is_caught(self):
        code = "// a comment\nauto t = std::chrono::steady_clock::now();\n"
        self.assert_caught("purity", {"batching/a.cc": code}, "batching/a.cc:2", "pure")
        self.assert_passes("purity", {"cpu/a.cc": code})

    def test_comments_and_strings_are_not_code(self):
        code = '// calls now() never\n/* std::mutex\n std::thread */\nauto text = "std::thread now()";\n'
        self.assert_passes("purity", {"routing/a.cc": code})

    def test_line_numbers_survive_long_comments(self):
        self.assert_caught("purity", {"routing/a.cc": "/* one\ntwo */\nstd::mutex m;\n"}, "routing/a.cc:3", "std::mutex")

    def test_thread_local_is_caught_anywhere(self):
        self.assert_caught("purity", {"cpu/a.cc": "thread_local int x;\n"}, "cpu/a.cc:1", "explicit")

    def test_cuda_types_in_a_public_header_are_caught(self):
        self.assert_caught("purity", {"device/a.h": "cudaStream_t stream;\n"}, "device/a.h:1", "CUDA")


class SourcesTest(CheckTest):
    BUILD = {"cells/CMakeLists.txt": "volvox_library(cells SOURCES a.cc)\n"}

    def test_source_that_nobody_builds_is_caught(self):
        self.assert_caught("sources", self.BUILD | {"cells/b.cc": ""}, "cells/b.cc:1", "builds")

    def test_source_that_a_function_adds_passes(self):
        files = {"cli/CMakeLists.txt": "volvox_command(serve volvox::actors)\n", "cli/serve.cc": ""}
        self.assert_passes("sources", files)

    def test_own_header_not_first_is_caught(self):
        files = self.BUILD | {"cells/a.h": "", "cells/a.cc": '#include <vector>\n#include "cells/a.h"\n'}
        self.assert_caught("sources", files, "cells/a.cc:1", "first include")

    def test_own_header_first_passes(self):
        self.assert_passes("sources", self.BUILD | {"cells/a.h": "", "cells/a.cc": '// Why.\n#include "cells/a.h"\n'})


class StyleTest(CheckTest):
    def test_long_file_is_caught(self):
        self.assert_passes("style", {"cells/a.cc": "\n" * 600})
        self.assert_caught("style", {"cells/a.cc": "\n" * 601}, "cells/a.cc:601", "601 lines")

    def test_unfinished_work_is_caught(self):
        for word in ("TO" "DO", "FIX" "ME", "X" "XX"):
            with self.subTest(word):
                self.assert_caught("style", {"a.md": f"fine\n{word}: later\n"}, "a.md:2", "finish")

    def test_machine_paths_are_caught(self):
        for folder in ("work", "tmp", "root", "home"):
            with self.subTest(folder):
                self.assert_caught("style", {"a.sh": f"cd /{folder}/here\n"}, "a.sh:1", "machine")

    def test_general_paths_pass(self):
        self.assert_passes("style", {"a.sh": 'ls /usr/local/cuda "$root/tmp/x" "${TMPDIR:-/tmp}/x" frame/work/x\n'})

    def test_header_without_guard_is_caught(self):
        self.assert_caught("style", {"a.h": "int x;\n"}, "a.h:1", "pragma once")

    def test_empty_tree_is_no_success(self):
        status, lines = run_check("style", {})
        self.assertEqual(status, 1, lines)


if __name__ == "__main__":
    unittest.main()
