"""What a program says of its samples: pictures and videos, conversations, hard negatives, their end."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradcompat.scanners.code.findings import COMPLETIONS, PICTURE, Findings
from gradcompat.scanners.code.walk import Step
from gradcompat.startup.lazy_patterns import lazy_pattern

# What data sets for embeddings call their parts.
_NEGATIVES = lazy_pattern(r"triplet|hard[-_]neg|negatives")
_TABLES = frozenset({"datasets.Dataset.from_dict", "datasets.Dataset.from_list"})
_PAIRS = frozenset({"pair", "pair-class", "pair-score"})
_NEGATIVE = lazy_pattern(r"(?:hard_)?neg(?:ative)?s?(?:_?\d+)?")  # a column of them
COMPLETED = frozenset({"prompt", "completion"})

# The key or the type of a picture, and what reads one; `images, videos = process_vision_info(messages)` is none.
_PICTURES = lazy_pattern(
    r"""["'](?:images?|image_url|pixel_values|image_grid_thw)["']|\bPIL\b|images=(?!\w+\b(?!\())"""
)
_END = lazy_pattern(r"eos(?:_tok(?:en)?)?", re.IGNORECASE)  # EOS_TOKEN = tokenizer.eos_token
_WRITTEN_ENDS = ("</s>", "<|endoftext|>", "<|end_of_text|>")  # the token itself, as Llama, GPT-2 and Llama 3 have it
_CONVERSATION = lazy_pattern(r"messages|conversations?|turns|chat")  # what is a list of messages, or a part of one


def read_hard_negatives(found: Findings, step: Step, call: ast.Call, name: str) -> None:
    """``load_dataset("…/all-nli", "triplet")``, ``mine_hard_negatives(…)``, ``from_dict({"negative_1": …})``."""
    if name == "datasets.load_dataset":
        kinds = [word for word in _texts_of(call) if _NEGATIVES.search(word) or word in _PAIRS]
        if kinds:
            found.state(step, "data.hard_negatives", kinds[0] not in _PAIRS)
    elif name.endswith(".mine_hard_negatives"):
        found.state(step, "data.hard_negatives", True)
        _count_columns(found, call, _mined_columns(found, step, call))
    elif name in _TABLES and (columns := _negatives_of(found, step, call)):
        found.state(step, "data.hard_negatives", True)
        _count_columns(found, call, columns)


def read_visual_content(found: Findings, step: Step, part: ast.Dict) -> None:
    """``{"type": "video", "video": path}`` in the content of a message, or a picture."""
    for key, value in zip(part.keys, part.values, strict=True):
        match key, value:
            case ast.Constant(value="type"), ast.Constant(value="video"):
                found.state(step, "data.videos", True, at=part)
                _used(found, "messages.video", part)
            case ast.Constant(value="type"), ast.Constant(value="image"):
                found.mentioned.add(PICTURE)
                _used(found, "messages.image", part)


def read_videos_alone(found: Findings) -> None:
    """Messages with a video in a program that nowhere speaks of pictures."""
    video = found.symbols.get("messages.video")
    if video is None or "messages.image" in found.symbols or _PICTURES.search(found.document.text):
        return
    found.symbols.setdefault("messages.videos_alone", video)
    found.calls.setdefault("messages.videos_alone()", video)


def _used(found: Findings, name: str, part: ast.Dict) -> None:
    """As a name and as a call: of a program that trains nothing calls alone count."""
    found.symbol(name, part)
    found.call(f"{name}()", part)


def read_completion(found: Findings, step: Step, sample: ast.Dict) -> None:
    """``{"prompt": [{"role": "user", …}], "completion": […]}``, and the same of texts; messages as a prompt alone."""
    parts = [
        value
        for key, value in zip(sample.keys, sample.values, strict=True)
        if isinstance(key, ast.Constant) and key.value in COMPLETED
    ]
    kinds = {_is_conversation(part) for part in parts}
    alone = len(parts) < len(COMPLETED)  # a text alone may be for something else than training
    if not alone:
        found.mentioned.add(COMPLETIONS)
    if kinds == {True} or (kinds == {False} and not alone):
        found.state(step, "data.conversational", kinds == {True}, at=sample)
        if kinds == {True} and not alone:
            found.symbol("columns.completion", sample)


def is_prompt(column: ast.expr | None) -> bool:
    """Is it the column of a prompt, which an answer follows?"""
    return isinstance(column, ast.Constant) and column.value == "prompt"


def read_ending(found: Findings, step: Step, text: ast.JoinedStr | ast.BinOp, going_on: set[int]) -> None:
    """``text + tokenizer.eos_token``, ``f"{question} {answer}{EOS_TOKEN}"``: samples that end with it.

    Args:
        found: what is known of the program.
        step: where the text is put together.
        text: the text.
        going_on: the ids of texts behind which something else stands; those within `text` are added.
    """
    match text:
        case ast.JoinedStr(values=[*parts, _]):
            going_on |= {id(part.value) for part in parts if isinstance(part, ast.FormattedValue)}
        case ast.BinOp(left=left, right=right):
            going_on |= {id(left), id(right)} if id(text) in going_on else {id(left)}
    if id(text) in going_on:
        return
    match text:
        case ast.JoinedStr(values=[_, *_, ast.FormattedValue(value=last) | (ast.Constant() as last)]):
            pass
        case ast.BinOp(op=ast.Add(), right=last):
            pass
        case _:
            return
    if _is_end(last):
        found.state(step, "data.ends_with_eos", True, at=text)


def read_appended_ending(found: Findings, step: Step, appended: ast.AugAssign) -> None:
    """``text += tokenizer.eos_token``, unless something is appended behind it."""
    if not isinstance(appended.op, ast.Add) or not isinstance(appended.target, ast.Name) or not _is_end(appended.value):
        return
    name, line = appended.target.id, appended.lineno
    for node in ast.walk(step.function.node):
        match node:
            case ast.AugAssign(target=ast.Name(id=other), lineno=later) if other == name and later > line:
                return
            case ast.BinOp(left=ast.Name(id=other), lineno=later) if other == name and later > line:
                return
            case ast.JoinedStr(values=[*parts, _], lineno=later) if later > line:
                if any(isinstance(part, ast.FormattedValue) and _is_named(part.value, name) for part in parts):
                    return
    found.state(step, "data.ends_with_eos", True, at=appended)


def _is_named(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _is_end(node: ast.expr) -> bool:
    """Is it the token that a sample ends with?"""
    match node:
        case ast.Attribute(attr="eos_token"):
            return True
        case ast.Name(id=name):
            return _END.fullmatch(name) is not None
        case ast.Constant(value=str(words)):
            return words.rstrip().endswith(_WRITTEN_ENDS)
    return False


def _is_conversation(value: ast.expr) -> bool | None:
    """Is it a list of messages, and no text? None where nobody can see."""
    match value:
        case ast.List(elts=[ast.Dict(keys=keys), *_]):
            return any(isinstance(key, ast.Constant) and key.value == "role" for key in keys)
        case ast.Subscript(value=whole, slice=ast.Slice()) if _CONVERSATION.search(ast.unparse(whole)):
            return True
        case ast.JoinedStr() | ast.Constant(value=str()):
            return False
        case ast.BinOp(op=ast.Add(), left=left, right=right) if False in (
            _is_conversation(left),
            _is_conversation(right),
        ):
            return False
    return None


def _count_columns(found: Findings, call: ast.Call, columns: int) -> None:
    if columns:
        found.symbol("columns.negatives", call)
        found.call(f"columns.negatives({columns})", call)


def _mined_columns(found: Findings, step: Step, call: ast.Call) -> int:
    """How many columns `mine_hard_negatives` makes: one, or each negative its own with the output ``n-tuple``."""
    given = {word.arg: found.names.literal(word.value, step.scope) for word in call.keywords}
    if None in given or given.get("as_triplets") is not None or given.get("include_positives", False) is not False:
        return 0
    if given.get("output_format", "triplet") == "triplet":
        return 1
    number = given.get("num_negatives", 3)
    return number if given["output_format"] == "n-tuple" and isinstance(number, int) else 0


def _negatives_of(found: Findings, step: Step, call: ast.Call) -> int:
    """How many columns of a table that is written out, or of the first of its rows, are negatives."""
    content = call.args[0] if call.args else None
    if isinstance(content, ast.Name):
        bound = found.names.bound_once(content.id, step.scope)
        rows = None if bound is None else bound[1].grown.get(content.id)
        content = None if bound is None else rows[0] if rows else bound[0]
    match content:
        case ast.List(elts=[row, *_]) | ast.ListComp(elt=row):
            content = row
    match content:
        case ast.Dict(keys=keys):
            names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            return sum(_NEGATIVE.fullmatch(name) is not None for name in names)
    return 0


def _texts_of(call: ast.Call) -> Iterator[str]:
    for one in (*call.args, *(word.value for word in call.keywords)):
        if isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value
