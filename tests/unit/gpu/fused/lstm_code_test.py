"""Usage: lstm_code_test.py NVCC

The fused LSTM as compiled: what its design (gpu/fused/lstm.cuh) counts on.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import machine_code  # noqa: E402

# Of a warp and a slab of its operands: 2 × 2 products of 16 × 16 sums, and of each kind of product the machine's instructions.
PRODUCTS = 2 * 2 * 2
INSTRUCTIONS = {"Bf16": 2, "F16": 2, "Tf32": 4}
# Of both operands, 2 fragments each, as often as the slab is deep: ldmatrix takes elements of 16 bits.
LOADS, MATRIX_LOADS = 2 * 2 * 2, {"Bf16": 8, "F16": 8, "Tf32": 0}


class Lstm(machine_code.KernelTest):
    source = "gpu/fused/lstm.cu"

    def test_nothing_spills_and_no_stack_is_needed(self):
        self.assert_nothing_spills()
        for part in INSTRUCTIONS:
            for kernel in self.each(part):
                self.assertEqual(kernel.stack_bytes, 0, str(kernel))

    def test_two_blocks_share_a_multiprocessor(self):
        for part in INSTRUCTIONS:
            for kernel in self.each(part):
                self.assertGreaterEqual(kernel.blocks(256), 2, str(kernel))
                self.assertLessEqual(kernel.shared_bytes, 48 << 10, f"{kernel}: more needs an attribute of it")
                self.assertEqual(kernel.shared_bytes, 64 * (128 + 4) * 4, "the sums, which are more than two slabs")

    def test_products_run_on_tensor_cores(self):
        for part, instructions in INSTRUCTIONS.items():
            for kernel in self.each(part):
                self.assertEqual(kernel.count("wmma.mma.sync"), PRODUCTS, str(kernel))
                self.assertEqual(kernel.machine["HMMA"], instructions * PRODUCTS, str(kernel))

    def test_fragments_come_from_shared_memory(self):
        for part, loads in MATRIX_LOADS.items():
            for kernel in self.each(part):
                fragments = {name: times for name, times in kernel.ptx.items() if name.startswith("wmma.load.")}
                self.assertEqual(sum(fragments.values()), LOADS, str(kernel))
                self.assertTrue(all(".shared." in name for name in fragments), f"{kernel}: {fragments}")
                self.assertEqual(kernel.machine["LDSM"], loads, str(kernel))

    def test_slabs_go_to_shared_memory_in_vectors(self):
        for part in INSTRUCTIONS:
            for kernel in self.each(part):
                # One of the operands, two of the weights; before the loop and in it.
                self.assertEqual(kernel.count("st.shared.v4"), 2 * 3, str(kernel))
                self.assertEqual(kernel.count("st.shared."), 2 * 3, str(kernel))


if __name__ == "__main__":
    machine_code.main()
