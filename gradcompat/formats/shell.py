"""Shell commands as words, with the place of each character: enough of a shell to see what is started, no more.

Nothing is run. A variable whose value is known is put in; one that is not keeps its name in the word, so that nobody
takes ``torch==$VERSION`` for a version. What only a shell can know (``$(…)``, what a condition decides) stays unknown.

With a :class:`Trace` the places of a variable's value are those of its assignment, arrays and values that are known in
part are put in too, and each part that is unknown is one :data:`HOLE` in the word.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

from gradcompat.budget import Budget
from gradcompat.formats.shell_arithmetic import computed
from gradcompat.startup.lazy_dataclasses import dataclass, field
from gradcompat.startup.lazy_patterns import lazy_pattern

_PLAIN = lazy_pattern(r"[^\s'\"\\$`;&|()<>#{}]+")
_DEFAULT = lazy_pattern(r"\$\{\w+:?[-=]([^\s$`'\"\\{}]+)\}")
_PARAMETER = lazy_pattern(r"([A-Za-z_]\w*)(?::?([-=])(.*))?", re.DOTALL)
_VARIABLE = lazy_pattern(r"[A-Za-z_]\w*")
_ELEMENTS = lazy_pattern(r"([A-Za-z_]\w*)\[[@*]\]")
_ASSIGNMENT = lazy_pattern(r"([A-Za-z_]\w*)(\+?)=")
# Each name is tried from its first letter only, or a long one would be tried from all of them.
_ARITHMETIC = lazy_pattern(r"(?<!\w)([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)")
_FUNCTION = lazy_pattern(r"\(\s*\)")
_FUNCTIONS = lazy_pattern(r"^[ \t]*(?:function[ \t]|[\w-]+[ \t]*\([ \t]*\))", re.MULTILINE)
_ASSIGNED = lazy_pattern(r"(?<![\w-])([A-Za-z_]\w*)\+?=")
_PARTS = lazy_pattern(r"\S+")
_IN_QUOTES = lazy_pattern(r"[^\"\\$`{]+")
_BRACES = lazy_pattern(r"\{[^{}\n]+\}")
_HEREDOC = lazy_pattern(r"<<(-?)[ \t]*(['\"]?)([\w.-]+)\2")
_REDIRECT = lazy_pattern(r"&?>>?[&|]?|<<<|<[&>]?")
_OPENING = frozenset({"if", "case", "for", "while", "until", "select"})
_CLOSING = frozenset({"fi", "esac", "done"})
# What may stand before a command without changing which command it is.
_LEADING = _OPENING | _CLOSING | {"then", "else", "elif", "do", "!", "{", "}", "time", "exec", "command", "nohup"}
_BRANCHES = frozenset({"if", "case", "function"})
_DECLARING = frozenset({"export", "declare", "local", "readonly", "typeset"})
_TESTS = frozenset({"[", "[[", "test"})
# Files that are read into the shell without changing what a script has set itself.
_HARMLESS = lazy_pattern(
    r"(?:.*/)?(?:activate|\.?\w*(?:bashrc|profile|zshrc)|conda\.sh|modules?\.sh|init(?:\.\w+)?|setvars\.sh)"
)

# Variables that are made of variables could grow without end.
_MAX_VALUE = 4096
_MAX_EXPANDED = 1024 * 1024
# Of one script: its commands and their words, and what each launch has in its environment.
MOST_STEPS = 5_000_000
_COMMAND_COST = 50  # of a command, in words
_WORD_COST = 32  # of a word of an array, in characters

# Stands for a part of a word that nobody knows; no text that is read has it.
HOLE = "\0"

# The value of a variable; None if it is known that nobody knows it.
Variables = dict[str, str | None]


@dataclass(slots=True)
class Word:
    """One word as the command would get it; ``places`` are the offsets of its characters in the text."""

    parts: list[str] = field(default_factory=list)
    places: array[int] = field(default_factory=lambda: array("q"))
    start: int = 0
    end: int = 0
    quoted: bool = False
    unknown: list[str] = field(default_factory=list)
    elements: list[Word] | None = None  # of the array that is assigned
    unclosed: int | None = None  # where a quote starts that never ends

    @property
    def text(self) -> str:
        if len(self.parts) > 1:
            self.parts[:] = ["".join(self.parts)]
        return self.parts[0] if self.parts else ""

    def add(self, text: str, place: int, *, moving: bool = True) -> None:
        self.parts.append(text)
        self.places.extend(range(place, place + len(text)) if moving else [place] * len(text))

    def place(self, index: int) -> int:
        return self.places[index] if 0 <= index < len(self.places) else self.start

    def part(self, start: int, end: int | None = None) -> Word:
        """Some of its characters as a word."""
        text = self.text[start:end]
        return Word([text], self.places[start:end], self.place(start), self.end, self.quoted, list(self.unknown))


@dataclass(slots=True)
class Redirect:
    """``>`` or ``<`` with its target; ``behind`` is the word that it touches (``torch>=2``), if it touches one."""

    sign: str
    target: Word
    behind: Word | None


@dataclass(slots=True)
class Heredoc:
    """The lines behind ``<<EOF``: where they start and end in the text, once the lexer has come behind them.

    ``quoted``: the shell puts nothing into them.
    """

    delimiter: str
    tabs: bool
    quoted: bool
    start: int = 0
    end: int = 0


@dataclass(slots=True)
class Command:
    """One simple command: its words without leading assignments, and its redirections.

    Attributes:
        assigned: the assignments before it (``NPROC_PER_NODE=8 swift sft``), which are in its environment.
        heredocs: what is fed to it.
        end: the sign that ends it.
        conditional: it may never be run: it stands in a branch, in a function, or behind ``||`` or a test.
    """

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)
    assigned: dict[str, Word] = field(default_factory=dict)
    heredocs: list[Heredoc] = field(default_factory=list)
    end: str = ""
    conditional: bool = False


@dataclass(slots=True)
class Trace:
    """What is known of the variables of a script, with the places where it is assigned.

    Attributes:
        values: the words that a variable stands for now: one, or those of an array.
        exported: names of those that are in the environment of commands.
        uncertain: names that are assigned more than once in a script with functions, whose order nobody knows.
        spans: where the assignments stand, in their order: start, end, name.
        chosen: names that some assignment gives a value which is known.
    """

    values: dict[str, list[Word]] = field(default_factory=dict)
    exported: set[str] = field(default_factory=set)
    uncertain: frozenset[str] = frozenset()
    spans: list[tuple[int, int, str]] = field(default_factory=list)
    chosen: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, text: str) -> Trace:
        """One for a script that has not started."""
        if not _FUNCTIONS.search(text):
            return cls()
        counts = Counter(_ASSIGNED.findall(text))
        return cls(uncertain=frozenset(name for name, count in counts.items() if count > 1))

    def forget(self, names: Iterable[str] | None = None) -> None:
        """Some variables, or all, have got values that nobody knows."""
        for name in list(self.values if names is None else names):
            self.values.pop(name, None)

    def assign(self, name: str, word: Word, start: int, *, append: bool, sure: bool) -> None:
        """``NAME=value`` and ``NAME+=value``, of which the value starts at ``start``."""
        value = [word.part(start)] if word.elements is None else word.elements
        self.spans.append((word.start, word.end, name))
        if not word.unknown:
            self.chosen.add(name)
        before = self.values.pop(name, None)
        if not append:
            before = []
        if not sure or name in self.uncertain or before is None:
            return
        if append and word.elements is None and before:
            joined = before[0].part(0)
            joined.parts.extend(value[0].parts)
            joined.places.extend(value[0].places)
            value = [joined, *before[1:]]
        else:
            value = [*before, *value]
        if sum(len(word.text) for word in value) <= _MAX_VALUE * 4:
            self.values[name] = value


def commands(
    text: str,
    variables: Variables,
    *,
    braces: bool = False,
    trace: Trace | None = None,
    budget: Budget | None = None,
) -> Iterator[Command]:
    """The simple commands of a script, in their order; assignments among them change ``variables`` on the way.

    Args:
        text: the script.
        variables: what is known before it starts.
        braces: ``{name}`` is a variable of a notebook.
        trace: what is known with its places; ``variables`` do not count then.
        budget: the steps of the whole file, where it has several scripts.

    Raises:
        TooComplex: if there are more words than anybody writes.
    """
    budget = Budget(MOST_STEPS) if budget is None else budget
    blocks = _Blocks()  # what is assigned inside one may never be assigned
    defines = False  # the body of a function comes next
    maybe, end, tests = False, "", False
    for command in _Lexer(text, variables, braces=braces, trace=trace).commands():
        words = command.words
        budget.spend(_COMMAND_COST + len(words), None)
        maybe = end == "||" or (end == "&&" and (maybe or tests))
        end, tests = command.end, bool(words) and words[0].text in _TESTS
        if words and words[0].text == "function" and len(words) > 1:
            words, defines = words[2:], True
        elif command.end == "()" and len(words) == 1:
            defines = True
            continue
        if words and words[0].text in ("for", "select") and len(words) > 1 and not words[0].quoted:
            variables[words[1].text] = None
            if trace is not None:
                trace.forget((words[1].text,))
            blocks.enter(words[0].text)
            continue
        start = 0
        while start < len(words) and not words[start].quoted and words[start].text in _LEADING:
            blocks.reserved(words[start].text, defines=defines)
            defines = defines and words[start].text != "{"
            start += 1
        words = words[start:] if start else words
        declared = words[0].text if words and words[0].text in _DECLARING else ""
        if declared:
            words = [word for word in words[1:] if not word.text.startswith("-")]
        sure = not maybe and blocks.certain
        assigned: dict[str, tuple[Word, re.Match[str]]] = {}
        start = 0
        while start < len(words) and (match := _ASSIGNMENT.match(words[start].text)):
            assigned[match[1]] = (words[start], match)
            start += 1
        words = words[start:]
        if not words or declared:
            for name, (word, match) in assigned.items():
                known = known_value(word, match.end()) if sure and word.elements is None and not match[2] else None
                variables[name] = known
                if trace is not None:
                    trace.assign(name, word, match.end(), append=bool(match[2]), sure=sure)
            if trace is not None and declared == "export":
                trace.exported.update(assigned, (word.text for word in words))
            continue
        command.words = words
        command.assigned = {name: word.part(match.end()) for name, (word, match) in assigned.items()}
        command.conditional = maybe or blocks.branching
        if trace is not None:
            _change(command, trace)
            _fill(command, text, trace, sure=sure)
        yield command


class _Blocks:
    """The conditions, loops and functions that a command stands in, counted by their kinds."""

    __slots__ = ("_counts", "_open")

    def __init__(self) -> None:
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()

    @property
    def certain(self) -> bool:
        """Is everything run that stands here?"""
        return len(self._open) == self._counts["{"]

    @property
    def branching(self) -> bool:
        """May what stands here be left out?"""
        return any(self._counts[kind] for kind in _BRANCHES)

    def enter(self, kind: str) -> None:
        self._open.append(kind)
        self._counts[kind] += 1

    def reserved(self, word: str, *, defines: bool) -> None:
        """Enter or leave what a reserved word starts or ends."""
        if word in _OPENING or word == "{":
            self.enter("function" if defines and word == "{" else word)
        elif word in _CLOSING or word == "}":
            # A script that cannot be run may close what is not open.
            while self._open and (self._open[-1] in ("{", "function")) != (word == "}"):
                self._leave()
            if self._open:
                self._leave()

    def _leave(self) -> None:
        self._counts[self._open.pop()] -= 1


def _change(command: Command, trace: Trace) -> None:
    """Commands that change variables."""
    name, *words = [word.text for word in command.words]
    if name in ("source", ".") and words and not _HARMLESS.fullmatch(words[0]):
        trace.forget()
    elif name in ("read", "unset", "readarray", "mapfile", "getopts"):
        trace.forget(words)
    elif name == "let":
        trace.forget(match[1] for word in words for match in _ARITHMETIC.finditer(word))


def _fill(command: Command, text: str, trace: Trace, *, sure: bool) -> None:
    """``read -r -d '' NAME <<EOF``: the variable is all that is fed to the command."""
    words = [word.text for word in command.words]
    if words[0] != "read" or len(command.heredocs) != 1 or words[-3:-1] != ["-d", ""]:
        return
    document = command.heredocs[0]
    body = text[document.start : document.end]
    if document.quoted or document.tabs or '"' in body or not 0 < len(body) <= _MAX_VALUE * 4:
        return
    # As a quoted word, at the place where it stands.
    around = " " * (document.start - 1) + f'"{body}"'
    lexer = _Lexer(around, {}, operators=False, trace=trace)
    word = next((word for one in lexer.commands() for word in one.words), None)
    if word is not None:
        trace.assign(words[-1], word, 0, append=False, sure=sure)


def known_value(word: Word, start: int) -> str | None:
    """What follows the ``=`` of an assignment, if it is known."""
    value = word.text[start : start + _MAX_VALUE + 1]
    return None if word.unknown or len(value) > _MAX_VALUE else value


def split(text: str, variables: Variables) -> list[Word]:
    """The words of a text in which nothing is an operator, as in ``ENV`` and ``ARG``."""
    return [word for command in _Lexer(text, variables, operators=False).commands() for word in command.words]


class _Lexer:
    """One pass over a text."""

    def __init__(
        self,
        text: str,
        variables: Variables,
        *,
        braces: bool = False,
        operators: bool = True,
        trace: Trace | None = None,
    ) -> None:
        self._text = text
        self._variables = variables
        self._trace = trace
        self._array: tuple[Command, Word] | None = None  # what is assigned an array, while its elements are read
        self._assignment: Word | None = None  # the last word that is `NAME=…`, in which no variable makes several words
        self._braces = braces
        self._operators = operators
        self._position = 0
        self._word: Word | None = None
        self._command = Command()
        self._redirect: tuple[str, Word | None] | None = None
        self._budget = _MAX_EXPANDED
        self._heredocs: list[Heredoc] = []

    def commands(self) -> Iterator[Command]:
        text = self._text
        while self._position < len(text):
            at = self._position
            sign = text[at]
            if sign == "\\" and (text.startswith("\\\n", at) or text.startswith("\\\r\n", at)):
                self._position = text.index("\n", at) + 1
            elif sign == "\n" and self._operators and self._array is None:
                self._end_word()
                self._position += 1
                self._skip_heredocs()
                yield from self._end_command("\n")
            elif sign.isspace():
                self._end_word()
                self._position += 1
            elif sign == "#" and self._word is None and self._operators:
                end = text.find("\n", at)
                self._position = len(text) if end < 0 else end
            elif self._array is not None and sign in "();|&<>":
                self._position += 1
                if sign == ")":
                    self._end_array()
            elif sign == "(" and self._operators and self._starts_array():
                self._position += 1
            elif self._operators and (sign in ";|()" or (sign == "&" and not text.startswith("&>", at))):
                self._end_word()
                if not self._command.words and text.startswith("((", at):
                    self._arithmetic(at)
                    continue
                function = _FUNCTION.match(text, at)
                ending = "()" if function else text[at : at + 2] if text[at : at + 2] in ("||", "&&") else sign
                self._position = function.end() if function else at + len(ending)
                yield from self._end_command(ending)
            elif self._operators and sign in "<>&":
                self._redirection(at)
            else:
                self._piece(at, sign)
        self._end_word()
        if self._array is not None:
            self._end_array()
            self._end_word()
        yield from self._end_command("")

    def _starts_array(self) -> bool:
        """At a bracket: is it that of ``NAME=(``?"""
        word = self._word
        match = _ASSIGNMENT.fullmatch(word.text) if word is not None and not word.quoted else None
        if word is None or match is None:
            return False
        self._array = (self._command, word)
        self._command, self._word = Command(), None
        return True

    def _end_array(self) -> None:
        self._end_word()
        if self._array is not None:
            elements = self._command.words
            self._command, self._word = self._array
            self._array = None
            self._word.elements = elements

    def _arithmetic(self, at: int) -> None:
        """``((steps *= 2))`` as ``let "steps *= 2"``."""
        end = self._text.find("))", at)
        end = len(self._text) if end < 0 else end
        for text, start in (("let", at), (self._text[at + 2 : end], at + 2)):
            self._current(start).add(text, start)
            self._end_word()
        self._position = end + 2

    def _current(self, at: int) -> Word:
        if self._word is None:
            self._word = Word(start=at)
        return self._word

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        word.end = self._position
        if self._redirect is not None:
            sign, behind = self._redirect
            self._redirect = None
            self._command.redirects.append(Redirect(sign, word, behind))
        elif word.text or word.quoted:
            self._command.words.append(word)

    def _end_command(self, end: str) -> Iterator[Command]:
        command, self._command = self._command, Command()
        command.end = end
        self._redirect = None
        if command.words or command.redirects:
            yield command

    def _redirection(self, at: int) -> None:
        heredoc = _HEREDOC.match(self._text, at) if not self._text.startswith("<<<", at) else None
        word = self._word
        number = word is not None and word.text.isdigit() and not word.quoted
        if number:
            self._word = word = None
        self._end_word()
        if heredoc:
            document = Heredoc(heredoc[3], heredoc[1] == "-", bool(heredoc[2]))
            self._heredocs.append(document)
            self._command.heredocs.append(document)
            self._position = heredoc.end()
            return
        match = _REDIRECT.match(self._text, at)
        self._position = match.end() if match else at + 1
        self._redirect = (self._text[at : self._position], word)

    def _skip_heredocs(self) -> None:
        for heredoc in self._heredocs:
            heredoc.start = heredoc.end = self._position
            while self._position < len(self._text):
                end = self._text.find("\n", self._position)
                end = len(self._text) if end < 0 else end
                line = self._text[self._position : end].rstrip("\r")
                self._position = min(end + 1, len(self._text))
                if (line.lstrip("\t") if heredoc.tabs else line) == heredoc.delimiter:
                    break
                heredoc.end = self._position
        self._heredocs.clear()

    def _piece(self, at: int, sign: str) -> None:
        """One part of a word: quoted, escaped, a variable, or plain."""
        text = self._text
        word = self._current(at)
        if sign == "'":
            end = text.find("'", at + 1)
            if end < 0:
                word.unclosed = at
                end = len(text)
            word.quoted = True
            word.add(text[at + 1 : end], at + 1)
            self._position = end + 1
        elif sign == '"':
            word.quoted = True
            self._position = at + 1
            self._double_quoted(word, at)
        elif sign == "\\":
            word.add(text[at + 1 : at + 2], at + 1)
            word.quoted = True
            self._position = at + 2
        elif sign in "$`":
            self._expansion(at, quoted=False)
        elif sign == "{" and self._braces and (match := _BRACES.match(text, at)):
            word.unknown.append(match[0])
            word.add(match[0], at)
            self._position = match.end()
        else:
            match = _PLAIN.match(text, at)
            end = match.end() if match else at + 1
            if not word.parts and _ASSIGNMENT.match(text, at, end) and self._may_assign():
                self._assignment = word
            word.add(text[at:end], at)
            self._position = end

    def _may_assign(self) -> bool:
        """Is the next word of the form ``NAME=…`` an assignment, and no argument?"""
        words = self._command.words
        if self._array is not None:
            return False
        return not words or words[-1] is self._assignment or words[0].text in _DECLARING or words[-1].text in _LEADING

    def _double_quoted(self, word: Word, start: int) -> None:
        text = self._text
        while self._position < len(text):
            at = self._position
            sign = text[at]
            if sign == '"':
                self._position += 1
                return
            if sign == "\\" and text[at + 1 : at + 2] in ("$", "`", '"', "\\", "\n"):
                if text[at + 1] != "\n":
                    word.add(text[at + 1], at + 1)
                self._position += 2
            elif sign in "$`":
                self._expansion(at, quoted=True)
                word = self._current(at)  # "${ARRAY[@]}" is several words
            elif sign == "{" and self._braces and (match := _BRACES.match(text, at)):
                word.unknown.append(match[0])
                word.add(match[0], at)
                self._position = match.end()
            else:
                match = _IN_QUOTES.match(text, at)
                end = match.end() if match else at + 1
                word.add(text[at:end], at)
                self._position = end
        word.unclosed = start

    def _expansion(self, at: int, *, quoted: bool) -> None:
        text = self._text
        name: str | None = None
        value: str | None = None
        array = False
        if text[at] == "`":
            end = text.find("`", at + 1)
            end = len(text) if end < 0 else end + 1
        elif text.startswith("$(", at):
            end = _closing(text, at + 1, "(", ")")
            if self._operators and text.startswith("$((", at) and text.endswith("))", at, end):
                number = computed(text[at + 3 : end - 2], self._value)
                if number is not None:
                    self._position = end
                    self._current(at).add(number, at, moving=False)
                    return
        elif text.startswith("${", at):
            end = _closing(text, at + 1, "{", "}")
            match = _PARAMETER.fullmatch(text[at + 2 : end - 1])
            if match:
                name = match[1]
                value = self._variables.get(name)
                default = match[3]
                if not value and default is not None and name not in self._variables and not _has_signs(default):
                    value = default
            elif match := _ELEMENTS.fullmatch(text[at + 2 : end - 1]):
                name, array = match[1], True
        elif match := _VARIABLE.match(text, at + 1):
            end = match.end()
            name = match[0]
            value = self._variables.get(name)
        else:
            end = min(at + 2, len(text)) if text[at + 1 : at + 2] not in ("", '"', " ", "\n") else at + 1
        self._position = end
        word = self._current(at)
        quoted = quoted or word is self._assignment
        if self._trace is not None:
            self._traced(name, text[at:end], at, array=array, quoted=quoted)
            return
        self._budget -= len(value or "")
        if value is None or self._budget < 0:
            word.unknown.append(f"${name}" if name else text[at:end] if end > at + 1 else "$")
            word.add(text[at:end], at)
        elif quoted:
            word.add(value, at, moving=False)
        else:
            for index, part in enumerate(re.split(r"\s+", value)):
                if index:
                    self._end_word()
                self._current(at).add(part, at, moving=False)

    def _value(self, name: str) -> str | None:
        """The text that a variable stands for, if that is known."""
        if self._trace is None:
            return self._variables.get(name)
        values = self._trace.values.get(name, ())
        return values[0].text if len(values) == 1 and not values[0].unknown else None

    def _traced(self, name: str | None, text: str, at: int, *, array: bool, quoted: bool) -> None:
        """Put in what is known of a variable, with the places where it was assigned."""
        values = self._trace.values.get(name) if self._trace is not None and name is not None else None
        self._budget -= sum(len(value.text) + _WORD_COST for value in values or ())
        if (
            values is None
            or self._budget < 0
            or (text.startswith("${") and not array and not text[2:-1].isidentifier())
        ):
            word = self._current(at)
            if len(text) > 1:
                # What a script sets itself does not have the default that it has elsewhere.
                own = self._trace is not None and name in self._trace.chosen
                word.unknown.append(f"${{{name}}}" if own else text[:100])
                word.add(HOLE, at)
            else:
                word.add(text, at)
            return
        parts: list[Word] = []
        for value in values if array else values[:1]:
            if quoted:
                parts.append(value)
            else:
                parts.extend(value.part(match.start(), match.end()) for match in _PARTS.finditer(value.text))
        whole = self._word is self._assignment or (quoted and text.endswith("[*]}"))
        for index, part in enumerate(parts):
            if index and whole:
                self._current(at).add(" ", at)
            elif index:
                self._end_word()
            word = self._current(part.start)
            word.quoted = word.quoted or quoted
            word.parts.extend(part.parts)
            word.places.extend(part.places)
            word.unknown.extend(part.unknown)


def default_of(word: Word, text: str) -> str | None:
    """What ``${STEPS:-8}`` stands for unless somebody sets it, where a text of the word is that and nothing else."""
    match = _DEFAULT.fullmatch(word.unknown[0]) if text == HOLE and len(word.unknown) == 1 else None
    return None if match is None else match[1]


def _has_signs(text: str) -> bool:
    return any(sign in text for sign in "$`'\"\\")


def _closing(text: str, at: int, opening: str, closing: str) -> int:
    """Behind the bracket that closes the one at ``at``; quotes inside are passed over."""
    depth = 0
    position = at
    quoted = False
    while position < len(text):
        sign = text[position]
        if sign == "\\":
            position += 1
        elif sign == '"':
            quoted = not quoted
        elif sign == "'" and not quoted:
            end = text.find("'", position + 1)
            position = len(text) if end < 0 else end
        elif sign == opening:
            depth += 1
        elif sign == closing:
            depth -= 1
            if depth == 0:
                return position + 1
        position += 1
    return len(text)
