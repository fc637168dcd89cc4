"""``gradcompat knowledge compile``."""

from __future__ import annotations

import sys

from gradcompat.cli.records_parameter import RecordsFile
from gradcompat.curation.authored_file import authored_file
from gradcompat.curation.compilation import compile_into_package
from gradcompat.messages import counted


def command(
    *,
    path: RecordsFile = None,
) -> int:
    """Write the records into the package, as the JSON that `check` loads.

    Exit status:
      0  it is written
      2  wrong usage, or the records are not right: `lint` says what is wrong, and nothing is written

    Examples:
      gradcompat knowledge compile
    """
    done = compile_into_package(authored_file(path))
    records, measured = counted(len(done.authored.records), "record"), counted(len(done.rows), "measurement")
    sys.stdout.write(f"{records} and {measured} written\n")
    return 0
