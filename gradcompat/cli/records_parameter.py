"""The file of records, as commands for those who write them take it."""

from __future__ import annotations

from typing import Annotated

from gradcompat.cli.declarations import Argument
from gradcompat.curation.authored_file import ISSUES

RecordsFile = Annotated[str | None, Argument(metavar="[FILE]", help="A file of records.", show_default=ISSUES)]
