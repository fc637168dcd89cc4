"""Points in time as settings write them: `exclude-newer` of uv, `uploaded-prior-to` of pip."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone

from gradcompat.startup.lazy_patterns import lazy_pattern


def moment(text: str, now: datetime, *, whole_day: bool) -> str | None:
    """A date, a time or a span before now, as RFC 3339 in UTC; None if it is none of them.

    >>> moment("2024-10-24T12:00:00+02:00", datetime.now(timezone.utc), whole_day=True)
    '2024-10-24T10:00:00Z'

    Args:
        text: ``2024-10-24``, ``2024-10-24T08:15:07Z``, ``3 days``, ``P3D``.
        now: what spans are counted from.
        whole_day: a date includes its day, as for uv; else it is the midnight before, as for pip. Both are local time.
    """
    text = text.strip()
    try:
        found = _instant(text, now, whole_day=whole_day)
        return None if found is None else found.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
    except (ValueError, OverflowError, OSError):  # the 30th of February, the year 0, a million weeks
        return None


def _instant(text: str, now: datetime, *, whole_day: bool) -> datetime | None:
    if _DATE.fullmatch(text):
        day = date.fromisoformat(text) + timedelta(days=1 if whole_day else 0)
        return datetime(day.year, day.month, day.day).astimezone()
    time = _TIME.fullmatch(text)
    if time is not None:
        # Before Python 3.11 `fromisoformat` takes neither `Z` nor other than three or six digits of a second.
        fraction = (time["fraction"] or "")[:6].ljust(6, "0")
        offset = "+00:00" if time["offset"] in ("Z", "z") else time["offset"] or ""
        instant = datetime.fromisoformat(f"{time['day']}T{time['clock']}.{fraction}{offset}")
        return instant if offset else instant.astimezone()
    span = _SPAN.fullmatch(text) or _ISO_SPAN.fullmatch(text)
    if span is None or not any(span.groupdict().values()):
        return None
    return now - timedelta(**{unit: int(count) for unit, count in span.groupdict().items() if count})


_DATE = lazy_pattern(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME = lazy_pattern(
    r"(?P<day>\d{4}-\d\d-\d\d)[Tt ](?P<clock>\d\d:\d\d:\d\d)(?:\.(?P<fraction>\d+))?(?P<offset>[Zz]|[+-]\d\d:\d\d)?",
    re.ASCII,
)
_UNITS = (
    ("weeks", "w|weeks?|wks?"),
    ("days", "d|days?"),
    ("hours", "h|hours?|hrs?"),
    ("minutes", "m|minutes?|mins?"),
    ("seconds", "s|seconds?|secs?"),
)
_SPAN = lazy_pattern(
    r"\s*,?\s*".join(rf"(?:(?P<{unit}>\d{{1,9}})\s*(?:{words}))?" for unit, words in _UNITS) + r"(?:\s+ago)?",
    re.ASCII | re.IGNORECASE,
)
_ISO_SPAN = lazy_pattern(
    r"P(?:(?P<weeks>\d{1,9})W)?(?:(?P<days>\d{1,9})D)?"
    r"(?:T(?:(?P<hours>\d{1,9})H)?(?:(?P<minutes>\d{1,9})M)?(?:(?P<seconds>\d{1,9})S)?)?",
    re.ASCII | re.IGNORECASE,
)
