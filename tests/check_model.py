"""What models that `volvox models new check` makes answer, for programs that look at every answer."""

MASK = 2**64 - 1


def check_hash(tokens, state=0):
    """check_hash() of cells/ir/cell.h, step by step; from the state that earlier tokens left, if there were any."""
    for token in tokens:
        x = (state ^ (token + 0x9E3779B97F4A7C15 & MASK)) * 0xBF58476D1CE4E5B9 & MASK
        x ^= x >> 29
        x = x * 0x94D049BB133111EB & MASK
        state = x ^ (x >> 32)
    return state
