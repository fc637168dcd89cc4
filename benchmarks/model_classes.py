"""Hold what was read of model classes against models of random weights, in releases that are really there.

    python benchmarks/model_classes.py --python base/bin/python --layer DIR... [--layer DIR...]

Each `--layer` is the folders of one release, joined as in PYTHONPATH, over an interpreter with torch. Every class of
the auto mappings for text of which no record measures a cell is built as small as its config allows. Its loss is
computed with `num_items_in_batch` of 1 and of 2: half of the loss says that it divides by the count. Whether the
Trainer hands a count over is asked as the Trainer asks. What cannot be built, or ends in an error, is no cell. Nothing
is fetched.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from release_program import lines_of

from gradcompat.knowledge.model_tables import TAKES, USES, facts_of_class
from gradcompat.recipes.run_settings import CLASSES
from gradcompat.requirements.versions import locate
from gradcompat.truth import Truth

INSIDE = Path(__file__).with_name("class_losses.py")


def compared(lines: Iterable[dict[str, Any]]) -> Iterator[tuple[str, str, str, str]]:
    """Class, release, fact, and ``agrees``, ``unknown`` or ``differs``."""
    for line in lines:
        window = locate(line["version"])
        for key in (USES, TAKES):
            if key not in line or window is None:
                continue
            said = {
                fact.value
                for fact in facts_of_class(line["class"])
                if fact.key == key and fact.versions.truth(window) is Truth.YES
            }
            outcome = "unknown" if not said else "agrees" if said == {line[key]} else "differs"
            yield line["class"], line["version"], key, outcome


def main() -> None:
    """Print the figures as JSON, with every cell that differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, type=Path)
    parser.add_argument("--layer", required=True, action="append", help="the folders of a release, joined by `:`")
    given = parser.parse_args()
    known = json.dumps(sorted(CLASSES.values()))
    for layer in given.layer:
        lines = lines_of(given.python, layer, INSIDE, known)
        cells = list(compared(lines))
        print(
            json.dumps(
                {
                    "release": lines[0]["version"] if lines else layer,
                    "classes": sum("error" not in line for line in lines),
                    "not built": sum("error" in line for line in lines),
                    "cells": dict(Counter(f"{key}: {outcome}" for _, _, key, outcome in cells)),
                    "differ": [f"{name} {key}" for name, _, key, outcome in cells if outcome == "differs"],
                },
                indent=1,
            )
        )


if __name__ == "__main__":
    main()
