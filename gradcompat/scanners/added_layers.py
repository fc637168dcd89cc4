"""Layers that a model of the project adds to one of transformers: no checkpoint of the base has their weights.

``from_pretrained`` builds the model without initialising it, and then leaves to ``_init_weights`` what the checkpoint
lacks. That of a class of the library knows a few kinds of layers; the others are named here by their kinds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from gradcompat.model.environment import Location
from gradcompat.scanners.code_findings import Findings

# Encoders of text, whose _init_weights fills linear layers, embeddings and norms alone. That of vision and audio models
# fills convolutions as well, and the one of a class that derives from PreTrainedModel itself is the project's.
BASE = re.compile(
    r"transformers\.(?:\w+\.)*(?:Bert|Roberta|XLMRoberta|Electra|DistilBert|DebertaV2|Ernie)PreTrainedModel"
)
_KINDS = {
    re.compile(r"torch\.nn\.(?:modules\.\w+\.)?LSTM"): "lstm",
    re.compile(r"torch\.nn\.(?:modules\.\w+\.)?(?:GRU|RNN|Bilinear)"): "recurrent",
    re.compile(r"torchcrf\.CRF"): "recurrent",
    re.compile(r"torch\.nn\.(?:modules\.\w+\.)?Conv(?:Transpose)?[123]d"): "convolution",
    re.compile(r"torch\.nn\.(?:modules\.\w+\.)?(?:MultiheadAttention|Transformer(?:En|De)coderLayer)"): "attention",
    re.compile(r"torch\.nn\.(?:parameter\.)?Parameter"): "parameter",
}
# Whoever writes one of these fills such layers, or has them filled.
_FILLING = re.compile(r"reset_parameters|_fast_init|\.data\b|_is_hf_initialized")
# A checkpoint of the project's own, which has all weights.
_OWN_CHECKPOINT = re.compile(r"output|checkpoint|ckpt|best|save|resume|fine_?-?tuned|^['\"]?(?:\.|/)", re.IGNORECASE)
_SYMBOL = "transformers.PreTrainedModel.added."


def layers_of(found: Findings, model: ast.ClassDef) -> Iterator[tuple[str, str, Location]]:
    """The class, the kind and the place of each layer that the constructor of such a model makes."""
    methods = {one.name: one for one in model.body if isinstance(one, ast.FunctionDef)}
    if "__init__" not in methods or not methods.keys().isdisjoint(("_init_weights", "from_pretrained")):
        return
    if any(_FILLING.search(ast.unparse(method)) for method in methods.values()):
        return
    for node in ast.walk(methods["__init__"]):
        if isinstance(node, ast.Call):
            names = found.names.resolve(node.func, found.names.module)
            for pattern, kind in _KINDS.items():
                if any(pattern.fullmatch(name) for name in names):
                    yield model.name, kind, found.place(node)


def unfilled_layers(found: Findings) -> Iterator[tuple[str, Location]]:
    """What stands for the layers of models that the program loads from a checkpoint of their base."""
    if not found.added:
        return
    everything = (found, *found.parts)
    if any("reset_parameters" in one.document.text for one in everything):
        return
    loaded = {name for one in everything for statement in one.statements for name in _loaded(statement)}
    for model, kind, place in found.added:
        if model in loaded:
            yield f"{_SYMBOL}{kind}", place


def _loaded(statement: ast.stmt) -> Iterator[str]:
    for node in ast.walk(statement):
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name) | ast.Attribute(attr=name), attr="from_pretrained")
            ):
                named = (word.value for word in node.keywords if word.arg == "pretrained_model_name_or_path")
                first = node.args[0] if node.args else next(named, None)
                if first is not None and not _OWN_CHECKPOINT.search(ast.unparse(first)):
                    yield name
