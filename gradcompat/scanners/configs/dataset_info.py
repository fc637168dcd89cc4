"""``dataset_info.json`` in the folder of a data set: whether its features are in the form of datasets 4."""

from __future__ import annotations

from typing import Any

from gradcompat.errors import Unrecognised
from gradcompat.formats.document import Document
from gradcompat.formats.json_text import Places, parse
from gradcompat.model.context import Context
from gradcompat.model.environment import Setting
from gradcompat.scanners.key_mapping import Feed, Feeds

_FEATURES, _TYPE, _LIST = "features", "_type", "List"
_DEEPEST = 50
FEEDS: Feeds = {_FEATURES: Feed("files.dataset_of_4")}


def scan(document: Document) -> Context:
    """Whether the data were saved with lists as features of a type of their own, which datasets 3 does not know.

    Raises:
        Malformed: if it is none, or no JSON.
    """
    info = parse(document.text, document.path)
    features = info.get(_FEATURES) if isinstance(info, dict) else None
    if not isinstance(features, dict) or not any(isinstance(one, dict) and _TYPE in one for one in features.values()):
        raise Unrecognised("is not a dataset_info.json of a saved data set", path=document.path)
    place = Places(document.text, document.path).of(_FEATURES)
    setting = Setting(key="files.dataset_of_4", value=_has_list(features), location=place)
    return Context(source=document.path, kind="hf-dataset", settings=(setting,), run=False)


def _has_list(features: Any, depth: int = 0) -> bool:
    if not isinstance(features, dict) or depth > _DEEPEST:
        return False
    return features.get(_TYPE) == _LIST or any(_has_list(one, depth + 1) for one in features.values())
