"""Any module of PyTorch as a model of a server, by way of ONNX. PyTorch is imported when it is used."""

import inspect
import pathlib
import subprocess
import tempfile


def export_step(module, arguments, folder, *, inputs, outputs, volvox="volvox", options=()):
    """Writes any module of one step, by way of ONNX and the program `volvox import`: called with `arguments` (tensors with a
    batch of 1), it takes `inputs` and returns `outputs`, by name. A state is an input and an output: h and hn, or whatever
    `options` say ("--state", "h:h_after"). Returns what was found. RuntimeError with the program's words when it refuses.
    """
    return _by_onnx(module, arguments, folder, inputs, outputs, volvox, options, opset_version=13)


def export_sequence(module, arguments, folder, *, inputs, outputs, steps=1, volvox="volvox", options=()):
    """As `export_step`, a module over whole sequences of any length: recurrent layers, convolutions along the steps, attention.
    `steps` is the axis of the sequence in each of `arguments`, of which any length does; or such an axis for each by name. The
    batch of 1 is the first axis, or where that is the sequence the second, if there is one.
    """
    axes = {}
    for name, tensor in zip(inputs, arguments):
        along = steps[name] if isinstance(steps, dict) else steps
        along = min(along, tensor.dim() - 1)
        axes[name] = {along: "steps"}
        if tensor.dim() > 1:
            axes[name][0 if along else 1] = "batch"
    return _by_onnx(module, arguments, folder, inputs, outputs, volvox, options, opset_version=17, dynamic_axes=axes)


def _by_onnx(module, arguments, folder, inputs, outputs, volvox, options, **how):
    import torch

    # The newer way, which some versions take by themselves, writes weights to another file.
    if "dynamo" in inspect.signature(torch.onnx.export).parameters:
        how["dynamo"] = False
    folder = pathlib.Path(folder)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "module.onnx"
        training = [(part, part.training) for part in module.modules()]
        try:
            torch.onnx.export(module.eval(), tuple(arguments), str(file), input_names=list(inputs), output_names=list(outputs), **how)
        finally:
            for part, was in training:
                part.training = was
        command = [volvox, "import", str(file), "--as", folder.name, "--into", str(folder.parent), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout
