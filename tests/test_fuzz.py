"""Whatever stands in a file, reading it gives an environment or one clear error, never anything else.

Every format of the registry is fuzzed: damaged copies of the fixtures that it reads, and text built from its own words.
``fuzz/run`` does the same for hours, guided by coverage.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.dependency_formats import BY_KIND, FORMATS, Format
from gradcompat.errors import SourceError
from gradcompat.formats.document import Document, decode
from gradcompat.model.environment import Environment
from gradcompat.requirements.names import normalise
from gradcompat.requirements.versions import VersionSet
from gradcompat.sources.any_format import read, read_as
from tests.examples import examples, length

FIXTURES = Path(__file__).parent / "fixtures"
EXAMPLE = Path(__file__).parents[1] / "examples" / "llava-finetune" / "uv.lock"

KINDS = [reader.kind for reader in FORMATS]


@cache
def seeds(kind: str) -> tuple[bytes, ...]:
    """The fixtures that are of that kind, judged by reading them."""
    found = []
    for path in [EXAMPLE, *sorted(FIXTURES.rglob("*"))]:
        if path.is_file() and path.stat().st_size < 200_000:
            data = path.read_bytes()
            try:
                environment = read(Document(path.name, decode(data, path.name), path))
            except SourceError:
                continue
            if environment.kind == kind:
                found.append(data)
    return tuple(found)


def sound(environment: Environment) -> None:
    """What a reader promises of every environment."""
    for package in environment.packages:
        assert package.version is None or (isinstance(package.version, str) and package.specifier is None)
        assert package.source == "conda" or package.name == normalise(package.name)
        assert package.location.line is None or package.location.line >= 1
        if package.specifier is not None:
            VersionSet.parse(package.specifier)
    for skipped in environment.skipped:
        assert skipped.what
        assert skipped.reason
        assert "\n" not in skipped.what + skipped.reason


def survives(kind: str, data: bytes) -> None:
    """Read as that kind, and as whatever it looks like."""
    for reader in (BY_KIND[kind], None):
        judge(attempted(reader, data))


def judge(result: Environment | SourceError) -> None:
    if isinstance(result, SourceError):
        assert "\n" not in result.message
    else:
        sound(result)


def attempted(reader: Format | None, data: bytes) -> Environment | SourceError:
    try:
        document = Document("fuzzed", decode(data, "fuzzed"))
        return read(document) if reader is None else read_as(reader, document)
    except SourceError as error:
        return error


@st.composite
def damaged(draw: st.DrawFn, data: bytes) -> bytes:
    """A copy with pieces cut, doubled, moved, swapped for others or overwritten."""
    generator = random.Random(draw(st.integers(0, 2**32)))  # noqa: S311  # no secrets are made here
    result = bytearray(data)
    lines = data.split(b"\n")
    for _ in range(draw(st.integers(1, 6))):
        at = generator.randrange(len(result) + 1)
        match generator.randrange(7):
            case 0:
                del result[at:]
            case 1:
                del result[at : at + generator.randrange(1, 200)]
            case 2:
                result[at:at] = result[at : at + generator.randrange(1, 400)]
            case 3:
                result[at : at + 1] = bytes([generator.randrange(256)])
            case 4:
                result[at:at] = generator.choice(lines) + b"\n"
            case 5:
                result[at:at] = generator.choice(TOKENS)
            case 6:
                result = bytearray(b"\n".join(generator.sample(bytes(result).split(b"\n"), k=result.count(b"\n") + 1)))
    return bytes(result)


TOKENS = (
    b"[", b"]", b"{", b"}", b'"', b"'", b"\\", b"\n", b"\r\n", b"\t", b"=", b"==", b":", b": ", b",", b"#", b"- ",
    b"null", b"true", b"1e999", b"-1", b"9" * 5000, b"[[package]]\n", b"version", b"name", b"*", b"&a ", b"*a", b"<<: ",
    b"!!python/object/apply:os.system", b"\xef\xbb\xbf", b"\xff\xfe", b"\x00", b"\x1b[31m", "\u202e".encode(),
    b"${X}", b"-r x.txt\n", b"@ git+https://h/x@y#egg=z", b">=1,<2", b"!=", b"~=", b"pkg:pypi/", b"%2B", b"%",
)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_has_a_fixture(kind: str) -> None:
    assert seeds(kind), f"no file under tests/fixtures is read as {kind}"


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str) -> None:
    @settings(max_examples=examples(60), deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def attempt(data: st.DataObject) -> None:
        survives(kind, data.draw(damaged(data.draw(st.sampled_from(seeds(kind))))))

    attempt()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=examples(30), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(words=st.lists(st.sampled_from(TOKENS) | st.binary(max_size=8), max_size=40))
def test_words_of_the_formats(kind: str, words: list[bytes]) -> None:
    survives(kind, b"".join(words))


DEEP = length(100_000)
NESTED = {
    "brackets": b"[" * DEEP,
    "closed brackets": b"[" * DEEP + b"]" * DEEP,
    "braces": b'{"a":' * DEEP,
    "yaml items": b"- " * DEEP,
    "toml keys": b"[" + b"a." * DEEP + b"a]\n",
    "toml value": b"a = " + b"[" * DEEP,
    "packages of brackets": b"version = 1\npackage = " + b"[" * DEEP + b"]" * DEEP,
    "dependencies of brackets": b"dependencies: " + b"[" * DEEP + b"]" * DEEP,
    "yaml indentation": b"".join(b" " * (n % 3000) + b"a:\n" for n in range(length(3000))),
    "markers": b"torch==1 ; " + b"(" * DEEP + b"python_version > '3'" + b")" * DEEP,
    "extras": b"torch[" + b"a," * DEEP + b"]==1",
    "clauses": b"torch" + b">=1," * length(20_000),
    "one long word": b"a" * length(3_000_000),
    "one long line": b"torch==2.5.1 " * length(200_000),
    "backslashes": b"torch \\\n" * DEEP,
    "laughs": b"a: &a [x,x]\n"
    + b"".join(
        b"b%d: &b%d [*%s,*%s]\n" % (n, n, p, p) for n, p in [(0, b"a"), *((n, b"b%d" % (n - 1)) for n in range(1, 60))]
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", NESTED)
def test_nested_deeply_or_long(kind: str, shape: str) -> None:
    judge(attempted(BY_KIND[kind], NESTED[shape]))


@pytest.mark.parametrize("shape", NESTED)
def test_nested_deeply_or_long_as_whatever_it_looks_like(shape: str) -> None:
    judge(attempted(None, NESTED[shape]))


def test_a_reader_of_the_registry_is_what_is_fuzzed() -> None:
    assert all(isinstance(reader, Format) for reader in FORMATS)
    assert len(KINDS) == len(set(KINDS))
