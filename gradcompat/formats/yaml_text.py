"""The nodes of a YAML text; PyYAML is imported when there is one, as it takes longer than a small file to check."""

from __future__ import annotations

from gradcompat.errors import Malformed, Unrecognised
from gradcompat.formats.yaml_nodes import Mapping, Node


def parse(text: str, path: str) -> list[Node]:
    """The documents of a YAML text.

    Raises:
        Malformed: if it is not YAML, is nested more than 200 levels deep, or contains itself through an alias.
    """
    from gradcompat.formats.yaml_composer import compose

    return compose(text, path)


def parse_mapping(text: str, path: str) -> Mapping:
    """The one document of a YAML text, of a format that is a mapping at its top.

    Raises:
        Malformed: as :func:`parse`, and if there are more documents, or something else is at the top.
    """
    documents = parse(text, path)
    if len(documents) > 1:
        line = documents[1].line
        raise Malformed(f"holds {len(documents)} YAML documents instead of one", path=path, line=line)
    if not documents:
        raise Unrecognised("holds 0 YAML documents instead of one", path=path)
    if not isinstance(documents[0], Mapping):
        raise Unrecognised("has no `key: value` lines at its top", path=path, line=documents[0].line)
    return documents[0]
