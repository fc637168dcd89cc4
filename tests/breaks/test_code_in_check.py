"""What the project's code uses, held against the release that is listed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from packaging.version import Version

import gradcompat
from gradcompat.breaks.code_issues import _history
from gradcompat.model.issue import CodeRemedy, PackageTerm
from gradcompat.model.report import Report, ReportedFinding
from gradcompat.releases import table as tables
from gradcompat.releases.answers import Parameter, Presence, Signature
from gradcompat.renderers.registry import RENDERERS
from gradcompat.requirements.versions import VersionSet
from tests.renderers.reports import rendered


@dataclass
class Release:
    """Module → its names, callable → its signature; ``?`` among the names of a module that makes some at run time."""

    modules: Mapping[str, str]
    calls: Mapping[str, Signature] = field(default_factory=dict)


def called(names: str, *, renamed: Mapping[str, str] | None = None, extra: bool = False) -> Signature:
    parameters = [Parameter(name, "any", "None") for name in names.split()]
    if extra:
        parameters.append(Parameter("kwargs", "**", None))
    return Signature(tuple(parameters), True, renamed or {}, "")


MAIN = 'if __name__ == "__main__":\n    pass\n'  # what makes a program of a module

# `trainlib` 1.0, 2.0, 3.0: `Cache` goes in 3.0, `Extra` comes in 2.0, `old` is renamed in 2.0 and gone in 3.0; `helper`
# and `other` go elsewhere in 3.0.
RELEASES = {
    "1.0": Release(
        {"trainlib": "Args Cache Trainer", "trainlib.utils": "helper other twin", "trainlib.lazy": "?"},
        {"trainlib.Args": called("old out"), "trainlib.Trainer": called("model", extra=True)},
    ),
    "2.0": Release(
        {"trainlib": "Args Cache Extra Trainer", "trainlib.utils": "helper other twin", "trainlib.lazy": "?"},
        {"trainlib.Args": called("new out", renamed={"old": "new"}), "trainlib.Trainer": called("model", extra=True)},
    ),
    "3.0": Release(
        {
            "trainlib": "Args Extra Trainer",
            "trainlib.lazy": "?",
            "trainlib.tools": "helper other",
            "trainlib.own": "twin",
        },
        {"trainlib.Args": called("new out"), "trainlib.Trainer": called("model", extra=True)},
    ),
}


class SmallTable:
    package = "trainlib"
    imports = ("trainlib",)
    versions = tuple(map(Version, RELEASES))

    def presence(self, version: Version, module: str, name: str | None = None) -> Presence:
        release = RELEASES.get(str(version))
        if release is None:
            return Presence.UNKNOWN
        inner = module if name is None else f"{module}.{name}"
        if inner in release.modules or (name is not None and name in release.modules.get(module, "").split()):
            return Presence.PRESENT
        return Presence.UNKNOWN if "?" in release.modules.get(module, "") else Presence.ABSENT

    def defined_in(self, name: str) -> tuple[str, ...]:
        found = (module for one in RELEASES.values() for module, names in one.modules.items() if name in names.split())
        return tuple(dict.fromkeys(found))

    def signature(self, version: Version, qualified_name: str, beside: object = None) -> Signature | None:
        release = RELEASES.get(str(version))
        return None if release is None else release.calls.get(qualified_name)

    def renamed(self, version: Version, qualified_name: str, keyword: str) -> str | None:
        found = self.signature(version, qualified_name)
        return None if found is None else found.renamed.get(keyword)


# A module that is imported while the functions are replaced would keep those of the test.
for _module in ("code_imports", "code_issues"):
    import_module(f"gradcompat.breaks.{_module}")


@pytest.fixture(autouse=True)
def small_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "package_of", {"trainlib": "trainlib"}.get)
    monkeypatch.setattr(tables, "table_of", {"trainlib": SmallTable()}.get)


def checked(folder: Path, pin: str, code: str, **options: Any) -> Report:
    (folder / "requirements.txt").write_text(f"{pin}\n")
    (folder / "train.py").write_text(f"import torch\n{code}{MAIN}")
    return gradcompat.check(folder, **options)


def breaks_in(report: Report) -> list[ReportedFinding]:
    return [one for one in report.findings if one.finding.issue.id.startswith("code:")]


def told(report: Report) -> list[tuple[str, int | None, str]]:
    return [
        (one.finding.issue.id, one.finding.location.line if one.finding.location else None, one.finding.issue.summary)
        for one in breaks_in(report)
    ]


def test_a_name_that_a_release_removed(tmp_path: Path) -> None:
    report = checked(tmp_path, "trainlib==3.0", "from trainlib import Cache\n")
    summary = "cannot import name 'Cache' from 'trainlib' in trainlib 3.0: removed in 3.0"
    assert told(report) == [("code:trainlib:Cache", 2, summary)]
    assert report.exit_status == 1


def test_a_name_that_is_not_there_yet(tmp_path: Path) -> None:
    ((_, _, summary),) = told(checked(tmp_path, "trainlib==1.0", "import trainlib\ntrainlib.Extra()\n"))
    assert summary == "trainlib 1.0 has no `trainlib.Extra`: new in 2.0"


@pytest.mark.parametrize(
    ("missing", "unsure", "version", "words"),
    [
        ("<3", "<3", "1", ["new in 3"]),
        ("<2", "<4", "1", ["new in 4 at the latest"]),
        ("<3 || ==4", "<4 || ==4", "1", ["new in 5"]),
        (">=3", ">=3", "5", ["removed in 3"]),
        (">=4", ">=3", "5", ["removed in 4 at the latest"]),
    ],
)
def test_releases_that_could_not_be_read_make_it_the_latest(
    missing: str, unsure: str, version: str, words: list[str]
) -> None:
    releases = [Version(str(number)) for number in range(1, 6)]
    sets = VersionSet.parse(missing), VersionSet.parse(unsure)
    assert list(_history(*sets, releases, Version(version), None)) == words


def test_a_module_that_is_gone(tmp_path: Path) -> None:
    ((_, line, summary),) = told(checked(tmp_path, "trainlib==3.0", "x = 1\nfrom trainlib.utils import helper\n"))
    assert (line, summary) == (3, "No module named 'trainlib.utils' in trainlib 3.0: removed in 3.0")


def test_a_keyword_that_was_renamed(tmp_path: Path) -> None:
    report = checked(tmp_path, "trainlib==3.0", "from trainlib import Args\nArgs(old=1, out='x')\n")
    summary = "Args has no `old` in trainlib 3.0: renamed `new` in 2.0 and removed in 3.0"
    assert told(report) == [("code:trainlib:Args:old", 3, summary)]
    (found,) = breaks_in(report)
    assert found.advice is not None
    assert "write `new` instead of `old`" in rendered(report, "text")


@pytest.mark.parametrize(
    ("pin", "code"),
    [
        ("trainlib==2.0", "from trainlib import Cache, Args\nArgs(old=1)\n"),  # warned of, and works
        ("trainlib==3.0", "from trainlib.lazy import anything\n"),  # made at import time
        ("trainlib==3.0", "from trainlib import Trainer\nTrainer(whatever=1)\n"),  # takes **kwargs
        ("trainlib==4.0", "from trainlib import Cache\n"),  # nobody has read that release
        ("trainlib==3.0", "try:\n    from trainlib import Cache\nexcept ImportError:\n    Cache = None\n"),
        ("trainlib==3.0", "from trainlib import Never\nfrom trainlib.never import Never\n"),  # of a fork, perhaps
        ("other==3.0", "from trainlib import Cache\n"),
        ("trainlib==3.0", "from trainlib import Args\nArgs.anything\nArgs().more\n"),
        ("trainlib @ git+https://git.example/trainlib@abc", "from trainlib import Cache\n"),
    ],
)
def test_what_is_not_certainly_missing_is_not_told(tmp_path: Path, pin: str, code: str) -> None:
    assert told(checked(tmp_path, pin, code)) == []


def test_what_stands_behind_a_condition_could_apply(tmp_path: Path) -> None:
    report = checked(tmp_path, "trainlib==3.0", "if args.cache:\n    from trainlib import Cache\n")
    (found,) = breaks_in(report)
    assert found.finding.status == "conditional"
    assert [one.sentence for some in found.finding.unknown for one in some] == [
        f"the code at {tmp_path}/train.py:3 runs"
    ]
    assert report.exit_status == 0
    # The same name somewhere else without one.
    (found,) = breaks_in(
        checked(tmp_path, "trainlib==3.0", "if x:\n    from trainlib import Cache\nimport trainlib\ntrainlib.Cache()\n")
    )
    assert found.finding.status == "affected"
    assert found.finding.location is not None
    assert found.finding.location.line == 5


def test_code_of_a_package_that_is_installed_from_its_repository(tmp_path: Path) -> None:
    """What is imported is the state of that commit, and not the folder at hand: OLMo pins an old one of its own."""
    (tmp_path / "own_models").mkdir()
    (tmp_path / "own_models" / "model.py").write_text("from trainlib import Cache\n")
    code = f"from own_models.model import Cache\n{MAIN}"
    (found,) = breaks_in(checked(tmp_path, "trainlib==3.0", code))
    assert found.finding.status == "affected"
    pinned = "trainlib==3.0\nown-models @ git+https://git.example/own@abc"
    assert breaks_in(checked(tmp_path, pinned, code)) == []


def test_a_name_that_another_program_of_the_project_puts_there(tmp_path: Path) -> None:
    (tmp_path / "patches.py").write_text(
        f"import torch\nimport trainlib\ntrainlib.Cache = torch.nn.Linear(1, 1)\n{MAIN}"
    )
    assert told(checked(tmp_path, "trainlib==3.0", "from trainlib import Cache\n")) == []


def test_what_is_done_with_a_missing_name_is_not_told_besides(tmp_path: Path) -> None:
    code = "from trainlib import Cache, Args\nCache.load()\nCache(size=1).more()\nArgs(old=1)\n"
    assert [one[0] for one in told(checked(tmp_path, "trainlib==3.0", code))] == [
        "code:trainlib:Args:old",
        "code:trainlib:Cache",
    ]


LOCK = """
version = 1
[[package]]
name = "trainlib"
version = "{version}"
source = {{ {source} }}
"""


@pytest.mark.parametrize(
    ("version", "source", "found"),
    [
        ("3.0", 'registry = "https://index.example/simple"', 1),
        ("3.0", 'git = "https://git.example/trainlib?rev=main#abcdef"', 0),
        ("3.0", 'editable = "trainlib"', 0),
        ("3.0", 'directory = "trainlib"', 0),
        ("3.0.dev1", 'registry = "https://index.example/simple"', 0),
    ],
)
def test_a_checkout_is_no_release(tmp_path: Path, version: str, source: str, found: int) -> None:
    (tmp_path / "uv.lock").write_text(LOCK.format(version=version, source=source))
    (tmp_path / "train.py").write_text(f"import torch\nfrom trainlib import Cache\n{MAIN}")
    assert len(breaks_in(gradcompat.check(tmp_path))) == found


def test_every_place_is_named_once(tmp_path: Path) -> None:
    (tmp_path / "eval.py").write_text("import torch\nimport torch\nfrom trainlib import Cache\n" + MAIN)
    (found,) = breaks_in(checked(tmp_path, "trainlib==3.0", "from trainlib import Cache\n"))
    (reason,) = [one.sentence for one in found.finding.because if "imports" in one.sentence]
    assert f"{tmp_path}/eval.py:3" in reason
    assert f"{tmp_path}/train.py:2" in reason


def test_it_stands_at_its_line_and_names_no_runs(tmp_path: Path) -> None:
    (tmp_path / "tool.py").write_text("import torch\nfrom trainlib import Cache\n" + MAIN)
    for name in ("a", "b"):
        (tmp_path / f"{name}.py").write_text("from transformers import Trainer\nTrainer(model=None).train()\n")
    text = rendered(checked(tmp_path, "trainlib==3.0\ntransformers==4.57.6", "import torch\n"), "text")
    assert "tool.py:2" in text
    assert "2 training runs: " not in text


def test_no_fix_leads_below_the_releases_that_were_read(tmp_path: Path) -> None:
    (found,) = breaks_in(checked(tmp_path, "trainlib==1.0", "import trainlib\ntrainlib.Extra()\n"))
    (combination,) = found.finding.issue.affected
    assert [str(term.versions) for term in combination.terms if isinstance(term, PackageTerm)] == ["<=1.0"]
    assert [getattr(one, "kind", "code") for one in found.finding.issue.remedies] == ["upgrade", "code"]


def test_each_project_is_held_against_its_own_environment(tmp_path: Path) -> None:
    for name, pin in (("old", "trainlib==1.0"), ("new", "trainlib==3.0")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "requirements.txt").write_text(f"{pin}\n")
        (tmp_path / name / "train.py").write_text("import torch\nfrom trainlib import Cache\n" + MAIN)
    found = breaks_in(gradcompat.check(tmp_path))
    assert [one.finding.source for one in found] == [f"{tmp_path}/new/requirements.txt"]


def test_a_file_that_imports_what_a_lockfile_does_not_have_is_for_another_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "package_of", {"trainlib": "trainlib", "served": "serve-lib"}.get)
    lock = LOCK.format(version="3.0", source='registry = "https://index.example/simple"')
    (tmp_path / "uv.lock").write_text(lock)
    (tmp_path / "train.py").write_text(f"import torch\nimport served\nfrom trainlib import Cache\n{MAIN}")
    assert breaks_in(gradcompat.check(tmp_path)) == []
    (tmp_path / "train.py").write_text(f"import torch\nimport missing\nfrom trainlib import Cache\n{MAIN}")
    assert len(breaks_in(gradcompat.check(tmp_path))) == 1
    (tmp_path / "uv.lock").write_text(f'{lock}\n[[package]]\nname = "serve-lib-cpu"\nversion = "1.0"\n')
    (tmp_path / "train.py").write_text(f"import torch\nimport served\nfrom trainlib import Cache\n{MAIN}")
    assert len(breaks_in(gradcompat.check(tmp_path))) == 1
    (tmp_path / "uv.lock").unlink()
    assert len(breaks_in(checked(tmp_path, "trainlib==3.0", "import served\nfrom trainlib import Cache\n"))) == 1


def test_an_upgrade_that_breaks_the_code(tmp_path: Path) -> None:
    report = checked(tmp_path, "trainlib==2.0", "from trainlib import Cache\n", versions={"trainlib": "3.0"})
    assert [identifier for identifier, _, _ in told(report)] == ["code:trainlib:Cache"]
    (finding,) = breaks_in(report)
    assert finding.advice is not None
    assert finding.advice.remedy == CodeRemedy(text="do without trainlib.Cache")


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("from trainlib.utils import helper\n", "write `from trainlib.tools import helper`"),
        ("from trainlib.utils import helper, other\n", "write `from trainlib.tools import helper, other`"),
        ("from trainlib.utils import helper, twin\n", "do without trainlib.utils"),
        ("import trainlib.utils\n", "do without trainlib.utils"),
    ],
)
def test_where_a_name_has_gone(tmp_path: Path, code: str, text: str) -> None:
    (found,) = breaks_in(checked(tmp_path, "trainlib==3.0", code))
    assert [one for one in found.finding.issue.remedies if isinstance(one, CodeRemedy)] == [CodeRemedy(text=text)]


@pytest.mark.parametrize("form", sorted(RENDERERS))
def test_every_format_tells_it(tmp_path: Path, form: str) -> None:
    text = rendered(checked(tmp_path, "trainlib==3.0", "from trainlib import Cache\n"), form)
    assert "code:trainlib:Cache" in text.replace("\\", "").replace("%3A", ":")


@pytest.mark.parametrize("form", ["sarif", "github", "gitlab"])
def test_forges_show_it_at_the_line_of_the_code(tmp_path: Path, form: str) -> None:
    text = rendered(checked(tmp_path, "trainlib==3.0", "x = 1\nfrom trainlib import Cache\n"), form)
    place = {"sarif": '"startLine": 3', "github": "train.py,line=3", "gitlab": '"begin": 3'}[form]
    assert place in text
