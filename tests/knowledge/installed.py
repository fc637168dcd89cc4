"""Installed distributions with records, written by hand into a folder that stands for site-packages."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gradcompat.knowledge.compile import dumps
from gradcompat.knowledge.load import COMPILED, digest_of

CODE = "raise SystemExit('code of an installed distribution was run')\n"


def install(site: Path, name: str, version: str, package: str, files: Mapping[str, str], value: str = "") -> Path:
    """Write a distribution with one entry point; its package would end whoever imports it."""
    module = name.replace("-", "_")
    info = site / f"{module}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    (info / "entry_points.txt").write_text(
        f"[console_scripts]\na = b:c\n\n[gradcompat.knowledge]\nrecords = {value or package}\n", "utf-8"
    )
    folder = site / package
    folder.mkdir()
    for file, text in {"__init__.py": CODE, **files}.items():
        (folder / file).write_text(text, "utf-8")
    return folder


def public(day: str, **changes: Any) -> str:
    """The compiled records of gradcompat, of another day and with another summary of the first."""
    data = json.loads(COMPILED.read_bytes())
    data["issues"] = copy.deepcopy(data["issues"])
    data["issues"][0]["summary"] = "A summary of a later day"
    data |= {"date": day, "digest": digest_of(data["issues"], data["models"]), **changes}
    return dumps(data)
