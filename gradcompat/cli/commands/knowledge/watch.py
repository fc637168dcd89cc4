"""``gradcompat knowledge watch``: candidates for records, from what changes between releases."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated

import typer

from gradcompat.cli.console import package_index, print_note
from gradcompat.cli.index_parameters import IndexParameters
from gradcompat.cli.parameters import Format, ReleaseRows, repeatable
from gradcompat.cli.surveys import entries_named, surveys_of
from gradcompat.curation.authored_file import ISSUES, authored_file
from gradcompat.curation.watch.candidate import Candidate, ranked
from gradcompat.curation.watch.survey import kept_candidates
from gradcompat.curation.watch.verdicts import FILE, Judged, add_verdicts, judged, read_verdicts
from gradcompat.errors import UsageError
from gradcompat.files.user_folders import cache_folder
from gradcompat.messages import counted
from gradcompat.renderers import candidates_json, candidates_text
from gradcompat.renderers.json_output import json_output
from gradcompat.renderers.terminal import safe
from gradcompat.requirements.names import normalise


def command(
    *,
    index: IndexParameters,
    packages: Annotated[
        list[str],
        typer.Argument(
            metavar="[PACKAGE]...",
            help="The packages whose last releases are compared.",
            default_factory=list,
            show_default=False,
        ),
    ],
    releases: Annotated[
        int,
        typer.Option("--releases", metavar="N", min=1, max=100, help="How many releases, each with the one before."),
    ] = 6,
    notes: Annotated[
        str | None,
        typer.Option(
            "--notes",
            metavar="FILE|URL|-",
            help="Release notes, a list of GitHub's releases, or titles of commits, in the place of a changelog.",
        ),
    ] = None,
    tag: Annotated[
        str, typer.Option("--tag", metavar="FORM", help="How the repository writes the tag of a version, for links.")
    ] = "v{}",
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many candidates are shown.")] = 30,
    everything: Annotated[
        bool, typer.Option("--all", help="Show all candidates, those that were judged before, too.")
    ] = False,
    form: Format = "text",
    verdicts: Annotated[
        list[str],
        repeatable(
            "--verdict",
            metavar="ID=VERDICT",
            help="Remember what came of a candidate: `known`, `nothing` or `record:GC-0123`. Repeatable.",
        ),
    ],
    why: Annotated[str, typer.Option("--why", metavar="TEXT", help="The reason of the verdicts.")] = "",
    watched: Annotated[
        str | None,
        typer.Option("--watched", metavar="FILE", help="Where verdicts are.  [default: knowledge/watched.jsonl]"),
    ] = None,
    rows: ReleaseRows = None,
) -> int:
    """List what changed between releases of packages and may be a defect or its fix.

    Compared are the tables that `knowledge read` writes (defaults, parameters, what models do with a loss), the modules
    that train (divisions, reductions, losses, masks, clipping, the order of data), and titles of release notes that
    speak of a fix. Nothing is run, and nothing enters the records: each candidate needs a verdict, after which it is
    not listed again. With --offline only tables and local notes are compared.

    Exit status:
      0  everything was compared
      2  wrong usage
      3  something could not be compared, and is named

    Environment:
      PIP_*, UV_*       the package index, and what your pip.conf and uv.toml say; --index-url takes precedence
      GRADCOMPAT_CACHE  where answers of an index and what was fetched are kept

    Examples:
      gradcompat knowledge watch transformers trl
      git log --format=%s v5.22.0..v5.23.0 | gradcompat knowledge watch transformers --releases 1 --notes -
      gradcompat knowledge watch --verdict 3fa9c102=record:GC-0257
    """
    if form not in ("text", "json"):
        raise UsageError(f"`--format {form}` is not known", hint="known: text, json")
    if "{}" not in tag:
        raise UsageError(f"`--tag {tag}` has no place for the version", hint="write it as `--tag 'v{}'`")
    cache = cache_folder(os.environ, sys.platform)
    if rows is None and cache is None:
        raise UsageError("there is no folder for rows", hint="name one with `--rows`")
    kept = Path(rows) if rows is not None else Path(cache or "") / "releases"
    if verdicts:
        if packages:
            raise UsageError("verdicts name their candidates, and no package", hint="leave the packages out")
        return _judge(verdicts, why, kept, _verdict_file(watched))
    if not packages:
        raise UsageError("no package is named", hint="`gradcompat knowledge watch transformers`")
    names = list(dict.fromkeys(normalise(name) for name in packages))
    if notes is not None and len(names) > 1:
        raise UsageError("`--notes` are those of one package", hint="name one package")
    known = _known(watched)
    with package_index(index.lookup) as catalogue:
        if not index.offline:
            catalogue.expect(names)
        read = None if notes is None else entries_named(notes, index.lookup)
        surveys, lost = surveys_of(names, catalogue, releases, kept, tag, (notes or "", read))
    for sentence in lost:
        print_note(sentence)
    status = 3 if lost or any(survey.gaps for survey in surveys) else 0
    found = ranked(candidate for survey in surveys for candidate in survey.candidates)
    left = found if everything else [candidate for candidate in found if candidate.id not in known]
    shown = left if everything else left[:limit]
    says = {hit.id: hit.verdict for hit in known.values()}
    if form == "json":
        sys.stdout.write(json_output(candidates_json.data(surveys, lost, shown, says, status)))
        return status
    candidates_text.render(shown, says, sys.stdout)
    for survey in surveys:
        for gap in survey.gaps:
            print_note(gap)
    more = f", {len(left) - len(shown)} more with --all" if len(left) > len(shown) else ""
    judged_before = sum(candidate.id in known for candidate in found)
    sys.stdout.write(f"{counted(len(shown), 'candidate')}{more}; {judged_before} judged before\n")
    for survey in surveys:
        first, last = survey.releases[0].version, survey.releases[-1].version
        sys.stdout.write(f"compared of {survey.package} {first} to {last}: {'; '.join(survey.seen) or 'nothing'}\n")
    return status


def _verdict_file(named: str | None) -> Path:
    return Path(named) if named is not None else Path(authored_file(None)).parent / FILE


def _known(named: str | None) -> Mapping[str, Judged]:
    """What was judged; nothing where there is no checkout."""
    if named is None and not os.path.exists(ISSUES):
        print_note("this folder is no checkout, so what was judged before is not known")
        return {}
    return {hit.id: hit for hit in read_verdicts(_verdict_file(named))}


def _judge(given: Sequence[str], why: str, rows: Path, path: Path) -> int:
    """Write verdicts on candidates of the last surveys."""
    found: dict[str, Candidate] = {candidate.id: candidate for candidate in kept_candidates(rows)}
    today = datetime.now(tz=timezone.utc).date().isoformat()
    new = []
    for text in given:
        name, _, verdict = text.partition("=")
        if name not in found:
            hint = "`gradcompat knowledge watch PACKAGE` lists them; a verdict is on its last list"
            raise UsageError(f"`{name}` is no candidate", hint=hint)
        new.append(judged(found[name], verdict, why, today))
    add_verdicts(path, new)
    sys.stdout.write(f"{counted(len(new), 'verdict')} written to {safe(str(path))}\n")
    return 0
