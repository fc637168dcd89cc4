"""What is kept of lockfiles: a check of a kept one says the same, and only an entry that is whole is believed."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.audit import kept_locks, targets
from gradcompat.audit.environment_record import environment_from, record_of
from gradcompat.audit.kept_locks import read_lock
from gradcompat.dependency_formats import FORMATS
from gradcompat.errors import Malformed, OutsideRoot
from gradcompat.files import kept_entries
from gradcompat.files.kept_entries import LARGEST_ENTRY, PLACES
from gradcompat.files.root import root_of_folder
from gradcompat.formats.document import read_document
from gradcompat.model.environment import Environment, Location, Package, Setting, Skipped
from gradcompat.sources.any_format import read
from gradcompat.startup.lazy_dataclasses import replace
from tests.conftest import ROOT, Run
from tests.examples import examples

FIXTURES = ROOT / "tests" / "fixtures"
LOCKS = (
    *sorted(FIXTURES.glob("uv/*.lock")),
    *sorted(FIXTURES.glob("poetry/*.lock")),
    *sorted(FIXTURES.glob("pdm/*.lock")),
    *sorted(FIXTURES.glob("pixi/*.lock")),
    *sorted(FIXTURES.glob("pylock/*.toml")),
    FIXTURES / "conda" / "conda-lock.yml",
    FIXTURES / "pipenv" / "Pipfile.lock",
)
NAMES = {"uv": "uv.lock", "poetry": "poetry.lock", "pdm": "pdm.lock", "pixi": "pixi.lock", "pylock": "pylock.toml"}


def named_as_usual(lock: Path, folder: Path) -> Path:
    """The lockfile under the name that its tool gives it."""
    copy = folder / NAMES.get(lock.parent.name, lock.name)
    copy.write_bytes(lock.read_bytes())
    return copy


@pytest.fixture
def all_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small lockfiles are kept as large ones are."""
    monkeypatch.setattr(targets, "_KEPT_FROM", 0)


@pytest.fixture
def unread(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on nothing is read, so that only what is kept can answer."""

    def refuse(*_: object) -> Environment:
        raise AssertionError("it was read")

    return lambda: monkeypatch.setattr(kept_locks, "read", refuse)


texts = st.text(max_size=20)
places = st.builds(
    Location, path=st.sampled_from(["uv.lock", "other.txt"]), line=st.none() | st.integers(1), column=st.none()
) | st.builds(Location, path=texts, line=st.integers(1), column=st.integers(1))
markers = st.sampled_from(["extra == 'cpu'", "sys_platform == 'linux'", "", "…"])
some_texts = st.lists(texts, max_size=3).map(tuple)
packages = st.builds(
    Package,
    name=texts,
    version=st.none() | texts,
    specifier=st.none() | texts,
    source=st.sampled_from(["registry", "git", "conda"]),
    marker=st.none() | markers,
    forks=some_texts,
    extras=some_texts,
    reached=st.lists(markers, max_size=3).map(tuple),
    unreleased=st.booleans(),
    trunk=st.booleans(),
    malformed_version=st.booleans(),
    releases=some_texts,
    build=st.none() | texts,
    location=places,
)
left_out = st.builds(
    Skipped,
    what=texts,
    reason=texts,
    gap=st.booleans(),
    location=st.none() | places,
    range=st.booleans(),
    newest=st.none() | texts,
    empty=st.booleans(),
)
environments = st.builds(
    Environment,
    source=st.just("uv.lock"),
    kind=texts,
    packages=st.lists(packages, max_size=4).map(tuple),
    closed=st.booleans(),
    skipped=st.lists(left_out, max_size=3).map(tuple),
    python=st.none() | st.just("3.11"),
    platform=st.none() | st.just("linux"),
    virtual=st.dictionaries(texts, texts, max_size=2),
    conflicts=st.lists(st.frozensets(texts, max_size=3), max_size=2).map(tuple),
    excluded=st.frozensets(texts, max_size=2),
    origins=st.dictionaries(texts, places, max_size=2),
)


@given(environments)
@settings(max_examples=examples(200))
def test_a_record_has_all_of_an_environment(environment: Environment) -> None:
    assert environment_from(json.loads(json.dumps(record_of(environment)))) == environment


def test_what_no_lockfile_says_has_no_record() -> None:
    said = Setting(key="training.seed", value=1, location=Location(path="train.yaml"))
    lock = Environment(source="uv.lock", kind="uv.lock", packages=(), closed=True)
    assert record_of(lock) is not None
    assert record_of(replace(lock, settings=(said,))) is None
    assert record_of(replace(lock, engines=frozenset())) is None


@pytest.mark.usefixtures("all_kept")
@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_a_kept_lockfile_is_reported_byte_for_byte_the_same(
    run: Run, tmp_path: Path, lock: Path, form: str, unread: Callable[[], None]
) -> None:
    command = ("check", named_as_usual(lock, tmp_path).name, "--all", "--format", form)
    anew = run(*command, "--no-cache")
    env = {"GRADCOMPAT_CACHE": str(tmp_path / "cache")}
    assert run(*command, env=env) == anew
    unread()
    assert run(*command, env=env) == anew


def test_every_format_of_lockfiles_is_tried() -> None:
    kinds = {read(read_document(lock, NAMES.get(lock.parent.name, lock.name))).kind for lock in LOCKS}
    assert kinds == {entry.kind for entry in FORMATS if entry.lock}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return named_as_usual(FIXTURES / "uv" / "groups-that-conflict.lock", tmp_path)


def entry_of(cache: Path) -> Path:
    (entry,) = (path for path in cache.rglob("*") if path.is_file())
    return entry


def test_another_byte_name_or_reader_is_read_anew(
    lock: Path, tmp_path: Path, unread: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = tmp_path / "cache"
    read_lock(lock, "uv.lock", None, cache)
    unread()
    assert read_lock(lock, "uv.lock", None, cache).kind == "uv.lock"
    with pytest.raises(AssertionError, match="it was read"):
        read_lock(lock, "there/uv.lock", None, cache)
    for name, other in (("__version__", "0.0.1"), ("_code", lambda: b"another reader")):
        with monkeypatch.context() as changed:
            changed.setattr(kept_locks, name, other)
            with pytest.raises(AssertionError, match="it was read"):
                read_lock(lock, "uv.lock", None, cache)
    lock.write_bytes(lock.read_bytes() + b"\n")
    with pytest.raises(AssertionError, match="it was read"):
        read_lock(lock, "uv.lock", None, cache)


def test_the_code_that_reads_is_named() -> None:
    assert b"sources/uv_lock.py" in kept_locks._code()
    assert b"requirements/markers.py" in kept_locks._code()


def test_a_damaged_entry_is_none(lock: Path, tmp_path: Path) -> None:
    """Cut off anywhere, or with any byte changed."""
    cache = tmp_path / "cache"
    anew = read_lock(lock, "uv.lock", None, cache)
    entry = entry_of(cache)
    whole = entry.read_bytes()

    @given(st.integers(0, len(whole) - 1), st.integers(1, 255), st.booleans())
    @settings(max_examples=examples(100))
    def damage(position: int, change: int, cut: bool) -> None:
        rest = b"" if cut else bytes([whole[position] ^ change]) + whole[position + 1 :]
        entry.write_bytes(whole[:position] + rest)
        assert kept_locks._kept(str(entry), json.loads(whole.partition(b"\n")[2])["key"]) is None
        assert read_lock(lock, "uv.lock", None, cache) == anew
        assert entry.read_bytes() == whole

    damage()


def test_what_is_whole_and_of_another_form_is_none(lock: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    anew = read_lock(lock, "uv.lock", None, cache)
    entry = entry_of(cache)
    key = json.loads(entry.read_bytes().partition(b"\n")[2])["key"]
    for body in ("[]", "{}", f'{{"key": "{key}", "environment": {{}}}}', "[" * 100_000, "\\"):
        digest = blake2b(body.encode(), digest_size=20).hexdigest()
        entry.write_text(f"{digest}\n{body}", "utf-8")
        assert read_lock(lock, "uv.lock", None, cache) == anew


def test_the_folder_is_bounded(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_entries, "PLACES", 4)
    cache = tmp_path / "cache"
    for number in range(40):
        read_lock(lock, f"service-{number}/uv.lock", None, cache)
    assert 2 <= len([path for path in cache.rglob("*") if path.is_file()]) <= 4
    assert PLACES * LARGEST_ENTRY <= 128 * 2**20


def test_a_large_entry_is_not_kept(lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_entries, "LARGEST_ENTRY", 100)
    read_lock(lock, "uv.lock", None, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_what_a_kill_left_is_written_over(lock: Path, tmp_path: Path, unread: Callable[[], None]) -> None:
    cache = tmp_path / "cache"
    anew = read_lock(lock, "uv.lock", None, cache)
    entry = entry_of(cache)
    entry.rename(entry.with_suffix(".staged"))
    entry.with_suffix(".staged").write_bytes(entry.name.encode() * 100_000)
    assert read_lock(lock, "uv.lock", None, cache) == anew
    assert entry_of(cache) == entry
    unread()
    assert read_lock(lock, "uv.lock", None, cache) == anew


def test_many_at_once_read_what_stands_in_their_lockfiles(
    lock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them write into one place."""
    monkeypatch.setattr(kept_entries, "PLACES", 1)
    text = lock.read_text("utf-8")
    folders = [tmp_path / f"service-{number}" for number in range(6)]
    for number, folder in enumerate(folders):
        folder.mkdir()
        (folder / "uv.lock").write_text(text.replace('"tqdm"', f'"tqdm-{number}"'), "utf-8")
    paths = [folder / "uv.lock" for folder in folders]
    anew = [read(read_document(path, "uv.lock")) for path in paths]
    with ThreadPoolExecutor(6) as pool:
        for _ in range(10):
            kept = pool.map(lambda path: read_lock(path, "uv.lock", None, tmp_path / "cache"), paths)
            assert list(kept) == anew


def test_nothing_is_kept_of_what_is_no_lockfile(tmp_path: Path) -> None:
    listed = tmp_path / "requirements.txt"
    listed.write_text("-r other.txt\n", "utf-8")
    (tmp_path / "other.txt").write_text("torch==2.5.1\n", "utf-8")
    misnamed = tmp_path / "uv.lock"
    misnamed.write_text("torch==2.5.1\n", "utf-8")
    for path in (listed, misnamed):
        assert [package.name for package in read_lock(path, path.name, None, tmp_path / "cache").packages] == ["torch"]
    misnamed.write_text("[[package]]\n", "utf-8")
    with pytest.raises(Malformed):
        read_lock(misnamed, "uv.lock", None, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_what_leads_outside_is_not_read_from_the_cache(lock: Path, tmp_path: Path) -> None:
    inside = tmp_path / "project"
    inside.mkdir()
    (inside / "uv.lock").symlink_to(lock)
    read_lock(inside / "uv.lock", "uv.lock", None, tmp_path / "cache")
    with pytest.raises(OutsideRoot):
        read_lock(inside / "uv.lock", "uv.lock", root_of_folder(inside, str(inside), ()), tmp_path / "cache")


@pytest.mark.usefixtures("all_kept")
def test_the_flag_and_the_setting_keep_nothing(run: Run, lock: Path, tmp_path: Path) -> None:
    env = {"GRADCOMPAT_CACHE": str(tmp_path / "cache")}
    anew = run("check", lock.name, "--no-cache", env=env)
    (tmp_path / "gradcompat.toml").write_text("cache = false\n", "utf-8")
    assert run("check", lock.name, env=env) == anew
    assert not (tmp_path / "cache").exists()
    (tmp_path / "gradcompat.toml").write_text("cache = true\n", "utf-8")
    assert run("check", lock.name, env=env) == anew
    assert entry_of(tmp_path / "cache")


@pytest.mark.usefixtures("all_kept")
def test_a_cache_that_cannot_be_written_is_not_spoken_of(run: Run, lock: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("", "utf-8")
    anew = run("check", lock.name, "--no-cache")
    assert run("check", lock.name, env={"GRADCOMPAT_CACHE": str(tmp_path / "taken")}) == anew


@pytest.mark.skipif(sys.platform == "win32", reason="rights of files are another thing there")
def test_what_is_kept_is_for_its_user_alone(lock: Path, tmp_path: Path) -> None:
    read_lock(lock, "uv.lock", None, tmp_path / "cache")
    entry = entry_of(tmp_path / "cache")
    assert (entry.stat().st_mode & 0o777, entry.parent.stat().st_mode & 0o777) == (0o600, 0o700)
