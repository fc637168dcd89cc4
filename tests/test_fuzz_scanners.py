"""Whatever stands in a training config, scanning it gives a context or one clear error, and settings of their types."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.errors import SourceError
from gradcompat.formats.document import Document, decode
from gradcompat.model.context import Context
from gradcompat.scanners.registry import SCANNERS, Scanner
from gradcompat.vocabulary import KEYS
from tests.examples import examples
from tests.test_fuzz import NESTED, TOKENS, damaged

FIXTURES = Path(__file__).parent / "fixtures"
TYPES: dict[str, tuple[type, ...]] = {
    "bool": (bool,),
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "list": (tuple,),
    "version": (str,),
}


def scanned(scanner: Scanner, data: bytes) -> Context | SourceError:
    try:
        document = Document(f"fuzzed{scanner.names[0].replace('*', '')}", decode(data, "fuzzed"))
        found: Context = import_module(f"gradcompat.scanners.{scanner.module}").scan(document)
    except SourceError as error:
        return error
    return found


@cache
def seeds(kind: str) -> tuple[bytes, ...]:
    scanner = next(scanner for scanner in SCANNERS if scanner.kind == kind)
    files = [path for path in sorted(FIXTURES.rglob("*")) if path.is_file() and path.stat().st_size < 100_000]
    texts = [path.read_bytes() for path in files]
    return tuple(text for text in texts if isinstance(scanned(scanner, text), Context))


def survives(kind: str, data: bytes) -> None:
    scanner = next(scanner for scanner in SCANNERS if scanner.kind == kind)
    context = scanned(scanner, data)
    if isinstance(context, SourceError):
        assert "\n" not in context.message
        return
    for setting in context.settings:
        wanted = KEYS[setting.key].type
        assert setting.value is None or isinstance(setting.value, TYPES[wanted]), setting
        assert wanted == "bool" or not isinstance(setting.value, bool), setting
        assert setting.location.line is None or setting.location.line >= 1
        assert setting.spelling is None or "{}" in setting.spelling
    for skipped in context.skipped:
        assert skipped.what
        assert "\n" not in skipped.what + skipped.reason


KINDS = [scanner.kind for scanner in SCANNERS]


@pytest.mark.parametrize("kind", KINDS)
def test_every_scanner_has_a_fixture(kind: str) -> None:
    assert seeds(kind), f"no file under tests/fixtures is scanned as {kind}"


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
def test_words(kind: str, words: list[bytes]) -> None:
    survives(kind, b"".join(words))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", NESTED)
def test_nested_deeply_or_long(kind: str, shape: str) -> None:
    survives(kind, NESTED[shape])
