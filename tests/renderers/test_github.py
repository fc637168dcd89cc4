from __future__ import annotations

from dataclasses import replace

from gradcompat.model.environment import Location, Skipped
from tests.renderers.reports import advised, audit, entry, everything, record, rendered, report, strictly


def test_annotations_are_what_is_affected_what_could_apply_and_what_was_not_checked() -> None:
    lines = rendered(everything(), "github").splitlines()
    assert [line.split(",title=")[0] for line in lines] == [
        "::error file=uv.lock,line=3,col=11",
        "::error file=b/uv.lock,line=3,col=11",
        "::warning file=uv.lock,line=3,col=11",
        "::notice file=uv.lock,line=3,col=11",
        "::warning file=uv.lock,line=9",
        "::warning file=new.lock",
    ]
    assert lines[0].endswith(
        ",title=GC-0001 The loss is wrong::The loss is wrong (transformers 4.49.0). "
        "Because training.seed is 1 (train.yaml:7). Fix: upgrade transformers 4.49.0 to 4.52.1."
    )
    assert lines[5].endswith(",title=not checked::not checked: new.lock: lockfile version 3 is not supported")


def test_strict_makes_a_notice_of_what_is_conditional() -> None:
    assert [line[:8] for line in rendered(strictly(everything()), "github").splitlines()].count("::notice") == 1


def test_a_value_cannot_end_its_property_or_its_line() -> None:
    path = "a,line=9::b%0A/uv.lock"
    summary = "100% wrong\n::set-output name=token::x ##[add-mask]y"
    found = advised(replace(record(), summary=summary), entry(path=path))
    gap = Skipped(what="::stop-commands::z", reason="r\r\n::error::x", location=Location(path=path, line=1))
    out = rendered(report(audit(found, skipped=(gap,))), "github")
    assert len(out.splitlines()) == 2
    assert out.startswith("::error file=a%2Cline=9%3A%3Ab%250A/uv.lock,line=3,col=11,title=GC-0001 100%25 wrong\\n")
    assert "##[" not in out
    assert all(line.startswith(("::error ", "::warning ")) for line in out.splitlines())
