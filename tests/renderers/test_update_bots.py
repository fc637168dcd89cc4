"""What Renovate and Dependabot are given: valid, and nothing in it leaves its place."""

from __future__ import annotations

import io
import json

import yaml

from gradcompat.renderers import dependabot, renovate
from gradcompat.renderers.constraints import Line
from gradcompat.renderers.dependabot import Ignored

HOSTILE = "GC-0001: it is\n- dependency-name: '*'\u202e \x1b[31m"


def test_dependabot_has_a_list_of_ranges_for_each_package() -> None:
    out = io.StringIO()
    one = Ignored(package="torch", ranges=("<1.0", ">=2.0,<2.1"), reasons=("GC-0001: it is wrong",))
    dependabot.write(["a head"], [one], out)
    assert out.getvalue() == (
        "# a head\nignore:\n  # GC-0001: it is wrong\n"
        '  - dependency-name: "torch"\n    versions: ["<1.0", ">=2.0,<2.1"]\n'
    )


def test_dependabot_has_an_empty_list_where_there_is_nothing() -> None:
    out = io.StringIO()
    dependabot.write([], [], out)
    assert yaml.safe_load(out.getvalue()) == {"ignore": []}


def test_a_reason_stays_in_its_comment() -> None:
    out = io.StringIO()
    dependabot.write([HOSTILE], [Ignored(package="to\nrch", ranges=("*",), reasons=(HOSTILE,))], out)
    assert yaml.safe_load(out.getvalue()) == {"ignore": [{"dependency-name": "to\nrch", "versions": ["*"]}]}
    assert "\u202e" not in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_renovate_has_a_rule_for_each_group_and_each_exclusion() -> None:
    out = io.StringIO()
    line = Line(package="torch", specifier=">=1.0,!=2.0", reasons=(HOSTILE,))
    renovate.write(["a head"], {"torch": ("torch", "triton")}, [line], out)
    assert out.getvalue().isascii()
    assert json.loads(out.getvalue()) == {
        "$schema": "https://docs.renovatebot.com/renovate-schema.json",
        "description": ["a head"],
        "packageRules": [
            {"matchDatasources": ["pypi"], "matchPackageNames": ["torch", "triton"], "groupName": "torch"},
            {
                "description": [HOSTILE],
                "matchDatasources": ["pypi"],
                "matchPackageNames": ["torch"],
                "allowedVersions": ">=1.0,!=2.0",
            },
        ],
    }
