"""Releases that are older than any that was read: nobody knows what they have."""

from __future__ import annotations

import pytest

from gradcompat.audit.breaks import constraints_of_code
from gradcompat.formats.document import Document
from gradcompat.knowledge.load import load
from gradcompat.model.code_use import CodeUse
from gradcompat.model.environment import Location
from gradcompat.model.issue import PackageTerm
from gradcompat.sources import requirements

USE = CodeUse(kind="import", module="torchmetrics", name="MeanMetric", location=Location(path="train.py", line=1))


@pytest.mark.parametrize(
    ("listed", "known"),
    [("torchmetrics==0.10.3", "0.10.3"), ("torchmetrics==1.2.0", "0.11.1")],  # the table begins with 0.11.1
)
def test_no_change_leads_to_releases_that_nobody_has_read(listed: str, known: str) -> None:
    environment = requirements.read(Document("requirements.txt", f"{listed}\n"))
    issues = {issue.id: issue for issue in constraints_of_code(environment, [USE], load().names)}
    ((term,),) = (one.terms for one in issues[f"code:torchmetrics:before-{known}"].affected)
    assert isinstance(term, PackageTerm)
    assert str(term.versions) == f"<{known}"


def test_what_the_code_does_not_use_may_go_anywhere() -> None:
    environment = requirements.read(Document("requirements.txt", "torchmetrics==1.2.0\npeft==0.14.0\n"))
    issues = constraints_of_code(environment, [USE], load().names)
    assert not [issue.id for issue in issues if issue.id.startswith("code:peft")]


def test_no_change_leads_to_a_release_without_wheels_between_those_that_lack_a_name() -> None:
    environment = requirements.read(Document("requirements.txt", "diffusers==0.27.2\n"))
    later = CodeUse(
        kind="import",
        module="diffusers.models.embeddings",
        name="GLIGENTextBoundingboxProjection",
        location=Location(path="unet.py", line=60),
    )
    earlier = CodeUse(kind="import", module="diffusers", name="UNet2DConditionModel", location=later.location)
    issues = {issue.id: issue for issue in constraints_of_code(environment, [later, earlier], load().names)}
    ((term,),) = (
        one.terms for one in issues["code:diffusers:models.embeddings.GLIGENTextBoundingboxProjection"].affected
    )
    assert isinstance(term, PackageTerm)
    assert str(term.versions) == "<0.26.0"  # 0.21.2, of which there is an sdist alone, too
    assert not [name for name in issues if name.endswith("UNet2DConditionModel")]
