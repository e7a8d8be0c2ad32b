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

    def test_what_begins_early_sees_what_earlier_tasks_wrote(self):
        for kernel in self.each("resolve_kernel"):
            # Its own fence, that before the word to its step, and the one of a word to the host; each forgets the lines that
            # the multiprocessor holds. So does waiting for the rows ahead, for the step, and for what the host is told.
            self.assertEqual((kernel.count("membar.gl"), kernel.count("membar.sys")), (2, 1), str(kernel))
            self.assertEqual(kernel.count("ld.acquire.gpu"), 3, str(kernel))
            self.assertEqual(kernel.machine["CCTL"], 6, str(kernel))


if __name__ == "__main__":
    machine_code.main()
