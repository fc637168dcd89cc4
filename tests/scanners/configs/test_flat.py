"""Configs in YAML and JSON, good and hostile, whichever tool they are of."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.errors import Malformed, SourceError
from gradcompat.formats.document import Document
from gradcompat.model.environment import Location, Skipped
from gradcompat.scanners.configs import axolotl, llamafactory, ms_swift, trainer_state, training_args, trl
from gradcompat.scanners.configs.flat import read_config
from tests.examples import examples
from tests.scanners.scanned import lines, written

SCANNERS = (axolotl, llamafactory, ms_swift, trainer_state, training_args, trl)

HEAD = "model_name_or_path: m\nstage: sft\ntemplate: t\ndo_train: true\n"


def of(text: str) -> Document:
    return Document("c.yaml", text)


@pytest.mark.parametrize("scanner", SCANNERS)
@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        "3",
        "a: 1",
        "- a: 1",
        "a: 1\n---\nb: 2",
        "\ta: 1",
        "{",
        '{"a": 1,}',
        "a: &x [*x]",
        "[" * 5000,
        '{"a":' * 5000,
        "model: gpt\ntrainer: {gpus: 2}\n",
        "services:\n  web:\n    image: x\n",
        "base_model: 3\nstage: 4\nmodel_name_or_path: [x]\nlog_history: 1\nglobal_step: 1\n",
    ],
)
def test_what_is_no_config_is_refused(scanner: object, text: str) -> None:
    with pytest.raises(Malformed) as caught:
        scanner.scan(of(text))  # type: ignore[attr-defined]
    assert caught.value.path == "c.yaml"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stage: sft\n\tx: 1\n", "`c.yaml:2`: not valid YAML: found a tab character that violates indentation"),
        ("stage: sft\nx: [1,\n", "`c.yaml:2`: not valid YAML: did not find expected node content"),
        ('{"stage": "sft",\n "x": 1,}', "`c.json:2`: not valid JSON: "),
        ('{"stage": "sft", // first\n "x": 1}', "`c.json:1`: not valid JSON: "),
    ],
)
def test_a_broken_file_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        llamafactory.scan(Document("c.json" if "json" in message else "c.yaml", text))
    assert str(caught.value).startswith(message)


def test_braces_in_yaml() -> None:
    context = llamafactory.scan(of("{model_name_or_path: m, stage: sft,\n do_train: true, template: t, seed: 2,}"))
    assert (2, "training.seed", 2) in lines(context)


def test_of_a_key_that_stands_twice_the_last_value_counts() -> None:
    text = (
        HEAD
        + "seed: 1\nnum_train_epochs: 2\nseed: 3\n"
        + "gradient_checkpointing_kwargs: {use_reentrant: true,\n  use_reentrant: false}\n"
    )
    context = llamafactory.scan(of(text))
    assert (7, "training.seed", 3) in lines(context)
    assert [one for one in lines(context) if one[1] == "training.seed"] == [(7, "training.seed", 3)]
    reason = "appears more than once: the last value counts"
    assert context.skipped == (
        Skipped(what="seed", reason=reason, gap=False, location=Location(path="c.yaml", line=7, column=1)),
        Skipped(what="use_reentrant", reason=reason, gap=False, location=Location(path="c.yaml", line=9, column=3)),
    )
    assert (9, "training.use_reentrant", False) in lines(context)


def test_a_bad_value_among_good_ones() -> None:
    text = HEAD + f"seed: [1]\ncutoff_len: two\nnum_train_epochs: 2e0\nmax_grad_norm: .nan\noptim: {'x' * 1001}\n"
    context = llamafactory.scan(of(text))
    assert lines(context)[3:] == [(7, "training.num_train_epochs", 2.0)]
    assert [(one.what, one.reason, one.gap, one.location and one.location.line) for one in context.skipped] == [
        ("seed", "has no value that training.seed takes, which is of type int", True, 5),
        ("cutoff_len", "has no value that data.sequence_length takes, which is of type int", True, 6),
        ("max_grad_norm", "has no value that training.max_grad_norm takes, which is of type float", True, 8),
        ("optim", "has 1001 characters", True, 9),
    ]


def test_anchors_and_merged_keys_are_shown_where_they_stand() -> None:
    text = "defaults: &d\n  learning_rate: 2e-5\n  seed: 7\n<<: *d\n" + HEAD
    assert (3, "training.seed", 7) in lines(llamafactory.scan(of(text)))


def test_a_bomb_of_aliases_costs_nothing() -> None:
    text = "a0: &a0 {x: 1}\n" + "".join(
        f"a{i}: &a{i} {{{', '.join(f'k{j}: *a{i - 1}' for j in range(9))}}}\n" for i in range(1, 60)
    )
    text += (
        "fsdp_config: *a59\ngradient_checkpointing_kwargs: *a59\ndeepspeed: *a59\nlist: &l [" + "1," * 20000 + "1]\n"
    )
    text += "".join(f"l{i}: *l\n" for i in range(2000)) + "fsdp: *l\nmodel_init_kwargs: *l\n" + HEAD
    start = time.process_time()
    context = llamafactory.scan(of(text))
    assert time.process_time() - start < 5
    assert {one.key for one in context.settings} >= {"distributed.strategy", "training.method"}


def test_values_of_json_and_of_yaml_are_the_same() -> None:
    text = json.dumps(
        {"model_name_or_path": "m", "stage": "sft", "template": "t", "do_train": True, "seed": 3, "fsdp": ["auto_wrap"]}
    )
    same = [(key, value) for _, key, value in lines(llamafactory.scan(of(text)))]
    assert same == [
        (key, value) for _, key, value in lines(llamafactory.scan(of(HEAD + "seed: 3\nfsdp: [auto_wrap]\n")))
    ]


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["auto", "${x}", "no"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)
_NAMES = sorted({name.split(".")[0] for scanner in SCANNERS for name in scanner.FEEDS})


@settings(max_examples=examples(150), deadline=None)
@given(values=st.dictionaries(st.sampled_from(_NAMES), _VALUES, max_size=12))
def test_whatever_stands_there_is_a_context_or_refused(values: dict[str, object]) -> None:
    whole = {
        "model_name_or_path": "m", "stage": "sft", "template": "t", "base_model": "m", "micro_batch_size": 1,
        "sequence_len": 2, "train_type": "lora", "dataset": "d", "learning_rate": 1, "num_train_epochs": 1,
        "log_history": [], "global_step": 1, **values,
    }  # fmt: skip
    for text in (json.dumps(whole), "a: 1\n" + json.dumps(whole).replace("{", "", 1).rstrip("}")):
        for scanner in SCANNERS:
            try:
                context = scanner.scan(Document("c", text))
            except SourceError:
                continue
            for setting in written(context):
                assert setting.location.path == "c"
                if isinstance(setting.value, str):
                    setting.value.encode()


def test_only_what_is_asked_for_is_looked_up() -> None:
    config = read_config(of("a: {b: {c: 1}, d: 2}\ne: [1]\nf: ~\n"), {"a.b.c": (), "e": (), "f": (), "a.x.y": ()})
    assert [(one.name, one.value, one.location.line) for one in config.entries] == [
        ("a", {"b": None, "d": 2}, 1),
        ("a.b.c", 1, 1),
        ("e", [1], 2),
        ("f", None, 3),
    ]
    assert config.top == {"a": (), "e": (), "f": None}
    assert (config.value("a.b.c"), config.value("e"), config.value("a.x.y")) == (1, [1], None)
