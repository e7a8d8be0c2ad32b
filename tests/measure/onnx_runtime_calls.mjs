// What `volvox load --calls` asks of a server, asked of ONNX Runtime: live calls, each with a frame of 512 new samples (and 64
// before them) every 32 ms at a phase of its own, through Silero VAD (v5 or v6), frame by frame, on as many threads as asked.
//   NODE_PATH=… node tests/measure/onnx_runtime_calls.mjs MODEL.onnx CALL.wav CALLS [SECONDS] [--own] [--threads N]
// with npm's onnxruntime-node where NODE_PATH says. One session of the runtime for each thread, or with --own one for each call.
// Prints a line of JSON: how long after a frame was due its probability was there, the late fraction, memory, CPU.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";
import { fileURLToPath } from "node:url";

const FRAME = 512, CONTEXT = 64, PERIOD_MS = 32;

function samplesOf(path) {
  const bytes = readFileSync(path);
  let at = 12;
  while (bytes.toString("ascii", at, at + 4) !== "data") at += 8 + bytes.readUInt32LE(at + 4);
  const count = Math.min(bytes.readUInt32LE(at + 4), bytes.length - at - 8) / 2;
  return Float32Array.from({ length: count }, (_, i) => bytes.readInt16LE(at + 8 + 2 * i) / 32768);
}

async function serve({ model, wav, calls, seconds, own }) {
  const runtime = createRequire(import.meta.url)("onnxruntime-node");
  const sound = samplesOf(wav);
  const options = { intraOpNumThreads: 1, interOpNumThreads: 1 };
  const shared = own ? null : await runtime.InferenceSession.create(model, options);
  const rate = new runtime.Tensor("int64", BigInt64Array.from([16000n]), []);
  const live = [];
  for (let i = 0; i < calls; ++i) {
    const session = own ? await runtime.InferenceSession.create(model, options) : shared;
    const state = new runtime.Tensor("float32", new Float32Array(256), [2, 1, 128]);
    live.push({ session, state, at: Math.floor(Math.random() * (sound.length - FRAME)), phase: Math.random() * PERIOD_MS });
  }
  live.sort((a, b) => a.phase - b.phase);
  const latencies = [];
  const warm = 1000, start = performance.now();
  let warmed = false;
  for (let round = 0; ; ++round) {
    for (const call of live) {
      const due = start + round * PERIOD_MS + call.phase;
      if (due > start + warm + seconds * 1000) return { latencies, due: latencies.length };
      // A timer takes a millisecond at least, and frames are due more often.
      while (performance.now() < due) {
        const rest = due - performance.now() - 2;
        await new Promise((resolve) => (rest > 0 ? setTimeout(resolve, rest) : setImmediate(resolve)));
      }
      if (!warmed && due > start + warm) {
        warmed = true;
        parentPort.postMessage({ warmed });
      }
      const input = new Float32Array(CONTEXT + FRAME);
      for (let k = 0; k < input.length; ++k) input[k] = sound[(call.at + k) % sound.length];
      call.at = (call.at + FRAME) % sound.length;
      const feeds = { input: new runtime.Tensor("float32", input, [1, input.length]), state: call.state, sr: rate };
      const { stateN } = await call.session.run(feeds);
      call.state = stateN;
      if (due > start + warm) latencies.push(performance.now() - due);
    }
    // What cannot be done in three times the time is not done at all.
    if (performance.now() > start + warm + 3 * seconds * 1000) return { latencies };
  }
}

if (isMainThread) {
  const words = process.argv.slice(2);
  const own = words.includes("--own");
  const threads = words.includes("--threads") ? Number(words[words.indexOf("--threads") + 1]) : 2;
  const [model, wav, calls, seconds = 10] = words.filter((word, i) => !word.startsWith("--") && words[i - 1] !== "--threads");
  if (!calls) {
    console.error("usage: onnx_runtime_calls.mjs MODEL.onnx CALL.wav CALLS [SECONDS] [--own] [--threads N]");
    process.exit(2);
  }
  let before;  // when the first of them is warm
  const share = Math.ceil(Number(calls) / threads);
  const done = await Promise.all(Array.from({ length: threads }, () => new Promise((resolve, reject) => {
    const data = { model, wav, calls: share, seconds: Number(seconds), own };
    const hear = (said) => (said.warmed ? (before ??= process.cpuUsage()) : resolve(said));
    new Worker(fileURLToPath(import.meta.url), { workerData: data }).on("message", hear).on("error", reject);
  })));
  const cpu = process.cpuUsage(before);
  const all = done.flatMap((one) => one.latencies).sort((a, b) => a - b);
  const at = (q) => Number(all[Math.min(all.length - 1, Math.floor(q * all.length))]?.toFixed(2));
  const late = all.filter((ms) => ms > PERIOD_MS).length / all.length;
  const rss_mib = Math.round(process.resourceUsage().maxRSS / 1024);
  const report = { calls: share * threads, own, frames: all.length, p50_ms: at(0.5), p99_ms: at(0.99), late_fraction: Number(late.toFixed(4)) };
  console.log(JSON.stringify({ ...report, rss_mib, cpu_seconds: (cpu.user + cpu.system) / 1e6 }));
  process.exit(0);
} else {
  parentPort.postMessage(await serve(workerData));
}
