"""Usage: kernels_code_test.py NVCC

The kernels that run any cell, as compiled.
"""

import machine_code


class Kernels(machine_code.KernelTest):
    source = "gpu/cuda/kernels.cu"

    def test_nothing_spills_and_no_stack_is_needed(self):
        self.assert_nothing_spills()
        for part in ("resolve_kernel", "pointwise_kernel", "argmax_kernel", "finish_kernel"):
            for kernel in self.each(part):
                self.assertEqual(kernel.stack_bytes, 0, str(kernel))

    def test_registers_leave_room_for_enough_warps(self):
        for part, threads, blocks in (("resolve_kernel", 512, 1), ("pointwise_kernel", 256, 4), ("argmax_kernel", 1024, 1)):
            for kernel in self.each(part):
                self.assertGreaterEqual(kernel.blocks(threads), blocks, str(kernel))

    def test_shared_memory_is_what_the_source_says(self):
        for part, static in (("resolve_kernel", 0), ("pointwise_kernel", 0), ("argmax_kernel", 32 * 8), ("finish_kernel", 0)):
            for kernel in self.each(part):
                self.assertEqual(kernel.shared_bytes, static, str(kernel))


if __name__ == "__main__":
    machine_code.main()
