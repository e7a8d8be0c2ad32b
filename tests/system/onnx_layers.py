"""Recurrent layers as ONNX graphs, and what ONNX says they answer, in double precision: for what PyTorch has no module of
(peepholes, clipping, the reset in front of the product, activations of one's own, sequences cut short, layouts)."""

import dataclasses

import numpy as np
import onnx
import onnx.helper as make
import onnx.numpy_helper

FLOAT = onnx.TensorProto.FLOAT
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {
    "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Tanh": np.tanh,
    "Relu": lambda x: np.maximum(x, 0),
    "HardSigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1),
    "Softsign": lambda x: x / (1 + np.abs(x)),
    "Softplus": lambda x: np.log1p(np.exp(x)),
}
DEFAULTS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"], "RNN": ["Tanh"]}


@dataclasses.dataclass
class Layer:
    """A layer with random weights over a sequence of a fixed length. `activations`: of one direction."""

    kind: str
    steps: int = 7
    input: int = 5
    hidden: int = 6
    direction: str = "forward"
    activations: list = None
    clip: float = None
    peepholes: bool = False
    initial: bool = False
    reset_after: bool = False
    input_forget: bool = False
    bias: bool = True
    batch_first: bool = False
    length: int = None  # of the steps that count; the others answer zeros
    opset: int = 14

    def __post_init__(self):
        rng = np.random.default_rng(list(repr(self).encode()))

        def random(*shape):
            return rng.normal(scale=0.6, size=shape).astype(np.float32)

        ways, wide = len(self.ways), GATES[self.kind] * self.hidden
        self.w, self.r = random(ways, wide, self.input), random(ways, wide, self.hidden)
        self.b = random(ways, 2 * wide) if self.bias else None
        self.p = random(ways, 3 * self.hidden) if self.peepholes else None
        self.h0, self.c0 = (random(ways, 1, self.hidden) if self.initial else None for _ in range(2))
        self.x = random(self.steps, self.input)

    @property
    def ways(self):
        return ["forward", "reverse"] if self.direction == "bidirectional" else [self.direction]

    def graph(self):
        """The model as bytes: X [steps, 1, input] to Y and a last state, with what is constant inside."""
        lengths = None if self.length is None else np.array([self.length], np.int32)
        states = [one.swapaxes(0, 1) if self.batch_first and one is not None else one for one in (self.h0, self.c0)]
        inputs = [("W", self.w), ("R", self.r), ("B", self.b), ("lengths", lengths), ("h0", states[0])]
        if self.kind == "LSTM":
            inputs += [("c0", states[1]), ("P", self.p)]
        while inputs[-1][1] is None:
            inputs.pop()
        attributes = {
            "hidden_size": self.hidden,
            "direction": self.direction,
            "activations": self.activations and self.activations * len(self.ways),
            "clip": self.clip,
            "linear_before_reset": 1 if self.reset_after else None,
            "input_forget": 1 if self.input_forget else None,
            "layout": 1 if self.batch_first else None,
        }
        outputs = ["Y", "", "Y_c"] if self.kind == "LSTM" else ["Y", "Y_h"]
        node = make.make_node(
            self.kind,
            ["X", *(name if array is not None else "" for name, array in inputs)],
            outputs,
            name="layer",
            **{name: value for name, value in attributes.items() if value is not None},
        )
        x = [1, self.steps, self.input] if self.batch_first else [self.steps, 1, self.input]
        graph = make.make_graph(
            [node],
            "layer",
            [make.make_tensor_value_info("X", FLOAT, x)],
            [make.make_tensor_value_info(name, FLOAT, None) for name in outputs if name],
            [onnx.numpy_helper.from_array(array, name) for name, array in inputs if array is not None],
        )
        return make.make_model(graph, opset_imports=[make.make_opsetid("", self.opset)]).SerializeToString()

    def answers(self):
        """Y [steps, ways, hidden], and a state after the last step [ways, hidden]: c of an LSTM, otherwise h."""
        y, after = np.zeros((self.steps, len(self.ways), self.hidden)), []
        count = self.steps if self.length is None else self.length
        for at, way in enumerate(self.ways):
            state = [np.zeros(self.hidden) if one is None else one[at, 0].astype(float) for one in (self.h0, self.c0)]
            for step in range(count) if way == "forward" else reversed(range(count)):
                state = self._step(at, self.x[step].astype(float), *state)
                y[step, at] = state[0]
            after.append(state)
        if self.kind == "LSTM":
            return {"Y": y, "Y_c": np.array([state[1] for state in after])}
        return {"Y": y, "Y_h": np.array([state[0] for state in after])}

    def _step(self, at, x, h, c):
        def limited(value):
            return value if self.clip is None else np.clip(value, -self.clip, self.clip)

        names = self.activations or DEFAULTS[self.kind]
        functions = [lambda value, one=FUNCTIONS[name]: one(limited(value)) for name in names]
        w, r = np.split(self.w[at].astype(float), GATES[self.kind]), np.split(self.r[at].astype(float), GATES[self.kind])
        wb, rb = np.split(self.b[at].astype(float) if self.bias else np.zeros(2 * len(w) * self.hidden), 2)
        wb, rb = np.split(wb, len(w)), np.split(rb, len(w))
        if self.kind == "RNN":
            return [functions[0](w[0] @ x + r[0] @ h + wb[0] + rb[0]), c]
        if self.kind == "GRU":
            z, reset = (functions[0](w[i] @ x + r[i] @ h + wb[i] + rb[i]) for i in range(2))
            below = reset * (r[2] @ h + rb[2]) if self.reset_after else r[2] @ (reset * h) + rb[2]
            return [(1 - z) * functions[1](w[2] @ x + below + wb[2]) + z * h, c]
        pi, po, pf = np.split(self.p[at].astype(float), 3) if self.peepholes else [np.zeros(self.hidden)] * 3
        i = functions[0](w[0] @ x + r[0] @ h + pi * c + wb[0] + rb[0])
        f = 1 - i if self.input_forget else functions[0](w[2] @ x + r[2] @ h + pf * c + wb[2] + rb[2])
        after = f * c + i * functions[1](w[3] @ x + r[3] @ h + wb[3] + rb[3])
        o = functions[0](w[1] @ x + r[1] @ h + po * after + wb[1] + rb[1])
        # The last function is not of a gate: nothing is clipped in front of it.
        return [o * FUNCTIONS[names[2]](after), after]


def layers():
    """Layers by name, of every option."""
    made = {}
    for direction in ("forward", "reverse", "bidirectional"):
        both = {"direction": direction}
        made[f"lstm_peepholes_{direction}"] = Layer("LSTM", peepholes=True, initial=True, **both)
        made[f"lstm_clip_{direction}"] = Layer("LSTM", clip=0.4, **both)
        made[f"gru_reset_before_{direction}"] = Layer("GRU", initial=True, **both)
        made[f"gru_reset_after_{direction}"] = Layer("GRU", reset_after=True, **both)
        made[f"gru_clip_{direction}"] = Layer("GRU", clip=0.3, bias=False, **both)
        made[f"rnn_clip_{direction}"] = Layer("RNN", clip=0.5, initial=True, **both)
    made["lstm_peepholes_clip"] = Layer("LSTM", peepholes=True, clip=0.5, steps=20)
    made["lstm_cut_short"] = Layer("LSTM", direction="bidirectional", length=4, initial=True)
    made["lstm_batch_first"] = Layer("LSTM", direction="bidirectional", batch_first=True)
    made["lstm_functions"] = Layer("LSTM", activations=["HardSigmoid", "Softsign", "Relu"])
    made["lstm_opset_7"] = Layer("LSTM", opset=7, bias=False, initial=True)
    made["gru_functions"] = Layer("GRU", activations=["HardSigmoid", "Relu"])
    made["gru_cut_short"] = Layer("GRU", direction="reverse", length=3)
    made["gru_long"] = Layer("GRU", steps=120)
    made["gru_batch_first"] = Layer("GRU", batch_first=True, reset_after=True)
    made["rnn_relu"] = Layer("RNN", activations=["Relu"])
    made["rnn_softplus"] = Layer("RNN", activations=["Softplus"], direction="bidirectional")
    return made
