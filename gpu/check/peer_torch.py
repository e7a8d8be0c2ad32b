#!/usr/bin/env python3
"""What PyTorch's LSTM (cuDNN) reaches on this GPU with the same lengths, sizes and precision as Volvox's.

Saturated: the best of padded batches of similar length (buckets of a width, several batch sizes) and of packed
sequences sorted by length. At half of that rate: open loop, Poisson arrivals, batches of what waits in the bucket of
the oldest request. And the yardstick: cuDNN over whole sequences of one length, where nothing has to be batched, looked up or
brought back: microseconds of a step by batch, and of its product alone. Prints a JSON object for each part.
"""

import argparse
import json
import pathlib
import random
import sys
import time


def read_lengths(path):
    """Lengths, one a line; of two columns the first counts."""
    with open(path, encoding="utf-8") as lines:
        return [int(line.split()[0]) for line in lines if line.strip() and not line.startswith("#")]


class Peer:
    """One LSTM on the GPU, and the ways to feed it."""

    def __init__(self, torch, hidden, precision):
        self.torch = torch
        self.dtype = {"float32": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16,
                      "float16": torch.float16}[precision]
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        self.vocabulary = 32000
        self.embedding = torch.nn.Embedding(self.vocabulary, hidden).to("cuda", self.dtype)
        self.lstm = torch.nn.LSTM(hidden, hidden, batch_first=True).to("cuda", self.dtype)
        self.lstm.flatten_parameters()

    def padded(self, lengths):
        """Runs one padded batch and brings the last state to the host, as an answer must be."""
        tokens = self.torch.randint(0, self.vocabulary, (len(lengths), max(lengths)), device="cuda")
        outputs, _ = self.lstm(self.embedding(tokens))
        last = self.torch.tensor(lengths, device="cuda") - 1
        return outputs[self.torch.arange(len(lengths), device="cuda"), last].float().cpu()

    def packed(self, lengths):
        """The same with the sequences packed, longest first."""
        ordered = sorted(lengths, reverse=True)
        tokens = self.torch.randint(0, self.vocabulary, (len(ordered), ordered[0]), device="cuda")
        packed = self.torch.nn.utils.rnn.pack_padded_sequence(self.embedding(tokens), ordered, batch_first=True)
        _, (h, _) = self.lstm(packed)
        return h[0].float().cpu()

    def product_us(self, batch, width, products=50, repeats=50):
        """Microseconds of one product of a step alone: the median of passes over a graph of them, on random numbers."""
        x = self.torch.randn(batch, width, device="cuda", dtype=self.dtype)
        w = self.torch.randn(width, 4 * self.lstm.hidden_size, device="cuda", dtype=self.dtype)
        out = self.torch.matmul(x, w)
        self.torch.cuda.synchronize()
        graph = self.torch.cuda.CUDAGraph()
        with self.torch.cuda.graph(graph):
            for _ in range(products):
                self.torch.matmul(x, w, out=out)
        times = []
        for _ in range(repeats + 5):
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times.append(1e3 * begin.elapsed_time(end) / products)
        return sorted(times[5:])[repeats // 2]

    def step_us(self, batch, steps=64, repeats=30):
        """Microseconds of one step of `batch` whole sequences: the median over passes of `steps` steps."""
        x = self.torch.randn(batch, steps, self.lstm.input_size, device="cuda", dtype=self.dtype)
        times = []
        for _ in range(repeats + 5):
            begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            self.lstm(x)
            end.record()
            end.synchronize()
            times.append(1e3 * begin.elapsed_time(end) / steps)
        return sorted(times[5:])[repeats // 2]


def buckets_of(lengths, width):
    """Lengths by bucket: (i·width, (i+1)·width]."""
    found = {}
    for length in lengths:
        found.setdefault((length - 1) // width, []).append(length)
    return found


def batches_of(lengths, batch, width):
    """Full batches of similar lengths, as they come; what is left over runs as well."""
    return [bucket[i:i + batch] for bucket in buckets_of(lengths, width).values() for i in range(0, len(bucket), batch)]


def rate_of(run, batches, seconds):
    """Requests a second of the batches in random order."""
    for batch in batches[:3]:
        run(batch)
    done, begin = 0, time.perf_counter()
    while True:
        for batch in batches:
            run(batch)
            done += len(batch)
            if time.perf_counter() - begin >= seconds:
                return done / (time.perf_counter() - begin)


def saturated(peer, lengths, width, sizes, seconds):
    """The best way to feed it: (requests a second, how)."""
    results = []
    for size in sizes:
        batches = batches_of(lengths, size, width)
        random.shuffle(batches)
        results.append((rate_of(peer.padded, batches, seconds), {"way": "padded", "batch": size, "width": width}))
        batches = [lengths[i:i + size] for i in range(0, len(lengths) - size + 1, size)] or [lengths]
        results.append((rate_of(peer.packed, batches, seconds), {"way": "packed", "batch": size}))
    return results


def open_loop(peer, lengths, how, rate, seconds):
    """Latencies in seconds under Poisson arrivals at `rate`."""
    chance = random.Random(7)
    arrivals, at = [], 0.0
    while at < seconds:
        at += chance.expovariate(rate)
        arrivals.append((at, chance.choice(lengths)))
    run = peer.padded if how["way"] == "padded" else peer.packed
    width = how.get("width", 1 << 30)
    waiting, latencies, begin = [], [], time.perf_counter()
    while arrivals or waiting:
        now = time.perf_counter() - begin
        while arrivals and arrivals[0][0] <= now:
            waiting.append(arrivals.pop(0))
        if not waiting:
            time.sleep(max(0.0, min(arrivals[0][0] - now, 1e-4)))
            continue
        bucket = (waiting[0][1] - 1) // width
        batch = [r for r in waiting if (r[1] - 1) // width == bucket][:how["batch"]]
        chosen = set(map(id, batch))
        waiting = [r for r in waiting if id(r) not in chosen]
        run([length for _, length in batch])
        end = time.perf_counter() - begin
        latencies += [end - arrived for arrived, _ in batch]
    return sorted(latencies)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", required=True, help="file of lengths")
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--precision", default="bfloat16", choices=("float32", "tf32", "bfloat16", "float16"))
    parser.add_argument("--width", type=int, default=10, help="of padded's buckets")
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 128, 256, 512])
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--json", help="also write what has been measured to this file, part by part")
    options = parser.parse_args()
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: there is no peer to compare with", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU", file=sys.stderr)
        return 3
    random.seed(1)
    lengths = read_lengths(options.lengths)
    random.shuffle(lengths)
    lengths = lengths[:8192]
    found = {"torch": torch.__version__}

    def keep(**more):
        """Each part as soon as it is measured: whatever stops this later takes nothing of it along."""
        found.update(more)
        print(json.dumps(more), flush=True)
        if options.json:
            pathlib.Path(options.json).write_text(json.dumps(found) + "\n", encoding="utf-8")

    with torch.inference_mode():
        peer = Peer(torch, options.hidden, options.precision)
        keep(products=[{"batch": batch, "width": width, "us": peer.product_us(batch, width)}
                       for batch in options.batches for width in (options.hidden, 2 * options.hidden)])
        keep(cudnn_steps=[{"batch": batch, "step_us": peer.step_us(batch)} for batch in options.batches])
        results = saturated(peer, lengths, options.width, options.batches, options.seconds)
        rate, how = max(results, key=lambda result: result[0])
        keep(best=how, saturated_rps=rate, all=[{"rps": value, **way} for value, way in results])
        latencies = open_loop(peer, lengths, how, rate / 2, 3 * options.seconds)
        keep(half_load={"rate_rps": rate / 2, "p50_ms": 1e3 * latencies[len(latencies) // 2],
                        "p90_ms": 1e3 * latencies[int(len(latencies) * 0.9)]})
    return 0


if __name__ == "__main__":
    sys.exit(main())
