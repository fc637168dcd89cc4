"""Pairs out of tables: what an import executes, held against each release of the other package."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from packaging.version import Version

from gradcompat.breaks.pair_matrix import pair_matrix
from gradcompat.breaks.pairs import Pair, data_of
from gradcompat.curation import pair_compilation
from gradcompat.curation.pair_compilation import compiled_pairs, pairs_text
from gradcompat.releases.answers import Need, Presence


class SmallTable:
    """Release → module → names, and what importing the package needs in each release."""

    def __init__(
        self,
        package: str,
        releases: Mapping[str, Mapping[str, str]],
        needs: Mapping[str, Sequence[tuple[str, str | None]]] | None = None,
        unread: Sequence[str] = (),
    ) -> None:
        self.package, self.imports = package, (package,)
        self.releases = {Version(version): modules for version, modules in releases.items()}
        self.versions = tuple(self.releases)
        self.unread = {Version(version): "no wheel" for version in unread}
        self._needs = needs or {}

    def presence(self, version: Version, module: str, name: str | None = None) -> Presence:
        release = self.releases.get(version)
        if release is None:
            return Presence.UNKNOWN
        inner = module if name is None else f"{module}.{name}"
        if inner in release or (name is not None and name in release.get(module, "").split()):
            return Presence.PRESENT
        return Presence.UNKNOWN if release.get(module) == "?" else Presence.ABSENT

    def needs(self, version: Version, module: str, name: str | None = None) -> tuple[Need, ...]:
        assert (module, name) == (self.package, None)
        return tuple(
            Need(wanted.partition(".")[0], wanted, symbol, f"{self.package}/core.py", 7)
            for wanted, symbol in self._needs.get(str(version), ())
        )


SERVER = SmallTable(
    "server",
    {
        "1.0": {"server": "Cache Run"},
        "1.1": {"server": "Cache Run", "server.store": "Store"},
        "2.0": {"server": "Run", "server.store": "Store", "server.lazy": "?"},
        "2.1": {"server": "Run", "server.store": "Store", "server.lazy": "?"},
    },
)
CLIENT = SmallTable(
    "client",
    {"0.1": {}, "0.2": {}, "0.3": {}},
    {
        "0.1": [("server", "Cache"), ("server", "Run"), ("json", "loads")],
        "0.2": [("server", "Cache"), ("server", "Run")],
        "0.3": [("server", "Run"), ("server.store", "Store"), ("server.lazy", "anything"), ("server", "*")],
    },
)


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    found: dict[str, Any] = {"server": SERVER, "client": CLIENT}
    monkeypatch.setattr(pair_compilation, "table_of", found.get)
    monkeypatch.setattr(pair_compilation, "package_of", lambda top: top if top in found else None)
    monkeypatch.setattr(pair_compilation, "tabled_packages", lambda: frozenset(found))
    return found


def shown(pair: Pair) -> list[tuple[str, str, list[str]]]:
    return [(str(one.consumers), str(one.providers), [need.text for need in one.needs]) for one in pair.breaks]


def test_each_break_names_what_is_missing(tables: dict[str, Any]) -> None:
    (pair,) = compiled_pairs()
    assert (pair.consumer, pair.provider, pair.oldest) == ("client", "server", "1.0")
    assert shown(pair) == [
        (">=0.1,<0.3", ">=2.0,<=2.1", ["server.Cache"]),
        ("==0.3", ">=1.0,<2.0", ["server.lazy.anything"]),
    ]
    assert pair.breaks[0].needs[0].file == "client/core.py"


def test_what_is_not_certain_breaks_nothing(tables: dict[str, Any]) -> None:
    tables["client"] = SmallTable("client", {"0.3": {}}, {"0.3": [("server.lazy", "anything")]})
    (pair,) = compiled_pairs()
    # The module itself is not there before 2.0; whatever it makes at import time later is not known.
    assert shown(pair) == [("==0.3", ">=1.0,<2.0", ["server.lazy.anything"])]


def test_a_release_that_was_not_read_ends_a_range(tables: dict[str, Any]) -> None:
    tables["server"] = SmallTable("server", {"1.0": {"server": ""}, "1.2": {"server": ""}}, unread=["1.1"])
    tables["client"] = SmallTable("client", {"0.1": {}}, {"0.1": [("server", "Cache")]})
    (pair,) = compiled_pairs()
    assert shown(pair) == [("==0.1", "==1.0 || ==1.2", ["server.Cache"])]


def test_the_file_says_what_was_compiled(tables: dict[str, Any]) -> None:
    found = list(compiled_pairs())
    assert json.loads(pairs_text(found)) == data_of(found)
    assert json.loads(pairs_text([])) == data_of([])


def test_the_matrix_has_a_row_for_releases_that_are_alike(tables: dict[str, Any]) -> None:
    (pair,) = compiled_pairs()
    matrix = pair_matrix(pair, CLIENT, SERVER)  # type: ignore[arg-type]  # what it asks of a table
    assert matrix.labels == ("client 0.1 – 0.2", "client 0.3")
    signs = ["".join(matrix.cell(variant, release).sign for release in matrix.releases) for variant in matrix.variants]
    assert signs == ["..XX", "XX.."]
    assert "server.Cache (client/core.py:7)" in matrix.cell(matrix.variants[0], "2.0").text


PRINTED = [("text", "2.0 – 2.1  X ."), ("svg", "<svg "), ("html", "<!doctype html>")]


@pytest.mark.parametrize(("form", "words"), PRINTED)
def test_the_command_prints_it(
    tables: dict[str, Any], form: str, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gradcompat.cli.commands.knowledge import pairs as module

    found = next(iter(compiled_pairs()))
    monkeypatch.setattr(module, "table_of", tables.get)
    monkeypatch.setattr(module, "pair_of", lambda *names: found if names == ("client", "server") else None)
    assert module.command(package="server", other="client", form=form) == 0
    assert words in capsys.readouterr().out


def test_a_package_that_was_not_read_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    from gradcompat.cli.commands.knowledge import pairs as module
    from gradcompat.errors import UsageError

    monkeypatch.setattr(module, "table_of", lambda _: None)
    with pytest.raises(UsageError, match="no releases of `client` were read"):
        module.command(package="client", other="nowhere")
    with pytest.raises(UsageError, match="a pair is two"):
        module.command(package="client")
    with pytest.raises(UsageError, match="`--format png` is not known"):
        module.command(package="client", other="server", form="png")
