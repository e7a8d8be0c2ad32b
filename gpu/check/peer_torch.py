#!/usr/bin/env python3
"""What PyTorch's LSTM (cuDNN) reaches on this GPU with the same lengths, sizes and precision as Volvox's.

Saturated: the best of padded batches of similar length (buckets of a width, several batch sizes) and of packed sequences sorted by
length, formed in the order of arrival from a window of requests; tokens come from pinned memory and last states go there, the copies of one batch
beside the next. At half of that rate: Poisson arrivals are replayed with the batch times that were measured, each batch what waits in the bucket of
the oldest request, for the limits that serve PyTorch best. And the yardstick: cuDNN over whole sequences of one length, where nothing has to be batched,
looked up or brought back: microseconds of a step by batch, and of its product alone. Prints a JSON object for each part.
"""

import argparse
import collections
import json
import pathlib
import random
import sys
import time


def read_lengths(path):
    """Lengths, one a line; of two columns the first counts."""
    with open(path, encoding="utf-8") as lines:
        return [int(line.split()[0]) for line in lines if line.strip() and not line.startswith("#")]


def torch_for(device):
    """PyTorch, if it is there and has what the device needs; else None, and why is told."""
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: there is no peer to compare with", file=sys.stderr)
        return None
    if device == "cuda" and not torch.cuda.is_available():
        print("PyTorch sees no GPU", file=sys.stderr)
        return None
    return torch


class Account:
    """What has been measured so far, printed and written part by part: whatever stops this later takes nothing of it along."""

    def __init__(self, path, **about):
        self.path, self.found = path, about

    def keep(self, **more):
        self.found.update(more)
        print(json.dumps(more), flush=True)
        if self.path:
            pathlib.Path(self.path).write_text(json.dumps(self.found) + "\n", encoding="utf-8")


class Batch:
    """Tokens and lengths of some requests in pinned memory, longest first, and room for their answers."""

    def __init__(self, peer, lengths, answers=None):
        torch, pin = peer.torch, peer.device == "cuda"
        self.requests = len(lengths)
        self.lengths = sorted(lengths, reverse=True)
        self.tokens = torch.randint(0, peer.vocabulary, (len(lengths), self.lengths[0]))
        self.last = torch.tensor(self.lengths) - 1
        self.answers = torch.empty(len(lengths), peer.hidden) if answers is None else answers
        if pin:
            self.tokens, self.last, self.answers = (tensor.pin_memory() for tensor in (self.tokens, self.last, self.answers))


class OnDevice:
    """Whatever runs on a device of PyTorch's: "cuda", or "cpu" to try it out."""

    def __init__(self, torch, device):
        self.torch, self.device = torch, device

    def synchronise(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()


class Peer(OnDevice):
    """One LSTM on the GPU, and the ways to feed it."""

    def __init__(self, torch, hidden, precision, device="cuda"):
        super().__init__(torch, device)
        self.dtype = {"float32": torch.float32, "tf32": torch.float32, "bfloat16": torch.bfloat16,
                      "float16": torch.float16}[precision]
        torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
        torch.backends.cudnn.allow_tf32 = precision == "tf32"
        self.vocabulary, self.hidden = 32000, hidden
        self.embedding = torch.nn.Embedding(self.vocabulary, hidden).to(device, self.dtype)
        # Not in inference mode: its tensors cannot be put side by side, and cuDNN would copy all weights at each call.
        self.lstm = torch.nn.LSTM(hidden, hidden, batch_first=True).to(device, self.dtype)
        self.lstm.flatten_parameters()

    def padded(self, batch):
        """Gives one padded batch to the GPU, and the copy that brings the last states to the host, as answers must be."""
        tokens, last = (tensor.to(self.device, non_blocking=True) for tensor in (batch.tokens, batch.last))
        outputs, _ = self.lstm(self.embedding(tokens))
        batch.answers.copy_(outputs[self.torch.arange(len(batch.lengths), device=self.device), last].float(), non_blocking=True)

    def packed(self, batch):
        """The same with the sequences packed, longest first."""
        tokens = batch.tokens.to(self.device, non_blocking=True)
        packed = self.torch.nn.utils.rnn.pack_padded_sequence(self.embedding(tokens), batch.lengths, batch_first=True)
        _, (h, _) = self.lstm(packed)
        batch.answers.copy_(h[0].float(), non_blocking=True)

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


def rate_of(peer, run, batches, seconds):
    """Requests a second of the batches in random order, two of them given to the GPU ahead."""
    for batch in batches[:3]:
        run(batch)
    peer.synchronise()
    done, begin, ahead = 0, time.perf_counter(), collections.deque()
    while True:
        for batch in batches:
            run(batch)
            done += batch.requests
            if peer.device == "cuda":
                ahead.append(peer.torch.cuda.Event())
                ahead[-1].record()
                if len(ahead) > 2:
                    ahead.popleft().synchronize()
            if time.perf_counter() - begin >= seconds:
                peer.synchronise()
                return done / (time.perf_counter() - begin)


def saturated(peer, lengths, width, sizes, seconds):
    """All ways to feed it: (requests a second, how)."""
    results = []
    for size in sizes:
        for way, groups in (
            ("padded", batches_of(lengths, size, width)),
            ("packed", [lengths[i:i + size] for i in range(0, len(lengths) - size + 1, size)] or [lengths]),
        ):  # fmt: skip
            batches = [Batch(peer, group) for group in groups]
            random.shuffle(batches)
            results.append((rate_of(peer, getattr(peer, way), batches, seconds), {"way": way, "batch": size, "width": width}))
    return results


def batch_seconds(peer, sizes, lengths=(8, 64), repeats=9):
    """Seconds from a batch's tokens at the host to its answers there, padded: by size, (what it takes anyway, what a step takes)."""
    found = {}
    for size in sizes:
        medians = []
        for length in lengths:
            batch, times = Batch(peer, [length] * size), []
            for _ in range(repeats + 2):
                peer.synchronise()
                begin = time.perf_counter()
                peer.padded(batch)
                peer.synchronise()
                times.append(time.perf_counter() - begin)
            medians.append(sorted(times[2:])[repeats // 2])
        step = max(0.0, (medians[1] - medians[0]) / (lengths[1] - lengths[0]))
        found[size] = (max(0.0, medians[0] - step * lengths[0]), step)
    return found


def seconds_of(times, size, longest):
    """Of a batch whose size was not measured: those of the next larger one."""
    base, step = times[min(known for known in times if known >= size)]
    return base + step * longest


def replay(times, arrivals, most, width):
    """Latencies in seconds of arrivals (when, length) with batches of at most `most` of one bucket, the oldest request's first."""
    waiting, latencies = {}, []
    now, at = 0.0, 0
    while at < len(arrivals) or any(waiting.values()):
        if not any(waiting.values()):
            now = max(now, arrivals[at][0])
        while at < len(arrivals) and arrivals[at][0] <= now:
            waiting.setdefault((arrivals[at][1] - 1) // width, collections.deque()).append(arrivals[at])
            at += 1
        bucket = min((queue for queue in waiting.values() if queue), key=lambda queue: queue[0][0])
        batch = [bucket.popleft() for _ in range(min(most, len(bucket)))]
        now += seconds_of(times, len(batch), max(length for _, length in batch))
        latencies += [now - when for when, _ in batch]
    return sorted(latencies)


def poisson(lengths, rate, count):
    """(when, length) of each arrival."""
    chance, arrivals, now = random.Random(7), [], 0.0
    for _ in range(count):
        now += chance.expovariate(rate)
        arrivals.append((now, chance.choice(lengths)))
    return arrivals


def half_load(peer, lengths, rate, sizes, width, count=150000):
    """At half of the rate, with the limits of a batch under which its 90th percentile is least."""
    times = batch_seconds(peer, sorted({1, 8, 32, *sizes}))
    arrivals = poisson(lengths, rate / 2, count)
    tried = []
    for most in sizes:
        for wide in (width, 4 * width):
            latencies = replay(times, arrivals, most, wide)
            tried.append((latencies[int(len(latencies) * 0.9)], latencies[len(latencies) // 2], most, wide))
    p90, p50, most, wide = min(tried)
    return {"rate_rps": rate / 2, "p50_ms": 1e3 * p50, "p90_ms": 1e3 * p90, "batch": most, "width": wide,
            "batch_ms": {size: [1e3 * base, 1e3 * step] for size, (base, step) in times.items()}}  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", required=True, help="file of lengths")
    parser.add_argument("--hidden", type=int, default=1024)
    parser.add_argument("--precision", default="bfloat16", choices=("float32", "tf32", "bfloat16", "float16"))
    parser.add_argument("--width", type=int, default=10, help="of padded's buckets")
    parser.add_argument("--batches", type=int, nargs="+", default=[64, 256, 512, 1024, 2048])
    parser.add_argument("--seconds", type=float, default=1.5, help="of each measurement")
    parser.add_argument("--json", help="also write what has been measured to this file, part by part")
    options = parser.parse_args()
    torch = torch_for("cuda")
    if torch is None:
        return 3
    random.seed(1)
    lengths = read_lengths(options.lengths)
    random.shuffle(lengths)
    lengths = lengths[:8192]
    account = Account(options.json, torch=torch.__version__)
    peer = Peer(torch, options.hidden, options.precision)
    with torch.inference_mode():
        account.keep(products=[{"batch": batch, "width": width, "us": peer.product_us(batch, width)}
                               for batch in options.batches for width in (options.hidden, 2 * options.hidden)])
        account.keep(cudnn_steps=[{"batch": batch, "step_us": peer.step_us(batch)} for batch in options.batches])
        results = saturated(peer, lengths, options.width, options.batches, options.seconds)
        rate, how = max(results, key=lambda result: result[0])
        account.keep(best=how, saturated_rps=rate, all=[{"rps": value, **way} for value, way in results])
        account.keep(half_load=half_load(peer, lengths, rate, options.batches, options.width))
    return 0


if __name__ == "__main__":
    sys.exit(main())
