"""What users see, for an invented environment that has every kind of finding; compared with golden files."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import pytest

from gradcompat.audit.auditor import audit_all
from gradcompat.audit.exit_status import exit_status
from gradcompat.audit.options import AuditOptions
from gradcompat.audit.targets import AuditRequest, Source, Unreadable
from gradcompat.errors import UnsupportedFormatVersion
from gradcompat.knowledge.compile import compile_records
from gradcompat.knowledge.load import KnowledgeBase, knowledge_from
from gradcompat.knowledge.records import read
from gradcompat.model.environment import Environment, Location, Package, Skipped
from gradcompat.model.report import Audit, Newer, Report
from gradcompat.renderers.registry import RENDERERS
from gradcompat.renderers.terminal import safe, wrapped

RECORDS = Path(__file__).parents[1] / "data" / "records.yaml"


@pytest.fixture(scope="module")
def base() -> KnowledgeBase:
    authored = read(RECORDS)
    assert authored.problems == ()
    return knowledge_from(compile_records(authored), "records.yaml")


def pin(name: str, version: str | None, line: int, **more: object) -> Package:
    return Package(name=name, version=version, location=Location(path="uv.lock", line=line, column=11), **more)  # type: ignore[arg-type]  # the tests below pass fields of Package


def lockfile() -> Environment:
    return Environment(
        source="uv.lock",
        kind="uv.lock",
        packages=(
            pin("lightning", "2.0.3", 10),
            pin("peft", "0.19.0", 20),
            pin("torch", "2.7.0+cu126", 30),
            pin("transformers", "4.49.0", 40, extras=("train",), marker="extra == 'train'"),
            pin("transformers", "4.51.3", 50, marker="sys_platform == 'darwin' and extra != 'train'"),
        ),
        closed=True,
        skipped=(
            Skipped(
                what="line 60", reason="`clip==1.0==` is no requirement", location=Location(path="uv.lock", line=60)
            ),
            Skipped(what="pyproject.toml", reason="declares ranges, which uv.lock beside it resolves", gap=False),
        ),
    )


def report(base: KnowledgeBase, options: AuditOptions) -> Report:
    sources: list[Source] = [
        lockfile(),
        Environment(source="clean.lock", kind="uv.lock", packages=(pin("numpy", "2.0.0", 1),), closed=True),
        Environment(
            source="other.lock", kind="uv.lock", packages=(pin("torch", None, 3, specifier=">=2.4"),), closed=False
        ),
        Unreadable(
            "new.lock",
            UnsupportedFormatVersion("lockfile version 3 is not supported", path="new.lock", hint="gradcompat reads 1"),
        ),
    ]
    audits = tuple(audit_all(AuditRequest(sources, None, []), base, options))
    return Report(
        audits=audits,
        records=len(base.records),
        digest="sha256:0",
        date=base.date,
        exit_status=exit_status(audits, options),
    )


@pytest.mark.parametrize("form", sorted(RENDERERS))
@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("unseen", AuditOptions()),
        (
            "stated",
            AuditOptions(
                settings=(
                    ("training.gradient_accumulation_steps", 8),
                    ("model.architecture", ("LlavaForConditionalGeneration",)),
                    ("host.cuda_arch", "8.6"),
                ),
                show_all=True,
            ),
        ),
    ],
)
def test_report(
    base: KnowledgeBase,
    golden: Callable[[str, str], None],
    monkeypatch: pytest.MonkeyPatch,
    form: str,
    name: str,
    options: AuditOptions,
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS[form].module}").render(report(base, options), out)
    golden(f"{name}.{'txt' if form == 'text' else form}", out.getvalue())


NEWER = Newer(name="transformers", version="5.24.0", horizon="5.23.0", date="2026-11-20", assumed=("GC-0002",))
SEEN = "5.24.0 (5.23.0, 2026-11-20)"


@pytest.mark.parametrize(
    ("newer", "said"),
    [
        ([], ""),
        ([replace(NEWER, assumed=())], ""),
        ([NEWER, NEWER], "transformers 5.24.0 is newer than this knowledge (5.23.0, 2026-11-20)"),
        (
            [NEWER, replace(NEWER, name="trl"), replace(NEWER, name="torch", assumed=())],
            f"transformers {SEEN} and trl {SEEN} are newer than this knowledge",
        ),
        (
            [replace(NEWER, name=name) for name in ("accelerate", "peft", "torch", "transformers", "trl")],
            f"accelerate {SEEN}, peft {SEEN}, torch {SEEN} and 2 more are newer than this knowledge",
        ),
    ],
)
def test_what_nobody_has_looked_at_is_one_sentence(newer: list[Newer], said: str) -> None:
    audits = tuple(
        Audit(source="a", kind="a", packages=1, recognised=1, findings=(), skipped=(), newer=(one,)) for one in newer
    )
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS['text'].module}").render(
        Report(audits=audits, records=1, digest="", date="2026-11-20", exit_status=0), out
    )
    paragraph = [" ".join(text.split("\n")) for text in out.getvalue().split("\n\n") if "newer" in text]
    assert paragraph == ([f"{said}: known unfixed defects are assumed to remain"] if said else [])


def test_text_never_colours_or_trails(base: KnowledgeBase) -> None:
    out = io.StringIO()
    import_module(f"gradcompat.renderers.{RENDERERS['text'].module}").render(report(base, AuditOptions()), out)
    assert all(line == line.rstrip() and line.isprintable() for line in out.getvalue().splitlines())


def test_safe_spells_out_what_a_terminal_would_obey() -> None:
    assert safe("torch\x1b]0;title\x07\u202e\n") == "torch\\x1b]0;title\\x07\\u202e\\n"
    assert safe("naïve — …") == "naïve — …"


def test_wrapped_keeps_a_long_word_whole() -> None:
    assert wrapped("a bb https://example.org/a/long/address c", 12, "> ", "  ") == (
        "> a bb\n  https://example.org/a/long/address\n  c"
    )
