"""Reading records: every problem at once, each with its record and its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradcompat.errors import KnowledgeError
from gradcompat.knowledge.records import Problem, read, read_text
from tests.knowledge.authored import FIRST_LINE, HEAD, RECORD, record, written


def problems(path: Path) -> list[tuple[int | None, str | None, str]]:
    return [(problem.line, problem.record, problem.message) for problem in read(path).problems]


def test_a_record_that_is_right(tmp_path: Path) -> None:
    authored = read(written(tmp_path, RECORD))
    assert authored.problems == ()
    assert authored.date == "2026-11-20"
    assert authored.lines == {"GC-0001": FIRST_LINE}
    assert [one.id for one in authored.records] == ["GC-0001"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("level: error", "level: fatal"), "level: Input should be 'error', 'warning' or 'note'"),
        (("silent: true", "silent: 1"), "silent: Input should be a valid boolean"),
        (("silent: true", "quiet: true\n    silent: true"), "quiet: Extra inputs are not permitted"),
        (("    details: The Trainer does not divide.\n", ""), "details: Field required"),
        (("id: GC-0001", "id: GC-1"), "id: String should match pattern '^[A-Z][A-Z0-9]+-[0-9]{4}$'"),
        (("micro-batches\n", "micro-batches.\n"), "record: the summary is one sentence without its period"),
        (
            ("range_basis: tags", "range_basis: reported"),
            "record: `reported` alone makes no error: measure it, read the releases, or lower the level",
        ),
        (("silent: true", "silent: true\n    informational: true"), "record: an informational record is a note"),
        (
            ("silent: true", 'silent: true\n    bounds: [{package: transformers, bound: "<4.52.0", basis: wheels}]'),
            "record: bounds: no range of transformers in `affected` has the end `…`",
        ),
        (
            ("silent: true", 'silent: true\n    bounds: [{package: transformers, bound: "<4.52.1", basis: measured}]'),
            "record: bounds: `…`: `measured` is what measurements or the record say",
        ),
        (
            (
                "silent: true",
                'silent: true\n    bounds: [{package: transformers, bound: ">=4.49.0", basis: reported}, '
                '{package: transformers, bound: "<4.52.1", basis: reported}]',
            ),
            "record: `reported` alone makes no error: measure it, read the releases, or lower the level",
        ),
        (
            ("silent: true", 'silent: true\n    bounds: [{package: transformers, bound: "<4.52.x", basis: tags}]'),
            "bounds.0.bound: `…` is not a version",
        ),
        (
            ("https://example.org/1", "http://example.org/1"),
            "references.0.url: `…` is not an https address",
        ),
        (
            ('{transformers: ">', '{Transformers: ">'),
            "affected.0.packages: `Transformers` is not normalised: write `transformers`",
        ),
        (
            ('">=4.49.0,<4.52.1"', '"4.49.0"'),
            "affected.0.packages: `…` is not a set of versions: `…` has no meaning",
        ),
        (('">=4.49.0,<4.52.1"', '">=4.52.1,<4.49.0"'), "affected.0.packages: `…` holds no version"),
        (('">=4.49.0,<4.52.1"', "absent"), "affected.0.packages: a combination needs a package that is there"),
        (
            ('steps: ">1"', 'step: ">1"'),
            "affected.0.settings: `…` is not in the vocabulary",
        ),
        (
            ('training.gradient_accumulation_steps: ">1"', 'training.gradient_accumulation_steps: "8"'),
            "affected.0.settings: `training.gradient_accumulation_steps: …` can never hold: the key is of type int",
        ),
        (
            ('training.gradient_accumulation_steps: ">1"', 'training.packing: "!=true"'),
            "affected.0.settings: `training.packing: …` can never hold: the key is of type bool",
        ),
        (
            ('training.gradient_accumulation_steps: ">1"', "precision.mode: no"),
            "affected.0.settings: `precision.mode: …` can never hold: the key is of type str",
        ),
        (
            ('training.gradient_accumulation_steps: ">1"', 'precision.mode: ">fp16"'),
            "affected.0.settings: `precision.mode: …` can never hold: the key is of type str",
        ),
        (
            ('training.gradient_accumulation_steps: ">1"', 'precision.mode: [fp16, "!=bf16"]'),
            "affected.0.settings: `precision.mode: …` is a comparison, which cannot stand in a list",
        ),
        (
            ('training.gradient_accumulation_steps: ">1"', 'host.cuda: "12.4"'),
            "affected.0.settings: `host.cuda` is a fact of the host: write `virtual: {__cuda: …}`",
        ),
        (
            ("settings: {training.g", 'virtual: {cuda: "<12"}\n        settings: {training.g'),
            "affected.0.virtual: `…` is not a virtual package: __cuda, __cuda_arch, __nvidia_driver, __nccl, "
            "__cudnn, __glibc, __rocm",
        ),
        (
            ("settings: {training.g", 'python: "3.12"\n        settings: {training.g'),
            "affected.0.python: `…` is not a set of versions: `…` has no meaning",
        ),
        (
            (
                '{kind: upgrade, package: transformers, versions: ">=4.52.1"}',
                '{kind: upgrade, package: transformers, versions: ">4.52.1"}',
            ),
            "remedies.0.upgrade: a remedy that is an upgrade has to begin with `>=` a release, or be `==`",
        ),
        (
            ('versions: "==4.48.3"', 'versions: "<4.48.3"'),
            "remedies.1.downgrade: a remedy that is a downgrade has to end with `<=` a release, or be `==`",
        ),
        (
            ('versions: "==4.48.3"', 'versions: ">4,<3"'),
            "remedies.1.downgrade.versions: `…` holds no version",
        ),
        (
            ("steps, value: 1", 'steps, value: "1"'),
            "remedies.2.setting: `training.gradient_accumulation_steps: …` can never hold: the key is of type int",
        ),
        (
            ("steps, value: 1", "step, value: 1"),
            "remedies.2.setting: `…` is not in the vocabulary",
        ),
        (
            ("- {transformers: 4.48.3,", "- {transformers: 4.48,"),
            "examples.not_affected: `…` is a number: quote the version",
        ),
        (
            ("- {transformers: 4.48.3,", "- {transformers: old,"),
            "examples.not_affected: `…` is not a version",
        ),
        (
            (
                "{transformers: 4.49.0, training.gradient_accumulation_steps: 8}",
                "{transformers: 4.49.0, training.gradient_accumulation_steps: many}",
            ),
            "examples.affected: `training.gradient_accumulation_steps: …` can never hold: the key is of type int",
        ),
    ],
)
def test_the_schema(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    name = "GC-1" if change[1] == "id: GC-1" else "GC-0001"
    assert problems(written(tmp_path, record(change))) == [(FIRST_LINE, name, message)]


def test_a_defect_needs_a_remedy(tmp_path: Path) -> None:
    begin, end = RECORD.index("    remedies:"), RECORD.index("    references:")
    text = RECORD[:begin] + RECORD[end:]
    assert problems(written(tmp_path, text)) == [(FIRST_LINE, "GC-0001", "record: a defect needs a remedy")]


def test_all_problems_at_once(tmp_path: Path) -> None:
    second = record(("level: error", "level: fatal"), ("silent: true", "silent: 1"), ("GC-0001", "GC-0002"))
    path = written(tmp_path, RECORD, second, RECORD, "  - {}\n  - text\n")
    beginning = FIRST_LINE + RECORD.count("\n")
    again = beginning + RECORD.count("\n")
    last = again + RECORD.count("\n")
    authored = read(path)
    assert [(problem.line, problem.record, problem.message) for problem in authored.problems][:3] == [
        (beginning, "GC-0002", "level: Input should be 'error', 'warning' or 'note'"),
        (beginning, "GC-0002", "silent: Input should be a valid boolean"),
        (again, "GC-0001", f"the id is taken on line {FIRST_LINE}"),
    ]
    assert (last, None, "id: Field required") in problems(path)
    assert problems(path)[-1] == (
        last + 1,
        None,
        "record: Input should be a valid dictionary or instance of Record",
    )
    assert [one.id for one in authored.records] == ["GC-0001"]


def test_keys_that_stand_twice(tmp_path: Path) -> None:
    text = record(("level: error", "level: error\n    level: note"))
    assert problems(written(tmp_path, text)) == [(FIRST_LINE + 4, None, "the key `level` appears twice")]


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("date: yesterday\nissues: []\n", [(1, "date: String should match pattern '^\\d{4}-\\d{2}-\\d{2}$'")]),
        ("issues: []\n", [(1, "date: Field required")]),
        ("date: 2026-11-20\n", [(1, "issues: is not a list")]),
        ("date: 2026-11-20\nissues: {GC-0001: {}}\n", [(2, "issues: is not a list")]),
        ("date: 2026-11-20\nissues: none\n", [(2, "issues: is not a list")]),
        ("date: 2026-11-20\nnews: 1\nissues: []\n", [(1, "news: Extra inputs are not permitted")]),
        (
            "date: 2026-11-20\npackages: {torch: {yank: []}}\nissues: []\n",
            [(1, "packages.torch.yank: Extra inputs are not permitted")],
        ),
    ],
)
def test_the_head(tmp_path: Path, head: str, expected: list[tuple[int, str]]) -> None:
    assert problems(written(tmp_path, head=head)) == [(line, None, message) for line, message in expected]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "`{path}`: is not one mapping with `date`, `packages` and `issues`"),
        (b"- 1\n", "`{path}`: is not one mapping with `date`, `packages` and `issues`"),
        (b"a: 1\n---\nb: 1\n", "`{path}`: is not one mapping with `date`, `packages` and `issues`"),
        (b"a: [1\nb: 2\n", "`{path}:2`: not valid YAML: did not find expected ',' or ']'"),
        (b"a: *b\n", "`{path}:1`: an alias has no anchor"),
        (
            b"\xff\n",
            "`{path}`: is not UTF-8 text",
        ),
    ],
)
def test_broken_files(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "issues.yaml"
    path.write_bytes(content)
    with pytest.raises(KnowledgeError) as caught:
        read(path)
    assert str(caught.value) == message.format(path=path.as_posix())


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(KnowledgeError, match="cannot be read"):
        read(tmp_path / "issues.yaml")


def test_problems_as_lines() -> None:
    assert str(Problem("issues.yaml", 7, "GC-0001", "level: no")) == "`issues.yaml:7`: GC-0001: level: no"
    assert str(Problem("issues.yaml", None, None, "date: no")) == "`issues.yaml`: date: no"
    assert HEAD.count("\n") == FIRST_LINE - 1


def test_of_a_file_of_something_else_no_message_shows_the_text() -> None:
    text = "password s3cret: 1\npassword s3cret: 2\nissues:\n- id: password s3cret\n  password s3cret: 1\n"
    said = "\n".join(map(str, read_text(text, "mine.yaml").problems))
    assert "s3cret" not in said
    assert "`mine.yaml:4`: a record: a key: Extra inputs are not permitted" in said
    assert "`mine.yaml:2`: a key appears twice" in said


def test_no_value_of_a_file_is_shown(tmp_path: Path) -> None:
    """The file may be somebody else's, and the log of a CI job is public."""
    secret = "hunter2"  # noqa: S105  # what a message must not show
    changes = (
        ("level: error", f"level: {secret}"),
        ("kind: upgrade", f"kind: {secret}"),
        ("https://example.org/1", f"http://{secret}.example"),
        ('">=4.49.0,<4.52.1"', f'"{secret}"'),
        ("- {transformers: 4.48.3,", f"- {{transformers: {secret},"),
        ("silent: true", f"silent: true\n    symptoms: ['(?P<{secret}>a)(?P<{secret}>b)']"),
        ("silent: true", f"silent: true\n    probes: [{{name: {secret}}}]"),
        ("silent: true", f'silent: true\n    bounds: [{{package: transformers, bound: "<{secret}", basis: tags}}]'),
    )
    for change in changes:
        told = problems(written(tmp_path, record(change)))
        assert told, change
        assert secret not in str(told)
    assert secret not in str(problems(written(tmp_path, head=f"date: {secret}\nissues: []\n")))
