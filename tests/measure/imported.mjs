// How many requests a second ONNX Runtime answers with a model of ids, for tests/measure/imported.py:
//   NODE_PATH=… node imported.mjs MODEL.onnx LENGTHS SECONDS     with npm's onnxruntime-node where NODE_PATH says
// One after the other, and in padded batches of 32 that were sorted by length within 256; prints both as JSON.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";

const runtime = createRequire(import.meta.url)("onnxruntime-node");
const [model, file, seconds] = process.argv.slice(2);
const lengths = readFileSync(file, "utf8").trim().split("\n").map(Number);
const session = await runtime.InferenceSession.create(model, { intraOpNumThreads: 2, logSeverityLevel: 4 });

async function run(rows, steps) {
  const ids = new BigInt64Array(rows * steps);
  for (let i = 0; i < ids.length; i++) ids[i] = BigInt((i * 7919) % 20000);
  await session.run({ x: new runtime.Tensor("int64", ids, [rows, steps]) });
}

// Batches, each as [rows, steps]; the rate at which their rows are answered.
async function rate(batches) {
  for (let i = 0; i < 5; i++) await run(...batches[i % batches.length]);
  const begun = performance.now();
  let rows = 0;
  for (let i = 0; performance.now() - begun < 1000 * Number(seconds); i++) {
    const batch = batches[i % batches.length];
    await run(...batch);
    rows += batch[0];
  }
  return (1000 * rows) / (performance.now() - begun);
}

const padded = [];
for (let from = 0; from < lengths.length; from += 256) {
  const sorted = lengths.slice(from, from + 256).sort((a, b) => a - b);
  for (let i = 0; i < sorted.length; i += 32) {
    const batch = sorted.slice(i, i + 32);
    padded.push([batch.length, batch[batch.length - 1]]);
  }
}
console.log(JSON.stringify({ alone: await rate(lengths.map((length) => [1, length])), padded: await rate(padded) }));
