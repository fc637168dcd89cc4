"""The table of classes against itself and against the rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.lint import lint
from gradcompat.knowledge.load import digest_of, joined, knowledge_from, load, load_checked
from gradcompat.knowledge.records import read
from gradcompat.model.probe import Measurement, ProbeSpec, Row
from tests.knowledge.authored import HEAD, RECORD

USES, TAKES = "model.uses_num_items_in_batch", "model.forward_takes_kwargs"
LIBRARY = "model.of_library"
RIGHT = {"loss_ratio": 1.0, "update_ratio": 1.0, "update_cosine": 1.0}
TIMES = {"loss_ratio": 4.0, "update_ratio": 4.0, "update_cosine": 1.0}
CONTROLS = {"control_update_norm": 1.0, "control_loss_ratio": 1.0, "control_update_ratio": 1.0}


def fact(name: str, key: str, value: str, versions: str = ">=4.46.0") -> str:
    packages = f"{{transformers: '{versions}'}}"
    return f"  - {{fact: {key}, value: {value}, packages: {packages}, classes: [{name}], evidence: [read]}}"


LLAMA = fact("LlamaForCausalLM", USES, "true")


def row(model: str, values: dict[str, float], version: str = "4.49.0") -> Row:
    measurement = Measurement(
        spec=ProbeSpec(name="accumulation_equivalence", parameters={"model": model}),
        state="measured",
        values={**values, **CONTROLS},
    )
    return Row(
        package="transformers", version=version, measurement=measurement, platform="linux", digest="", date="2026-11-20"
    )


REFERENCES = (row("llama", RIGHT), row("toy_plain", RIGHT), row("toy_kwargs", TIMES))


def problems(folder: Path, facts: Sequence[str], rows: Sequence[Row] = (), text: str = RECORD) -> list[str]:
    path = folder / "issues.yaml"
    path.write_text(HEAD.replace("issues:\n", "models:\n" + "\n".join(facts) + "\nissues:\n") + text, "utf-8")
    return [one.message for one in lint(read(path), rows)]


def test_rows_that_agree(tmp_path: Path) -> None:
    llava = [fact("LlavaForConditionalGeneration", USES, "false"), fact("LlavaForConditionalGeneration", TAKES, "true")]
    assert problems(tmp_path, [LLAMA, *llava], [*REFERENCES, row("llava", TIMES)]) == []


@pytest.mark.parametrize(
    "facts",
    [
        [fact("LlavaForConditionalGeneration", USES, "true")],  # the contrary
        [
            fact("LlavaForConditionalGeneration", USES, "false"),
            fact("LlavaForConditionalGeneration", TAKES, "true", ">=4.50.0"),  # of another release
        ],
    ],
)
def test_rows_that_say_otherwise(tmp_path: Path, facts: list[str]) -> None:
    assert problems(tmp_path, [LLAMA, *facts], [*REFERENCES, row("llava", TIMES)]) == [
        "models: LlavaForConditionalGeneration: the rows of accumulation_equivalence(llava) in transformers 4.49.0 say "
        "model.uses_num_items_in_batch false with model.forward_takes_kwargs true, and `models` does not"
    ]


@pytest.mark.parametrize("facts", [[], [fact("LlavaForConditionalGeneration", USES, "false")]])
def test_what_nobody_wrote_down_was_read_in_the_releases(tmp_path: Path, facts: list[str]) -> None:
    assert problems(tmp_path, [LLAMA, *facts], [*REFERENCES, row("llava", TIMES)]) == []
    assert problems(tmp_path, [LLAMA, *facts], [*REFERENCES, row("llava", RIGHT)]) != []


def test_rows_that_fit_two_references_fit_either(tmp_path: Path) -> None:
    t5 = [fact("T5ForConditionalGeneration", USES, "false"), fact("T5ForConditionalGeneration", TAKES, "false")]
    assert problems(tmp_path, [LLAMA, *t5], [*REFERENCES, row("t5", RIGHT)]) == []


def test_a_release_without_references_says_nothing(tmp_path: Path) -> None:
    assert problems(tmp_path, [LLAMA], [row("llava", TIMES), row("toy_kwargs", TIMES, "4.50.0")]) == []


def test_a_fact_that_stands_twice(tmp_path: Path) -> None:
    assert problems(tmp_path, [LLAMA, fact("LlamaForCausalLM", USES, "false", "<4.48.0")]) == [
        "models: LlamaForCausalLM: model.uses_num_items_in_batch stands twice for transformers >=4.46.0,<4.48.0"
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (fact("LlamaForCausalLM", "model.use_cache", "true"), "`model.use_cache` is not what a class decides"),
        (LLAMA.replace("transformers:", "Transformers:"), "`Transformers` is not normalised"),
        (LLAMA.replace(">=4.46.0", "4.46"), "models.0.packages: `…` is not a set of versions"),
        (LLAMA.replace("[LlamaForCausalLM]", "[Zamba, Llama]"), "classes are in order, each once"),
        (LLAMA.replace("[LlamaForCausalLM]", "['Llama*']"), "models.0.classes.0"),
    ],
)
def test_a_fact_that_cannot_be(tmp_path: Path, line: str, message: str) -> None:
    assert message in "\n".join(problems(tmp_path, [line]))


def test_a_record_that_stands_for_another_names_one(tmp_path: Path) -> None:
    text = RECORD.replace("    remedies:\n", "    instead_of: [GC-0002]\n    remedies:\n", 1)
    assert problems(tmp_path, [LLAMA], text=text) == ["instead_of: GC-0002 is no other record"]


@pytest.mark.parametrize(
    ("name", "value"), [("MBartForConditionalGeneration", True), ("T5Model", True), ("Mine", False)]
)
def test_whose_a_class_is(name: str, value: bool) -> None:
    assert [one.value for one in load().class_facts(name) if one.key == LIBRARY] == [value]


def test_own_facts_are_added_and_replace_none(tmp_path: Path) -> None:
    base = load()
    own = [[USES, False, "transformers", "*", ["LlamaForCausalLM", "MyModel"]]]
    compiled = {**compile_records(read(_written(tmp_path))), "models": own}
    both = joined(base, knowledge_from(compiled, "own"), base.sources[0])
    assert both.class_facts("LlamaForCausalLM") == base.class_facts("LlamaForCausalLM")
    assert [(one.key, one.value) for one in both.class_facts("MyModel")] == [(USES, False), (LIBRARY, False)]


@pytest.mark.parametrize("models", [[["key", "true", "transformers", "*", []]], [["key", True]], 7])
def test_facts_that_nobody_compiled(tmp_path: Path, models: object) -> None:
    import json

    from gradcompat.errors import KnowledgeError
    from gradcompat.knowledge.load import COMPILED

    data = json.loads(COMPILED.read_bytes())
    path = tmp_path / "compiled.json"
    path.write_text(json.dumps({**data, "models": models, "digest": digest_of(data["issues"], models)}))  # type: ignore[arg-type]
    with pytest.raises(KnowledgeError):
        load_checked(path)


def _written(folder: Path) -> Path:
    path = folder / "own.yaml"
    path.write_text(HEAD + RECORD.replace("GC-0001", "ACME-0001"), "utf-8")
    return path
