"""Any module of PyTorch that does one step, as a model of a server, by way of ONNX. PyTorch is imported when it is used."""

import inspect
import pathlib
import subprocess
import tempfile


def export_step(module, arguments, folder, *, inputs, outputs, volvox="volvox", options=()):
    """Writes any module of one step, by way of ONNX and the program `volvox import`: called with `arguments` (tensors with a
    batch of 1), it takes `inputs` and returns `outputs`, by name. A state is an input and an output: h and hn, or whatever
    `options` say ("--state", "h:h_after"). Returns what was found. RuntimeError with the program's words when it refuses.
    """
    import torch

    # The newer way, which some versions take by themselves, writes weights to another file.
    older = {"dynamo": False} if "dynamo" in inspect.signature(torch.onnx.export).parameters else {}
    folder = pathlib.Path(folder)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "step.onnx"
        training = [(part, part.training) for part in module.modules()]
        try:
            torch.onnx.export(module.eval(), arguments, str(file), input_names=inputs, output_names=outputs, opset_version=13, **older)
        finally:
            for part, was in training:
                part.training = was
        command = [volvox, "import", str(file), "--as", folder.name, "--into", str(folder.parent), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout
