"""New values of settings, written into every kind of file; each other character stays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.edit.atomic_write import edited
from gradcompat.edit.setting_values import SettingEdit
from gradcompat.edit.settings import edit
from gradcompat.errors import EditError
from gradcompat.model.environment import Location, SettingValue

STEPS = "training.gradient_accumulation_steps"
CHECKPOINTING = "training.gradient_checkpointing"
REENTRANT = "training.use_reentrant"
LOSS = "training.loss_type"
CLIPPING = "training.max_grad_norm"


def wanted(
    text: str, key: str, old: SettingValue | None, new: SettingValue, spelling: str | None, at: str
) -> SettingEdit:
    """A change of what stands at the mark ``at``, of which the last character but one is the first of the value."""
    offset = text.index(at) + len(at)
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    location = Location(path="x", line=line, column=column)
    return SettingEdit(key=key, old=old, new=new, location=location, spelling=spelling)


# The file, its text with what is changed between « and », the key, old and new value, the spelling.
CHANGES: list[tuple[str, str, str, SettingValue | None, SettingValue, str, str]] = [
    ("a.yaml", "# a\nsteps: «4»  # four\nb: 1\n", STEPS, 4, 1, "steps: {}", "1"),
    ("a.yaml", "\r\nsteps: «4»\r\n# é\r\n", STEPS, 4, 16, "steps: {}", "16"),
    ("a.yml", "é: {x: [1, 2], steps: «4», z: '}'}", STEPS, 4, 8, "steps: {}", "8"),
    ("a.yaml", "a: 1\n--- # two\nb:\n  steps: «4»\n...\n", STEPS, 4, 8, "steps: {}", "8"),
    ("a.yaml", 'steps: «"4"»', STEPS, 4, 8, "steps: {}", '"8"'),
    ("a.yaml", "steps: «auto»\n", STEPS, None, 8, "steps: {}", "8"),
    ("a.yaml", "steps: «'${oc.env:STEPS}'»\n", STEPS, None, 8, "steps: {}", "8"),
    ("a.yaml", "on: «True»", CHECKPOINTING, True, False, "on: {}", "False"),
    ("a.yaml", "on: «no»", CHECKPOINTING, False, True, "on: {}", "yes"),
    ("a.yaml", "on: «'false'»", CHECKPOINTING, False, True, "on: {}", "'true'"),
    ("a.yaml", "clip: «1»", CLIPPING, 1.0, 0.0, "clip: {}", "0"),
    ("a.yaml", "clip: «1.0»", CLIPPING, 1.0, 0, "clip: {}", "0.0"),
    ("a.yaml", "clip: «1»", CLIPPING, 1.0, 1e-05, "clip: {}", "1.0e-05"),
    ("a.yaml", "steps: «1e1»", STEPS, 10, 11, "steps: {}", "11"),
    ("a.yaml", "loss: «dapo»", LOSS, "dapo", "bnpo", "loss: {}", "bnpo"),
    ("a.yaml", "loss: «dapo»", LOSS, "dapo", "no", "loss: {}", '"no"'),
    ("a.yaml", "loss: «dapo»", LOSS, "dapo", "12", "loss: {}", '"12"'),
    ("a.yaml", "loss: «dapo»", LOSS, "dapo", "a: # b", "loss: {}", '"a: # b"'),
    ("a.yaml", "loss: «'it''s'»", LOSS, "it's", "that's", "loss: {}", "'that''s'"),
    ("a.yaml", 'loss: «"a"»', LOSS, "a", 'é"\n', "loss: {}", '"é\\"\\n"'),
    ("a.yaml", '{"loss": «"a"»}', LOSS, "a", "b", '"loss": {}', '"b"'),
    ("a.yaml", "# c\n{loss: «x»}", LOSS, "x", "z", "loss: {}", "z"),
    ("a.yaml", "loss: «x»", LOSS, "x", "y", "loss: {}", '"y"'),
    ("a.json", '{"a": "x\\"", "steps":\t«4»}\r\n', STEPS, 4, 8, '"steps": {}', "8"),
    ("a.json", '{"steps": «"auto"»}', STEPS, None, 8, '"steps": {}', "8"),
    ("a.json", '{"steps": «"4"»}', STEPS, 4, 8, '"steps": {}', '"8"'),
    ("a.json", '{"on": «true»}', CHECKPOINTING, True, False, '"on": {}', "false"),
    ("a.json", '{"loss": «"\\u0061"»}', LOSS, "a", 'b"', '"loss": {}', '"b\\""'),
    ("a.json", '{// x\n"on" /* "y": */ : # z\n «true», }', CHECKPOINTING, True, False, '"on": {}', "false"),
    ("a.sh", "torchrun t.py --steps «4» \\\n  --x 4\n", STEPS, 4, 8, "--steps {}", "8"),
    ("a.sh", "torchrun t.py --steps \\\r\n  «4»\r\n", STEPS, 4, 8, "--steps {}", "8"),
    ("a.sh", 'torchrun t.py --steps="«4»"', STEPS, 4, 8, "--steps={}", "8"),
    ("a.sh", "bash -c 'torchrun t.py --steps «4»'", STEPS, 4, 8, "--steps {}", "8"),
    ("a.slurm", "STEPS=«4»  # x\nsrun python train.py --steps $STEPS", STEPS, 4, 8, "STEPS={}", "8"),
    ("a.sbatch", "python train.py trainer.steps=«4» +x=4", STEPS, 4, 8, "trainer.steps={}", "8"),
    ("a.sh", "trl sft --bf16 --on «True»", CHECKPOINTING, True, False, "--on {}", "False"),
    ("a.sh", 'cat > d.json <<EOF\n{"x": 1,\n "steps": «4»}\nEOF\n', STEPS, 4, 8, '"steps": {}', "8"),
    ("a.sh", "cat > d.yaml <<'EOF'\nx: 1\nsteps: «4»\nEOF\nsteps: 4\n", STEPS, 4, 8, "steps: {}", "8"),
    ("a.py", "é = 'é'; A(b='é', steps=«4», x=4)\n", STEPS, 4, 8, "steps={}", "8"),
    ("a.py", "\r\nA(\r\n  steps=«2 * 4»,  # eight\r\n)", STEPS, 8, 1, "steps={}", "1"),
    ("a.py", "GA: int = «4»\nA(steps=GA)", STEPS, 4, 8, "GA = {}", "8"),
    ("a.py", "X, GA = 1, «4»", STEPS, 4, 8, "GA = {}", "8"),
    ("a.py", "(GA := «4»)", STEPS, 4, 8, "GA = {}", "8"),
    ("a.py", "model.config.on = «True»", CHECKPOINTING, True, False, "model.config.on = {}", "False"),
    ("a.py", "A(kw={'on': «True»})", REENTRANT, True, False, '"on": {}', "False"),
    ("a.py", "A(loss=«'a'»)", LOSS, "a", "b", "loss={}", "'b'"),
    ("a.py", "A(loss=«'a'»)", LOSS, "a", "it's", "loss={}", '"it\'s"'),
    ("a.py", "A(dtype=torch.«bfloat16»)", "model.torch_dtype", "bfloat16", "float32", "dtype={}", "float32"),
    ("a.py", "A(clip=«-1.0»)", CLIPPING, -1.0, 1.0, "clip={}", "1.0"),
]


@pytest.mark.parametrize(("name", "marked", "key", "old", "new", "spelling", "expected"), CHANGES)
def test_a_value_gives_way(
    name: str, marked: str, key: str, old: SettingValue | None, new: SettingValue, spelling: str, expected: str
) -> None:
    before, rest = marked.split("«")
    value, after = rest.split("»")
    text = before + value + after
    start = before.removesuffix("torch.")  # where the expression starts
    inside = value.startswith(('"', "'")) and name.endswith(".sh")
    change = wanted(text, key, old, new, spelling, start if not inside else start + value[0])
    assert edit(text, name, [change]) == before + expected + after
    # The value that is wanted already stays, also where it is written in another way.
    assert edit(before + expected + after, name, [change]) == before + expected + after


def test_an_alias_gives_way_to_the_literal() -> None:
    text = "base: &n 4  # four\nsteps: *n\nother: *n\n"
    change = wanted(text, STEPS, 4, 8, "steps: {}", "base: ")
    assert edit(text, "a.yaml", [change]) == "base: &n 4  # four\nsteps: 8\nother: *n\n"


def test_an_anchor_that_nobody_uses_stays() -> None:
    text = "steps: &n 4\n---\nsteps: &n 5\nother: *n\n"
    assert edit(text, "a.yaml", [wanted(text, STEPS, 4, 8, "steps: {}", "steps: ")]) == text.replace("&n 4", "&n 8")


def test_several_values_at_once() -> None:
    text = "{steps: 4, on: true, loss: a}"
    changes = [
        wanted(text, LOSS, "a", "bb", "loss: {}", "loss: "),
        wanted(text, STEPS, 4, 16, "steps: {}", "steps: "),
        wanted(text, CHECKPOINTING, True, False, "on: {}", "on: "),
    ]
    assert edit(text, "a.yaml", changes) == "{steps: 16, on: false, loss: bb}"
    assert edit(text, "a.yaml", [*changes, changes[0]]) == "{steps: 16, on: false, loss: bb}"


def test_nothing_is_changed_where_one_change_is_refused() -> None:
    text = "{steps: 4, on: true}"
    first, second = wanted(text, STEPS, 4, 1, "steps: {}", "steps: "), wanted(text, STEPS, 4, 2, "steps: {}", "steps: ")
    with pytest.raises(EditError) as error:
        edit(text, "a.yaml", [first, second])
    assert str(error.value) == (
        "`a.yaml:1`: two changes set different values in one place: write `steps: 2` there by hand"
    )


def test_switches_of_tools_that_take_values() -> None:
    text = "trl sft \\\n  --gradient_checkpointing \\\n  --bf16\npython train.py --gradient_checkpointing\n"
    change = wanted(text, CHECKPOINTING, True, False, None, "\\\n  ")
    assert edit(text, "a.sh", [change]) == text.replace("ing \\", "ing false \\")


def test_a_value_inside_of_a_string_of_json() -> None:
    text = """trl sft --kw '{"x": true, "use_reentrant": true}' --x"""
    change = wanted(text, REENTRANT, True, False, None, "--kw '")
    after = """trl sft --kw '{"x": true, "use_reentrant": false}' --x"""
    assert (edit(text, "a.sh", [change]), edit(after, "a.sh", [change])) == (after, after)


GONE = "the setting is no longer there"
PARTS = "the string there is put together of parts, or has a prefix or escapes"

# As above, with what the message says: the reason, and behind → the line to write, behind ⇒ the value of the key.
REFUSALS: list[tuple[str, str, str, SettingValue | None, SettingValue, str | None, str]] = [
    ("a.yaml", "steps: «5", STEPS, 4, 1, "steps: {}", "says `5`, not `4` ⇒ 1"),
    ("a.yaml", "other: «4", STEPS, 4, 1, "steps: {}", "is more than one value → steps: 1"),
    ("a.yaml", "steps: «[4]", STEPS, 4, 1, "steps: {}", "is more than one value → steps: 1"),
    ("a.yaml", "x: 1\n«", STEPS, 4, 1, "steps: {}", GONE + " → steps: 1"),
    ("a.yaml", "loss: «|\n  a\n", LOSS, "a\n", "b", "loss: {}", "the value runs over several lines → loss: b"),
    ("a.yaml", "loss: «'a\n b'\n", LOSS, "a b", "b", "loss: {}", "the value runs over several lines → loss: b"),
    ("a.yaml", "steps: «!!int 4", STEPS, 4, 1, "steps: {}", "the value has the tag `tag:yaml.org,2002:int` → steps: 1"),
    (
        "a.yaml",
        "steps: «&n 4\nb:\n- *n",
        STEPS,
        4,
        1,
        "steps: {}",
        "stands at an anchor that line 3 uses, too → steps: 1",
    ),
    (
        "a.yaml",
        "b: &b {steps: «4}\nc: {<<: *b}",
        STEPS,
        4,
        1,
        "steps: {}",
        "stands below an anchor that line 2 uses, too → steps: 1",
    ),
    ("a.yaml", "steps: «4", STEPS, 4, ("a", "b"), "steps: {}", "a list would replace a word → steps: a, b"),
    ("a.yaml", "fa: «true", LOSS, "x", "y", None, "sets it in a way that is not edited ⇒ y"),
    ("a.json", '{"steps": «{}}', STEPS, 4, 1, '"steps": {}', 'is more than one value → "steps": 1'),
    ("a.json", '{"x": «4}', STEPS, 4, 1, '"steps": {}', GONE + ' → "steps": 1'),
    ("a.json", '{"loss": «"b"}', LOSS, "a", "c", '"loss": {}', "says `b`, not `a` ⇒ c"),
    ("a.sh", "t --steps «$N", STEPS, None, 1, "--steps {}", "`$N` is put together elsewhere → --steps 1"),
    ("a.sh", "t --step «4", STEPS, 4, 1, "--steps {}", GONE + " → --steps 1"),
    ("a.sh", "t --steps «44", STEPS, 4, 1, "--steps {}", "says `44`, not `4` ⇒ 1"),
    (
        "a.sh",
        "t --loss «a",
        LOSS,
        "a",
        "b c",
        "--loss {}",
        "the value has characters that are special to a shell → --loss b c",
    ),
    (
        *("a.sh", "python train.py «--gradient-checkpointing --x", CHECKPOINTING, True, False, None),
        "`--gradient-checkpointing` is a switch: leave it out, or write `--gradient-checkpointing false` by hand if "
        "the program takes a value there",
    ),
    ("a.sh", "x «--no_ckpt", CHECKPOINTING, False, True, None, "sets it in a way that is not edited ⇒ true"),
    ("a.py", "A(steps=«n)", STEPS, None, 1, "steps={}", "is put together elsewhere, or only in a branch → steps=1"),
    ("a.py", "A(steps=«5)", STEPS, 4, 1, "steps={}", "says `5`, not `4` ⇒ 1"),
    ("a.py", "A(x=«4)", STEPS, 4, 1, "steps={}", GONE + " → steps=1"),
    ("a.py", "A(loss=«'a' 'b')", LOSS, "ab", "c", "loss={}", PARTS + " → loss='c'"),
    ("a.toml", "steps: «4", STEPS, 4, 1, "steps: {}", "is a kind of file that gradcompat does not edit → steps: 1"),
]


@pytest.mark.parametrize(("name", "marked", "key", "old", "new", "spelling", "message"), REFUSALS)
def test_what_is_not_certain_is_refused(
    name: str, marked: str, key: str, old: SettingValue | None, new: SettingValue, spelling: str | None, message: str
) -> None:
    text = marked.replace("«", "")
    change = wanted(marked, key, old, new, spelling, "«")
    location = change.location
    assert location.column is not None
    change = SettingEdit(
        key=key,
        old=old,
        new=new,
        location=Location(path="x", line=location.line, column=location.column - 1),
        spelling=spelling,
    )
    with pytest.raises(EditError) as error:
        edit(text, name, [change])
    reason, _, line = message.partition(" → ")
    expected = f"{reason}: write `{line}` there by hand" if line else reason
    reason, _, value = expected.partition(" ⇒ ")
    expected = f"{reason}: set `{key}` to `{value}` by hand" if value else reason
    assert str(error.value) == f"`{name}:{location.line}`: {expected}"


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "a: {", "not valid YAML: while parsing a flow node"),
        ("a.yaml", "a: \ud800", "not valid YAML: contains invalid characters"),
        ("a.py", "a = (", "not valid Python: '(' was never closed"),
        ("a.ipynb", "{", "not valid JSON: Expecting property name enclosed in double quotes"),
    ],
)
def test_what_cannot_be_read(name: str, text: str, message: str) -> None:
    location = Location(path=name, line=1, column=1)
    change = SettingEdit(key=STEPS, old=1, new=2, location=location, spelling="a: {}")
    with pytest.raises(EditError) as error:
        edit(text, name, [change])
    assert error.value.message == message


def notebook(*sources: list[str] | str, indent: int | None = 1) -> str:
    cells = [{"cell_type": "code", "source": source} for source in sources]
    return json.dumps({"cells": cells, "nbformat": 4}, indent=indent, ensure_ascii=False)


def in_notebook(text: str, line: int, old: SettingValue, new: SettingValue, spelling: str, key: str = STEPS) -> str:
    location = Location(path="x", line=line)
    return edit(text, "a.ipynb", [SettingEdit(key=key, old=old, new=new, location=location, spelling=spelling)])


def test_a_line_of_a_notebook() -> None:
    text = notebook(["x = 1\n", 'A("é\\n", "😀", steps = 4, loss="a")\n', "GA: int = 4 # GA = 4"])
    line = text.splitlines().index(next(one for one in text.splitlines() if "steps" in one)) + 1
    assert in_notebook(text, line, 4, 8, "steps={}") == text.replace("steps = 4", "steps = 8")
    assert in_notebook(text, line + 1, 4, 8, "GA = {}") == text.replace("GA: int = 4", "GA: int = 8")
    after = in_notebook(text, line, "a", "it's", "loss={}", LOSS)
    assert after == text.replace(r"loss=\"a\"", r"loss=\"it's\"")
    assert in_notebook(after, line, "a", "it's", "loss={}", LOSS) == after


def test_a_cell_that_is_one_string() -> None:
    text = notebook("# steps=4\nA(steps=4, kw={'on': True}, dtype=torch.bfloat16)\n", indent=None)
    assert in_notebook(text, 1, 4, 8, "steps={}") == text.replace("A(steps=4", "A(steps=8")
    assert in_notebook(text, 1, True, False, '"on": {}', REENTRANT) == text.replace("True", "False")
    after = in_notebook(text, 1, "bfloat16", "float32", "dtype={}", "model.torch_dtype")
    assert after == text.replace("torch.bfloat16", "torch.float32")


def test_escapes_of_a_notebook_stay() -> None:
    text = notebook(["A('\\ud83d', steps=4)"]).replace("\\\\u", "\\u").replace("\\ud83d", "\\ud83d\\ude00\\t")
    assert in_notebook(text, 6, 4, 8, "steps={}") == text.replace("steps=4", "steps=8")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (["A(steps=4); B(steps=4)"], "appears there more than once: write `steps=8` there by hand"),
        (["A(steps=4 * 2)"], "the setting is no longer there: write `steps=8` there by hand"),
        (["A(steps=5)"], f"says `5`, not `4`: set `{STEPS}` to `8` by hand"),
    ],
)
def test_notebooks_where_it_is_not_certain(source: list[str], message: str) -> None:
    with pytest.raises(EditError) as error:
        in_notebook(notebook(source), 6, 4, 8, "steps={}")
    assert str(error.value) == f"`a.ipynb:6`: {message}"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"], ids=["plain", "mark", "UTF-16", "UTF-16 without mark"]
)
def test_encodings_and_line_ends_stay(encoding: str) -> None:
    text = "# é\r\nsteps: 4\r\n"
    change = wanted(text, STEPS, 4, 8, "steps: {}", "steps: ")
    made = edited(Path("a.yaml"), "a.yaml", text.encode(encoding), lambda one: edit(one, "a.yaml", [change]))
    assert made.after == text.replace("4", "8").encode(encoding)


_PIECES = st.sampled_from(
    [
        *(
            "steps",
            "a",
            ": ",
            "=",
            "=4",
            " 4",
            '"',
            "'",
            "\\",
            "\n",
            "\r\n",
            "--steps",
            "{",
            "}",
            "[",
            "]",
            "(",
            ")",
            "&n ",
        ),
        *(
            "*n",
            "<<: ",
            "|",
            "# ",
            "<<EOF",
            "$(",
            "`",
            "é",
            "\ud800",
            "\0",
            "true",
            "/*",
            "//",
            "- ",
            "---",
            ",",
            "1e999",
        ),
        *(
            '"source"',
            '"cells"',
            '"cell_type": "code"',
            "\\u12",
            "A(steps=4)",
            "lambda:",
            ":=",
            "0x",
            "9" * 5000,
            "\x0c",
        ),
    ]
)


@given(
    pieces=st.lists(_PIECES, max_size=12),
    name=st.sampled_from(["a.yaml", "a.json", "a.sh", "a.py", "a.ipynb"]),
    line=st.integers(0, 4),
    column=st.integers(0, 12),
    old=st.sampled_from([4, 4.0, True, None, "a"]),
    new=st.sampled_from([8, False, "b", "a\n'\"", ("a",), ("a", "b"), 1e300]),
    spelling=st.sampled_from([None, "steps: {}", '"steps": {}', "--steps {}", "steps={}", "steps = {}"]),
)
def test_any_text_is_changed_or_refused(
    pieces: list[str],
    name: str,
    line: int,
    column: int,
    old: SettingValue | None,
    new: SettingValue,
    spelling: str | None,
) -> None:
    text = "".join(pieces)
    location = Location(path=name, line=line, column=column)
    change = SettingEdit(key=STEPS, old=old, new=new, location=location, spelling=spelling)
    try:
        edit(text, name, [change])
        refused = None
    except EditError as error:
        refused = error
    assert refused is None or refused.path == name
