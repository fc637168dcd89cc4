"""Somebody's own records: the same schema and the same linter, beside those that ship."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.horizon import newer
from gradcompat.knowledge.load import KnowledgeBase, joined, knowledge_from, load
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.private import compiled_own
from gradcompat.knowledge.records import read_text
from gradcompat.model.environment import Environment, Location, Package
from tests.knowledge.own_records import FIRST_LINE, HEAD, RECORD, own


def refused(content: str, name: str = "acme.yaml") -> tuple[str, int | None]:
    with pytest.raises(KnowledgeError) as caught:
        compiled_own(content.encode(), name, (), load())
    assert caught.value.path == name
    return caught.value.message, caught.value.line


def beside(text: str) -> KnowledgeBase:
    compiled = knowledge_from(compiled_own(text.encode(), "acme.yaml", (), load()), "acme.yaml")
    return joined(load(), compiled, compiled.sources[0])


def packages(**versions: str) -> Environment:
    return Environment(
        source="requirements.txt",
        kind="requirements",
        packages=tuple(
            Package(name=name.replace("_", "-"), version=version, location=Location(path="requirements.txt"))
            for name, version in versions.items()
        ),
        closed=True,
    )


def test_own_records_stand_behind_the_others() -> None:
    base, shipped = beside(own()), load()
    assert [record["id"] for record in base.records] == [*(one["id"] for one in shipped.records), "ACME-0001"]
    assert [one.id for one in base.about([packages(acme_trainer="3.1.3")])] == ["ACME-0001"]
    assert base.get("acme-0001") is not None
    assert base.digest != shipped.digest
    assert (base.date, base.names) == (shipped.date, shipped.names)


def test_families_of_the_shipped_records_apply() -> None:
    text = own(
        ("acme-trainer: {", "pytorch-lightning: {"),
        ('{acme-trainer: ">=3', '{pytorch-lightning: ">=3'),
        ("package: acme-trainer", "package: pytorch-lightning"),
        ("- {acme-trainer:", "- {lightning:"),
    )
    assert [one.id for one in beside(text).about([packages(lightning="3.1.3")])][-1] == "ACME-0001"
    said = refused(
        own(
            ("acme-trainer: {", "pytorch-lightning: {"),
            ("- {acme-trainer", "- {lightning"),
            ('acme-trainer: ">', 'lightning: ">'),
        )
    )[0]
    assert said.startswith("ACME-0001: `lightning` is another name of `pytorch-lightning`"), said


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("ACME-0001", "GC-0001"), "GC-0001: ids with GC- are those of gradcompat: take a prefix of your own, like"),
        (("ACME-0001", "GC-9001"), "GC-9001: ids with GC- are those of gradcompat: take a prefix of your own, like"),
        (("ACME-0001", "acme-1"), "acme-1: id: String should match pattern"),
        (("level: error", "level: grave"), "ACME-0001: level: Input should be"),
        (
            ("- {acme-trainer: 3.1.3}", "- {acme-trainer: 3.1.4}"),
            "ACME-0001: examples.affected.1 (acme-trainer)",
        ),
        (("        - {acme-trainer: 2.9.9}\n", ""), "ACME-0001: affected.0: acme-trainer >=3.0.0,<3.1.4: no"),
        (("range_basis: tags", "range_basis: measured"), "ACME-0001: says `measured` and has no probe"),
        (
            ("    range_basis", "    probes: [{name: run_my_script}]\n    range_basis"),
            "ACME-0001: probes.0: there is no recipe `…`",
        ),
    ],
)
def test_what_is_wrong_with_a_record_makes_the_file_an_error(change: tuple[str, str], message: str) -> None:
    said, line = refused(own(change))
    assert said.startswith(message), said
    assert line == FIRST_LINE


def test_several_problems_are_counted() -> None:
    said, _ = refused(own(("level: error", "level: grave"), ("silent: true", "silent: maybe")))
    assert said.endswith("; 1 more")


def test_a_remedy_must_not_be_a_trap_of_the_shipped_records() -> None:
    shipped = load().get("GC-0080")
    assert shipped is not None  # tokenizers, whatever else there is
    text = own(("ACME-0001", "GC-0080"))
    assert "GC-0080" in refused(text)[0]


def test_names_of_packages_that_shipped_records_speak_of_stay() -> None:
    head = HEAD.replace("horizon:", "packages:\n  acme-torch: {also: [torch]}\nhorizon:")
    assert (
        refused(own(head=head))[0]
        == "packages: acme-torch: the names of torch are defined by gradcompat's own records only"
    )
    head = HEAD.replace("horizon:", 'packages:\n  torch: {yanked: ["2.5.1"], conda: [acme-torch]}\nhorizon:')
    assert refused(own(head=head))[0].startswith("packages: torch: the names of torch are")
    head = HEAD.replace("horizon:", "packages:\n  acme-trainer: {also: [acme-trainer-gpu]}\nhorizon:")
    assert [one.id for one in beside(own(head=head)).about([packages(acme_trainer_gpu="3.0.0")])] == ["ACME-0001"]


def test_a_horizon_of_one_s_own_is_of_one_s_own_records() -> None:
    open_range = own(
        ('">=3.0.0,<3.1.4"', '">=3.0.0"'),
        ("        - {acme-trainer: 3.1.4}\n", ""),
        ("{kind: upgrade, package: acme-trainer", "{kind: downgrade, package: acme-trainer"),
        ('versions: ">=3.1.4"', 'versions: "<=2.9.9"'),
    )
    base = beside(open_range)
    environment = packages(acme_trainer="3.3.0")
    (found,) = newer(environment, (), base)
    assert (found.name, found.horizon, found.assumed) == ("acme-trainer", "3.2.0", ("ACME-0001",))
    # What is known to end assumes nothing.
    base = beside(own())
    assert newer(environment, (), base) == ()


def test_ids_of_two_files_collide() -> None:
    base = beside(own())
    with pytest.raises(KnowledgeError, match="ACME-0001: the id is already used in another records file"):
        compiled_own(own().encode(), "other.yaml", (), base)
    own_base = knowledge_from(compile_records(read_text(own(), "other.yaml")), "other.yaml")
    with pytest.raises(KnowledgeError, match="the id ACME-0001 is already used"):
        joined(base, own_base, own_base.sources[0])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not one mapping with `date`, `packages` and `issues`"),
        (b"- 1\n", "is not one mapping with `date`, `packages` and `issues`"),
        (b"issues: []\n", "date: Field required"),
        (b'date: "2026-11-22"\n', "issues: is not a list"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"a: [", "not valid YAML: did not find expected node content"),
        (b"a: &a [*a]\n", "an alias contains itself"),
    ],
)
def test_what_is_no_file_of_records(content: bytes, message: str) -> None:
    with pytest.raises(KnowledgeError) as caught:
        compiled_own(content, "acme.yaml", (), load())
    assert caught.value.message.startswith(message)


def test_aliases_that_grow_into_billions() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{number}: &a{number} [{', '.join([f'*a{number - 1}'] * 10)}]" for number in range(1, 10)]
    assert refused("\n".join(lines)) == ("expands to too much through its aliases", None)


@given(content=st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_whatever_the_bytes_are(content: bytes) -> None:
    try:
        compiled_own(content, "a.yaml", (), load())
    except KnowledgeError:
        return


PIECES = st.sampled_from(
    ["null", "[]", "{}", "3", "GC-0001", "'*'", "1e999", "&a", "*a", "<<: *a", "absent", ": ", "\n"]
)


@given(start=st.integers(min_value=0, max_value=len(own())), length=st.integers(0, 30), piece=PIECES)
def test_whatever_becomes_of_a_file(start: int, length: int, piece: str) -> None:
    """It is refused, or compiled to what can be loaded."""
    text = own()
    try:
        data = compiled_own((text[:start] + piece + text[start + length :]).encode(), "acme.yaml", (), load())
    except KnowledgeError:
        return
    knowledge_from(data, "acme.yaml").in_force()


def test_rows_that_ship_count_for_own_records() -> None:
    """What was measured of transformers contradicts an own record, too."""
    text = own(
        ("acme-trainer: {version", "transformers: {version"),
        (
            '{acme-trainer: ">=3.0.0,<3.1.4"}',
            '{transformers: "<4.40.0"}\n        settings: {training.gradient_accumulation_steps: ">1"}',
        ),
        ("package: acme-trainer", "package: transformers"),
        ('">=3.1.4"', '">=4.40.0"'),
        ("{acme-trainer: 3.0.0}", "{transformers: 4.34.0, training.gradient_accumulation_steps: 2}"),
        ("{acme-trainer: 3.1.3}", "{transformers: 4.39.3, training.gradient_accumulation_steps: 2}"),
        ("        - {acme-trainer: 2.9.9}\n", ""),
        ("{acme-trainer: 3.1.4}", "{transformers: 4.40.0, training.gradient_accumulation_steps: 2}"),
        (
            "    range_basis",
            "    probes: [{name: gradient_flow, parameters: {setup: frozen_embeddings}}]\n    range_basis",
        ),
    )
    with pytest.raises(KnowledgeError) as caught:
        compiled_own(text.encode(), "acme.yaml", load_rows(), load())
    assert "gradient_flow" in caught.value.message
    assert compiled_own(text.encode(), "acme.yaml", (), load())["issues"]
    assert RECORD in own()
