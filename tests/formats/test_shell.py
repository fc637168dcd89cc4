"""Words of shell commands; whatever we take for known, bash itself makes of the same script."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gradcompat.formats.shell import HOLE, Command, Trace, Variables, commands, split
from tests.examples import examples


def parsed(text: str, variables: Variables | None = None) -> list[Command]:
    return list(commands(text, {} if variables is None else variables))


def words(text: str, variables: Variables | None = None) -> list[list[str]]:
    return [[word.text for word in command.words] for command in parsed(text, variables)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("torchrun train.py --seed 1", [["torchrun", "train.py", "--seed", "1"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a --x='1 2'\"3\"4", [["a", "--x=1 234"]]),
        ("a \"\" ''", [["a", "", ""]]),
        ("a \\\n  b \\\r\n  c", [["a", "b", "c"]]),
        ("a # b\nc#d", [["a"], ["c#d"]]),
        ("a; b & c | d && e || f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("if a; then b; else c; fi", [["a"], ["b"], ["c"]]),
        ("NAME=1 OTHER='x y' a b", [["a", "b"]]),
        ("a <<EOF\nb c\nEOF\nd", [["a"], ["d"]]),
        ("a <<< b\nc", [["a"], ["c"]]),
        ("a 2>&1 >log <in b", [["a", "b"]]),
        ("", []),
        ("# nothing", []),
    ],
)
def test_words(text: str, wanted: list[list[str]]) -> None:
    assert words(text) == wanted


def test_a_known_variable_is_put_in_and_an_unknown_one_keeps_its_name() -> None:
    (command,) = parsed('V="1 2"\nW=x\na $V "$V" ${W}y ${N:-z} $U "p-$(date)"')
    assert [word.text for word in command.words] == ["a", "1", "2", "1 2", "xy", "z", "$U", "p-$(date)"]
    assert [word.unknown for word in command.words] == [[], [], [], [], [], [], ["$U"], ["$(date)"]]


def test_what_may_not_be_run_sets_nothing() -> None:
    variables: Variables = {}
    (command,) = parsed("V=1\nif x=$(y); then V=2; fi\na $V", variables)
    assert command.words[1].unknown == ["$V"]
    assert variables["V"] is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a", [False]),
        ("if a; then b; fi; c", [True, True, False]),
        ("f() { a; }\nb", [True, False]),
        ("for x in 1 2; do a; done", [False]),
        ("a || b", [False, True]),
        ("a && b", [False, False]),
        ("[ x ] && b", [False, True]),
    ],
)
def test_conditional(text: str, wanted: list[bool]) -> None:
    assert [command.conditional for command in parsed(text)] == wanted


def test_places_are_those_of_the_characters() -> None:
    text = "a \\\n  'b c' --x=\"d\"e f\\ g"
    (command,) = parsed(text)
    for word in command.words:
        assert [text[word.place(index)] for index in range(len(word.text))] == list(word.text)


def test_with_a_trace_the_place_is_that_of_the_assignment() -> None:
    text = "ARGS=(--seed 1)\nLR=2e-4\nARGS+=(--lr $LR)\na ${ARGS[@]} --out run-$ID"
    trace = Trace.of(text)
    (command,) = commands(text, {}, trace=trace)
    assert [word.text for word in command.words] == ["a", "--seed", "1", "--lr", "2e-4", "--out", f"run-{HOLE}"]
    assert text[command.words[2].place(0)] == "1"
    assert command.words[4].place(0) == text.index("2e-4")
    assert command.words[-1].unknown == ["$ID"]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("$((GLOBAL / (BATCH * GPUS)))", "4"),
        ("$(( GLOBAL/BATCH/8 ))", "4"),
        ("$(($GLOBAL % ${GPUS} - 7 / 2))", "-3"),
        ("$((-7 / 2))", "-3"),
        ("x$((2+3))y", "x5y"),
        ("$((GLOBAL / OTHER))", HOLE),
        ("$((GLOBAL / 0))", HOLE),
        ("$((010 + 1))", HOLE),
        ("$((2 ** 3))", HOLE),
        ("$((GLOBAL > 1))", HOLE),
        ("$((TEXT + 1))", HOLE),
    ],
)
def test_sums_of_known_numbers_are_computed(text: str, wanted: str) -> None:
    script = f"GLOBAL=128; BATCH=4; GPUS=8; TEXT=a\nN={text}\na --n $N --m {text}"
    (command,) = commands(script, {}, trace=Trace.of(script))
    assert [command.words[2].text, command.words[4].text] == [wanted, wanted]
    (plain,) = parsed(script)
    assert (plain.words[4].text == wanted) is (wanted != HOLE)


def test_a_computed_number_stands_where_it_is_computed() -> None:
    text = "B=4\na --n $((8 / B)) --seed 1"
    (command,) = commands(text, {}, trace=Trace.of(text))
    assert command.words[2].text == "2"
    assert text[command.words[2].place(0) :].startswith("$((8")


def test_redirections_and_heredocs() -> None:
    text = "pip install torch>=2.0 x 2>/dev/null\ncat <<'EOF' > ds.json\n{$A}\nEOF\nb"
    install, cat, _ = parsed(text)
    (version, errors) = install.redirects
    assert (version.sign, version.target.text, version.behind and version.behind.text) == (">", "=2.0", "torch")
    assert (errors.sign, errors.target.text, errors.behind) == (">", "/dev/null", None)
    (heredoc,) = cat.heredocs
    assert (text[heredoc.start : heredoc.end], heredoc.quoted) == ("{$A}\n", True)


def test_a_variable_is_read_from_a_heredoc() -> None:
    text = "N=4\nread -r -d '' ARGS <<EOF\n--lr 1e-4 \\\n  --n $N\nEOF\na $ARGS"
    *_, command = commands(text, {}, trace=Trace.of(text))
    assert [word.text for word in command.words] == ["a", "--lr", "1e-4", "--n", "4"]
    assert command.words[2].place(0) == text.index("1e-4")
    for other in (text.replace(" -d ''", ""), text.replace("<<EOF", "<<'EOF'"), text.replace("1e-4", '"1e-4"')):
        *_, command = commands(other, {}, trace=Trace.of(other))
        assert [word.text for word in command.words] == ["a", HOLE]


def test_a_quote_that_never_ends_is_said() -> None:
    (command,) = parsed("a 'b\nc d")
    assert [word.unclosed for word in command.words] == [None, 2]


def test_where_nothing_is_an_operator() -> None:
    assert [word.text for word in split("A=1 B='x;y' C>2 # d", {})] == ["A=1", "B=x;y", "C>2", "#", "d"]


@pytest.mark.parametrize("text", ["a '" * 20_000, "$(" * 20_000, "${" * 20_000, "a=$b$b " * 5_000, "((" * 20_000])
def test_hostile_texts_end(text: str) -> None:
    assert parsed(text) is not None


# What stands for a word in generated scripts. `set -f +B` keeps bash from looking at files and from braces.
_LETTERS = st.text("abz019_./:=,-@%+~", min_size=1, max_size=6).map(lambda text: "w" + text)
_ANY = st.text('ab 01\t;&|<>()#*?[]{}~!=$"`\\\n', max_size=8)
_ESCAPED = st.text("ab;&|<>()#*?$\"'`\\ ", min_size=1, max_size=4)
_NAMES = ("V", "W", "X")


def _in_double_quotes(text: str) -> str:
    return '"' + "".join(f"\\{char}" if char in '$`"\\' else char for char in text) + '"'


_PIECES = st.one_of(
    _LETTERS,
    _ANY.map(lambda text: f"'{text}'"),
    _ANY.map(_in_double_quotes),
    _ESCAPED.map(lambda text: "".join(f"\\{char}" for char in text)),
    st.sampled_from(_NAMES).flatmap(lambda name: st.sampled_from((f'"${name}"', f'"${{{name}}}"', f'"a${name} b"'))),
    st.sampled_from(_NAMES).flatmap(lambda name: st.sampled_from((f"w${name},", f"w${{{name}}}w"))),
    st.sampled_from(("w${UNSET:-d}", "w${UNSET-d}", '"${UNSET:-d}"')),
)
_WORDS = st.lists(_PIECES, min_size=1, max_size=3).map("".join)
_GAPS = st.sampled_from((" ", "  ", "\t", " \\\n "))
_ENDS = st.sampled_from(("\n", "; ", " # a 'comment\n", " 3>/dev/null\n", " 2>/dev/null\n", "\n\n", " && "))


@st.composite
def _lines(draw: st.DrawFn) -> str:
    kind = draw(st.sampled_from(("command", "command", "command", "assignment", "heredoc")))
    if kind == "assignment":
        return f"{draw(st.sampled_from(_NAMES))}={draw(_WORDS)}\n"
    line = "show" + "".join(draw(_GAPS) + word for word in draw(st.lists(_WORDS, max_size=5)))
    if kind == "heredoc":
        return f"{line} <<'END'\nshow 'not a command\nEND\n"
    return line + draw(_ENDS)


_SCRIPTS = st.lists(_lines(), min_size=1, max_size=30).map(lambda lines: "".join(lines) + "show end\n")
_SHOW = "set -f +B\nshow() { for word; do printf '%s\\0' \"$word\"; done; printf '\\1\\0'; }\n"


def in_bash(script: str) -> list[list[str]]:
    """The words of each `show` as bash has them."""
    bash = shutil.which("bash")
    assert bash is not None
    started = subprocess.run(
        [bash, "--norc", "--noprofile", "-c", _SHOW + script], capture_output=True, timeout=60, check=False, env={}
    )
    calls: list[list[str]] = [[]]
    assert started.stdout.endswith(b"\1\0"), started.stderr
    for word in started.stdout.decode().split("\0")[:-1]:
        if word == "\1":
            calls.append([])
        else:
            calls[-1].append(word)
    return calls[:-1]


@pytest.mark.e2e
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@settings(max_examples=examples(60), deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(script=_SCRIPTS)
def test_words_are_those_of_bash(script: str) -> None:
    assert subprocess.run(["bash", "-n"], input=script.encode(), check=False, timeout=60).returncode == 0
    ours = parsed("V=1\nW='a  b'\nX=\n" + script)
    theirs = in_bash("V=1\nW='a  b'\nX=\n" + script)
    pairs = zip(ours, theirs, strict=True)
    known = [
        ([word.text for word in command.words[1:]], called)
        for command, called in pairs
        if not any(word.unknown for word in command.words)
    ]
    assert [mine for mine, _ in known] == [called for _, called in known]
    # What is assigned behind `&&` may never be, for all that we know.
    assert "&&" in script or len(known) == len(theirs)
