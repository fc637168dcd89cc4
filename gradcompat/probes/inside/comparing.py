"""How far two lists of tensors are apart, computed in float64 on the CPU."""

import re


def flat(tensors):
    """All elements in one float64 vector."""
    import torch

    return torch.cat([tensor.detach().to("cpu").double().reshape(-1) for tensor in tensors])


def ratio(value, reference):
    """``value / reference``; not a number where the reference is nothing."""
    return float(value) / float(reference) if float(reference) else float("nan")


def norm_ratio(found, expected):
    """How many times as long the one is."""
    return ratio(found.norm(), expected.norm())


def cosine(found, expected):
    """1 for the same direction, and not a number where one of them has none."""
    return ratio(found @ expected, found.norm() * expected.norm())


def distance(found, expected):
    """The length of the difference, in lengths of what is expected."""
    return ratio((found - expected).norm(), expected.norm())


def one_line(error):
    """An exception in one line: its class and what it says, without the paths of packages."""
    text = re.sub(r" \(/[^)]*\)", "", " ".join(str(error).split()))
    return ("%s: %s" % (type(error).__name__, text))[:300]
