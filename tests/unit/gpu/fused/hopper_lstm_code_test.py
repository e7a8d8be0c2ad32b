"""Usage: hopper_lstm_code_test.py NVCC

The LSTM step for compute capability 9.0 as compiled: what its design (gpu/fused/hopper_lstm.cuh) counts on.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import machine_code  # noqa: E402

# By the cut: rows of a tile, blocks that share its sums, mates; columns of a multiplying warpgroup.
CUTS = {
    f"Lj{rows}ELj{split}ELj{mates}E": (rows, split, mates, rows)
    for rows in (128, 64)
    for split in (1, 2)
    for mates in (1, 2)
}
TYPES = {"4Bf16": "bf16", "3F16": "f16"}


class HopperLstm(machine_code.KernelTest):
    source = "gpu/fused/hopper_lstm.cu"
    architectures = ("90a",)
    count = 8

    def kernels(self):
        found = [
            (kernel, element, *cut)
            for type_name, element in TYPES.items()
            for part, cut in CUTS.items()
            for name, kernel in self.compiled["90a"].items()
            if type_name in name and part in name
        ]
        self.assertEqual(len(found), self.count)
        return found

    def test_nothing_spills_and_no_stack_is_needed(self):
        self.assert_nothing_spills()
        for kernel, *_ in self.kernels():
            self.assertEqual(kernel.stack_bytes, 0, str(kernel))

    def test_one_block_fills_a_multiprocessor(self):
        for kernel, *_ in self.kernels():
            self.assertEqual(kernel.blocks(512), 1, str(kernel))
            # What the warpgroups then have in all is what they take of it: 24, 72, and twice 208.
            self.assertEqual(4 * kernel.registers, 24 + 72 + 2 * 208, str(kernel))
            # Beside what is given at launch: 227 KiB in all.
            self.assertLessEqual(kernel.shared_bytes, 7 << 10, str(kernel))

    def test_products_are_those_of_whole_warpgroups(self):
        for kernel, element, _, _, _, columns in self.kernels():
            name = f"wgmma.mma_async.sync.aligned.m64n{columns}k16.f32.{element}.{element}"
            # Four of a slab, as often as the compiler unrolls the loop over slabs.
            self.assertGreaterEqual(kernel.count(name), 4, str(kernel))
            self.assertEqual(kernel.count(name), kernel.count("wgmma.mma_async"), str(kernel))
            self.assertEqual(kernel.machine["HGMMA"], kernel.count(name), str(kernel))
            self.assertEqual(kernel.machine["HMMA"], 0, str(kernel))

    def test_operands_come_by_asynchronous_copies(self):
        for kernel, _, rows, _, mates, _ in self.kernels():
            bulk = kernel.count("cp.async.bulk.shared::cluster.global")
            self.assertGreaterEqual(bulk, 1, str(kernel))
            self.assertEqual(kernel.count("mbarrier.arrive.expect_tx"), bulk, "each is announced")
            multicast = sum(times for name, times in kernel.ptx.items() if "multicast" in name)
            self.assertEqual(multicast, bulk if mates > 1 else 0, str(kernel))
            # Of a slab as many of each thread, and then it arrives: as often as the compiler unrolls the loop over slabs.
            slabs = kernel.count("cp.async.mbarrier.arrive")
            self.assertGreater(slabs, 0, str(kernel))
            self.assertEqual(kernel.count("cp.async.cg.shared.global"), slabs * (rows // 16), str(kernel))
            self.assertEqual(4 * kernel.count("fence.proxy.async"), kernel.count("wgmma.mma_async"), "one a slab")

    def test_only_split_sums_cross_to_another_block(self):
        for kernel, _, _, split, mates, columns in self.kernels():
            vectors = 0 if split == 1 else columns // 2 // 2 // 4
            self.assertEqual(kernel.count("st.shared::cluster"), vectors, str(kernel))
            # That a stage is read is said to each of the mates, by a thread each.
            remote = kernel.count("mbarrier.arrive.shared::cluster")
            slabs = kernel.count("fence.proxy.async")
            self.assertEqual(remote, slabs if mates > 1 else 0, str(kernel))

    def test_it_begins_before_the_kernel_ahead_has_ended(self):
        for kernel, *_ in self.kernels():
            # Where the task ahead is none that hands over by words: whoever brings rows waits for where they lie and what they
            # are, whoever multiplies for what the old states are, or before what rows start from, and so does who looks out for
            # the step ahead.
            self.assertEqual(kernel.count("griddepcontrol.wait"), 5, str(kernel))
            # Else one thread waits for the rows, and for the step ahead; the lines that the multiprocessor holds are forgotten.
            self.assertGreaterEqual(kernel.count("ld.acquire.gpu"), 2, str(kernel))
            self.assertGreaterEqual(kernel.machine["CCTL"], kernel.count("ld.acquire.gpu"), str(kernel))
            self.assertEqual(kernel.count("griddepcontrol.launch_dependents"), 1, str(kernel))


class Variants(HopperLstm):
    """Those that `gpu/check.sh` tries beside them."""

    source = "gpu/check/hopper_steps.cu"
    count = 6


if __name__ == "__main__":
    machine_code.main()
