"""What nvcc and ptxas make of a kernel: registers, spills, memory, and which instructions there are of those that matter.

Nobody needs a GPU to see that a kernel spills, or that the compiler found no way to its tensor cores.
"""

import collections
import concurrent.futures
import dataclasses
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Ampere, Hopper with what only it has, Blackwell.
ARCHITECTURES = ("80", "90a", "100")
# Low 12 bits of an instruction's 128.
MACHINE = {"HMMA": 0x23C, "LDSM": 0x83B, "HGMMA": 0x9F0, "CCTL": 0x98F}
# Of a multiprocessor of all of them; registers are given to a warp in units of so many a thread.
REGISTERS, REGISTER_UNIT, THREADS = 65536, 8, 2048


@dataclasses.dataclass
class Kernel:
    name: str  # mangled
    architecture: str
    registers: int
    stack_bytes: int
    spill_bytes: int
    shared_bytes: int  # static
    ptx: collections.Counter  # PTX instructions by name, with all that belongs to it
    machine: collections.Counter  # those of MACHINE, in the device's own code

    def __str__(self):
        return f"{self.name} for sm_{self.architecture}, {self.registers} registers"

    def blocks(self, threads):
        """How many blocks of so many threads the registers of a multiprocessor are enough for."""
        each = -(-self.registers // REGISTER_UNIT) * REGISTER_UNIT
        return min(REGISTERS // (each * threads), THREADS // threads)

    def count(self, pattern):
        """PTX instructions whose names begin with it."""
        return sum(times for name, times in self.ptx.items() if name.startswith(pattern))


def run(command):
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def ptx_instructions(text):
    """By kernel."""
    found = {}
    for entry in re.split(r"\.entry ", text)[1:]:
        name = re.match(r"\w+", entry).group()
        found[name] = collections.Counter(re.findall(r"^\s*(?:@!?%p\d+\s+)?([a-z][\w.:]+)[\s;]", entry, re.M))
    return found


def machine_instructions(cubin):
    """By kernel: sections .text.KERNEL of an ELF file, 16 bytes an instruction."""
    sections, size, count, names_at = (
        struct.unpack_from("<Q", cubin, 0x28)[0],
        *struct.unpack_from("<HHH", cubin, 0x3A),
    )
    headers = [struct.unpack_from("<IIQQQQ", cubin, sections + i * size) for i in range(count)]
    names, found = headers[names_at][4], {}
    for name_at, _, _, _, offset, length in headers:
        name = cubin[names + name_at : cubin.index(b"\0", names + name_at)].decode()
        if not name.startswith(".text."):
            continue
        codes = collections.Counter(struct.unpack_from("<H", cubin, at)[0] & 0xFFF for at in range(offset, offset + length, 16))
        found[name.removeprefix(".text.")] = collections.Counter({name: codes[code] for name, code in MACHINE.items()})
    return found


# Of ptxas --verbose, a kernel.
VERBOSE = re.compile(
    r"Compiling entry function '(?P<name>\w+)'.*?(?P<stack>\d+) bytes stack frame, (?P<stores>\d+) bytes spill stores, "
    r"(?P<loads>\d+) bytes spill loads.*?Used (?P<registers>\d+) registers(?P<rest>[^\n]*)",
    re.S,
)


def kernels_of(nvcc, source, architecture):
    """All kernels of a source."""
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = pathlib.Path(folder, "code.ptx"), pathlib.Path(folder, "code.cubin")
        options = ["-std=c++20", "--expt-relaxed-constexpr", "--Werror=all-warnings", f"-I{ROOT}"]
        run([nvcc, "-ptx", f"-arch=compute_{architecture}", *options, ROOT / source, "-o", ptx])
        said = run([pathlib.Path(nvcc).parent / "ptxas", "--verbose", f"-arch=sm_{architecture}", ptx, "-o", cubin])
        # That products of warpgroups are made one by one, say.
        losses = [line for line in said.splitlines() if "Performance Loss" in line]
        if losses:
            raise AssertionError("\n".join(losses))
        instructions, machine = ptx_instructions(ptx.read_text()), machine_instructions(cubin.read_bytes())
    found = {}
    for match in VERBOSE.finditer(said):
        name, shared = match["name"], re.search(r"(\d+) bytes smem", match["rest"])
        found[name] = Kernel(
            name,
            architecture,
            int(match["registers"]),
            int(match["stack"]),
            int(match["stores"]) + int(match["loads"]),
            int(shared.group(1)) if shared else 0,
            instructions[name],
            machine[name],
        )
    return found


class KernelTest(unittest.TestCase):
    """Of one source. The program's first argument is nvcc."""

    source = ""
    architectures = ARCHITECTURES
    nvcc = ""

    @classmethod
    def setUpClass(cls):
        if not cls.source:
            raise unittest.SkipTest("the base of others")
        with concurrent.futures.ThreadPoolExecutor() as pool:
            every = pool.map(lambda architecture: kernels_of(cls.nvcc, cls.source, architecture), cls.architectures)
            cls.compiled = dict(zip(cls.architectures, every))

    def each(self, part):
        """The kernel whose name has this part, by architecture."""
        all_of_it = []
        for architecture, kernels in self.compiled.items():
            found = [kernel for name, kernel in kernels.items() if part in name]
            self.assertEqual(len(found), 1, f"kernels like {part} for sm_{architecture}: {list(kernels)}")
            all_of_it += found
        return all_of_it

    def assert_nothing_spills(self):
        for kernels in self.compiled.values():
            self.assertTrue(kernels)
            for kernel in kernels.values():
                self.assertEqual(kernel.spill_bytes, 0, str(kernel))


def main():
    KernelTest.nvcc = sys.argv.pop(1)
    unittest.main(module="__main__")
