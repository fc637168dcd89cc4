"""Names of wheels and sdists, against the functions of packaging, which are slower and say the same."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from gradcompat.index.filenames import first_word, of_sdist, of_wheel

_NAMES = st.sampled_from(["torch", "Flash_Attn", "flash.attn", ""])
_VERSIONS = st.sampled_from(["1.0", "2.5.1+cu124", "2.0rc1", "1!1", "nothing", ""])
_BUILDS = st.sampled_from([(), ("1",), ("2build",), ("build",)])
_TAGS = st.tuples(
    st.sampled_from(["cp311", "py2.py3"]), st.sampled_from(["none", "abi3"]), st.sampled_from(["any", "linux_x86_64"])
)


@given(_NAMES, _VERSIONS, _BUILDS, _TAGS)
def test_wheels_are_read_as_packaging_reads_them(
    name: str, version: str, build: tuple[str, ...], tags: tuple[str, str, str]
) -> None:
    filename = "-".join((name, version, *build, *tags)) + ".whl"
    found = of_wheel(filename, canonicalize_name(name))
    try:
        _, parsed, _, expected = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        assert found is None
    else:
        assert found is not None
        parts = [part.split(".") for part in found[1].split("-")]
        assert (found[0], {"-".join(one) for one in product(*parts)}) == (parsed, {str(tag) for tag in expected})


@given(
    st.sampled_from(["torch", "flash_attn", "Flash.Attn"]), st.sampled_from(["1.0", "2.7.0.post2", "1.0rc1", "nothing"])
)
def test_sdists_are_read_as_packaging_reads_them(name: str, version: str) -> None:
    filename = f"{name}-{version}.tar.gz"
    try:
        expected: Version | None = parse_sdist_filename(filename)[1]
    except InvalidSdistFilename:
        expected = None
    assert of_sdist(filename, canonicalize_name(name)) == expected


@pytest.mark.parametrize(
    ("filename", "version"),
    [
        ("flash-attn-2.7.0.zip", "2.7.0"),
        ("flash-attn-2.7.0.tar.bz2", "2.7.0"),
        ("flash-attn-2.7.0-1.tar.gz", "2.7.0.post1"),
        ("flash-attn-extra-2.7.0.tar.gz", None),
        ("flash_attn.tar.gz", None),
        ("flash-attn-2.7.0.exe", None),
        ("flash-attn-2.7.0.linux-x86_64.tar.gz", None),
        (f"flash-attn-{'1.' * 200}0.tar.gz", None),
        ("flash-attn-1" + "0" * 5000 + ".tar.gz", None),
        ("flash-attn" + "-" * 300 + "1.0.tar.gz", None),
        ("", None),
    ],
)
def test_names_of_old_sdists(filename: str, version: str | None) -> None:
    found = of_sdist(filename, "flash-attn")
    assert found == (None if version is None else Version(version))


@pytest.mark.parametrize(
    "filename",
    ["", ".whl", "torch-1.0-py3-none-any", "torchx-1.0-py3-none-any.whl", "torch-1.0-b1-py3-none-any.whl", "torch.whl"],
)
def test_what_is_no_wheel_of_it(filename: str) -> None:
    assert of_wheel(filename, "torch") is None


def test_files_and_their_project_begin_alike() -> None:
    assert {first_word(name) for name in ("flash-attn", "flash_attn-2.7.tar.gz", "Flash.Attn-1.whl")} == {"flash"}
