#!/usr/bin/env python3
"""How English words are spoken: the letters-to-phonemes model of g2p_en, served.

    g2p.py WORD …        prints a line of phonemes for each word

A GRU reads the letters, and from its last state another one says phonemes until it says that the word has ended. The first is
the library's `gru`; the second is a cell of its own, written here as data (docs/models.md, "A cell of your own"). The weights
are g2p_en/checkpoint20.npz of github.com/Kyubyong/g2p (Apache-2.0).
"""

import argparse
import concurrent.futures
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import numpy as np  # noqa: E402
import serving  # noqa: E402
from volvox import CellWriter, write_model  # noqa: E402

LETTERS = ["<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
VOWELS = "AA AE AH AO AW AY EH ER EY IH IY OW OY UH UW".split()
CONSONANTS = "B CH D DH F G HH JH K L M N NG P R S SH T TH V W Y Z ZH UW".split()
PHONEMES = ["<pad>", "<unk>", "<s>", "</s>", *sorted(CONSONANTS + [v + stress for v in VOWELS for stress in "012"])]
BEGIN, END, MOST = PHONEMES.index("<s>"), PHONEMES.index("</s>"), 20

MODEL = f"""\
name = "g2p"
unfolding = "lanes"

[[cell]]
name = "letters"
kind = "gru"
hidden = 256

[[cell]]
name = "phonemes"
kind = "file"

[[lane]]
cell = "letters"
over = "word"

[[lane]]
cell = "phonemes"
initial = "letters"
over = "spoken"
push = ["phonemes"]

[[sequence]]
name = "spoken"
max_length = {MOST}
until = "phonemes"
equals = {END}

[[input]]
name = "word"

[[output]]
name = "phonemes"
dtype = "i32"
every = true
"""


def speaking_cell(hidden):
    """PyTorch's GRU, over what it has said last, and the likeliest phoneme after it."""
    w = CellWriter()
    w.state("h", [hidden])
    w.state("said", [], "i32", BEGIN)
    h, said = w.make("gather", shape=[hidden], name="h"), w.make("gather", dtype="i32", name="said")
    x = w.make("embed", [said], [hidden], weights=["phonemes.embedding"])
    of_x = w.product([("phonemes.weight_ih", x)], 3 * hidden, "phonemes.bias_ih")
    of_h = w.product([("phonemes.weight_hh", h)], 3 * hidden, "phonemes.bias_hh")
    (rx, zx, nx), (rh, zh, nh) = ([w.part(of, gate, hidden) for gate in range(3)] for of in (of_x, of_h))
    reset, update = w.apply("sigmoid", w.apply("add", rx, rh)), w.apply("sigmoid", w.apply("add", zx, zh))
    new = w.apply("tanh", w.apply("mul_add", reset, nh, nx))
    after = w.apply("mul_add", update, w.apply("sub", h, new), new)
    scores = w.product([("phonemes.output", after)], len(PHONEMES), "phonemes.output_bias")
    phoneme = w.make("argmax", [scores], dtype="i32")
    w.scatter(after, "h")
    w.scatter(phoneme, "said")
    w.push(phoneme, "phonemes")
    return w.text()


def write_g2p(folder, weights):
    tensors = {"phonemes.output": weights["fc_w"], "phonemes.output_bias": weights["fc_b"]}
    for ours, theirs in (("letters", "enc"), ("phonemes", "dec")):
        tensors[f"{ours}.embedding"] = weights[f"{theirs}_emb"]
        for end in ("ih", "hh"):
            tensors[f"{ours}.weight_{end}"] = weights[f"{theirs}_w_{end}"]
            tensors[f"{ours}.bias_{end}"] = weights[f"{theirs}_b_{end}"]
    write_model(folder, MODEL, {"phonemes": speaking_cell(weights["fc_w"].shape[1])}, tensors)


def letters_of(word):
    return [LETTERS.index(c) if c in LETTERS else LETTERS.index("<unk>") for c in word.lower()] + [LETTERS.index("</s>")]


def spoken_in_numpy(word, weights):
    """The same without a server, in doubles, to compare with."""
    w = {name: array.astype(np.float64) for name, array in weights.items()}

    def step(x, h, side):
        of_x, of_h = (v @ w[f"{side}_w_{end}"].T + w[f"{side}_b_{end}"] for v, end in ((x, "ih"), (h, "hh")))
        (rx, zx, nx), (rh, zh, nh) = np.split(of_x, 3), np.split(of_h, 3)
        reset, update = 1 / (1 + np.exp(-(rx + rh))), 1 / (1 + np.exp(-(zx + zh)))
        return (1 - update) * np.tanh(nx + reset * nh) + update * h

    h = np.zeros(w["enc_emb"].shape[1])
    for letter in letters_of(word):
        h = step(w["enc_emb"][letter], h, "enc")
    said = [BEGIN]
    while len(said) <= MOST and said[-1] != END:
        h = step(w["dec_emb"][said[-1]], h, "dec")
        said.append(int(np.argmax(h @ w["fc_w"].T + w["fc_b"])))
    return " ".join(PHONEMES[one] for one in said[1:] if one != END)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", metavar="WORD", help="words; none: those of standard input, a line each")
    parser.add_argument("--weights", default="g2p_en.npz", help="the npz file of the package g2p_en, its checkpoint20.npz (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="compute all once more in numpy, and fail if any word differs")
    serving.add_volvox_option(parser)
    arguments = parser.parse_args()
    words = arguments.words or sys.stdin.read().split()
    if not pathlib.Path(arguments.weights).is_file():
        raise SystemExit(f"{arguments.weights}: is not there; name the npz file with --weights")
    with np.load(arguments.weights, allow_pickle=False) as file:
        weights = dict(file)
    with tempfile.TemporaryDirectory() as folder:
        models = pathlib.Path(folder) / "models"
        write_g2p(models / "g2p", weights)
        with serving.Serving(arguments.volvox, models) as served:

            def say(word):
                said = served.client.infer("g2p", {"word": letters_of(word)})["phonemes"]
                return " ".join(PHONEMES[int(one)] for one in said if int(one) != END)

            with concurrent.futures.ThreadPoolExecutor(max_workers=32) as pool:
                spoken = list(pool.map(say, words))
    for line in spoken:
        print(line)
    if arguments.check:
        wrong = [word for word, line in zip(words, spoken) if line != spoken_in_numpy(word, weights)]
        print(f"{len(words) - len(wrong)} of {len(words)} words as in numpy", *wrong, file=sys.stderr)
        sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
