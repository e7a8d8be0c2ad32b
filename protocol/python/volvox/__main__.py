"""python3 -m volvox WEIGHTS.safetensors FOLDER --kind lstm: a model folder from PyTorch's own names. See --help."""

import argparse
import sys

from volvox.model import read_safetensors
from volvox.recurrent import GATES, export_state


def main():
    parser = argparse.ArgumentParser(prog="python3 -m volvox", description="Writes a model that Volvox serves from the weights "
                                     "of a torch.nn.LSTM, GRU, RNN or one of their cells, by PyTorch's own names.")  # fmt: skip
    parser.add_argument("weights", help="a safetensors file with weight_ih_l0, weight_hh_l0, …")
    parser.add_argument("folder", help="the folder to write: REPOSITORY/NAME")
    parser.add_argument("--kind", required=True, choices=sorted(GATES), help="what the module is")
    parser.add_argument("--prefix", default="", help="what stands before the names, as in 'encoder.'")
    parser.add_argument("--embedding", metavar="NAME", help="the tensor that looks token ids up; without it inputs are vectors")
    parser.add_argument("--output", metavar="PREFIX", help="'head.': a linear layer above, of head.weight and head.bias")
    parser.add_argument("--last", action="store_true", help="answer the last step only")
    parser.add_argument("--overwrite", action="store_true", help="replace what is there")
    options = parser.parse_args()
    try:
        tensors = read_safetensors(options.weights)
        state = {name[len(options.prefix):]: data for name, data in tensors.items() if name.startswith(options.prefix)}
        embedding = output = None
        if options.embedding:
            embedding = tensors[options.embedding]
        if options.output:
            output = (tensors[options.output + "weight"], tensors.get(options.output + "bias"))
        state = {name: data for name, data in state.items() if name.startswith(("weight_", "bias_"))}
        if not state:
            found = sorted({name[: name.index("weight_ih")] for name in tensors if "weight_ih" in name})
            raise ValueError(f"{options.weights} has no {options.prefix}weight_ih_l0: say with --prefix what stands before the names; "
                             f"there {'are ' + ', '.join(map(repr, found)) if found else 'is none'}")  # fmt: skip
        export_state(options.kind, state, options.folder, embedding=embedding, output=output, every_step=not options.last,
                     overwrite=options.overwrite)  # fmt: skip
    except KeyError as missing:
        print(f"volvox: {options.weights} has no tensor {missing}", file=sys.stderr)
        return 1
    except (ValueError, OSError) as error:
        print(f"volvox: {error}", file=sys.stderr)
        return 1
    print(f"wrote {options.folder}")
    return 0


sys.exit(main())
