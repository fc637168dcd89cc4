"""What the site has beside the pages of ``docs/``, and the site itself where the extra ``docs`` is installed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gradcompat.config.schema import _KEYS
from gradcompat.knowledge.load import load
from gradcompat.recipes.table import BY_NAME
from tests.conftest import ROOT
from website import commands, pairs, records, schemas
from website.links import TAKEN_OVER, BrokenLink, carried_over, filled

pytestmark = pytest.mark.e2e

RECORDS = [record["id"] for record in load().records]
KNOWN = frozenset(RECORDS)


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    return dict(records.files())


def test_every_record_has_a_page_and_its_pictures(made: dict[str, str]) -> None:
    assert [address for address in made if re.fullmatch(r"records/GC-\d+\.md", address)] == [
        f"records/{identifier}.md" for identifier in RECORDS
    ]
    shown = {
        f"records/{picture}"
        for address, text in made.items()
        if address.endswith(".md")
        for picture in re.findall(r"\]\((GC-[^)]+\.svg)\)", text)
    }
    assert shown == {address for address in made if address.endswith(".svg")}
    assert shown
    for address in shown:
        ElementTree.fromstring(made[address])  # noqa: S314  # ours


def test_a_record_that_was_measured_shows_it(made: dict[str, str]) -> None:
    """Each probe of a record whose recipe has rows is in one of its pictures."""
    text = made["records/GC-0004.md"]
    assert "(GC-0004-transformers-accumulation_equivalence.svg)" in text
    assert "4.49.0 – 4.51.3  X" in text
    assert all(name.rpartition("-")[2].removesuffix(".svg") in BY_NAME for name in made if name.endswith(".svg"))


def test_every_pair_of_core_packages_has_a_page_and_a_picture() -> None:
    made = dict(pairs.files())
    listed = re.findall(r"^\* \[[^]]+\]\((pairs/[^)]+\.md)\)", pairs.listing(), re.MULTILINE)
    assert "pairs/peft-transformers.md" in listed
    assert sorted(made) == sorted([*listed, *(address.replace(".md", ".svg") for address in listed)])
    for address in listed:
        picture = address.replace(".md", ".svg")
        assert f"]({Path(picture).name})" in made[address]
        ElementTree.fromstring(made[picture])  # noqa: S314  # ours
    page = made["pairs/peft-transformers.md"]
    assert "| `transformers.HybridCache` | `peft/peft_model.py:37` | " in page
    assert not re.search(r"^\|.*\|\|.*\|$", page, re.MULTILINE)


def test_lists_name_every_record(made: dict[str, str]) -> None:
    for text in (records.by_package(), made[records.BY_CATEGORY]):
        assert set(re.findall(r"^\* \[(GC-\d+)\]", text, re.MULTILINE)) == KNOWN


def test_commands_of_record_pages_are_real(made: dict[str, str], tmp_path: Path) -> None:
    """All that they tell to run, in one go, in an interpreter without torch: no record is unknown."""
    told = {command for text in made.values() for command in re.findall(r"^```sh\n(.+?)\n```$", text, re.MULTILINE)}
    identifiers = sorted(command.removeprefix("gradcompat probe ") for command in told)
    assert set(identifiers) <= KNOWN
    command = [
        sys.executable,
        "-m",
        "gradcompat",
        "probe",
        *identifiers,
        "--python",
        sys.executable,
        "--format",
        "json",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode in (0, 1, 3), done.stderr
    probed = {issue for result in json.loads(done.stdout)["results"] for issue in result["issues"]}
    assert probed >= set(identifiers)


def test_the_manual_has_every_option() -> None:
    manual = commands.manual()
    for command, context in commands.commands():
        section = manual.partition(f"## {context.command_path}\n")[2].partition("\n## ")[0]
        for parameter in command.get_params(context):
            if parameter.param_type_name == "option":
                assert any(name in section for name in parameter.opts), (context.command_path, parameter.opts)


def test_tables_have_every_key_of_the_schemas() -> None:
    tables = schemas.tables()
    assert re.findall(r"^## gradcompat (\w+) ", tables, re.MULTILINE) == [
        path.stem for path in sorted(schemas.FOLDER.glob("*.json"))
    ]
    for path in schemas.FOLDER.glob("*.json"):
        for one in (json.loads(path.read_bytes()), *json.loads(path.read_bytes())["$defs"].values()):
            for key in one.get("properties", {}):
                assert f"| `{key}` |" in tables


def test_every_key_of_the_configuration_is_told() -> None:
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    assert [key for key in _KEYS if f"`{key}`" not in page] == []


def test_every_environment_variable_is_told() -> None:
    page = (ROOT / "docs/configuration.md").read_text("utf-8")
    code = "".join(path.read_text("utf-8") for path in (ROOT / "gradcompat").rglob("*.py"))
    ours = set(re.findall(r"GRADCOMPAT_[A-Z_]+", code)) - {"GRADCOMPAT_PROBE_PYTHON", "GRADCOMPAT_PROBE_LAYERS"}
    assert {name for name in ours if name not in page} == set()


@pytest.mark.parametrize(
    ("path", "markdown", "expected"),
    [
        ("docs/a.md", "see GC-0001", "see [GC-0001](records/GC-0001.md)"),
        ("docs/a.md", "see GC-9999", "see GC-9999"),
        ("docs/a.md", "`GC-0001`", "`GC-0001`"),
        ("docs/a.md", "# GC-0001", "# GC-0001"),
        ("docs/a.md", "```sh\ngradcompat explain GC-0001\n```", "```sh\ngradcompat explain GC-0001\n```"),
        ("docs/a.md", "[GC-0001](b.md)", "[GC-0001](b.md)"),
        ("docs/records/GC-0002.md", "as GC-0001", "as [GC-0001](GC-0001.md)"),
        ("docs/records/GC-0001.md", "GC-0001 again", "GC-0001 again"),
        ("docs/a.md", "[x](../knowledge/README.md#y)", "[x](knowledge.md#y)"),
        ("docs/a.md", "[x](#y) <https://a.example/GC-0001>", "[x](#y) <https://a.example/GC-0001>"),
        ("knowledge/README.md", "[x](../docs/settings.md)", "[x](settings.md)"),
        ("CONTRIBUTING.md", "![x](docs/a.svg) [y](https://a.example)", "![x](a.svg) [y](https://a.example)"),
    ],
)
def test_links_are_carried_over(path: str, markdown: str, expected: str) -> None:
    assert carried_over(markdown, path, KNOWN) == expected


def test_a_link_out_of_the_site_is_an_error() -> None:
    with pytest.raises(BrokenLink, match=re.escape("docs/a.md: ../gradcompat/api.py is not on the site")):
        carried_over("[x](../gradcompat/api.py)", "docs/a.md", KNOWN)


def test_what_nothing_makes_is_an_error() -> None:
    assert filled("a\n<!-- generated: x -->\nb", {"x": lambda: "made"}) == "a\nmade\nb"
    with pytest.raises(KeyError):
        filled("<!-- generated: nothing -->", {})


def test_every_link_of_the_repository_leads_somewhere() -> None:
    """On a forge, too: what a page links is a file beside it."""
    for path in (*(ROOT / "docs").glob("*.md"), ROOT / "README.md", *(ROOT / one for one in TAKEN_OVER)):
        text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            if not re.match(r"[a-z]+:", target):
                assert (path.parent / target).exists(), f"{path.relative_to(ROOT)}: {target}"


class Loaded(HTMLParser):
    """Addresses of what a browser fetches by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        if tag in ("script", "img", "iframe", "source", "video", "audio") and named.get("src"):
            self.found.append(named["src"] or "")
        if tag == "link" and named.get("rel") not in ("canonical", "prev", "next"):
            self.found.append(named.get("href") or "")


def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="needs the extra `docs`")
    site = tmp_path / "site"
    # An address at which nothing answers stands for every proxy: what asks a network fails.
    quiet = {"NO_MKDOCS_2_WARNING": "1", "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > len(RECORDS)
    for page in pages:
        loaded = Loaded()
        text = page.read_text("utf-8")
        loaded.feed(text)
        assert [one for one in loaded.found if re.match(r"(?:https?:)?//", one)] == [], page
        assert "<!-- generated:" not in text
    assert "GC-0004" in (site / "search/search_index.json").read_text("utf-8")
    assert json.loads((site / "schemas/check.json").read_bytes())["title"] == "gradcompat check --format json"
