"""``gradcompat knowledge serve``: the records behind the API of osv.dev, for auditors on this machine."""

from __future__ import annotations

import asyncio
import gc
import signal
import sys
from contextlib import suppress
from typing import Annotated

import typer

from gradcompat.cli.console import known_records
from gradcompat.cli.parameters import OwnRecords
from gradcompat.database.osv_api import Advisories
from gradcompat.database.osv_server import Server, loopback
from gradcompat.errors import UsageError
from gradcompat.index.snapshot import shipped_snapshot
from gradcompat.messages import counted
from gradcompat.renderers.terminal import safe


def command(
    *,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="The address to listen on, of this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", metavar="N", min=0, max=65535, help="The port; 0 takes a free one.")
    ] = 8573,
    conditional: Annotated[
        bool,
        typer.Option("--conditional", help="Also answer with conditional records, and name their conditions."),
    ] = False,
    knowledge: OwnRecords,
) -> int:
    """Serve the OSV API to auditors on this machine: `uv audit`, `pip-audit` and the like.

    A query is about one version of one package, so it gets the records that apply to that version whatever the
    training and the other packages are. Most defects depend on more: with --conditional a query also gets those, and
    their summary ends with the condition. Whether it holds, `gradcompat check` finds out, and no auditor.

    `/v1/query`, `/v1/querybatch` and `/v1/vulns/ID` are answered. The address is printed in one line; Ctrl-C ends it.

    Examples:
      gradcompat knowledge serve
      uv audit --no-cache --service-url http://127.0.0.1:8573
      pip-audit -r requirements.txt -s osv --osv-url http://127.0.0.1:8573/v1/query
    """
    address = loopback(host)
    base = known_records(knowledge)
    advisories = Advisories(base, shipped_snapshot(), conditional=conditional)
    try:
        server = Server((address, port), advisories, failed=_print_failure)
    except (OSError, OverflowError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise UsageError(f"cannot listen on port {port}: {reason}", hint="`--port 0` takes a free one") from None
    # One run of a command keeps no garbage and ends at a signal; a server does neither.
    gc.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)  # a client that has gone is no reason to end
    which = "with or without conditions" if conditional else "without conditions"

    def ready() -> None:
        sys.stdout.write(
            f"{server.url} answers as osv.dev does, with the {counted(advisories.answering, 'record')} {which} among "
            f"{len(base.records)} of {base.date}; Ctrl-C ends it\n"
        )
        sys.stdout.flush()

    with server.socket, suppress(KeyboardInterrupt):
        asyncio.run(server.serve(ready))
    return 0


def _print_failure(reason: str) -> None:
    sys.stderr.write(safe(f"error: a request was not answered: {reason}") + "\n")
