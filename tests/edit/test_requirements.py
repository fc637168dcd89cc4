from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.edit.pins import Edited, NotEdited, PinEdit
from gradcompat.edit.requirements import edit
from gradcompat.errors import EditError
from tests.edit.pinned import NEW, OLD, TORCH, TRANSFORMERS, added, downgrade, upgrade


def again(text: str, *pins: PinEdit) -> Edited:
    """The edit, which a second one has to leave as it is."""
    first = edit(text, "requirements.txt", pins)
    second = edit(first.text, "requirements.txt", pins)
    assert second.text == first.text
    assert second.settled == first.settled
    return first


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("transformers==4.49.0\n", "transformers==4.52.0\n"),
        ("transformers==4.49.0", "transformers==4.52.0"),
        ("Transformers == 4.49.0  # for LLaVA\r\n", "Transformers == 4.52.0  # for LLaVA\r\n"),
        ("transformers\n", "transformers>=4.52.0\n"),
        ("transformers # any\n", "transformers>=4.52.0 # any\n"),
        ("transformers[torch,vision]\n", "transformers[torch,vision]>=4.52.0\n"),
        ("transformers [torch] >=4.45, <5 ; extra == 'a'\n", "transformers [torch] >=4.52.0, <5 ; extra == 'a'\n"),
        ("transformers>=4.45;python_version>'3.9'\n", "transformers>=4.52.0;python_version>'3.9'\n"),
        ("transformers (>=4.45)\n", "transformers (>=4.52.0)\n"),
        ("  transformers>=4.45\n", "  transformers>=4.52.0\n"),
        (
            "transformers \\\n  >=4.45 \\\n  ; python_version > '3'\n",
            "transformers \\\n  >=4.52.0 \\\n  ; python_version > '3'\n",
        ),
        ("transformers\\\n", "transformers>=4.52.0\\\n"),
        ("transformers==4.49.0\\", "transformers==4.52.0\\"),
        ("transformers>=4.45 --config-settings a=b\n", "transformers>=4.52.0 --config-settings a=b\n"),
        (
            "torch\n\n# transformers==4.49.0\ntransformers==4.49.0\n",
            "torch\n\n# transformers==4.49.0\ntransformers==4.52.0\n",
        ),
    ],
)
def test_a_requirement_moves(before: str, after: str) -> None:
    assert again(before, TRANSFORMERS) == Edited(text=after, settled=("transformers",))


def test_what_is_not_named_or_linked_stays() -> None:
    text = (
        "-r base.txt\n-c constraints.txt\n--index-url https://index.example/simple\n-e .\n./torch-2.4.1.tar.gz\n"
        "transformers @ https://index.example/transformers-4.49.0-py3-none-any.whl\n"
        "-e git+https://git.example/torch.git@v2.4.1#egg=torch\n"
    )
    peft = upgrade("peft", "0.14.0", "0.15.0")
    assert again(text, TRANSFORMERS, TORCH, peft) == Edited(
        text=text,
        not_edited=(
            NotEdited("transformers", "line 6: comes from a URL, which decides its version"),
            NotEdited("torch", "line 7: comes from a URL, which decides its version"),
            NotEdited("peft", "is not named here"),
        ),
    )


def test_only_the_alternative_that_is_there_moves() -> None:
    platforms = ("==2.2.2", "darwin"), ("==2.4.1", "linux"), (">=2.0", "win32")
    text = "".join(f"torch{specifier}; sys_platform == '{platform}'\n" for specifier, platform in platforms)
    assert again(text, TORCH) == Edited(
        text=text.replace("==2.4.1", "==2.6.0").replace(">=2.0", ">=2.6.0"),
        settled=("torch",),
        notes=("`torch` in another place: line 1: `==2.2.2` does not allow 2.4.1 and stays",),
    )


def test_where_no_alternative_is_there_all_move() -> None:
    text = "torch==2.2.2; sys_platform == 'darwin'\ntorch==2.3.1; sys_platform == 'linux'\n"
    assert again(text, TORCH) == Edited(
        text=text.replace("==2.2.2", "==2.6.0").replace("==2.3.1", "==2.6.0"), settled=("torch",)
    )


def test_a_version_that_is_none_is_said() -> None:
    text = "torch=2.4.1\ntransformers==${VERSION}\n"
    assert again(text, TORCH, TRANSFORMERS) == Edited(
        text=text,
        not_edited=(
            NotEdited("torch", "line 1: `=2.4.1` is not a specifier"),
            NotEdited("transformers", "line 2: what stands there is not a specifier"),
        ),
    )


HASHED = f"""\
# by hand
idna==3.10 \\
    --hash={OLD[0]}
torch==2.4.1 ; python_version >= "3.9" \\
    --hash={OLD[0]} \\
    --hash={OLD[1]}
    # via
    #   -r requirements.in
sympy==1.13 --hash={OLD[0]}
"""


def test_a_pin_with_hashes_gets_the_new_ones_in_its_layout() -> None:
    pins = [upgrade("idna", "3.10", "3.11", *NEW), upgrade("torch", "2.4.1", "2.6.0", *NEW)]
    pins.append(upgrade("sympy", "1.13", "1.14", *NEW[:2]))
    result = again(HASHED, *pins)
    assert result == Edited(
        text=f"""\
# by hand
idna==3.11 \\
    --hash={NEW[0]} \\
    --hash={NEW[1]} \\
    --hash={NEW[2]}
torch==2.6.0 ; python_version >= "3.9" \\
    --hash={NEW[0]} \\
    --hash={NEW[1]} \\
    --hash={NEW[2]}
    # via
    #   -r requirements.in
sympy==1.14 --hash={NEW[0]} --hash={NEW[1]}
""",
        settled=("idna", "torch", "sympy"),
    )
    windows = edit(HASHED.replace("\n", "\r\n"), "requirements.txt", pins)
    assert windows.text == result.text.replace("\n", "\r\n")


def test_hashes_that_are_not_known_keep_a_pin_where_it_is() -> None:
    assert again(HASHED, TORCH, added("filelock", "3.16")) == Edited(
        text=HASHED,
        not_edited=(
            NotEdited("torch", "line 4: is pinned with hashes, and those of 2.6.0 are not known"),
            NotEdited("filelock", "is not named here, and the hashes of 3.16 are not known"),
        ),
    )


def test_options_among_hashes_keep_a_pin_where_it_is() -> None:
    text = f"torch==2.4.1 --hash={OLD[0]} --config-settings a=b --hash={OLD[1]}\n"
    assert again(text, upgrade("torch", "2.4.1", "2.6.0", *NEW)) == Edited(
        text=text, not_edited=(NotEdited("torch", "line 1: has other options among its hashes"),)
    )


def test_a_package_that_is_new_joins_where_every_line_has_a_hash() -> None:
    new = added("filelock", "3.16", *NEW[:2])
    assert again(HASHED.rstrip("\n"), new) == Edited(
        text=HASHED + f"filelock==3.16 \\\n    --hash={NEW[0]} \\\n    --hash={NEW[1]}\n",
        settled=("filelock",),
        notes=("`filelock` is new here: every line has a hash, so pip refuses what is not listed",),
    )
    assert again("torch==2.4.1\n", new) == Edited(
        text="torch==2.4.1\n", not_edited=(NotEdited("filelock", "is not named here"),)
    )
    assert edit("# nothing\n", "r.txt", [new]).text == "# nothing\n"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        (
            "#\n# This file is autogenerated by pip-compile with Python 3.11\n# by the following command:\n#\n"
            "#    pip-compile --output-file=requirements.txt requirements.in pyproject.toml\n#\n",
            "is in a file that `pip-compile` writes: edit `requirements.in` and `pyproject.toml`, and run it again",
        ),
        (
            "# This file was autogenerated by uv via the following command:\n"
            "#    uv pip compile -p 3.11 requirements.in -o requirements.txt\n",
            "is in a file that `uv pip compile` writes: edit `requirements.in`, and run it again",
        ),
        (
            "# This file was autogenerated by uv via the following command:\n#    uv export --no-hashes\n",
            "is in a file that `uv export` writes",
        ),
        (
            "# This file is @generated by PDM.\n# Please do not edit it manually.\n",
            "is in a file that `pdm export` writes",
        ),
    ],
)
def test_what_a_tool_wrote_is_left_alone(header: str, reason: str) -> None:
    text = f"{header}--extra-index-url https://index.example/simple\n\ntorch==2.4.1\n    # via -r requirements.in\n"
    assert edit(text, "requirements.txt", [TORCH]) == Edited(text=text, not_edited=(NotEdited("torch", reason),))


def test_a_downgrade() -> None:
    assert again("transformers>=4.45,<5\n", downgrade("transformers", "4.49.0", "4.48.3")) == Edited(
        text="transformers>=4.45,<=4.48.3\n", settled=("transformers",)
    )


def test_a_file_without_end_is_refused() -> None:
    with pytest.raises(EditError) as error:
        edit("torch\n" * 100_001, "r.txt", [TORCH])
    assert str(error.value) == "`r.txt`: has more than 100,000 lines"


def test_a_package_in_endless_places_is_left_alone() -> None:
    text = "torch==2.4.1\n" * 1001
    reason = "appears in 1,001 places, which is too many to edit"
    assert edit(text, "r.txt", [TORCH]) == Edited(text=text, not_edited=(NotEdited("torch", reason),))


fragments = st.sampled_from(
    [
        *(
            "torch",
            "torch==2.4.1",
            "Torch >= 2.0",
            "torch[a]",
            "torch@x",
            "numpy==1.26",
            " ",
            "\t",
            "\\\n",
            "\\\r\n",
            "\n",
            "\r",
        ),
        *(
            "\r\n",
            "#",
            "# via",
            ";",
            "; python_version > '3'",
            "--hash=sha256:" + "a" * 64,
            "-r a.txt",
            "-e .",
            "\\",
            "(",
            ")",
        ),
        *(",", "<3", "!=2.6.0", "==", "\x0c", "\u2028", "é"),
    ]
)


@given(st.lists(fragments, max_size=12).map("".join))
def test_any_text_is_edited_once(text: str) -> None:
    pins = [upgrade("torch", "2.4.1", "2.6.0", *NEW)]
    assert edit(text, "r.txt", []).text == text
    first = edit(text, "r.txt", pins)
    second = edit(first.text, "r.txt", pins)
    assert second.text == first.text
    # What is left of the text without specifiers and hashes is what it was.
    if "numpy" in text:
        assert first.text.count("numpy==1.26") == text.count("numpy==1.26")
