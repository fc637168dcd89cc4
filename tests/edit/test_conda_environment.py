from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.edit.conda_environment import edit
from gradcompat.edit.pins import Edited, NotEdited, PinEdit
from gradcompat.errors import EditError
from tests.edit.pinned import TRANSFORMERS, upgrade

PYTORCH = upgrade("pytorch", "2.4.1", "2.6.0")


def again(text: str, *pins: PinEdit) -> Edited:
    """The edit, which a second one has to leave as it is."""
    first = edit(text, "environment.yml", pins)
    second = edit(first.text, "environment.yml", pins)
    assert second.text == first.text
    assert second.settled == first.settled
    return first


@pytest.mark.parametrize(
    ("before", "after", "build"),
    [
        ("pytorch=2.4.1=py3.11_cuda12.4_cudnn9.1.0_0", "pytorch=2.6.0", "py3.11_cuda12.4_cudnn9.1.0_0"),
        ("pytorch=2.4.1=*cuda*", "pytorch=2.6.0=*cuda*", None),
        ("pytorch 2.4.1 py3.11_0", "pytorch 2.6.0", "py3.11_0"),
        ("pytorch 2.4.1", "pytorch 2.6.0", None),
        ("pytorch==2.4.1", "pytorch==2.6.0", None),
        ("pytorch=2.4", "pytorch=2.6", None),
        ("pytorch = 2.4", "pytorch = 2.6", None),
        ("pytorch::pytorch>=2.4,<2.5", "pytorch::pytorch>=2.6.0,<2.7", None),
        ("conda-forge/linux-64::pytorch", "conda-forge/linux-64::pytorch>=2.6.0", None),
        ("PyTorch >=2.4  # with CUDA", "PyTorch >=2.6.0  # with CUDA", None),
        ('"pytorch >=2.4"  # quoted', '"pytorch >=2.6.0"  # quoted', None),
        ("'pytorch==2.4.1'", "'pytorch==2.6.0'", None),
        ("&torch pytorch=2.4", "&torch pytorch=2.6", None),
    ],
)
def test_a_line_for_conda_moves(before: str, after: str, build: str | None) -> None:
    text = "name: toy  # the name\nchannels: [pytorch]\ndependencies:\n  - python=3.11\n  - {}\n  - pip\n"
    note = f"`pytorch`: the build `{build}` is left out, because it belongs to the old version"
    assert again(text.format(before), PYTORCH) == Edited(
        text=text.format(after), settled=("pytorch",), notes=(note,) if build else ()
    )


def test_lines_for_pip_move() -> None:
    text = (
        "dependencies:\r\n- pip:\r\n  - transformers[torch]==4.49.0  # for LLaVA\r\n"
        "  - 'peft>=0.14'\r\n  - -r more.txt\r\n  - trl @ https://index.example/trl.whl\r\n- numpy"
    )
    pins = [TRANSFORMERS, upgrade("peft", "0.14.0", "0.15.2"), upgrade("trl", "0.9", "0.10"), PYTORCH]
    assert again(text, *pins) == Edited(
        text=text.replace("4.49.0", "4.52.0").replace("0.14", "0.15.2"),
        settled=("transformers", "peft"),
        not_edited=(
            NotEdited("trl", "line 6: comes from a URL, which decides its version"),
            NotEdited("pytorch", "is not named here"),
        ),
    )


def test_what_is_written_in_another_way_is_left_alone() -> None:
    text = """\
dependencies:
  - pytorch[version='>=2.4', build='*cuda*']
  - "transformers\\u003d4.49"
  - peft=newest
  - pip:
    - |
      trl==0.9
    - accelerate==1.0 --hash=sha256:aa
"""
    pins = [PYTORCH, TRANSFORMERS, upgrade("peft", "0.14.0", "0.15.2"), upgrade("trl", "0.9", "0.10")]
    pins.append(upgrade("accelerate", "1.0", "1.1"))
    assert again(text, *pins) == Edited(
        text=text,
        not_edited=(
            NotEdited("pytorch", "line 2: is written in a way that is not edited"),
            NotEdited("transformers", "line 3: is written with escapes or over several lines"),
            NotEdited("peft", "line 4: `=newest` is not a specifier"),
            NotEdited("trl", "line 6: is written with escapes or over several lines"),
            NotEdited("accelerate", "line 8: is pinned with hashes"),
        ),
    )


def test_an_alias_is_one_line() -> None:
    text = "x: &torch pytorch=2.4\ndependencies:\n  - *torch\n  - *torch\n"
    assert again(text, PYTORCH) == Edited(text=text.replace("2.4", "2.6"), settled=("pytorch",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("- a\n", "`e.yml:1`: has no `key: value` lines at its top"),
        ("name: x\n", "`e.yml`: has no `dependencies:` as an environment.yml has"),
        ("a: [\n", "`e.yml:1`: not valid YAML: did not find expected node content"),
    ],
)
def test_what_is_no_environment_is_refused(text: str, message: str) -> None:
    with pytest.raises(EditError) as error:
        edit(text, "e.yml", [PYTORCH])
    assert str(error.value) == message


fragments = st.sampled_from(
    [
        *(
            "- pytorch=2.4",
            "- pytorch",
            "- pip:",
            "  - transformers",
            "- 'pytorch=2.4.1=py_0'",
            '- "a\\u0062"',
            "\n",
            "\r\n",
        ),
        *(
            "\r",
            "\x85",
            "\u2028",
            "  ",
            "# x",
            "- |",
            "  pytorch=2.4",
            "- &a pytorch",
            "- *a",
            "é",
            "\t",
            "- {a: pytorch}",
        ),
    ]
)


@given(st.lists(fragments, max_size=10).map("".join))
def test_any_text_is_edited_once_or_refused(lines: str) -> None:
    text = "dependencies:\n" + lines
    try:
        assert edit(text, "e.yml", []).text == text
        first = edit(text, "e.yml", [PYTORCH, TRANSFORMERS])
    except EditError:
        return
    assert edit(first.text, "e.yml", [PYTORCH, TRANSFORMERS]).text == first.text
