from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version

from gradcompat.errors import IndexUnavailable
from gradcompat.index.snapshot import FORMAT, SHIPPED, Snapshot
from gradcompat.index.snapshot_writer import COMPANIONS, SINCE, Written, names_for_snapshot, write_snapshot
from gradcompat.knowledge.load import load
from gradcompat.model.release import Catalogue, Release, Requirers


class Toy:
    """A catalogue that is a table: releases, each with its requirements or with an error."""

    described = "the toy index"

    def __init__(self, table: Mapping[Release, tuple[str, ...] | IndexUnavailable | None], dead: Iterable[str] = ()):
        self.table = dict(table)
        self.dead = frozenset(dead)
        self.expected: list[str] = []

    def expect(self, names: Iterable[str]) -> None:
        self.expected += names

    def expect_requirements(self, releases: Iterable[Release]) -> None:
        self.expected += (f"{one.name} {one.version}" for one in releases)

    def releases(self, name: str) -> tuple[Release, ...]:
        if name in self.dead:
            raise IndexUnavailable("the toy index did not answer")
        return tuple(sorted((one for one in self.table if one.name == name), key=lambda one: one.version))

    def release(self, name: str, version: Version) -> Release | None:
        return next((one for one in self.releases(name) if one.version == version), None)

    def requires(self, release: Release) -> tuple[str, ...] | None:
        found = self.table[release]
        if isinstance(found, IndexUnavailable):
            raise found
        return found


def release(name: str, version: str, uploaded: str | None = "2024-05-06T07:08:09Z", **more: object) -> Release:
    return replace(Release(name=name, version=Version(version), uploaded=uploaded), **more)  # type: ignore[arg-type]  # keywords of one call


TORCH = release(
    "torch",
    "2.5.1",
    requires_python=">=3.9.0",
    wheels=("cp311-cp311-manylinux1_x86_64", "cp311-none-macosx_11_0_arm64"),
)
PEFT_OLD = release("peft", "0.1.0", "2021-12-31T23:59:59Z", sdist=True)
PEFT_1 = release("peft", "0.13.0", requires_python=">=3.8", wheels=("py3-none-any",), sdist=True)
PEFT_2 = release("peft", "0.13.1", requires_python=">=3.8", wheels=("py3-none-any",), sdist=True, yanked=True)
PEFT_3 = release("peft", "0.14.0rc1", None, requires_python=">=3.9", wheels=("py3-none-any",))
TABLE: Mapping[Release, tuple[str, ...] | IndexUnavailable | None] = {
    TORCH: ("filelock", 'triton==3.1.0; platform_system == "Linux" and python_version < "3.13"', "sympy==1.13.1"),
    PEFT_OLD: ("too", "old"),
    PEFT_1: ("numpy>=1.17", "torch>=1.13.0", "accelerate>=0.21.0", "torch>=1.13.0"),
    PEFT_2: (),
    PEFT_3: ("never asked, because nobody knows when it came",),
}
DAY = "2024-05-06T23:59:59Z"


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_snapshot(Toy(TABLE), ["peft", "torch"], tmp_path / "snapshot.zip", "2026-11-20")
    return tmp_path / "snapshot.zip"


def test_a_catalogue_comes_back(written: Path) -> None:
    snapshot = Snapshot(written)
    assert snapshot.names == ("peft", "torch")
    assert snapshot.described == "the snapshot of 2026-11-20"
    assert snapshot.since == SINCE
    assert snapshot.releases("Torch") == (replace(TORCH, uploaded=DAY),)
    assert snapshot.releases("peft") == (
        replace(PEFT_OLD, uploaded="2021-12-31T23:59:59Z"),
        replace(PEFT_1, uploaded=DAY),
        replace(PEFT_2, uploaded=DAY),
        PEFT_3,
    )
    assert [snapshot.requires(one) for one in snapshot.releases("peft")] == [None, TABLE[PEFT_1], (), None]
    assert snapshot.requires(TORCH) == TABLE[TORCH]


def test_who_requires_whom_comes_back(tmp_path: Path) -> None:
    lines = ("Torch>=2", "numpy", "datasets[audio]; extra == 'dev'", "nothing-of-it")
    table = {release("peft", "1.0"): lines, release("torch", "2.0"): ("peft [train]",), release("datasets", "3.0"): ()}
    write_snapshot(Toy(table), ["peft", "torch", "datasets"], tmp_path / "snapshot.zip", "2026-11-20")
    assert Snapshot(tmp_path / "snapshot.zip").requirers == Requirers(
        of={"datasets": frozenset({"peft"}), "peft": frozenset({"torch"}), "torch": frozenset({"peft"})},
        # peft asks for extras only where somebody asks for its own.
        asking=frozenset({"peft", "torch"}),
    )


def test_who_requires_whom_may_be_damaged(written: Path) -> None:
    with zipfile.ZipFile(written, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr("requirers", b"[]")
    with pytest.raises(IndexUnavailable, match="`requirers` in it is wrong"):
        _ = Snapshot(written).requirers


def test_it_is_a_catalogue(written: Path) -> None:
    snapshot: Catalogue = Snapshot(written)
    snapshot.expect(["torch", "no-such-package"])
    snapshot.expect_requirements([TORCH, release("torch", "99")])


def test_what_is_written_is_said(tmp_path: Path) -> None:
    toy = Toy({**TABLE, PEFT_2: IndexUnavailable("404")}, dead=["triton"])
    seen: list[tuple[str, int, int]] = []
    path = tmp_path / "snapshot.zip"
    done = write_snapshot(
        toy, ["torch", "Peft", "peft", "triton", "nothing"], path, "2026-11-20", lambda *what: seen.append(what)
    )
    assert done == Written(
        packages=2,
        releases=5,
        requirements=2,
        size=path.stat().st_size,
        missing=(
            ("nothing", "the toy index has no package of that name"),
            ("triton", "the toy index did not answer"),
        ),
        unread=(("peft 0.13.1", "404"),),
    )
    assert seen == [("nothing", 1, 4), ("peft", 2, 4), ("torch", 3, 4), ("triton", 4, 4)]
    # Side by side: all pages first, then only what is new enough.
    assert toy.expected == ["nothing", "peft", "torch", "triton", "peft 0.13.0", "peft 0.13.1", "torch 2.5.1"]
    assert Snapshot(path).requires(PEFT_2) is None


def test_the_same_catalogue_gives_the_same_bytes(written: Path, tmp_path: Path) -> None:
    backwards = Toy(dict(reversed(list(TABLE.items()))))
    write_snapshot(backwards, ["torch", "peft"], tmp_path / "again.zip", "2026-11-20")
    assert (tmp_path / "again.zip").read_bytes() == written.read_bytes()


def test_a_snapshot_without_packages_is_not_written(written: Path) -> None:
    before = written.read_bytes()
    with pytest.raises(IndexUnavailable) as caught:
        write_snapshot(Toy({}), ["peft", "torch"], written, "2026-11-21")
    assert str(caught.value) == "the toy index has none of the 2 packages of a snapshot"
    assert written.read_bytes() == before


def test_a_file_that_cannot_be_replaced_stays_and_nothing_is_left(
    written: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = written.read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_snapshot(Toy(TABLE), ["torch"], written, "2026-11-21")
    assert written.read_bytes() == before
    assert list(written.parent.iterdir()) == [written]


def test_a_package_that_is_not_in_it_is_not_one_without_releases(written: Path) -> None:
    snapshot = Snapshot(written)
    with pytest.raises(IndexUnavailable) as caught:
        snapshot.releases("Trl")
    assert str(caught.value) == "`trl` is not in the snapshot of 2026-11-20"
    with pytest.raises(IndexUnavailable) as caught:
        snapshot.requires(release("torch", "99"))
    assert str(caught.value) == "`torch` 99 is not in the snapshot of 2026-11-20"


def member(change: Callable[[dict[str, object]], object], name: str = "torch.json") -> Callable[[Path], None]:
    """Puts something else into one member."""

    def apply(path: Path) -> None:
        with zipfile.ZipFile(path) as file:
            members = {one: json.loads(file.read(one)) for one in file.namelist()}
        members[name] = change(members[name])
        with zipfile.ZipFile(path, "w") as file:
            for one, data in members.items():
                if data is not None:
                    file.writestr(one, data if isinstance(data, str) else json.dumps(data))

    return apply


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-40])


def overwritten(path: Path) -> None:
    data = bytearray(path.read_bytes())
    start = data.index(b"torch.json") + len("torch.json")
    data[start : start + 40] = b"\xff" * 40
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (Path.unlink, "the snapshot cannot be read: No such file or directory"),
        (lambda path: path.write_bytes(b""), "the snapshot is damaged: File is not a zip file"),
        (truncated, "the snapshot is damaged: File is not a zip file"),
        (overwritten, "the snapshot is damaged: `torch.json` in it cannot be read: Error -3 while decompressing data"),
        (member(lambda _: None, "snapshot"), "the snapshot is damaged: it has no `snapshot`"),
        (member(lambda _: [], "snapshot"), "the snapshot is damaged: its header is wrong: list indices must be"),
        (member(lambda _: {}, "snapshot"), "the snapshot is damaged: its header is wrong: 'format'"),
        (member(lambda _: {"format": FORMAT}, "snapshot"), "the snapshot is damaged: its header is wrong: 'date'"),
        (member(lambda old: {**old, "format": 3}, "snapshot"), "the snapshot has format 3, and this gradcompat reads"),
        (member(lambda _: "[" * 100_000), "the snapshot is damaged: `torch.json` in it cannot be read"),
        (member(lambda _: "{"), "the snapshot is damaged: `torch.json` in it cannot be read"),
        (member(lambda _: [1]), "the snapshot is damaged: `torch` in it is wrong"),
        (member(lambda old: {**old, "lines": [1]}), "the snapshot is damaged: `torch` in it is wrong: not a list of"),
        (member(lambda old: {**old, "lines": []}), "the snapshot is damaged: `torch` in it is wrong: a run of lines"),
        (member(lambda old: {**old, "requires": [[0]]}), "the snapshot is damaged: `torch` in it is wrong: zip()"),
        (member(lambda old: {**old, "requires": [["a", "b"]]}), "the snapshot is damaged: `torch` in it is wrong"),
        (member(lambda old: {**old, "releases": [["x", "", 0, 0, 0, 0]]}), "the snapshot is damaged: `torch` in it is"),
        (
            member(lambda old: {**old, "releases": [["1", "", 0, 0, -1, 0]]}),
            "the snapshot is damaged: `torch` in it is",
        ),
        (member(lambda old: {**old, "releases": [["1", "", 0, 9, 0, 0]]}), "the snapshot is damaged: `torch` in it is"),
        (member(lambda old: {**old, "releases": [["1"]]}), "the snapshot is damaged: `torch` in it is wrong"),
    ],
)
def test_a_damaged_file_is_one_clear_error(written: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(written)
    with pytest.raises(IndexUnavailable) as caught:
        Snapshot(written).requires(TORCH)
    assert str(caught.value).startswith(f"`{written}`: {message}")
    assert caught.value.hint is not None
    assert "\n" not in str(caught.value)


def test_a_member_that_unpacks_to_too_much_is_refused(written: Path) -> None:
    with zipfile.ZipFile(written, "a", zipfile.ZIP_DEFLATED) as file:
        file.writestr("bomb.json", b" " * (17 * 1024 * 1024))
    with pytest.raises(IndexUnavailable) as caught:
        Snapshot(written).releases("bomb")
    assert str(caught.value) == f"`{written}`: the snapshot is damaged: `bomb.json` in it is larger than 16 MiB"


LINES = st.lists(st.sampled_from([f"package-{number}>=1" for number in range(8)]), max_size=12).map(tuple)


@given(requires=st.lists(st.none() | LINES, min_size=1, max_size=8))
def test_any_requirements_come_back(
    requires: list[tuple[str, ...] | None], tmp_path_factory: pytest.TempPathFactory
) -> None:
    table = {release("toy", f"1.{number}"): lines for number, lines in enumerate(requires)}
    path = tmp_path_factory.mktemp("any") / "snapshot.zip"
    write_snapshot(Toy(table), ["toy"], path, "2026-11-20")
    snapshot = Snapshot(path)
    assert [snapshot.requires(one) for one in snapshot.releases("toy")] == requires


def test_names() -> None:
    assert names_for_snapshot(["Some_Name", "torch"]) == tuple(sorted({*COMPANIONS, "some-name"}))


def knowledge_names() -> set[str]:
    knowledge = load()
    return {*knowledge.by_package, *knowledge.names.families}


REGENERATE = "run `gradcompat knowledge snapshot`"


def test_the_shipped_one_has_what_the_knowledge_speaks_of() -> None:
    assert set(names_for_snapshot(knowledge_names())) - set(Snapshot().names) == set(), REGENERATE


def test_the_shipped_one_is_small_and_whole() -> None:
    snapshot = Snapshot()
    assert SHIPPED.stat().st_size < 1_000_000
    for name in snapshot.names:
        releases = snapshot.releases(name)
        assert releases, name
        assert [one.version for one in releases] == sorted({one.version for one in releases}), name
        for one in releases:
            for line in snapshot.requires(one) or ():
                assert line == line.strip(), (name, line)
                assert "\n" not in line, (name, line)


def test_the_shipped_one_knows_what_everyone_can_check() -> None:
    snapshot = Snapshot()
    transformers = {str(one.version): one for one in snapshot.releases("transformers")}
    assert transformers["4.46.0"].yanked
    assert not transformers["4.46.1"].yanked
    assert transformers["4.46.1"].wheels == ("py3-none-any",)
    assert "tokenizers <0.21,>=0.20" in (snapshot.requires(transformers["4.46.1"]) or ())
    torch = {str(one.version): one for one in snapshot.releases("torch")}
    required = {Requirement(line).name for line in snapshot.requires(torch["2.5.1"]) or ()}
    assert {"filelock", "triton", "nvidia-cudnn-cu12"} <= required
    assert torch["2.5.1"].requires_python == ">=3.8.0"
    assert "cp311-cp311-manylinux1_x86_64" in torch["2.5.1"].wheels


def test_the_requirements_of_the_shipped_one_can_nearly_all_be_read() -> None:
    """Some old ones are invalid at the index, and stay as they are: what to do about them is for whoever reads them."""
    snapshot = Snapshot()
    wrong: list[str] = []
    seen: set[str] = set()
    for name in ("torch", "transformers", "peft", "trl", "accelerate", "datasets"):
        for one in snapshot.releases(name):
            seen.update(snapshot.requires(one) or ())
    for line in seen:
        try:
            Requirement(line)
        except InvalidRequirement:
            wrong.append(line)
    assert seen
    assert wrong == []
