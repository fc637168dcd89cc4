"""The command line of ``fuzz/run``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from fuzz.campaign import Campaign, reproduced, smallest
from fuzz.findings import Findings
from fuzz.folders import materialize_tree
from fuzz.generation import SHARES
from fuzz.grammars.table import GRAMMARS
from fuzz.summary import replace_part, summary

DEFAULT_STATE = Path(__file__).parents[1] / "build" / "fuzz"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, continue or reproduce; 0 if nothing was found, 1 if something was."""
    parser = argparse.ArgumentParser(
        prog="fuzz/run", description="Fuzz gradcompat; a campaign goes on where it stopped."
    )
    parser.add_argument("--inputs", type=int, default=20_000, help="how many, in all sittings of the campaign together")
    parser.add_argument("--state", type=Path, default=DEFAULT_STATE, help="where the campaign is kept")
    parser.add_argument("--seed", type=int, default=0, help="of a new campaign")
    parser.add_argument("--only", choices=[*SHARES, *GRAMMARS], metavar="KIND", help="one target or one format")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--recheck", action="store_true", help="try all findings again; drop what is gone")
    parser.add_argument("--report", type=Path, metavar="FILE", help="put the report into a page, between its two marks")
    parser.add_argument("--reproduce", type=Path, metavar="FILE", help="try the input of a finding again")
    parser.add_argument("--reduce", type=Path, metavar="FILE", help="make the input of a finding smaller")
    parser.add_argument("--unpack", type=Path, metavar="FILE", help="lay the files of a finding out in ./unpacked")
    asked = parser.parse_args(arguments)
    if asked.reproduce is not None:
        return _reproduce(asked.reproduce)
    if asked.reduce is not None:
        return _reduce(asked.reduce)
    if asked.unpack is not None:
        return _unpack(asked.unpack)
    campaign = Campaign(asked.state, asked.seed, asked.only)
    if asked.recheck:
        campaign.recheck(_said)
    elif asked.report is None:
        campaign.run(asked.inputs, asked.processes, _said)
    report = summary(campaign)
    if asked.report is not None:
        replace_part(asked.report, "fuzzing", report)
    print(report, end="")
    return 1 if campaign.findings.all() else 0


def _said(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _reproduce(file: Path) -> int:
    stored = Findings(file.parent).read(file)
    found = reproduced(stored.input)
    for finding in found:
        print(f"{finding.signature}\n{finding.detail}\n")
    if not found:
        print("nothing is wrong with it")
    return 1 if found else 0


def _reduce(file: Path) -> int:
    findings = Findings(file.parent)
    stored = findings.read(file)
    one = smallest(stored.input, stored.finding.signature)
    findings.add(stored.finding, one, 0)
    print(f"{stored.input.size} bytes became {one.size}")
    return 0


def _unpack(file: Path) -> int:
    root = Path("unpacked") / "project"
    stored = Findings(file.parent).read(file)
    materialize_tree(stored.input.entries, root)
    print(f"{stored.finding.signature}\n{root}")
    return 0
