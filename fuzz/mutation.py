"""Changes to a file that keep its structure, as a rule: what is parsed is changed as a tree, all else by lines."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

from fuzz.grammars import words
from fuzz.grammars.words import amount, chance, pick

_LARGEST_TREE = 100_000
_LARGEST_PROGRAM = 20_000
_HEADER = re.compile(rb"^(?=\[)", re.MULTILINE)
_QUOTED = re.compile(rb'"[^"\n]*"|\'[^\'\n]*\'')
_WORD = re.compile(rb"[A-Za-z0-9_.+-]+")
_BAD_BYTES = (b"\xe9", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x80", b"\xfe\xff", b"\xf4\x90\x80\x80")


def mutated(data: bytes, donor: bytes, random: Random) -> bytes:
    """A changed copy.

    Args:
        data: the file.
        donor: another file, of which pieces may come.
        random: decides.
    """
    for _ in range(1 + amount(random, 3) % 12):
        data = _changed(data, donor, random)
    if chance(random, 0.05):
        data = with_secret(data, random)  # last, so that no other change damages it
    return data


def _changed(data: bytes, donor: bytes, random: Random) -> bytes:
    draw = random.random()
    if draw < 0.35:
        changed = _tree(data, random)
        if changed is not None:
            return changed
    if draw < 0.5:
        return _blocks(data, donor, random)
    if draw < 0.75:
        return _lines(data, donor, random)
    if draw < 0.92:
        return _token(data, random)
    return _bytes(data, random)


def with_secret(data: bytes, random: Random) -> bytes:
    """A line of another kind of file among the lines, with a secret in it."""
    lines = data.split(b"\n")
    lines.insert(int(random.random() * (len(lines) + 1)), words.secret_line(random, quoted=b"import " in data).encode())
    return b"\n".join(lines)


def _tree(data: bytes, random: Random) -> bytes | None:
    """Change a node of JSON or of a program; None for what is neither."""
    head = data[:1]
    if head in b"{[" and head and len(data) < _LARGEST_TREE:
        try:
            root = json.loads(data)
        except (ValueError, RecursionError):
            return None
        _json_node(root, random)
        return json.dumps(root, ensure_ascii=chance(random, 0.5), indent=pick(random, (None, 1, 2))).encode(
            "utf-8", "replace"
        )
    if len(data) < _LARGEST_PROGRAM and (b"import " in data or b"def " in data):
        try:
            program = ast.parse(data)
            _program_node(program, random)
            return ast.unparse(program).encode("utf-8", "replace")
        except (SyntaxError, ValueError, RecursionError, MemoryError, AttributeError, TypeError):
            return None
    return None


def _json_node(root: Any, random: Random) -> None:
    node = root
    for _ in range(12):
        inner = list(node.values()) if isinstance(node, dict) else node if isinstance(node, list) else []
        deeper = [one for one in inner if isinstance(one, (dict, list)) and one]
        if not deeper or chance(random, 0.3):
            break
        node = pick(random, deeper)
    keys: list[Any] = list(node) if isinstance(node, dict) else list(range(len(node)))
    if not keys:
        return
    key, other = pick(random, keys), pick(random, keys)
    change = int(random.random() * 6)
    if change == 0:
        del node[key]
    elif change == 1:
        node[key] = node[other]
    elif change == 2:
        node[key], node[other] = node[other], node[key]
    elif change == 3:
        node[key] = _extreme(random)
    elif change == 4:
        node[key] = [node[key]] * (amount(random) + 1)
    elif isinstance(node, dict):
        node[words.text(random)] = node.pop(key)
    else:
        node.insert(0, node[key])


def _extreme(random: Random) -> Any:
    return pick(
        random,
        (None, True, -1, 0, 10**30, 1e308, float("nan"), "", [], {}, [[]], words.text(random), words.url(random)),
    )


def _program_node(program: ast.Module, random: Random) -> None:
    bodies = [node for node in ast.walk(program) if isinstance(getattr(node, "body", None), list) and node.body]  # type: ignore[attr-defined]
    change = int(random.random() * 4)
    if change < 2 and bodies:
        body: list[ast.stmt] = pick(random, bodies).body  # type: ignore[attr-defined]
        at = int(random.random() * len(body))
        if change == 0 and len(body) > 1:
            del body[at]
        else:
            body.insert(int(random.random() * len(body)), body[at])
        return
    if change == 2:
        calls = [node for node in ast.walk(program) if isinstance(node, ast.Call) and node.keywords]
        if calls:
            one = pick(random, calls)
            argument = pick(random, one.keywords)
            argument.value = pick(
                random, (ast.Constant(None), ast.Constant(words.text(random)), ast.Name("args"), one, ast.Constant(-1))
            )
        return
    constants = [node for node in ast.walk(program) if isinstance(node, ast.Constant)]
    if constants:
        pick(random, constants).value = pick(
            random, (None, True, 0, -1, 10**30, 1e308, "", words.text(random), b"x", ...)
        )


def _blocks(data: bytes, donor: bytes, random: Random) -> bytes:
    """Delete, double, swap and splice tables of TOML, items of YAML or paragraphs."""
    cut = _HEADER if _HEADER.search(data) else _paragraph(data)
    blocks, others = cut.split(data), cut.split(donor)
    at, other = int(random.random() * len(blocks)), int(random.random() * len(blocks))
    change = int(random.random() * 5)
    if change == 0:
        del blocks[at]
    elif change == 1:
        blocks[at:at] = [blocks[other]] * (1 + amount(random) % 200)
    elif change == 2:
        blocks[at], blocks[other] = blocks[other], blocks[at]
    elif change == 3:
        blocks.insert(at, pick(random, others))
    else:
        blocks = blocks[: at + 1]
    return b"".join(blocks)


def _paragraph(data: bytes) -> re.Pattern[bytes]:
    return _ITEM if b"\n- " in data else _PARAGRAPH


_ITEM = re.compile(rb"^(?=- )", re.MULTILINE)
_PARAGRAPH = re.compile(rb"(?<=\n\n)")


def _lines(data: bytes, donor: bytes, random: Random) -> bytes:
    lines = data.split(b"\n")
    at, other = int(random.random() * len(lines)), int(random.random() * len(lines))
    change = int(random.random() * 7)
    if change == 0:
        del lines[at : at + 1 + amount(random, 2)]
    elif change == 1:
        lines[at:at] = [lines[other]] * (1 + amount(random, 2))
    elif change == 2:
        lines[at], lines[other] = lines[other], lines[at]
    elif change == 3:
        lines.insert(at, pick(random, donor.split(b"\n")))
    elif change == 4:
        lines[at] = pick(random, (b"  ", b"\t", b"    ", b"- ", b"# ", b"\\")) + lines[at]
    elif change == 5:
        lines[at] = lines[at].lstrip()
    else:
        return pick(random, words.SEPARATORS).encode().join(lines)
    return b"\n".join(lines)


def _token(data: bytes, random: Random) -> bytes:
    """Another value for a quoted text or a word."""
    at = int(random.random() * (len(data) + 1))
    place = pick(random, (_QUOTED, _WORD)).search(data, at)
    if place is None:
        return data
    new = words.text(random).encode("utf-8", "replace")
    change = int(random.random() * 4)
    if place[0][:1] in (b'"', b"'"):
        new = place[0][:1] + new.replace(b'"', b"") + place[0][:1] if change else new
    elif change == 0:
        new = place[0] + new
    elif change == 1:
        new = place[0] * (1 + amount(random))
    return data[: place.start()] + new + data[place.end() :]


def _bytes(data: bytes, random: Random) -> bytes:
    at = int(random.random() * (len(data) + 1))
    changes: Sequence[Callable[[], bytes]] = (
        lambda: data[:at],
        lambda: data[:at] + data[at + 1 + amount(random) :],
        lambda: data[:at] + pick(random, _BAD_BYTES) + data[at:],
        lambda: data[:at] + words.odd(random).encode("utf-8", "surrogatepass") + data[at:],
        lambda: b"\xef\xbb\xbf" + data,
        lambda: data.decode("utf-8", "replace").encode(pick(random, ("utf-16", "utf-16-le", "utf-32"))),
        lambda: data.decode("utf-8", "replace").encode("latin-1", "replace"),
        lambda: data[:at] + bytes([int(random.random() * 256)]) + data[at + 1 :],
        lambda: (
            data[:at] + pick(random, (b"[", b"{", b"(", b"- ", b'{"a":')) * pick(random, (10, 1000, 50_000)) + data[at:]
        ),
    )
    return pick(random, changes)()


def broken(data: bytes, random: Random) -> bytes:
    """The file with a byte in its first line that no UTF-8 has: certainly unreadable, and certainly still the same."""
    at = data.find(b"\n")
    at = len(data) if at < 0 else at
    return data[:at] + b" # caf" + pick(random, (b"\xe9", b"\xff", b"\xe4")) + data[at:]
