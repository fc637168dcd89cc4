"""The indexes that serve one variant of torch each: ``…/whl/cu121``, ``…/whl/nightly/cpu``, and mirrors of them."""

from __future__ import annotations

from collections.abc import Collection

from gradcompat.model.environment import Package
from gradcompat.requirements.versions import VersionSet, locate
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.startup.lazy_patterns import lazy_pattern
from gradcompat.truth import Truth

_ADDRESS = lazy_pattern(r"https?://\S*/whl/(?:(?:nightly|test)/)?(cu\d{2,3}|rocm\d+\.\d+(?:\.\d+)?|cpu|xpu)/?")
# What these indexes have in a build for each variant.
_BUILT = frozenset({"torch", "torchvision", "torchaudio"})
# Which releases of torch each of them has, as far as that was read: in the table of releases that cog keeps (commit
# 173033b4 of github.com/replicate/cog, pkg/config/torch_compatibility.json), and for ROCm in PyTorch's list of previous
# versions (commit 04862e37 of github.com/pytorch/pytorch.github.io).
_SERVED = {
    variant: VersionSet.spelled(versions)
    for variant, versions in {
        "cpu": ">=1.11.0,<=2.12.1",
        "cu113": ">=1.11.0,<1.13.0",
        "cu116": ">=1.12.0,<2.0.0",
        "cu117": ">=1.13.0,<2.1.0",
        "cu118": ">=2.0.0,<2.8.0",
        "cu121": ">=2.1.0,<2.6.0",
        "cu124": ">=2.4.0,<2.7.0",
        "cu126": ">=2.6.0,<=2.12.1",
        "cu128": ">=2.7.0,<=2.11.0",
        "cu129": ">=2.8.0,<2.9.0",
        "cu130": ">=2.9.0,<=2.12.1",
        "rocm5.1.1": ">=1.12.0,<1.13.0",
        "rocm5.2": ">=1.13.0,<2.0.0",
        "rocm5.4.2": ">=2.0.0,<2.1.0",
    }.items()
}


def variant_of(address: str) -> str | None:
    """The variant that an index serves, ``cu121``; None if it is another index."""
    match = _ADDRESS.fullmatch(address.strip("\"'"))
    return match[1] if match else None


def variants_beside(package: Package, variants: Collection[str | None]) -> Package:
    """The package, with the variant as its build if an index beside the default one has that release of torch.

    A release with a label is newer than the same without, so that pip takes it, and uv prefers that index anyway.

    Args:
        package: an entry.
        variants: what the extra indexes serve; None stands for one that serves something else.
    """
    named = set(variants)
    version = package.version
    if len(named) != 1 or package.build is not None or package.name != "torch" or package.source != "registry":
        return package
    (variant,) = named
    window = None if version is None or "+" in version else locate(version)
    if variant not in _SERVED or window is None or _SERVED[variant].truth(window) is not Truth.YES:
        return package
    return replace(package, build=variant)


def built_for_variant(package: Package, variant: str | None) -> Package:
    """The package, with the variant as its build if it comes from an index that serves no other one."""
    if variant is None or package.name not in _BUILT or package.source != "registry":
        return package
    return replace(package, build=variant)
