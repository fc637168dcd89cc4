"""Configs with levels, where each value is stated by one line: the settings that a table makes of them.

Beside :mod:`.flat`, which looks into the values of flat arguments (a mapping as a string of JSON), as they are
passed to transformers.
"""

from __future__ import annotations

from collections.abc import Mapping

from gradcompat.model.environment import Setting, Skipped
from gradcompat.scanners.configs.flat import Config
from gradcompat.scanners.configs.training_arguments import settled
from gradcompat.scanners.key_mapping import Feeds, fed

_LONGEST = 1000  # characters of a value that somebody typed


def stated(
    config: Config, feeds: Feeds, switches: Mapping[str, str] | None = None
) -> tuple[list[Setting], list[Skipped]]:
    """The settings that a table makes of a config, in the order of the file, and what is not understood.

    Args:
        config: the values, as :func:`.flat.read_config` gives them for this table.
        feeds: the table.
        switches: the tool's names of the switches `bf16` and `fp16`, which say something only together.
    """
    named: list[tuple[str, Setting]] = []
    skipped = list(config.skipped)
    for entry in config.entries:
        if isinstance(entry.value, str) and len(entry.value) > _LONGEST:
            reason = f"has {len(entry.value)} characters"
            skipped.append(Skipped(what=entry.name, reason=reason, location=entry.location))
            continue
        settings, unread = fed(feeds, entry.name, entry.value, entry.location, entry.spelling)
        name = (switches or {}).get(entry.name, entry.name)
        named += [(name, setting) for setting in settings]
        skipped += unread
    return settled(named), skipped
