"""Indexes that serve one variant of torch, and what is installed from them."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.sources.requirements import read
from gradcompat.sources.torch_index import variant_of


@pytest.mark.parametrize(
    ("address", "variant"),
    [
        ("https://index.example/whl/cu121", "cu121"),
        ("https://index.example/whl/cu121/", "cu121"),
        ("https://index.example/whl/nightly/cpu", "cpu"),
        ("https://index.example/whl/rocm6.2.4", "rocm6.2.4"),
        ('"https://index.example/whl/xpu"', "xpu"),
        ("https://index.example/whl/", None),
        ("https://index.example/whl/torch_stable.html", None),
        ("https://index.example/simple", None),
        ("https://index.example/cu121", None),
    ],
)
def test_the_variant_of_an_index(address: str, variant: str | None) -> None:
    assert variant_of(address) == variant


@pytest.mark.parametrize(
    ("text", "builds"),
    [
        ("--index-url https://index.example/whl/cu121\ntorch==2.4.0\nnumpy==1.26.4\n", ["cu121", None]),
        ("torch==2.4.0\n-i https://index.example/whl/cpu\n", ["cpu"]),
        ("-i https://index.example/whl/cpu\n-i https://index.example/simple\ntorch==2.4.0\n", [None]),
        # A label makes a release newer than the same without, so that pip takes it where the index has it.
        ("--extra-index-url https://index.example/whl/cu121\ntorch==2.4.0\n", ["cu121"]),
        ("torch==2.0.1\n--extra-index-url https://index.example/whl/rocm5.4.2\n", ["rocm5.4.2"]),
        # It ended with 2.5: the other index has it.
        ("--extra-index-url https://index.example/whl/cu121\ntorch==2.6.0\n", [None]),
        # Whichever has the newest of all that is allowed: not settled.
        ("--extra-index-url https://index.example/whl/cu121\ntorch>=2.4\n", [None]),
        (
            "--extra-index-url https://index.example/whl/cu121\n--extra-index-url https://index.example/whl/cpu\n"
            "torch==2.4.0\n",
            [None],
        ),
        ("-i https://index.example/whl/cpu\ntorch @ git+https://git.example/pytorch@v2.4.0\n", [None]),
    ],
)
def test_the_build_of_what_is_installed(text: str, builds: list[str | None]) -> None:
    assert [package.build for package in read(Document("requirements.txt", text)).packages] == builds
