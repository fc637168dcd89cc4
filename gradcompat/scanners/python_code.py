"""Training programs in Python, read from their syntax tree; nothing is imported and nothing is run.

``code.symbols`` lists every function and class of other packages that the file uses, by its full name, and methods of
objects whose class is not known by their bare name (``register_buffer``). The list is complete for this one file only:
what the project's own modules use that it imports is named among what was not read.
"""

from __future__ import annotations

import ast
import os
import re
import stat
from collections.abc import Callable, Iterable
from pathlib import Path

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting, Skipped
from gradcompat.scanners import code_calls
from gradcompat.scanners.code_facts import read
from gradcompat.scanners.code_names import Names
from gradcompat.scanners.code_syntax import parse
from gradcompat.scanners.code_unset import unset
from gradcompat.scanners.key_mapping import Feed, Feeds
from gradcompat.scanners.registry import LIBRARIES

MOST_MODULES = 20  # of the project itself that are named one by one, for one file

FEEDS: Feeds = {
    **code_calls.feeds(),
    "torch.compile()": Feed("training.torch_compile", given=True),
    "torch.optim, transformers, bitsandbytes.optim, deepspeed.ops, apex.optimizers": (
        Feed("optimizer.name"),
        Feed("optimizer.library"),
    ),
    "optimizer(fused)": Feed("optimizer.fused"),
    "optimizer(weight_decay)": Feed("optimizer.weight_decay"),
    "from_pretrained(pretrained_model_name_or_path)": (Feed("model.name"), Feed("model.architecture")),
    "LlavaForConditionalGeneration.from_pretrained()": Feed("model.architecture"),
    "model.config.use_cache": Feed("model.use_cache"),
    "model.config.output_router_logits": Feed("model.output_router_logits"),
    "def forward(**kwargs)": (
        Feed("model.forward_takes_kwargs"),
        Feed("model.uses_num_items_in_batch", {"unused": False}),
    ),
    "torch.backends.cuda.matmul.allow_tf32": Feed("precision.tf32"),
    "self.automatic_optimization": Feed("training.manual_optimization", {"false": True, "true": False}),
    "tokenizer.pad_token = tokenizer.eos_token": Feed("data.pad_is_eos", given=True),
    "get_input_embeddings().requires_grad_(False)": Feed("training.frozen_embeddings", given=True),
    "gradient_checkpointing_enable() and get_peft_model()": Feed("training.checkpointing_before_peft"),
    "TrainingArguments, SFTConfig, pl.Trainer, Accelerator": Feed("training.framework"),
    "names": Feed("code.symbols"),
}


def scan(document: Document) -> Context:
    """What a program says of the run.

    Raises:
        Malformed: if it is no Python, or uses no library for training.
    """
    tree = parse(document.text, document.path)
    lines = re.split(r"\r\n|\r|\n", document.text)

    def place(node: ast.AST) -> Location:
        line = getattr(node, "lineno", None)
        if line is None:
            return Location(path=document.path)
        # The tree counts bytes.
        before = lines[line - 1].encode()[: node.col_offset] if line <= len(lines) else b""  # type: ignore[attr-defined]
        return Location(path=document.path, line=line, column=len(before.decode(errors="ignore")) + 1)

    return context(document, "python", tree, place)


def context(document: Document, kind: str, tree: ast.Module, place: Callable[[ast.AST], Location]) -> Context:
    """The facts of a syntax tree.

    Raises:
        Malformed: if it uses no library for training.
    """
    names = Names(tree)
    if not LIBRARIES & names.imported.keys():
        raise Unrecognised("imports no library for training", path=document.path)
    try:
        facts = read(tree, names, place, document)
        left = unset(facts, document.text)
    except RecursionError:
        raise Malformed("nested too deeply", path=document.path) from None
    settings = _once(facts.settings)
    if facts.symbols:
        first = next(iter(facts.symbols.values()))
        settings.append(Setting(key="code.symbols", value=tuple(sorted(facts.symbols)), location=first))
    unseen = _unseen(document, names)
    if unseen and unseen[0].location is not None:
        # What those modules use is used too, and nobody has looked.
        settings.append(Setting(key="code.symbols", value=None, location=unseen[0].location))
    return Context(
        source=document.path,
        kind=kind,
        settings=tuple(settings),
        run=facts.trains,
        refers_to=tuple(dict.fromkeys(facts.refers_to)),
        skipped=(*facts.skipped, *unseen),
        unset=left if not unseen else (),
    )


def _once(settings: list[Setting]) -> list[Setting]:
    """Each statement once, in the order of the file; what a file says twice it says where it says it first."""
    once: dict[tuple[str, object], Setting] = {}
    for setting in settings:
        once.setdefault((setting.key, repr(setting.value)), setting)
    return sorted(once.values(), key=lambda one: (one.location.line or 0, one.location.column or 0))


def _is_own(folder: Path, name: str) -> bool:
    """Is the module one of the project? A link counts as one, and what may not be looked at: either could be."""
    for path in (folder / f"{name}.py", folder / name / "__init__.py"):
        try:
            if os.path.islink(path) or stat.S_ISREG(os.stat(path).st_mode):
                return True
        except PermissionError:
            return True
        except (OSError, ValueError):
            continue
    return os.path.islink(folder / name)


def _unseen(document: Document, names: Names) -> list[Skipped]:
    """The modules of the project itself, and what `import *` brings."""
    reason = "is part of this project: what it uses is not seen here"
    own = dict(names.relative)
    for name, line in names.imported.items():
        if document.file is not None and _is_own(document.file.parent, name):
            own[name] = line
    skipped = _noted(document, own.items(), reason)
    if len(names.stars) > 1:
        stars = [(f"from {module} import *", line) for module, line in names.stars]
        skipped += _noted(document, stars, "brings names that are not written here")
    return skipped


def _noted(document: Document, parts: Iterable[tuple[str, int]], reason: str) -> list[Skipped]:
    """A note for each of the first modules, and one for the others."""
    parts = list(parts)
    if len(parts) > MOST_MODULES:
        rest = f"{len(parts) - MOST_MODULES + 1:,} more modules"
        parts = [*parts[: MOST_MODULES - 1], (rest, parts[MOST_MODULES - 1][1])]
    return [
        Skipped(what=what, reason=reason, gap=False, location=Location(path=document.path, line=line))
        for what, line in parts
    ]
