"""Fuzzes one reader, guided by coverage, until something other than an environment or a clear error comes out.

    pip install atheris
    python fuzz/readers.py uv.lock FOLDER -max_total_time=60

FOLDER keeps what was found interesting; files of the format in it are the seeds (tests/fixtures has some). All further
options are libFuzzer's. The formats are the kinds of ``gradcompat/sources/registry.py``.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["gradcompat"]):
    from importlib import import_module

    from gradcompat.errors import SourceError
    from gradcompat.formats.document import Document, decode
    from gradcompat.sources.registry import BY_KIND

    READ = import_module(f"gradcompat.sources.{BY_KIND[sys.argv[1]].module}").read


def one(data: bytes) -> None:
    """Read the bytes; anything but a SourceError is a crash to atheris."""
    try:
        READ(Document("fuzzed", decode(data, "fuzzed")))
    except SourceError:
        pass


if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    atheris.Fuzz()
