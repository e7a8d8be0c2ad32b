// Compares what was served with ONNX Runtime, on layers that tests/system/onnx_conformance_test.py --keep FOLDER has left:
//   NODE_PATH=… node tests/measure/onnx_runtime.mjs FOLDER     with npm's onnxruntime-node where NODE_PATH says
// Prints a line for each model, the largest difference last; the status is 1 when one is above 1e-5.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const runtime = createRequire(import.meta.url)("onnxruntime-node");
const folder = process.argv[2];
const models = folder ? readdirSync(folder).filter((name) => name.endsWith(".onnx")) : [];
if (models.length === 0) {
  console.error("usage: onnx_runtime.mjs FOLDER, with models NAME.onnx and what was served in NAME.json");
  process.exit(2);
}
let largest = 0;
let refused = 0;
for (const model of models) {
  const { x, dims, served } = JSON.parse(readFileSync(join(folder, model.replace(/onnx$/, "json"))));
  let outputs;
  try {
    const session = await runtime.InferenceSession.create(join(folder, model), { logSeverityLevel: 4 });
    outputs = await session.run({ X: new runtime.Tensor("float32", Float32Array.from(x.flat()), dims) });
  } catch (error) {
    console.log(`${model}: ONNX Runtime refuses it: ${error.message.split("\n")[0]}`);
    ++refused;
    continue;
  }
  let worst = 0;
  let fits = true;
  for (const [name, numbers] of Object.entries(served)) {
    fits = fits && outputs[name]?.data.length === numbers.length;
    outputs[name]?.data.forEach((value, i) => (worst = Math.max(worst, Math.abs(value - numbers[i]))));
  }
  console.log(`${model}: ${worst.toExponential(1)}`);
  if (!fits || Number.isNaN(worst)) worst = Infinity;
  largest = Math.max(largest, worst);
}
console.log(`${models.length} models, ${refused} refused by ONNX Runtime, largest difference ${largest.toExponential(1)}`);
process.exit(largest <= 1e-5 && refused < models.length ? 0 : 1);
