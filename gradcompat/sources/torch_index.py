"""The indexes that serve one variant of torch each: ``…/whl/cu121``, ``…/whl/nightly/cpu``, and mirrors of them."""

from __future__ import annotations

import re
from dataclasses import replace

from gradcompat.model.environment import Package

_ADDRESS = re.compile(r"https?://\S*/whl/(?:(?:nightly|test)/)?(cu\d{2,3}|rocm\d+\.\d+(?:\.\d+)?|cpu|xpu)/?")
# What these indexes have in a build for each variant.
_BUILT = frozenset({"torch", "torchvision", "torchaudio"})


def variant_of(address: str) -> str | None:
    """The variant that an index serves, ``cu121``; None if it is another index."""
    match = _ADDRESS.fullmatch(address.strip("\"'"))
    return match[1] if match else None


def built_for_variant(package: Package, variant: str | None) -> Package:
    """The package, with the variant as its build if it comes from an index that serves no other one."""
    if variant is None or package.name not in _BUILT or package.source != "registry":
        return package
    return replace(package, build=variant)
