"""Fuzzes one reader or scanner, guided by coverage, until something other than a result or a clear error comes out.

    pip install atheris
    python fuzz/formats.py uv.lock FOLDER -max_total_time=60

FOLDER keeps what was found interesting; files of the format in it are the seeds (tests/fixtures has some). All further
options are libFuzzer's. The formats are the kinds of ``sources/registry.py`` and ``scanners/registry.py``.
"""

from __future__ import annotations

import sys

import atheris

with atheris.instrument_imports(include=["gradcompat"]):
    from importlib import import_module

    from gradcompat.errors import SourceError
    from gradcompat.formats.document import Document, decode
    from gradcompat.scanners.registry import SCANNERS
    from gradcompat.sources.registry import READERS

    READ = {
        **{reader.kind: ("sources", reader.module, "read") for reader in READERS},
        **{scanner.kind: ("scanners", scanner.module, "scan") for scanner in SCANNERS},
    }
    PART, MODULE, FUNCTION = READ[sys.argv[1]]
    ATTEMPT = getattr(import_module(f"gradcompat.{PART}.{MODULE}"), FUNCTION)


def one(data: bytes) -> None:
    """Read the bytes; anything but a SourceError is a crash to atheris."""
    try:
        ATTEMPT(Document("fuzzed", decode(data, "fuzzed")))
    except SourceError:
        pass


if __name__ == "__main__":
    atheris.Setup([sys.argv[0], *sys.argv[2:]], one)
    atheris.Fuzz()
