"""What the JSON of the commands looks like: the schemas that ship with the package, and tables of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradcompat
from gradcompat.renderers.record_markdown import prose

FOLDER = Path(gradcompat.__file__).parent / "schemas"


def files() -> Iterator[tuple[str, str]]:
    """The schemas themselves."""
    for path in sorted(FOLDER.glob("*.json")):
        yield f"schemas/{path.name}", path.read_text("utf-8")


def tables() -> str:
    """A heading for each schema, and below it the keys of its objects."""
    lines: list[str] = []
    for path in sorted(FOLDER.glob("*.json")):
        schema = json.loads(path.read_bytes())
        lines += ["", f"## {schema['title']}", "", f"{schema['description']}", ""]
        lines += [f"[The schema](schemas/{path.name}), which is `gradcompat/schemas/{path.name}` in the package.", ""]
        if "properties" in schema:
            lines += _table(schema)
        for name, one in schema.get("$defs", {}).items():
            if "properties" in one:
                lines += [
                    "",
                    f"### {path.stem}: {name}",
                    "",
                    *([one["description"], ""] if "description" in one else []),
                ]
                lines += _table(one)
    return "\n".join(lines) + "\n"


def _table(schema: dict[str, Any]) -> Iterator[str]:
    yield "| Key | Type | |"
    yield "|---|---|---|"
    for key, one in schema["properties"].items():
        optional = "" if key in schema.get("required", ()) else " Not always there."
        yield f"| `{key}` | {type_text(one)} | {prose(one.get('description', ''))}{optional} |"


def type_text(schema: dict[str, Any]) -> str:
    """The type in words: ``string or null``, ``list of finding``."""
    if "$ref" in schema:
        return str(schema["$ref"].rpartition("/")[2])
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    for several in ("anyOf", "oneOf"):
        if several in schema:
            return " or ".join(map(type_text, schema[several]))
    named = schema.get("type", "anything")
    if named == "array":
        return f"list of {type_text(schema['items'])}" if "items" in schema else "list"
    return " or ".join(named) if isinstance(named, list) else str(named)
