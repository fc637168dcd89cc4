"""Shell commands as words, with the place of each character: enough of a shell to see what is installed, no more.

Nothing is run. A variable whose value is known is put in; one that is not keeps its name in the word, so that nobody
takes ``torch==$VERSION`` for a version. What only a shell can know (``$(…)``, what a condition decides) stays unknown.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field

_PLAIN = re.compile(r"[^\s'\"\\$`;&|()<>#{}]+")
_PARAMETER = re.compile(r"([A-Za-z_]\w*)(?::?([-=])(.*))?", re.DOTALL)
_VARIABLE = re.compile(r"[A-Za-z_]\w*")
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=")
_IN_QUOTES = re.compile(r"[^\"\\$`{]+")
_BRACES = re.compile(r"\{[^{}\n]+\}")
_HEREDOC = re.compile(r"<<(-?)[ \t]*(['\"]?)([\w.-]+)\2")
_REDIRECT = re.compile(r"&?>>?[&|]?|<[&>]?|<<<")
_OPENING = frozenset({"if", "case", "for", "while", "until", "select"})
_CLOSING = frozenset({"fi", "esac", "done"})
# What may stand before a command without changing which command it is.
_LEADING = _OPENING | _CLOSING | {"then", "else", "elif", "do", "!", "{", "}", "time", "exec", "command", "nohup"}

# Variables that are made of variables could grow without end.
_MAX_VALUE = 4096
_MAX_EXPANDED = 1024 * 1024

# The value of a variable; None if it is known that nobody knows it.
Variables = dict[str, str | None]


@dataclass(slots=True)
class Word:
    """One word as the command would get it; ``places`` are the offsets of its characters in the text."""

    parts: list[str] = field(default_factory=list)
    places: array[int] = field(default_factory=lambda: array("q"))
    start: int = 0
    quoted: bool = False
    unknown: list[str] = field(default_factory=list)

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


@dataclass(slots=True)
class Redirect:
    """``>`` or ``<`` with its target; ``behind`` is the word that it touches (``torch>=2``), if it touches one."""

    sign: str
    target: Word
    behind: Word | None


@dataclass(slots=True)
class Command:
    """One simple command: its words without leading assignments, and its redirections."""

    words: list[Word] = field(default_factory=list)
    redirects: list[Redirect] = field(default_factory=list)


def commands(text: str, variables: Variables, *, braces: bool = False) -> Iterator[Command]:
    """The simple commands of a script, in their order; assignments among them change ``variables`` on the way.

    Args:
        text: the script.
        variables: what is known before it starts.
        braces: ``{name}`` is a variable of a notebook.
    """
    depth = 0  # of conditions and loops: what is assigned inside one may never be assigned
    for command in _Lexer(text, variables, braces=braces).commands():
        words = command.words
        if words and words[0].text in ("for", "select") and len(words) > 1 and not words[0].quoted:
            variables[words[1].text] = None
            depth += 1
            continue
        while words and not words[0].quoted and words[0].text in _LEADING:
            depth += (words[0].text in _OPENING) - (words[0].text in _CLOSING)
            words = words[1:]
        exported = bool(words) and words[0].text in ("export", "declare", "local", "readonly")
        if exported:
            words = words[1:]
        assigned: Variables = {}
        while words and (match := _ASSIGNMENT.match(words[0].text)):
            assigned[match[1]] = known_value(words[0], match.end()) if depth == 0 else None
            words = words[1:]
        if not words or exported:
            variables.update(assigned)
            continue
        yield Command(words, command.redirects)


def known_value(word: Word, start: int) -> str | None:
    """What follows the ``=`` of an assignment, if it is known."""
    value = word.text[start : start + _MAX_VALUE + 1]
    return None if word.unknown or len(value) > _MAX_VALUE else value


def split(text: str, variables: Variables) -> list[Word]:
    """The words of a text in which nothing is an operator, as in ``ENV`` and ``ARG``."""
    return [word for command in _Lexer(text, variables, operators=False).commands() for word in command.words]


class _Lexer:
    """One pass over a text."""

    def __init__(self, text: str, variables: Variables, *, braces: bool = False, operators: bool = True) -> None:
        self._text = text
        self._variables = variables
        self._braces = braces
        self._operators = operators
        self._position = 0
        self._word: Word | None = None
        self._command = Command()
        self._redirect: tuple[str, Word | None] | None = None
        self._budget = _MAX_EXPANDED
        self._heredocs: list[tuple[str, bool]] = []

    def commands(self) -> Iterator[Command]:
        text = self._text
        while self._position < len(text):
            at = self._position
            sign = text[at]
            if sign == "\\" and (text.startswith("\\\n", at) or text.startswith("\\\r\n", at)):
                self._position = text.index("\n", at) + 1
            elif sign == "\n" and self._operators:
                self._end_word()
                yield from self._end_command()
                self._position += 1
                self._skip_heredocs()
            elif sign.isspace():
                self._end_word()
                self._position += 1
            elif sign == "#" and self._word is None and self._operators:
                end = text.find("\n", at)
                self._position = len(text) if end < 0 else end
            elif self._operators and (sign in ";|()" or (sign == "&" and not text.startswith("&>", at))):
                self._end_word()
                yield from self._end_command()
                self._position += 1
            elif self._operators and sign in "<>&":
                self._redirection(at)
            else:
                self._piece(at, sign)
        self._end_word()
        yield from self._end_command()

    def _current(self, at: int) -> Word:
        if self._word is None:
            self._word = Word(start=at)
        return self._word

    def _end_word(self) -> None:
        word, self._word = self._word, None
        if word is None:
            return
        if self._redirect is not None:
            sign, behind = self._redirect
            self._redirect = None
            self._command.redirects.append(Redirect(sign, word, behind))
        elif word.text or word.quoted:
            self._command.words.append(word)

    def _end_command(self) -> Iterator[Command]:
        command, self._command = self._command, Command()
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
            self._heredocs.append((heredoc[3], heredoc[1] == "-"))
            self._position = heredoc.end()
            return
        match = _REDIRECT.match(self._text, at)
        self._position = match.end() if match else at + 1
        self._redirect = (self._text[at : self._position], word)

    def _skip_heredocs(self) -> None:
        for delimiter, tabs in self._heredocs:
            while self._position < len(self._text):
                end = self._text.find("\n", self._position)
                end = len(self._text) if end < 0 else end
                line = self._text[self._position : end].rstrip("\r")
                self._position = min(end + 1, len(self._text))
                if (line.lstrip("\t") if tabs else line) == delimiter:
                    break
        self._heredocs.clear()

    def _piece(self, at: int, sign: str) -> None:
        """One part of a word: quoted, escaped, a variable, or plain."""
        text = self._text
        word = self._current(at)
        if sign == "'":
            end = text.find("'", at + 1)
            end = len(text) if end < 0 else end
            word.quoted = True
            word.add(text[at + 1 : end], at + 1)
            self._position = end + 1
        elif sign == '"':
            word.quoted = True
            self._position = at + 1
            self._double_quoted(word)
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
            word.add(text[at:end], at)
            self._position = end

    def _double_quoted(self, word: Word) -> None:
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
            elif sign == "{" and self._braces and (match := _BRACES.match(text, at)):
                word.unknown.append(match[0])
                word.add(match[0], at)
                self._position = match.end()
            else:
                match = _IN_QUOTES.match(text, at)
                end = match.end() if match else at + 1
                word.add(text[at:end], at)
                self._position = end

    def _expansion(self, at: int, *, quoted: bool) -> None:
        text = self._text
        name: str | None = None
        value: str | None = None
        if text[at] == "`":
            end = text.find("`", at + 1)
            end = len(text) if end < 0 else end + 1
        elif text.startswith("$(", at):
            end = _closing(text, at + 1, "(", ")")
        elif text.startswith("${", at):
            end = _closing(text, at + 1, "{", "}")
            match = _PARAMETER.fullmatch(text[at + 2 : end - 1])
            if match:
                name = match[1]
                value = self._variables.get(name)
                default = match[3]
                if not value and default is not None and name not in self._variables and not _has_signs(default):
                    value = default
        elif match := _VARIABLE.match(text, at + 1):
            end = match.end()
            name = match[0]
            value = self._variables.get(name)
        else:
            end = min(at + 2, len(text)) if text[at + 1 : at + 2] not in ("", '"', " ", "\n") else at + 1
        self._position = end
        word = self._current(at)
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


def _has_signs(text: str) -> bool:
    return any(sign in text for sign in "$`'\"\\")


def _closing(text: str, at: int, opening: str, closing: str) -> int:
    """Behind the bracket that closes the one at ``at``; quotes inside are passed over."""
    depth = 0
    position = at
    while position < len(text):
        sign = text[position]
        if sign == "\\":
            position += 1
        elif sign == "'":
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
