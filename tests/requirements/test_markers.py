"""Markers that need not be said."""

from __future__ import annotations

import pytest

from gradcompat.requirements.markers import holds_everywhere

WINDOWS, BROWSER = 'sys_platform {} "win32"', 'sys_platform {} "emscripten"'
EITHER = f"{WINDOWS.format('==')} or {BROWSER.format('==')}"
POETRY = f"{EITHER} or {WINDOWS.format('!=')} and {BROWSER.format('!=')}"


@pytest.mark.parametrize(
    ("marker", "everywhere"),
    [
        (POETRY, True),
        ('os_name == "nt" or os_name != "nt"', True),
        ('sys_platform == "win32" or sys_platform == "linux"', False),
        ('sys_platform != "win32"', False),
        (f'({POETRY}) and python_version < "3.12"', False),
        ('python_version < "3.12" or python_version >= "3.12"', False),  # no name of one thing
        ('extra == "a" or extra != "a"', False),
        ("no marker", False),
    ],
)
def test_a_marker_that_holds_whatever_it_asks_for(marker: str, everywhere: bool) -> None:
    assert holds_everywhere(marker) is everywhere
