"""Answers become a record: each in its place, with examples that prove it, as YAML that says the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.version import Version

from gradcompat.errors import KnowledgeError
from gradcompat.formats.yaml_text import parse
from gradcompat.knowledge.example_generator import examples
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.record_builder import combination, condition, package_term, problems, reference, remedy
from gradcompat.knowledge.record_yaml import appended, ids_in, record_text
from gradcompat.knowledge.records import plain, read
from tests.knowledge.authored import HEAD, RECORD

RELEASES = {
    "transformers": [
        Version(text) for text in ("4.48.3", "4.49.0", "4.50.0", "4.51.3", "4.52.0rc1", "4.52.1", "5.0.0")
    ],
    "torch": [Version(text) for text in ("2.4.1", "2.5.1", "2.6.0")],
}


def releases(name: str) -> list[Version]:
    return RELEASES.get(name, [])


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("transformers >=4.49.0,<4.52.1", ("transformers", ">=4.49.0,<4.52.1")),
        ("Flash_Attn==2.5.0", ("flash-attn", "==2.5.0")),
        ("torch", ("torch", "*")),
        ("triton absent", ("triton", "absent")),
        ("  peft  <0.5 || ==0.7.0 ", ("peft", "<0.5 || ==0.7.0")),
    ],
)
def test_packages(text: str, term: tuple[str, str]) -> None:
    assert package_term(text) == term


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("training.packing=true", ("training.packing", True)),
        ("training.gradient_accumulation_steps>1", ("training.gradient_accumulation_steps", ">1")),
        ("training.gradient_accumulation_steps = >1", ("training.gradient_accumulation_steps", ">1")),
        ("training.max_grad_norm<=0.5", ("training.max_grad_norm", "<=0.5")),
        ("precision.mode=fp16, bf16", ("precision.mode", ["fp16", "bf16"])),
        ("precision.mode!=fp32", ("precision.mode", "!=fp32")),
        ("model.architecture=Llava*", ("model.architecture", ["Llava*"])),
        ("host.cuda=12.4", ("host.cuda", "==12.4")),
        ("host.python>=3.12", ("host.python", ">=3.12")),
    ],
)
def test_conditions(text: str, found: tuple[str, Any]) -> None:
    assert condition(text) == found


def test_each_condition_has_its_place() -> None:
    conditions = [
        condition(text)
        for text in (
            "code.symbols=torch.compile", "training.packing=true", "model.architecture=Llava*", "host.platform=linux",
            "host.python>=3.12", "host.cuda<12.4", "model.architecture=Qwen2*",
        )
    ]  # fmt: skip
    found = combination({"torch": "*"}, conditions)
    assert found == {
        "packages": {"torch": "*"},
        "settings": {"training.packing": True},
        "models": ["Llava*", "Qwen2*"],
        "symbols": ["torch.compile"],
        "python": ">=3.12",
        "platform": ["linux"],
        "virtual": {"__cuda": "<12.4"},
    }
    assert problems({"affected": [found]}) == []


def test_references_and_remedies() -> None:
    assert reference("https://example.org/1") == {"type": "REPORT", "url": "https://example.org/1"}
    assert reference("fix https://example.org/1") == {"type": "FIX", "url": "https://example.org/1"}
    assert remedy("upgrade torch >=2.6") == {"kind": "upgrade", "package": "torch", "versions": ">=2.6"}
    assert remedy("set training.packing=false") == {"kind": "setting", "key": "training.packing", "value": False}
    assert remedy("code divide the loss") == {"kind": "code", "text": "divide the loss"}
    assert remedy("install two of a kind") == {"kind": "install", "text": "two of a kind"}


@pytest.mark.parametrize(
    ("read_it", "text", "message"),
    [
        (package_term, ">=4", "`>=4` is not a package with a range: write `transformers >=4.49.0,<4.52.1`"),
        (condition, "packing", "`packing` is not of the form KEY=VALUE, KEY>VALUE, …"),
        (
            condition,
            "training.packin=true",
            "`training.packin` is not a known setting: did you mean `training.packing`?",
        ),
        (
            condition,
            "training.packing=maybe",
            "`maybe` is not a value for `training.packing`, which takes true or false",
        ),
        (reference, "the tracker", "`the tracker` is not a reference: write `REPORT https://…`, `FIX https://…`"),
        (remedy, "pray", "`pray` is not a remedy: it begins with upgrade, downgrade, set, code or install"),
    ],
)
def test_what_is_no_answer(read_it: Any, text: str, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011  # the whole message is compared
        read_it(text)
    assert str(caught.value) == message


def test_an_answer_is_judged_with_those_before_it() -> None:
    assert problems({"level": "error"}) == []
    assert problems({"level": "error", "range_basis": "reported"}) == [
        "record: `reported` alone makes no error: measure it, read the releases, or lower the level"
    ]
    assert problems({"symptoms": ["loss ("]}) == [
        "symptoms: `loss (` is not a regular expression: missing ), unterminated subpattern at position 5"
    ]
    assert problems({"affected": [{"packages": {"torch": "about 2"}}]}) == [
        "affected.0.packages: `about 2` is not a set of versions: `about 2` has no meaning"
    ]


def test_examples_are_the_neighbours_of_each_bound() -> None:
    found = examples({"packages": {"transformers": ">=4.49.0,<4.52.1 || ==5.0.0"}}, releases)
    assert found == {
        "affected": [{"transformers": version} for version in ("4.51.3", "4.49.0", "5.0.0")],
        "not_affected": [{"transformers": version} for version in ("4.48.3", "4.52.1")],
    }


def test_examples_of_conditions() -> None:
    steps = "training.gradient_accumulation_steps"
    found = examples(
        {"packages": {"torch": "<2.6", "triton": "absent"}, "settings": {steps: ">1"}, "models": ["Llava*"]}, releases
    )
    holds = {steps: 2, "model": "Llava"}
    assert found == {
        "affected": [{"torch": "2.5.1", **holds}],
        "not_affected": [
            {"torch": "2.6.0", **holds},
            {"torch": "2.5.1", "triton": "1.0", **holds},
            {"torch": "2.5.1", steps: 1, "model": "Llava"},
            {"torch": "2.5.1", steps: 2, "model": "LlamaForCausalLM"},
        ],
        "conditional": [{"torch": "2.5.1"}],
    }


def test_of_a_package_that_nobody_knows_only_the_bounds_are_named() -> None:
    found = examples({"packages": {"no-such-package": ">=1.2,<1.5"}}, releases)
    assert found == {"affected": [{"no-such-package": "1.2"}], "not_affected": [{"no-such-package": "1.5"}]}


CONDITIONS = st.lists(
    st.sampled_from(
        [
            "training.packing=true", "training.packing=false", "training.gradient_accumulation_steps>1",
            "training.gradient_accumulation_steps>=2", "training.gradient_accumulation_steps<4",
            "training.gradient_accumulation_steps<=4", "training.gradient_accumulation_steps=1,2",
            "training.max_grad_norm>0", "precision.mode!=fp32", "precision.mode=fp16,bf16", "optimizer.name=sgd",
            "model.architecture=Llava*", "model.architecture=LlamaForCausalLM", "code.symbols=*.Adafactor",
            "code.symbols=torch.nn.Linear", "host.python>=3.12", "host.python<3.9", "host.platform=linux",
            "host.platform=win32,darwin", "host.cuda>=12", "host.cuda_arch<9.0", "host.cuda=12.4",
        ]
    ),
    max_size=4,
    unique_by=lambda text: condition(text)[0],
)  # fmt: skip
RANGES = st.sampled_from(["<2.6", ">=2.5", "==2.5.1", ">=2.5,<2.6", "<2.5 || >=2.6", "<=2.5.1"])


@given(RANGES, CONDITIONS)
def test_examples_are_what_they_say(tmp_path_factory: pytest.TempPathFactory, versions: str, texts: list[str]) -> None:
    """Whatever is asked for, `lint` finds nothing but what no release can show."""
    one = combination({"torch": versions}, [condition(text) for text in texts])
    made = examples(one, releases)
    if not made["not_affected"]:
        return
    new = {**NEW, "level": "warning", "range_basis": "reported", "affected": [one], "examples": made}
    path = tmp_path_factory.mktemp("new") / "issues.yaml"
    path.write_text(appended(HEAD + RECORD, new, "issues.yaml"), "utf-8")
    authored = read(path)
    assert [str(problem) for problem in lint(authored)] == []
    assert authored.records[-1].affected[0].packages == {"torch": versions}


NEW: dict[str, Any] = {
    "id": "GC-0002",
    "summary": "The loss grows",
    "details": "Nobody divides.",
    "level": "error",
    "silent": True,
    "categories": ["loss-scale"],
    "affected": [{"packages": {"torch": "<2.6"}, "settings": {"precision.mode": ["no", "fp16"]}}],
    "symptoms": ["loss: \\d+", 'it\'s "nan"'],
    "remedies": [{"kind": "code", "text": "Divide: it # yourself"}],
    "references": [{"type": "REPORT", "url": "https://example.org/1"}],
    "range_basis": "tags",
    "evidence": ["2026-11-20: read in 2.5.1"],
    "examples": {"affected": [{"torch": "2.5.1"}], "not_affected": [{"torch": "2.6"}]},
}


def test_the_style_of_the_file() -> None:
    assert record_text(NEW) == (
        "- id: GC-0002\n"
        "  summary: The loss grows\n"
        "  details: >\n"
        "    Nobody divides.\n"
        "  level: error\n"
        "  silent: true\n"
        "  categories: [loss-scale]\n"
        "  affected:\n"
        '    - packages: {torch: "<2.6"}\n'
        '      settings: {precision.mode: ["no", fp16]}\n'
        "  symptoms:\n"
        '    - "loss: \\\\d+"\n'
        '    - "it\'s \\"nan\\""\n'
        "  remedies:\n"
        '    - {kind: code, text: "Divide: it # yourself"}\n'
        "  references:\n"
        '    - {type: REPORT, url: "https://example.org/1"}\n'
        "  range_basis: tags\n"
        "  evidence:\n"
        '    - "2026-11-20: read in 2.5.1"\n'
        "  examples:\n"
        "    affected:\n"
        "      - {torch: 2.5.1}\n"
        "    not_affected:\n"
        '      - {torch: "2.6"}\n'
    )


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1)


@given(WORDS.filter(str.strip), WORDS.filter(str.strip))
@example("A ", "0")
def test_any_words_survive(summary: str, text: str) -> None:
    (node,) = parse(record_text({**NEW, "summary": summary, "evidence": [text]}), "x")
    found = plain(node)
    assert isinstance(found, list)
    assert isinstance(found[0], dict)
    assert (found[0]["summary"], found[0]["evidence"]) == (summary, [text])


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["line end", "none"])
def test_the_rest_stays_as_it_is(tmp_path: Path, end: str, last: bool) -> None:
    text = HEAD + "# A comment, and  spaces \n" + RECORD
    text = (text if last else text.rstrip("\n")).replace("\n", end)
    after = appended(text, NEW, "issues.yaml")
    assert after.startswith(text)
    assert after.count("\n") == after.count(end)
    (tmp_path / "issues.yaml").write_bytes(after.encode())
    assert [one.id for one in read(tmp_path / "issues.yaml").records] == ["GC-0001", "GC-0002"]
    assert ids_in(after) == ["GC-0001", "GC-0002"]


@pytest.mark.parametrize("text", [HEAD, HEAD.replace("issues:", "issues: []"), HEAD + RECORD + "more: 1\n"])
def test_a_file_that_none_can_be_put_into(text: str) -> None:
    with pytest.raises(KnowledgeError, match="the records do not stand at its end"):
        appended(text, NEW, "issues.yaml")


def test_what_the_schema_has_against_the_whole() -> None:
    assert problems({**NEW, "id": "GC-2"}) == ["id: String should match pattern '^[A-Z][A-Z0-9]+-[0-9]{4}$'"]
