"""Version-compatibility resolver and advisor for deep-learning training stacks.

:func:`check` is the whole of the Python interface::

    report = gradcompat.check("uv.lock", contexts=["train.yaml"])
    for one in report.findings:
        print(one.finding.issue.id, one.finding.status, one.advice)
"""

# Nothing is imported here, not even from the standard library: under `python -m gradcompat` the current folder is still
# the first place where a module is looked for, and `./typing.py` of an audited project would run.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradcompat.api import check as check

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    # Whoever only wants the version, as every command does, loads nothing else.
    if name == "check":
        from gradcompat.api import check

        return check
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
