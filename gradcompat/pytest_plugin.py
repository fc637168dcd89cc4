"""``pytest --gradcompat``: a test that fails where the environment that runs the tests has a known training defect."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, in a group of their own."""
    group = parser.getgroup("gradcompat", "training defects of the environment")
    group.addoption("--gradcompat", action="store_true", help="fail if this environment has a known training defect")
    group.addoption(
        "--gradcompat-context",
        action="append",
        default=[],
        metavar="FILE",
        help="a training config, launch script or program that is run in this environment; may be repeated",
    )
    group.addoption(
        "--gradcompat-fail-on", choices=("error", "warning", "note"), default="error", help="the level from which on"
    )


def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """One test more, before all others."""
    if config.getoption("--gradcompat"):
        items.insert(0, EnvironmentItem.from_parent(session, name="gradcompat"))


class Affected(Exception):
    """The environment has a defect; the text is the report."""


class EnvironmentItem(pytest.Item):
    """The check of the interpreter that runs the tests."""

    def runtest(self) -> None:
        """Raise :class:`Affected` if there is a finding, and skip what could not be checked."""
        from gradcompat import check
        from gradcompat.renderers.text import render

        report = check(
            python=sys.executable,
            contexts=self.config.getoption("--gradcompat-context"),
            fail_on=self.config.getoption("--gradcompat-fail-on"),
        )
        out = StringIO()
        render(report, out)
        if report.exit_status in (1, 2):
            raise Affected(out.getvalue())
        if report.exit_status == 3:
            pytest.skip("; ".join(_unseen(report)))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **more: Any) -> Any:
        """The report, without a traceback."""
        if isinstance(excinfo.value, Affected):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **more)

    def reportinfo(self) -> tuple[str, int | None, str]:
        """What stands over a failure."""
        return sys.prefix, None, "gradcompat: the environment of these tests"


def _unseen(report: Any) -> Iterator[str]:
    for audit in report.audits:
        for skipped in audit.skipped:
            if skipped.gap:
                yield f"{skipped.what}: {skipped.reason}"
