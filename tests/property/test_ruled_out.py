"""A check that builds no record which the versions rule out finds what one over all records finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gradcompat.audit.environment_findings import match_runs
from gradcompat.audit.options import AuditOptions
from gradcompat.knowledge.load import load
from gradcompat.model.environment import Package
from tests.building import environment, package
from tests.examples import examples

BASE = load()
NAMES = (*sorted(BASE.by_package), "pytorch", "lightning", "requests")
USUAL = ("torch", "transformers", "accelerate", "peft", "trl", "deepspeed", "numpy")
VERSIONS = (
    "0.9.0",
    "0.15.0",
    "1.4.0",
    "2.5.1+cu124",
    "2.6.0a0+git12ab34cd",
    "4.46.0",
    "4.49.0.dev0",
    "5.2.0rc1",
    "odd",
)


@st.composite
def entries(draw: st.DrawFn) -> Package:
    version = draw(st.none() | st.sampled_from(VERSIONS) | st.builds("{}.{}.{}".format, *[st.integers(0, 60)] * 3))
    specifier = draw(st.none() | st.sampled_from([">=4.40", "<2.6,>=2.1"])) if version is None else None
    return package(
        draw(st.sampled_from(USUAL) | st.sampled_from(NAMES)),
        version,
        specifier=specifier,
        source=draw(st.sampled_from(["registry", "conda"])),
        unreleased=version is not None and draw(st.booleans()),
    )


@given(st.lists(entries(), min_size=1, max_size=8), st.booleans(), st.booleans())
@settings(max_examples=examples(150))
def test_nothing_that_could_apply_is_ruled_out(listed: list[Package], closed: bool, presume: bool) -> None:
    here = environment(*listed, closed=closed)
    options = AuditOptions(presume=presume)
    every = match_runs(here, (), BASE, options)
    few = match_runs(here, (), BASE, options, whole=False)
    applying = [finding for finding in every.findings if finding.status != "not_affected"]
    assert [finding for finding in few.findings if finding.status != "not_affected"] == applying
    assert few.issues == every.issues
    assert few.runs == every.runs


def test_versions_rule_out_most_of_what_is_known() -> None:
    here = environment(package("torch", "2.5.1"), package("transformers", "4.50.0"), package("numpy", "1.26.4"))
    assert 0 < len(BASE.possible(here)) < len(BASE.about([here])) / 2
