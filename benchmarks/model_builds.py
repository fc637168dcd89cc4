"""Hold what was read of shifting, attention and tied weights against models of random weights, where it is there.

    python benchmarks/model_builds.py --python base/bin/python --layer DIR... [--layer DIR...] [--mapping CAUSAL_LM]

Each `--layer` is the folders of one release, joined as in PYTHONPATH, over an interpreter with torch. Every class of a
mapping is built as small as its config allows. *Shifting*: whether the labels that the loss function is given are those
of the call, and where `forward` asks for no loss function, whether the loss is that of shifted labels. *Attention*:
whether `_from_config` takes `sdpa`, `flash_attention_2` and `flex_attention`. *Ties*: whether the weight of the output
is that of the input where `tie_word_embeddings` is true, and is not where it is false. What cannot be built, or ends in
an error, is no cell. Nothing is fetched.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from packaging.version import Version
from release_program import lines_of

from gradcompat.releases.table import table_of

INSIDE = Path(__file__).with_name("class_builds.py")


def compared(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """Class, fact, and ``agrees``, ``unknown`` or how it differs."""
    table = table_of("transformers")
    for line in lines:
        facts = None if table is None else table.model(Version(line["version"]), line["class"])
        cells: list[tuple[str, object, object]] = []
        if "shifts" in line:
            cells.append(("shifts", line["shifts"], facts and facts.shifts))
        for flag, taken in line.get("supports", {}).items():
            said: object = facts and any(one in (flag, f"{flag}_2") for one in facts.supports)
            cells.append((f"supports {flag}", taken, said))
        if "output" in line:
            said = facts and any(re.search(pattern, line["output"]) is not None for pattern in facts.tied)
            cells.append(("ties", line["same of True"], said))
            cells.append(("ties only where asked", line["same of False"], facts and False))
        for key, measured, said in cells:
            outcome = "unknown" if facts is None else "agrees" if measured == said else f"is {measured}"
            yield line["class"], key, outcome


def main() -> None:
    """Print the figures as JSON, with every cell that differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, type=Path)
    parser.add_argument("--layer", required=True, action="append", help="the folders of a release, joined by `:`")
    parser.add_argument("--mapping", action="append", help="of classes; CAUSAL_LM and MASKED_LM unless one is given")
    given = parser.parse_args()
    for layer in given.layer:
        lines = lines_of(given.python, layer, INSIDE, *(given.mapping or ("CAUSAL_LM", "MASKED_LM")))
        cells = list(compared(lines))
        errors = Counter(key for line in lines for key in line if key.startswith("error"))
        print(
            json.dumps(
                {
                    "release": lines[0]["version"] if lines else layer,
                    "classes": len({name for name, _, _ in cells}),
                    "cells": dict(Counter(f"{key}: {outcome}" for _, key, outcome in cells)),
                    "errors": dict(errors),
                    "differ": [
                        f"{name} {key} {outcome}"
                        for name, key, outcome in cells
                        if outcome not in ("agrees", "unknown")
                    ],
                },
                indent=1,
            )
        )


if __name__ == "__main__":
    main()
