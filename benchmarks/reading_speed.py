"""How fast releases are read, once their modules are fetched.

    gradcompat knowledge read transformers --rows DIR
    python benchmarks/reading_speed.py --rows DIR transformers

Every module that the fetched releases have is parsed again, and their table made again, in this process: what is
counted is its processor time. Fetching is not in it, nor is what was parsed before.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path

from gradcompat.curation.module_store import ModuleStore
from gradcompat.curation.reading_campaign import batches, parse_modules
from gradcompat.curation.release_row import LAYOUT, READER, loads
from gradcompat.curation.resolution import module_states
from gradcompat.curation.table_rows import table_bytes


def main() -> None:
    """Measure one package, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("package")
    parser.add_argument("--rows", type=Path, required=True)
    given = parser.parse_args()
    folder: Path = given.rows / given.package
    rows = sorted((loads(path.read_bytes()) for path in folder.glob(f"*.{LAYOUT}.row")), key=lambda row: row.version)
    fetched, fresh = ModuleStore(folder / "modules.sqlite", READER), ModuleStore(None, READER)
    files = dict.fromkeys(key for row in rows for key in row.files.values() if key is not None)
    start = time.process_time()
    for keys in batches(sorted(files, key=lambda key: key.module)):
        sources = [(key.module, key.package, fetched.source(given.package, key)) for key in keys]
        fresh.add_facts(given.package, dict(zip(keys, parse_modules(sources), strict=True)))
    parsed = time.process_time()
    content = table_bytes(given.package, rows, module_states(rows, partial(fresh.facts, given.package)))
    end = time.process_time()
    figures = {
        "package": given.package,
        "releases": len(rows),
        "modules": len(files),
        "megabytes": round(sum(key.size for key in files) / 1e6),
        "seconds_parsing": round(parsed - start, 1),
        "seconds_table": round(end - parsed, 1),
        "releases_per_second": round(len(rows) / (end - start), 2),
        "table_bytes": len(content),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
