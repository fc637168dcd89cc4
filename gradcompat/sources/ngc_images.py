"""The torch of NVIDIA's container images ``nvidia/pytorch:24.05-py3``, which is a build of a commit between releases.

Read on 2026-11-22 in the rows of NVIDIA's own table of the images that are built upon them:
https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/introduction/compatibility.html
Releases that it does not name are not here.
"""

from __future__ import annotations

from gradcompat.startup.lazy_patterns import lazy_pattern

_IMAGE = lazy_pattern(r"(?:[^/]+/)?nvidia/pytorch")
_TAG = lazy_pattern(r"(\d\d)\.(\d\d)-py3(?:-|$)")
# Release → the version of torch, and the CUDA that it is built for.
_TORCH = {
    "24.05": ("2.4.0a0+07cecf4168.nv24.5", "cu124"),
    "24.07": ("2.4.0a0+3bcc3cddb5.nv24.7", "cu125"),
    "24.10": ("2.5.0a0+e000cf0ad9.nv24.10", "cu126"),
    "24.11": ("2.6.0a0+df5bbc09d1.nv24.11", "cu126"),
    "25.01": ("2.6.0a0+ecf3bae40a.nv25.1", "cu128"),
    "25.04": ("2.7.0a0+79aa17489c.nv25.4", "cu129"),
    "25.05": ("2.8.0a0+5228986c39.nv25.5", "cu129"),
    "25.06": ("2.8.0a0+5228986c39.nv25.6", "cu129"),
    "25.10": ("2.9.0a0+145a3a7bda.nv25.10", "cu130"),
}


def torch_of_image(repository: str, tag: str) -> tuple[str, str] | None:
    """The version of torch and its variant (``cu124``) of an image; None if it is another image, or not known."""
    release = _release(repository, tag)
    return None if release is None else _TORCH.get(release)


def range_of_image(repository: str, tag: str) -> str | None:
    """The torch of an image that the table does not name: between those of the images before and after it.

    None if it is another image.
    """
    release = _release(repository, tag)
    if release is None:
        return None
    older = [_TORCH[one] for one in sorted(_TORCH) if one < release]
    newer = [_TORCH[one] for one in sorted(_TORCH) if one > release]
    first = [f">={older[-1][0].partition('+')[0]}"] if older else []
    last = [f"<{newer[0][0].partition('a')[0]}"] if newer else []
    return ",".join(first + last)


def _release(repository: str, tag: str) -> str | None:
    """``22.11`` of ``nvidia/pytorch:22.11-py3``."""
    match = _TAG.match(tag)
    return None if match is None or _IMAGE.fullmatch(repository) is None else f"{match[1]}.{match[2]}"
