"""``gradcompat knowledge export``: what other tools are told, and that it is no more than is true."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from gradcompat.index.snapshot import Snapshot
from gradcompat.knowledge.load import load
from gradcompat.knowledge.osv import plain_ranges
from gradcompat.requirements.versions import VersionSet, any_of
from tests.conftest import Run
from tests.knowledge.own_records import own


def test_osv_is_a_file_for_each_record(run: Run, tmp_path: Path) -> None:
    outcome = run("knowledge", "export", "--format", "osv", "--output", "deep/advisories")
    assert (outcome.status, outcome.err) == (0, "")
    base = load()
    plain = sum(bool(plain_ranges(issue)) for issue in base.in_force())
    assert outcome.out == (
        f"{len(base.records)} records written to deep/advisories, {plain} of which claim a range without conditions\n"
    )
    files = sorted((tmp_path / "deep" / "advisories").iterdir())
    assert [one.name for one in files] == sorted(f"x_{record['id']}.json" for record in base.records)
    printed = run("knowledge", "export", "--format", "osv")
    assert json.loads(printed.out) == [json.loads(one.read_bytes()) for one in files]
    # The same knowledge makes the same bytes, whenever that is.
    before = [one.read_bytes() for one in files]
    run("knowledge", "export", "--format", "osv", "--output", "deep/advisories")
    assert [one.read_bytes() for one in files] == before


# Few of the records that ship are about releases that are wrong whatever the training does.
OWN = own(("acme-trainer", "peft"), ("3.0.0", "0.17.0"), ("3.1.3", "0.18.0"), ("3.1.4", "0.18.1"), ("2.9.9", "0.16.0"))


@pytest.fixture
def owned(tmp_path: Path) -> tuple[str, str]:
    """The option that names a record of one's own: PEFT from 0.17.0 to 0.18.0 is wrong."""
    (tmp_path / "acme.yaml").write_text(OWN, "utf-8")
    return "--knowledge", "acme.yaml"


def test_renovate_gets_groups_and_what_is_allowed(run: Run, tmp_path: Path, owned: tuple[str, str]) -> None:
    outcome = run("knowledge", "export", "--format", "renovate", "--output", "preset.json", *owned)
    assert (outcome.status, outcome.out, outcome.err) == (0, "", "")
    preset = json.loads((tmp_path / "preset.json").read_text("utf-8"))
    assert preset["$schema"] == "https://docs.renovatebot.com/renovate-schema.json"
    groups = {one["groupName"]: one["matchPackageNames"] for one in preset["packageRules"] if "groupName" in one}
    assert {"torch", "torchvision", "torchaudio", "triton", "xformers"} <= set(groups["torch"])
    assert {"transformers", "tokenizers"} <= set(groups["transformers"])
    assert groups["lightning"] == ["lightning", "lightning-fabric", "pytorch-lightning"]
    names = [name for group in groups.values() for name in group]
    assert len(names) == len(set(names))  # a package can be in one pull request only
    allowed = {
        one["matchPackageNames"][0]: one["allowedVersions"]
        for one in preset["packageRules"]
        if "allowedVersions" in one
    }
    assert not SpecifierSet(allowed["peft"]).contains("0.18.0")
    assert SpecifierSet(allowed["peft"]).contains("0.18.1")
    assert all(set(one["matchDatasources"]) == {"pypi"} for one in preset["packageRules"])


def test_dependabot_gets_what_to_ignore(run: Run, owned: tuple[str, str]) -> None:
    outcome = run("knowledge", "export", "--format", "dependabot", *owned)
    assert (outcome.status, outcome.err) == (0, "")
    (entry,) = [one for one in yaml.safe_load(outcome.out)["ignore"] if one["dependency-name"] == "peft"]
    assert any_of(map(VersionSet.parse, entry["versions"])) == VersionSet.parse(">=0.17.0,<0.18.1")
    assert "  # ACME-0001: The learning rate of the second epoch" in outcome.out


def test_both_leave_out_what_is_wrong_without_conditions_and_nothing_else(run: Run, owned: tuple[str, str]) -> None:
    """By the releases that there are: the specifier keeps, and the ranges name, the right ones."""
    base, snapshot = load(), Snapshot()
    wrong = {"peft": [VersionSet.parse(">=0.17.0,<0.18.1")]}
    for issue in base.in_force():
        for name, versions in plain_ranges(issue).items():
            wrong.setdefault(name, []).append(versions)
    rules = json.loads(run("knowledge", "export", "--format", "renovate", *owned).out)["packageRules"]
    allowed = {one["matchPackageNames"][0]: one["allowedVersions"] for one in rules if "allowedVersions" in one}
    ignored = {
        one["dependency-name"]: any_of(map(VersionSet.parse, one["versions"]))
        for one in yaml.safe_load(run("knowledge", "export", "--format", "dependabot", *owned).out)["ignore"]
    }
    assert wrong.keys() <= allowed.keys() == ignored.keys()
    for name, specifier in allowed.items():
        bad = any_of(wrong[base.names.families.get(name, name)])
        assert ignored[name] == bad
        for release in snapshot.releases(name):
            kept = SpecifierSet(specifier).contains(Version(str(release.version)), prereleases=True)
            assert kept == (release.version not in bad), (name, str(release.version))


def test_what_cannot_be_done_is_said(run: Run, tmp_path: Path) -> None:
    unknown = run("knowledge", "export", "--format", "sarif")
    assert (unknown.status, unknown.err) == (
        2,
        "error: `--format sarif` is not known\n\nhint: known: osv, renovate, dependabot\n",
    )
    (tmp_path / "file").write_text("", "utf-8")
    nowhere = run("knowledge", "export", "--format", "osv", "--output", "file")
    assert (nowhere.status, nowhere.err) == (2, "error: `file`: is not a folder and cannot be created: File exists\n")
    missing = run("knowledge", "export", "--format", "renovate", "--output", "gone/preset.json")
    assert (missing.status, missing.err) == (
        2,
        "error: `gone/preset.json`: cannot be written: No such file or directory\n",
    )
