"""Packages that belong together though their metadata does not say so.

Most families say it themselves (``torchvision`` requires ``torch==2.4.0``, ``transformers`` a range of ``tokenizers``)
and need no line here.
"""

from __future__ import annotations

from packaging.version import Version

# One project, released under several names with one number. Two of them in different versions are two copies of the
# same classes, and an isinstance() between them fails.
SAME_VERSION: tuple[frozenset[str], ...] = (frozenset({"lightning", "pytorch-lightning", "lightning-fabric"}),)

# Compiled against the C++ interface of one minor release of torch; beside another one they fail on import with an
# undefined symbol. What is built on the user's machine requires just `torch`, so metadata cannot tell.
BUILT_AGAINST_TORCH: frozenset[str] = frozenset(
    {
        "apex",
        "auto-gptq",
        "causal-conv1d",
        "flash-attn",
        "flash-attn-3",
        "grouped-gemm",
        "mamba-ssm",
        "natten",
        "pyg-lib",
        "torch-cluster",
        "torch-scatter",
        "torch-sparse",
        "torch-spline-conv",
        "transformer-engine",
        "xformers",
    }
)

# Their releases go with one minor release of torch, as their metadata says; where that could not be read, it is said.
RELEASED_WITH_TORCH: frozenset[str] = frozenset({"torchaudio", "torchtext", "torchvision", "triton"})


_RELATIVES = {
    name: frozenset(other for family in SAME_VERSION if name in family for other in family if other != name)
    for name in frozenset().union(*SAME_VERSION)
}


def relatives(name: str) -> frozenset[str]:
    """The names that have to have the same version as this one, without itself."""
    return _RELATIVES.get(name, frozenset())


def new_interface(before: Version | None, after: Version) -> bool:
    """Do extensions that were built against one release of torch have to be built again for another?"""
    return before is None or before.release[:2] != after.release[:2]
