"""Version-compatibility resolver and advisor for deep-learning training stacks.

:func:`check` is the whole of the Python interface::

    report = gradcompat.check("uv.lock", contexts=["train.yaml"])
    for reported in report.findings:
        print(reported.finding.issue.id, reported.finding.status, reported.advice)
"""

# Nothing is imported here, not even from the standard library: under `python -m gradcompat` the current folder is still
# the first place where a module is looked for, and `./typing.py` of an audited project would run.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from gradcompat._version import __version__ as __version__
    from gradcompat.api import check as check


def __getattr__(name: str) -> object:
    # Whoever only wants the version, as every command does, loads nothing else.
    if name == "check":
        from gradcompat.api import check

        return check
    if name == "__version__":
        from gradcompat._version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
