"""The compute capability of a GPU, from its name.

The table is NVIDIA's: https://developer.nvidia.com/cuda-gpus, and https://developer.nvidia.com/cuda-legacy-gpus for
what is no longer made. A800, H800, H20 and A10G are other names for the chips of A100, H100 and A10. A name that stands
for GPUs of several generations (``RTX 6000``: Turing, Ada, Blackwell) settles nothing.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from gradcompat.startup.lazy_dataclasses import dataclass
from gradcompat.startup.lazy_patterns import lazy_pattern

_LONGEST_NAME = 200

# What follows the name of a GPU without making it another one.
_FORM = (
    r"(?:[ -](?:sxm\d?|pcie|nvl|oam|hbm\d?e?|[23]?d?\d{1,3} ?gi?b|ac|laptop gpu|mobile|(?:with )?max-q(?: design)?"
    r"|super|ti|d|developer kit|\(nvgpu\)|mig \dg\.\d{1,3}gb|\d{1,2}[qcab]|generation|(?:workstation|server) edition))*"
)

# Compute capability → names that no other thing has, then names too short to be a GPU's without a maker before them.
_CAPABILITIES: tuple[tuple[str, str, str], ...] = (
    ("12.1", r"gb10", ""),
    (
        "12.0",
        r"rtx ?pro ?(?:[2456]000|4500)(?: blackwell)?(?: max-q| sff)?|rtx ?50[56789]0",
        "",
    ),
    ("11.0", r"jetson t[45]000|jetson (?:agx )?thor", r"thor"),
    ("10.3", r"gb300|b300", ""),
    ("10.0", r"gb200|b200", ""),
    ("9.0", r"gh200|h200|h100|h800", r"h20"),
    (
        "8.9",
        r"l40s?|rtx ?(?:2000|4000|4500|5000|6000)(?: sff)? ?ada|rtx ?40[56789]0",
        r"l4|l20",
    ),
    ("8.7", r"jetson (?:agx )?orin(?: nx| nano)?", r"orin"),
    ("8.6", r"a10g|rtx ?a(?:[2-6]000|4500|5500)|rtx ?30[56789]0", r"a40|a16|a10|a2"),
    ("8.0", r"a100|a800", r"a30"),
    (
        "7.5",
        r"quadro rtx ?[34568]000|titan rtx|rtx ?20[678]0|gtx ?16[56]0",
        r"t4|t(?:400|500|600|1000|1200|2000)",
    ),
    ("7.2", r"jetson (?:agx )?xavier(?: nx)?", r"xavier"),
    ("7.0", r"v100s?|titan v|quadro gv100", ""),
    ("6.2", r"jetson tx2", ""),
    ("6.1", r"gtx ?10[5678]0|titan xp|quadro p(?:400|6[02]0|[12345]000|[345]200)", r"p40|p4"),
    ("6.0", r"quadro gp100", r"p100"),
    ("5.2", r"gtx ?9[5678]0", r"m60|m40"),
    ("3.7", "", r"k80"),
    ("3.5", "", r"k40|k20"),
)

# `v100` may be a version and `b200` a batch; who means the GPU alone writes it as a name.
_LOWER = lazy_pattern(r"[a-z]+\d+[a-z]?")
_MAKER = r"(?:(?:nvidia[ -])?(?:geforce|tesla)|nvidia)[ -]"
_INSTINCT = r"(?:amd )?(?:instinct )?mi(?:100|210|250x?|300[ax]|308x|325x|350x|355x)"
_RADEON = r"(?:amd )?radeon (?:rx|pro) [a-z]?\d{4}[a-z]*"
_AMD = f"{_INSTINCT}|{_RADEON}"
_APPLE = r"apple m\d(?: (?:pro|max|ultra))?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A GPU that a text names.

    Attributes:
        name: as it stands there.
        device: what torch calls such a device: ``cuda``, ``rocm`` (a build of its own) or ``mps``.
        compute_capability: of NVIDIA's, ``9.0``; None for the others.
        offset: where in the text the name starts.
    """

    name: str
    device: Literal["cuda", "rocm", "mps"]
    compute_capability: str | None
    offset: int


def compute_capability(name: str) -> str | None:
    """The compute capability of an NVIDIA GPU; None if the name does not settle it.

    Args:
        name: as the driver or torch gives it, with or without the maker.

    >>> compute_capability("NVIDIA GeForce RTX 5090")
    '12.0'
    """
    if len(name) > _LONGEST_NAME:
        return None
    match = _whole().fullmatch(" ".join(name.split()).lower())
    return None if match is None or match.lastindex is None else _CAPABILITIES[match.lastindex - 1][0]


def short_wavefronts(name: str) -> bool | None:
    """Has an AMD GPU wavefronts of 32 threads, and not of 64? None if the name does not settle it.

    >>> short_wavefronts("AMD Radeon RX 7900XTX"), short_wavefronts("MI300X"), short_wavefronts("H100")
    (True, False, None)
    """
    words = " ".join(name.split()).lower()
    if len(name) > _LONGEST_NAME or not re.fullmatch(_AMD, words, re.ASCII):
        return None
    return "radeon" in words


def gpus_in(text: str) -> tuple[Gpu, ...]:
    """Every GPU that a text names, in order, as often as it names it.

    >>> [(gpu.name, gpu.compute_capability) for gpu in gpus_in("trained on 8xA100, then on an RTX 4090")]
    [('A100', '8.0'), ('RTX 4090', '8.9')]
    """
    found: list[Gpu] = []
    for match in _anywhere().finditer(text):
        if _LOWER.fullmatch(match[0]):
            continue
        kind = str(match.lastgroup)
        capability = _CAPABILITIES[int(kind[1:])][0] if kind.startswith("c") else None
        device: Literal["cuda", "rocm", "mps"] = "cuda" if capability else "rocm" if kind == "amd" else "mps"
        found.append(Gpu(name=match[0], device=device, compute_capability=capability, offset=match.start()))
    return tuple(found)


@cache
def _whole() -> re.Pattern[str]:
    """One pattern for whole names, with a group for each line of the table."""
    groups = "|".join(f"({'|'.join(filter(None, names))})" for _, *names in _CAPABILITIES)
    return re.compile(f"(?:{_MAKER})?(?:{groups}){_FORM}", re.ASCII)


@cache
def _anywhere() -> re.Pattern[str]:
    """The same for names in a text, which are words; the short ones need the maker before them."""
    groups: list[str] = []
    for index, (_, distinct, short) in enumerate(_CAPABILITIES):
        names = [f"(?:{_MAKER})?(?:{distinct})"] if distinct else []
        names += [f"{_MAKER}(?:{short})"] if short else []
        groups.append(f"(?P<c{index}>{'|'.join(names)})")
    groups += [f"(?P<amd>{_AMD})", f"(?P<apple>{_APPLE})"]
    # `8xH100` is eight of them; `sh100` and `H100k` are something else. The form, `-SXM4-80GB`, belongs to the name.
    before, after = r"(?<![\w.-])|(?<=\dx)", r"(?:-(?:sxm\d?|pcie|oam|nvl)(?:-\d{1,3}gi?b)?)?(?!\w)"
    return re.compile(f"(?:{before})(?:{'|'.join(groups)}){after}", re.ASCII | re.IGNORECASE)
