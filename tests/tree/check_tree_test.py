#!/usr/bin/env python3
"""Shows that check_tree.py catches each kind of offence, and lets the innocent pass."""

import contextlib
import io
import pathlib
import tempfile
import unittest
import unittest.mock

import check_tree
import rules


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


class ClassesTest(CheckTest):
    HEADER = "#pragma once\nnamespace volvox {\nclass Table {\n public:\n  int one();\n  int two();\n};\n}  // namespace volvox\n"

    @staticmethod
    def member(head, lines):
        return f"{head} {{\n" + "  work();\n" * (lines - 2) + "}\n"

    def source(self, *definitions):
        return 'namespace volvox {\n' + "\n".join(definitions) + "}  // namespace volvox\n"

    def lines_of(self, files):
        """The classes' names and lines, by a bound that none keeps."""
        with unittest.mock.patch.object(rules, "MAX_CLASS_LINES", 0):
            _, lines = run_check("classes", files)
        return {line.split(": ")[1]: int(line.split(": ")[2].split()[0]) for line in lines}

    def test_a_class_spread_over_files_is_caught(self):
        files = {
            "cells/table.h": self.HEADER,
            "cells/one.cc": self.source(self.member("int Table::one()", 300)),
            "cells/two.cc": self.source(self.member("int Table::two()", 296)),
        }
        self.assert_caught("classes", files, "cells/table.h:3", "601 lines of one class (cells/one.cc, cells/table.h, cells/two.cc)")

    def test_a_class_of_as_many_lines_as_may_be_passes(self):
        files = {
            "cells/table.h": self.HEADER,
            "cells/one.cc": self.source(self.member("int Table::one()", 300)),
            "cells/two.cc": self.source(self.member("int Table::two()", 295)),
        }
        self.assert_passes("classes", files)

    def test_several_classes_and_functions_in_large_files_pass(self):
        other = self.HEADER.replace("Table", "Other")
        files = {
            "cells/table.h": self.HEADER,
            "cells/other.h": other,
            "cells/one.cc": self.source(self.member("int Table::one()", 400), self.member("int Other::one()", 400)),
            "cells/two.cc": self.source(self.member("int one(Table::Step (*step)(int), Table& table)", 400)),
            "tests/unit/table_test.cc": self.source(self.member("int Table::two()", 400)),
        }
        self.assert_passes("classes", files)

    def test_classes_of_one_name_in_different_places_are_different(self):
        writer = "class Writer {\n" + "  int x;\n" * 398 + "};\n"
        files = {
            "cells/a.cc": f"namespace volvox {{\nnamespace {{\n{writer}}}\n}}\n",
            "cells/b.cc": f"namespace volvox {{\nnamespace {{\n{writer}}}\n}}\n",
            "cells/c.h": f"#pragma once\nnamespace volvox::other {{\n{writer}}}\n",
        }
        self.assert_passes("classes", files)

    def test_two_classes_of_one_name_are_caught(self):
        report = "#pragma once\nnamespace volvox {\nstruct Report {\n  int x;\n};\n}\n"
        files = {"cells/a.h": report, "cells/b.h": report.replace("int", "double")}
        self.assert_caught("classes", files, "cells/a.h:3", "classes of one name in cells/a.h, cells/b.h")

    def test_every_kind_of_member_is_found(self):
        heads = (
            "Table::Table(int x)\n    : a_{x}, b_(make([] { return 1; })), c_{{1, 2}}",
            "Table::~Table()",
            "template <class T>\nstd::vector<Table::Step> Table::step(const std::function<int(T)>& f) const",
            "bool Table::operator==(const Table& other) const",
            "int Table::operator()(int x)",
            "Table::operator bool() const",
            "auto Table::get() const -> std::optional<int>",
            "int Table::Inner::get()",
            "int volvox::Table::two()",
        )
        for head in heads:
            with self.subTest(head):
                files = {"cells/table.h": self.HEADER, "cells/a.cc": self.source(self.member(head, 10))}
                self.assertEqual(self.lines_of(files), {"volvox::Table": 5 + 10 + head.count("\n")})

    def test_a_class_of_a_class_belongs_to_it(self):
        inner = "struct Table::Impl {\n  int x;\n};\n" + self.member("int Table::Impl::get()", 10)
        files = {"cells/table.h": self.HEADER, "cells/table.cc": self.source(inner)}
        self.assertEqual(self.lines_of(files), {"volvox::Table": 5 + 3 + 10})

    def test_templates_attributes_and_bases_are_no_names(self):
        code = (
            "template <class T, class U = Other<T>>\nclass Table final : public Base<T>, private volvox::Other {\n};\n"
            "struct alignas(64) Row {\n};\n"
            "template <>\nstruct Hash<Row> {\n};\n"
            "template <>\nstruct Hash<Table<Row>> : Base<Row> {\n};\n"
            "enum class Kind {\n  kOne,\n};\n"
            "struct Row row() {\n  return {};\n}\n"
            "constexpr Row kRows[] = {{1}, {2}};\n"
        )
        lines = self.lines_of({"cells/a.cc": self.source(code)})
        wanted = {"Table": 3, "Row": 2, "Hash<Row>": 3, "Hash<Table<Row>>": 3}
        self.assertEqual(lines, {f"volvox::{name}": count for name, count in wanted.items()})

    def test_braces_in_comments_strings_and_alternatives_are_none(self):
        code = (
            "// }\nclass Table {\n  char c = '{';\n  const char* s = \"}\";\n#define OPEN \\\n  {\n"
            "#if A\n  int f() {\n#else\n  int g() {\n#endif\n  }\n};\nclass Row {\n};\n"
        )
        self.assertEqual(self.lines_of({"cells/a.cc": self.source(code)}), {"volvox::Table": 12, "volvox::Row": 2})

    def test_what_cannot_be_counted_is_caught(self):
        for code in ("class Table {\n", "}\n", "namespace volvox {\n"):
            with self.subTest(code):
                self.assert_caught("classes", {"cells/a.cc": code}, "cells/a.cc:1", "braces")


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

    def test_a_program_that_nobody_may_run_is_caught(self):
        self.assert_caught("style", {"a.py": "#!/usr/bin/env python3\n"}, "a.py:1", "executable")
        self.assert_passes("style", {"a.py": "import sys\n"})

    def test_empty_tree_is_no_success(self):
        status, lines = run_check("style", {})
        self.assertEqual(status, 1, lines)


if __name__ == "__main__":
    unittest.main()
