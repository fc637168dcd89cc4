"""``python -m gradcompat``."""

import os
import sys

# `-m` puts the current folder first on the path, and that is the folder of a project whose code must not run.
if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
    try:
        here = os.getcwd()
    except OSError:
        here = ""
    if sys.path[:1] in ([""], [here]):
        del sys.path[0]

from gradcompat.cli.main import console_script  # as soon as it cannot come from there

console_script()
