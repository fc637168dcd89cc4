"""The report of a campaign, in Markdown."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from fuzz.campaign import Campaign


def machine() -> str:
    """The machine in one line."""
    model = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} processors, Python {platform.python_version()}, {platform.system()}"


def replace_part(page: Path, name: str, text: str) -> None:
    """Put a text between ``<!-- name: begin -->`` and ``<!-- name: end -->`` of a page."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, found, rest = page.read_text("utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise SystemExit(f"{page}: has no `{begin.strip()}` and `{end}`")
    page.write_text(f"{before}{begin}\n{text}\n{closed}{after}", "utf-8")


def summary(campaign: Campaign) -> str:
    """What was tried, what that took, and what was found."""
    state = campaign.state
    findings = campaign.findings.all()
    total = sum(state.spent.values())
    lines = [
        f"{state.done:,} inputs of seed {state.seed} in {state.wall / 60:.0f} minutes: "
        f"{state.done / max(state.wall, 1e-9):.0f} a second, {state.done / max(total, 1e-9):.0f} a second of processor "
        f"time in gradcompat. {machine()}.",
        "",
        "| Target | Inputs | Share | Mean | Most time | Most memory | Largest | Steps a byte |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, count in sorted(state.inputs.items(), key=lambda item: -item[1]):
        seconds, megabytes, size = state.most.get(name, [0.0] * 3)
        mean = state.spent.get(name, 0.0) / count * 1000
        lines.append(
            f"| {name} | {count:,} | {count / state.done:.1%} | {mean:.1f} ms | {seconds:.2f} s | {megabytes:.0f} MB | "
            f"{size / 1000:,.0f} kB | {state.steps.get(name, 0):,} |"
        )
    kept = ", ".join(f"{count} from {origin}" for origin, count in sorted(state.kept.items()))
    commits = ", ".join(f"{count:,} of {name}" for name, count in state.commits.items())
    lines += ["", f"Corpus: {campaign.corpus.size} inputs ({kept}) take {len(campaign.corpus.arcs):,} arcs.", ""]
    lines += [f"Commits: {commits}.", ""] if commits else []
    lines += _findings([(one.count, one.finding.signature) for one in findings], "that stand")
    if state.gone:
        gone = [(count, signature) for signature, count in sorted(state.gone.items())]
        lines += ["", *_findings(gone, "that the last commit no longer has, or that were errors of the harness")]
    return "\n".join(lines) + "\n"


def _findings(found: list[tuple[int, str]], which: str) -> list[str]:
    if not found:
        return ["No findings."]
    rows = [f"| {count} | {_cell(signature)} |" for count, signature in found]
    return [f"{len(found)} kinds of findings {which}:", "", "| Times | Finding |", "|---:|---|", *rows]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")
