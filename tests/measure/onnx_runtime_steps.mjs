// A model with its state outside (`state` in, `stateN` out), step by step in ONNX Runtime, from states of zeros:
//   NODE_PATH=… node onnx_runtime_steps.mjs MODEL.onnx INPUT=1,576 OUTPUT ROWS.f32 OUT.f32 [--state in:out=2,1,128]… [--int64 sr=16000]…
// with npm's onnxruntime-node where NODE_PATH says. ROWS.f32 has a row of INPUT for each step, OUT.f32 gets one of OUTPUT; both are
// raw little-endian floats.
import { createRequire } from "node:module";
import { readFileSync, writeFileSync } from "node:fs";

const runtime = createRequire(import.meta.url)("onnxruntime-node");
const [model, inputSpec, output, rowsPath, outPath, ...options] = process.argv.slice(2);
if (!outPath) {
  console.error("usage: onnx_runtime_steps.mjs MODEL.onnx INPUT=DIMS OUTPUT ROWS.f32 OUT.f32 [--state in:out=DIMS]… [--int64 NAME=VALUE]…");
  process.exit(2);
}
const split = (text) => {
  const [name, value] = text.split("=");
  return [name, value.split(",").map(Number)];
};
const count = (dims) => dims.reduce((all, dim) => all * dim, 1);

const session = await runtime.InferenceSession.create(model, { intraOpNumThreads: 1, interOpNumThreads: 1, logSeverityLevel: 3 });
const [input, dims] = split(inputSpec);
const feeds = {};
const states = [];
for (let i = 0; i < options.length; i += 2) {
  const [name, numbers] = split(options[i + 1]);
  if (options[i] === "--state") {
    const [from, to] = name.split(":");
    states.push([from, to]);
    feeds[from] = new runtime.Tensor("float32", new Float32Array(count(numbers)), numbers);
  } else {
    feeds[name] = new runtime.Tensor("int64", BigInt64Array.from([BigInt(numbers[0])]), []);
  }
}
const bytes = readFileSync(rowsPath);
const rows = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
const width = count(dims);
const answers = [];
for (let at = 0; at + width <= rows.length; at += width) {
  feeds[input] = new runtime.Tensor("float32", rows.slice(at, at + width), dims);
  const step = await session.run(feeds);
  for (const [from, to] of states) feeds[from] = step[to];
  answers.push(Buffer.from(new Uint8Array(step[output].data.buffer, step[output].data.byteOffset, step[output].data.byteLength)));
}
writeFileSync(outPath, Buffer.concat(answers));
