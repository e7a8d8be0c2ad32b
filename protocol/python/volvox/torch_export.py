"""Recurrent layers of PyTorch as models of a server. Nothing of PyTorch is imported before it is used."""

import pathlib
import subprocess
import tempfile

from volvox.model import CellWriter, write_model


class _Layer:
    """One direction of one layer: a cell that reads x, or the layers below, and its own step before."""

    def __init__(self, module, kind, number, back, embedding):
        self.kind, self.number, self.back = kind, number, back
        self.name = f"layer{number}" + ("_back" if back else "")
        self.end = f"_l{number}" + ("_reverse" if back else "")
        self.module, self.embedding = module, embedding if number == 0 else None
        self.hidden, self.width = module.hidden_size, getattr(module, "proj_size", 0) or module.hidden_size
        self.below = [] if number == 0 else [f"layer{number - 1}" + end for end in (["", "_back"] if module.bidirectional else [""])]

    def tensors(self):
        def array(name):
            return getattr(self.module, name + self.end).detach().cpu().float().numpy()

        found = {"weight_ih": array("weight_ih"), "weight_hh": array("weight_hh")}
        if self.module.bias:
            biases = {"bias_ih": array("bias_ih"), "bias_hh": array("bias_hh")}
            found.update(biases if self.kind == "GRU" else {"bias": biases["bias_ih"] + biases["bias_hh"]})
        if self.width != self.hidden:
            found["weight_hr"] = array("weight_hr")
        if self.embedding is not None:
            found["embedding"] = self.embedding.weight.detach().cpu().float().numpy()
        return {f"{self.name}.{name}": tensor for name, tensor in found.items()}

    def text(self, pushes):
        w = CellWriter()
        w.state("h", [self.width])
        x = self._input(w)
        h = w.make("gather", shape=[self.width], name="h")
        after = {"LSTM": self._lstm, "GRU": self._gru, "RNN": self._rnn}[self.kind](w, x, h)
        w.scatter(after, "h")
        if pushes:
            w.push(after, "h")
        return w.text()

    def _input(self, w):
        if self.below:
            parts = [w.make("gather", shape=[self.width], name="h", index=1 + i) for i in range(len(self.below))]
            return parts[0] if len(parts) == 1 else w.make("concat", parts, [len(parts) * self.width])
        if self.embedding is None:
            return w.make("pull", shape=[self.module.input_size], name="x")
        return w.make("embed", [w.make("pull", dtype="i32", name="x")], [self.module.input_size], weights=[f"{self.name}.embedding"])

    def _weight(self, name):
        return f"{self.name}.{name}"

    def _bias(self, name):
        return self._weight(name) if self.module.bias else None

    def _of_both(self, w, x, h, gates):
        terms = [(self._weight("weight_ih"), x), (self._weight("weight_hh"), h)]
        return w.product(terms, gates * self.hidden, self._bias("bias"))

    def _lstm(self, w, x, h):
        w.state("c", [self.hidden])
        c = w.make("gather", shape=[self.hidden], name="c")
        z = self._of_both(w, x, h, 4)
        i, f, g, o = (w.part(z, number, self.hidden) for number in range(4))
        added = w.apply("mul", w.apply("sigmoid", i), w.apply("tanh", g))
        after = w.apply("mul_add", w.apply("sigmoid", f), c, added)
        w.scatter(after, "c")
        shown = w.apply("mul", w.apply("sigmoid", o), w.apply("tanh", after))
        return shown if self.width == self.hidden else w.product([(self._weight("weight_hr"), shown)], self.width)

    def _gru(self, w, x, h):
        of_x = w.product([(self._weight("weight_ih"), x)], 3 * self.hidden, self._bias("bias_ih"))
        of_h = w.product([(self._weight("weight_hh"), h)], 3 * self.hidden, self._bias("bias_hh"))
        (rx, zx, nx), (rh, zh, nh) = ([w.part(of, number, self.hidden) for number in range(3)] for of in (of_x, of_h))
        reset, update = w.apply("sigmoid", w.apply("add", rx, rh)), w.apply("sigmoid", w.apply("add", zx, zh))
        new = w.apply("tanh", w.apply("mul_add", reset, nh, nx))
        return w.apply("mul_add", update, w.apply("sub", h, new), new)

    def _rnn(self, w, x, h):
        return w.apply(self.module.nonlinearity, self._of_both(w, x, h, 1))


def export(module, folder, *, embedding=None, every_step=True, name=None, max_batch=64, overwrite=False):
    """Writes a torch.nn.LSTM, GRU or RNN as a model: any number of layers, one or both directions, projections.

    A request is a sequence of "x": rows of module.input_size f32, or with `embedding`, a torch.nn.Embedding, of i32 ids. The
    answer is "h" of the topmost layer, and in both directions "h_back" beside it: for every step as PyTorch's output has them,
    or of the last one as its h_n. One direction runs in sessions, too. Dropout is left out, as in eval().

    TypeError for other modules (see export_step); FileExistsError when the folder is there and not to be overwritten.
    """
    kind = next((kind for kind in ("LSTM", "GRU", "RNN") if type(module).__name__ == kind), None)
    if kind is None or not hasattr(module, "all_weights"):
        raise TypeError(f"{type(module).__name__} is none of torch.nn.LSTM, GRU, RNN; export_step takes any module of one step")
    if embedding is not None and embedding.embedding_dim != module.input_size:
        raise TypeError(f"the embedding has rows of {embedding.embedding_dim}, the module reads {module.input_size}")
    folder = pathlib.Path(folder)
    backs = [False, True] if module.bidirectional else [False]
    layers = [_Layer(module, kind, number, back, embedding) for number in range(module.num_layers) for back in backs]
    lines = [f'name = "{name or folder.name}"', 'unfolding = "lanes"', "max_length = 65536"]
    for layer in layers:
        lines += ["", "[[cell]]", f'name = "{layer.name}"', 'kind = "file"', f"max_batch = {max_batch}"]
    top = module.num_layers - 1
    for layer in layers:
        lines += ["", "[[lane]]", f'cell = "{layer.name}"', 'over = "x"']
        if layer.below:
            lines.append("from = [" + ", ".join(f'"{lane}"' for lane in layer.below) + "]")
        if layer.back:
            lines.append("reverse = true")
        if layer.number == top:
            lines.append(f'push = ["{"h_back" if layer.back else "h"}"]')
    lines += ["", "[[input]]", 'name = "x"']
    if embedding is None:
        lines += ['dtype = "f32"', f"shape = [{module.input_size}]"]
    for back in backs:
        lines += ["", "[[output]]", f'name = "{"h_back" if back else "h"}"', f"every = {str(every_step).lower()}"]
    tensors = {tensor: array for layer in layers for tensor, array in layer.tensors().items()}
    cells = {layer.name: layer.text(layer.number == top) for layer in layers}
    write_model(folder, "\n".join(lines) + "\n", cells, tensors, overwrite)


def export_step(module, arguments, folder, *, inputs, outputs, volvox="volvox", options=()):
    """Writes any module of one step, by way of ONNX and the program `volvox import`: called with `arguments` (tensors with a
    batch of 1), it takes `inputs` and returns `outputs`, by name. A state is an input and an output: h and hn, or whatever
    `options` say ("--state", "h:h_after"). Returns what was found. RuntimeError with the program's words when it refuses.
    """
    import torch

    folder = pathlib.Path(folder)
    with tempfile.TemporaryDirectory() as scratch:
        file = pathlib.Path(scratch) / "step.onnx"
        torch.onnx.export(module.eval(), arguments, str(file), input_names=inputs, output_names=outputs, opset_version=13)
        command = [volvox, "import", str(file), "--as", folder.name, "--into", str(folder.parent), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    return done.stdout
