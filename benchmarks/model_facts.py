"""Hold what was read of model classes against every measured cell of ``accumulation_equivalence``.

    python benchmarks/model_facts.py

Compared are the facts of the tables alone, without the classes that ``models`` in the records lists.
"""

from __future__ import annotations

import json

from gradcompat.knowledge.class_readings import agreement
from gradcompat.knowledge.load import load
from gradcompat.knowledge.matrix import load_rows
from gradcompat.knowledge.model_tables import facts_of_class


def main() -> None:
    """Print the figures as JSON."""
    rows = load_rows()
    for what, known in (("tables", facts_of_class), ("tables and records", load().class_facts)):
        found = agreement(known, rows)
        differ: dict[str, list[str]] = {}
        for name, version in found.differ:
            differ.setdefault(name, []).append(str(version))
        print(json.dumps({"facts": what, "agree": found.agree, "unknown": found.unknown, "differ": differ}))


if __name__ == "__main__":
    main()
