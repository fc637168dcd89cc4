"""What is affected, as text for people: a block of :data:`LINES` lines at most for each finding.

A block says what is wrong, where, why we think so, what to change, and how to convince oneself. What does not fit is
left out, and ``--all`` shows it.
"""

from __future__ import annotations

from gradcompat.messages import assumptions_text, counted, entry_text, move_text, moves_text, remedy_text
from gradcompat.model.environment import Location, Package
from gradcompat.model.finding import Advice, Finding, Reason
from gradcompat.model.issue import Issue, SettingRemedy, VersionRemedy, is_break
from gradcompat.model.report import ReportedFinding
from gradcompat.renderers.probe_text import ran
from gradcompat.renderers.terminal import wrapped
from gradcompat.requirements.markers import holds_everywhere
from gradcompat.startup.lazy_dataclasses import dataclass

LINES = 8  # of a block, at any width
BASIS = {
    "measured": "measured by running releases",
    "tags": "read in the tagged sources",
    "wheels": "read in the released files",
    "release-notes": "stated in release notes",
    "reported": "reported, not checked by us",
}
_DIFFERING = frozenset({"probe", "fix"})  # in another environment
_LABEL = 9
_MOST = 2  # places of one finding that are shown
_FEW = 3  # training runs that are named
# In this order a field is left out and the others lose lines, down to so many each. `explain` has the first two.
_CUTS = (("note", 3), ("evidence", 2), ("", 1), ("in", 1), ("probe", 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class AffectedBlock:
    """One affected finding in words.

    Attributes:
        text: its lines, each ended.
        cut: something does not fit, and is left out.
    """

    text: str
    cut: bool


def affected_block(
    advised: ReportedFinding,
    columns: int,
    *,
    whole: bool = False,
    told: ReportedFinding | None = None,
    others: str = "",
) -> AffectedBlock:
    """What is wrong, where, why, what to change and how to convince oneself.

    Args:
        advised: an affected finding.
        columns: of the terminal.
        whole: cut nothing, whatever it takes.
        told: the same defect in another environment that stands above: then only what differs is told.
        others: what this block stands for besides, in words.
    """
    issue = advised.finding.issue
    silent = ", silent" if issue.silent else ""
    text = issue.summary if told is None else _again(advised, told)
    head = wrapped(text, columns, f"{issue.level} {issue.id}{silent}: ", "  ").split("\n")
    above = [] if told is None else [field for field in _fields(told) if field[0] != "probe"]
    differing = [
        (label, text)
        for label, text in _fields(advised)
        if told is None or (label in _DIFFERING and (label, text) not in above)
    ]
    if others and told is None:
        differing.insert(1, ("also", others))  # behind its place
    fields = [("head", head), *((label, _line(label, text, columns).split("\n")) for label, text in differing)]
    shown = fields if whole else _fitted(fields, columns)
    lines = [line for _, some in shown for line in some]
    return AffectedBlock(text="".join(f"{line}\n" for line in lines), cut=shown != fields)


def _again(advised: ReportedFinding, told: ReportedFinding) -> str:
    """Where the same defect was told, and where it is in this environment."""
    above = places_of(told.finding)
    places = [place for place in places_of(advised.finding) if place not in above]
    more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
    at = f"; at {'; '.join(places[:_MOST])}{more}" if places else ""
    return f"as in {told.finding.source}{at}"


def _fields(advised: ReportedFinding) -> list[tuple[str, str]]:
    """Each label with its text, in the order of the block."""
    finding, issue = advised.finding, advised.finding.issue
    places = places_of(finding)
    more = f"; and {len(places) - _MOST} more" if len(places) > _MOST else ""
    fields = [("at", "; ".join(places[:_MOST]) + more), ("because", _because(finding))]
    if finding.assumed:
        fields.append(("taking it", f"that {assumptions_text(finding.assumed)}"))
    # What the code takes from a package stands at its line, whichever run comes by there.
    if len(finding.contexts) > 1 and not is_break(issue.id):
        rest = f" and {len(finding.contexts) - _FEW:,} more" if len(finding.contexts) > _FEW else ""
        named = ", ".join(finding.contexts[:_FEW])
        fields.append(("in", f"{counted(len(finding.contexts), 'training run')}: {named}{rest}"))
    fields.append(("evidence", _evidence(finding)))
    fields += [("probe", text) for text in probed_texts(advised)]
    fields += _fix(advised.advice)
    probe = f"gradcompat probe {issue.id} in the environment that trains; "
    proves = bool(issue.probes) and not advised.probed
    fields.append(("prove" if proves else "more", f"{probe if proves else ''}{more_text(issue)}"))
    return [(label, text) for label, text in fields if text]


def more_text(issue: Issue) -> str:
    """The command that tells more of an issue; empty if its finding tells all."""
    kind, *names = issue.id.split(":")
    if not is_break(issue.id):
        return f"gradcompat explain {issue.id}"
    return f"gradcompat knowledge pairs {' '.join(names[:2])}" if kind == "import" else ""


def _fitted(fields: list[tuple[str, list[str]]], columns: int) -> list[tuple[str, list[str]]]:
    """The fields in :data:`LINES` lines at most."""
    shown = fields
    for label, least in _CUTS:
        if sum(len(lines) for _, lines in shown) > LINES:
            first = next((number for number, field in enumerate(shown) if field[0] == label), -1)
            spared = first if label == "probe" else -1  # one verdict stays
            left = [field for number, field in enumerate(shown) if field[0] != label or number == spared]
            shown = _shortened(left, least, columns)
    return shown


def _shortened(fields: list[tuple[str, list[str]]], least: int, columns: int) -> list[tuple[str, list[str]]]:
    """The longest fields cut from their ends, none below ``least`` lines, until all fit or no more can go."""
    heights = [len(lines) for _, lines in fields]
    while sum(heights) > LINES and max(heights) > least:
        heights[max(range(len(heights)), key=heights.__getitem__)] -= 1
    return [(label, cut_lines(lines, height, columns)) for (label, lines), height in zip(fields, heights, strict=True)]


def cut_lines(lines: list[str], height: int, columns: int) -> list[str]:
    """The first lines, with a sign that more was there; a word is never cut."""
    if len(lines) <= height:
        return lines
    last = lines[height - 1].removesuffix(" …")
    while len(last) + 2 > columns and " " in last[_LABEL + 3 :].strip():
        last = last.rsplit(" ", 1)[0]
    return [*lines[: height - 1], f"{last.rstrip(' ,;')} …"]


def _line(label: str, text: str, columns: int) -> str:
    return wrapped(text, columns, f"  {label:<{_LABEL}} ", f"  {'':<{_LABEL}} ")


def probed_texts(advised: ReportedFinding) -> list[str]:
    """What was measured, in which versions and on which device."""
    return [
        f"{result.outcome.replace('_', ' ')}: {result.reason} ({result.measurement.spec}; {ran(result)})"
        for result in advised.probed
    ]


def places_of(finding: Finding) -> list[str]:
    """Each package behind its line; entries that differ in nothing but their place share one."""
    places: dict[str, list[Location]] = {}
    if finding.location is not None:
        places[""] = [finding.location]
    for package in finding.packages:
        places.setdefault(entry_text(package) + _fork(package), []).append(package.location)
    shown = []
    for text, locations in places.items():
        where = ", ".join(str(location) for location in locations[:3])
        more = f" and {len(locations) - 3} more" if len(locations) > 3 else ""
        shown.append(f"{where}{more} {text}".rstrip())
    return shown


def _fork(package: Package) -> str:
    """Which alternative of the lockfile an entry belongs to."""
    if package.extras:
        return f" (with {', '.join(package.extras)})"
    if package.forks:
        shown = ", ".join(package.forks[:3])
        return f" ({shown}{', …' if len(package.forks) > 3 else ''})"
    if package.marker is not None and not holds_everywhere(package.marker):
        marker = package.marker if len(package.marker) <= 70 else package.marker[:69] + "…"
        return f" (where {marker})"
    return ""


def _because(finding: Finding) -> str:
    """What was seen to hold. That an entry is there is said by its place, and a file is named once."""
    there = {f"{entry_text(package)} is there" for package in finding.packages}
    reasons = [reason for reason in finding.because if reason.sentence not in there] or list(finding.because)
    # What stands in no file, such as that a package is not there, is cut first, and then what a file says as a whole.
    reasons.sort(key=lambda reason: 2 if reason.location is None else reason.location.line is None)
    parts, named = [], None
    for reason in reasons:
        part = f"{reason.sentence}{_place(reason, finding, named)}"
        if part in parts and reason.location is not None:
            continue  # entries for several platforms say the same
        parts.append(part)
        if reason.location is not None and not _is_entry(reason, finding):
            named = reason.location.path
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def _place(reason: Reason, finding: Finding, named: str | None) -> str:
    place = reason.location
    if place is None or _is_entry(reason, finding):
        return ""
    return f" (line {place.line})" if place.path == named and place.line is not None else f" ({place})"


def _is_entry(reason: Reason, finding: Finding) -> bool:
    if reason.location is finding.location:
        return True
    return any(reason.location is package.location for package in finding.packages)


def _evidence(finding: Finding) -> str:
    references = [reference for reference in finding.issue.references if reference.type in ("FIX", "REPORT")]
    found = [reference.url for reference in (*references, *finding.issue.references)][:1]
    return "; ".join((BASIS[finding.issue.range_basis], *found))


def _fix(advice: Advice | None) -> list[tuple[str, str]]:
    if advice is None:
        return [("fix", "no remedy of this record fits this environment")]
    note = advice.remedy.note if isinstance(advice.remedy, VersionRemedy) else None
    return [("fix", advice_text(advice)), *([] if note is None else [("note", note)])]


def advice_text(advice: Advice) -> str:
    """In the words of a plan, of which this is the first line."""
    remedy = advice.remedy
    if isinstance(remedy, VersionRemedy) and advice.target is not None:
        text = move_text(remedy.kind, advice.package or remedy.package, advice.current, advice.target)
    else:
        # Beside a setting the note often says what to do in its place: that is never cut.
        text = remedy_text(remedy, with_note=isinstance(remedy, SettingRemedy))
    text = ", ".join((text, *moves_text(advice.changes)[1:]))
    if advice.line is not None:
        text += f"; in {advice.location} write `{advice.line}`"
    if advice.introduces:
        return f"{text}; that brings {', '.join(advice.introduces)} instead"
    return text
