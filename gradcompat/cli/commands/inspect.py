"""``gradcompat inspect``: the environment as it was read."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from gradcompat.audit.environment_findings import with_facts
from gradcompat.audit.final_settings import Run, run_in
from gradcompat.audit.run_artifacts import failure
from gradcompat.audit.targets import File, Unreadable, environment_of, resolve_targets
from gradcompat.cli.command_end import print_error
from gradcompat.cli.parameters import Format, TargetParameters
from gradcompat.errors import SourceError, UsageError
from gradcompat.host.package_facts import with_package_facts
from gradcompat.messages import counted, joined, value_text
from gradcompat.model.context import Context
from gradcompat.model.environment import Environment, Location, Skipped
from gradcompat.renderers.json_output import json_output, place_data, skipped_data
from gradcompat.renderers.run_settings import run_data, write_run
from gradcompat.renderers.terminal import safe, skipped_text
from gradcompat.startup.lazy_dataclasses import replace
from gradcompat.vocabulary import parse_setting


def command(
    *,
    what: TargetParameters,
    form: Format = "text",
) -> int:
    """Show an environment as gradcompat reads it, with the file and line of each pin, and each training run with its
    final values and where each comes from.

    Exit status:
      0  everything could be read
      2  wrong usage, or nothing could be read
      3  something could not be read

    Examples:
      gradcompat inspect uv.lock
      gradcompat inspect train.yaml
      gradcompat inspect . --format json
    """
    if form not in ("text", "json"):
        raise UsageError(f"`--format {form}` is not known", hint="known: text, json")
    stated = tuple(map(parse_setting, what.facts))
    asked = resolve_targets(what.targets, what.python, what.contexts, active_without_target=not what.targets)
    passed = [*asked.skipped, *(asked.contexts.unread if asked.contexts is not None else ())]
    environments: list[Environment] = []
    failed: list[Skipped] = []
    for source in asked.sources:
        try:
            match source:
                case Environment():
                    environments.append(source)
                case Unreadable(error=error):
                    raise error
                case File():
                    environments.append(environment_of(source))
        except SourceError as error:
            print_error(error)
            failed.append(failure(error))
    contexts = () if asked.contexts is None else asked.contexts.every
    runs: list[Run] = []
    if asked.contexts is not None:
        sources = [environment.source for environment in environments] or ["."]
        within: list[Environment | None] = [*environments] or [None]
        for environment, found in zip(within, asked.contexts.of(sources), strict=True):
            runs += [run_in(environment, context, stated) for context in found]
        passed += asked.contexts.unused(sources)
    environments = [
        with_facts(with_package_facts(environment, installed=environment.kind == "installed"), stated)
        for environment in environments
    ]
    environments += [_as_environment(context) for context in contexts]
    told = {skipped.what for skipped in failed}
    passed = [skipped for skipped in passed if skipped.what not in told]
    if form == "json" and environments:
        shown_all = [_data(environment) for environment in environments]
        beside = [skipped_data(skipped) for skipped in (*failed, *passed)]
        # One target is one object; a folder with several is a list under one key.
        data: dict[str, Any] = {"environments": shown_all, "skipped": beside}
        if len(shown_all) == 1:
            data = {**shown_all[0], "skipped": [*shown_all[0]["skipped"], *beside]}
        if runs:
            data["runs"] = [run_data(run) for run in runs]
        sys.stdout.write(json_output(data))
    elif form == "text":
        for environment in environments:
            _text(environment, sys.stdout)
        for run in runs:
            write_run(run, sys.stdout)
        for skipped in passed:
            sys.stdout.write(f"  {safe(skipped_text(skipped))}\n")
    if not environments:
        return 2
    gaps = any(skipped.gap for environment in environments for skipped in environment.skipped)
    return 3 if failed or gaps or any(skipped.gap for skipped in passed) else 0


def _as_environment(context: Context) -> Environment:
    """A training config in the shape that is shown: settings, and no packages."""
    return Environment(
        source=context.source,
        kind=context.kind,
        packages=(),
        closed=False,
        settings=context.settings,
        skipped=tuple(replace(skipped, gap=False) for skipped in context.skipped),
    )


def _data(environment: Environment) -> dict[str, Any]:
    return {
        "source": environment.source,
        "kind": environment.kind,
        "closed": environment.closed,
        "python": environment.python,
        "platform": environment.platform,
        "virtual": dict(environment.virtual),
        "excluded": sorted(environment.excluded),
        "origins": {name: place_data(location) for name, location in environment.origins.items()},
        "packages": [
            {
                "name": package.name,
                "version": package.version,
                "specifier": package.specifier,
                "source": package.source,
                "marker": package.marker,
                "forks": list(package.forks),
                **place_data(package.location),
                "column": package.location.column,
            }
            for package in environment.packages
        ],
        "settings": [
            {
                "key": setting.key,
                "value": list(setting.value) if isinstance(setting.value, tuple) else setting.value,
                **place_data(setting.location),
                "presumed": setting.presumed,
                "where": list(map(str, setting.where)),
            }
            for setting in environment.settings
        ],
        "skipped": [skipped_data(skipped) for skipped in environment.skipped],
    }


def _text(environment: Environment, out: TextIO) -> None:
    facts = [environment.kind]
    facts += [counted(len(environment.packages), "package")] if environment.packages or environment.closed else []
    facts += [counted(len(environment.settings), "setting")] if environment.settings else []
    facts += [f"Python {environment.python}"] if environment.python else []
    facts += [environment.platform] if environment.platform else []
    facts += [f"{name} {value}" for name, value in environment.virtual.items()]
    if environment.packages and not environment.closed:
        facts.append("may hold more than is listed")
    out.write(safe(f"{environment.source}: {', '.join(facts)}") + "\n")
    width = max((len(package.name) for package in environment.packages), default=0)
    for package in environment.packages:
        version = package.version or package.specifier or "?"
        detail = "" if package.source == "registry" else f"  [{package.source}]"
        detail += f"  ; {package.marker}" if package.marker else ""
        detail += f"  ({', '.join(package.forks)})" if package.forks else ""
        where = _place(package.location, environment)
        out.write(safe(f"  {package.name:<{width}}  {version}  {where}{detail}") + "\n")
    for setting in environment.settings:
        value = "set to a computed value" if setting.value is None else value_text(setting.value)
        where = "" if setting.location.line is None else f"  {_place(setting.location, environment)}"
        presumed = ", presumed" if setting.presumed else ""
        asked = f", only with {joined(tuple(map(str, setting.where)), 'and')}" if setting.where else ""
        out.write(safe(f"  {setting.key} = {value}{where}{presumed}{asked}") + "\n")
    known = {"python": environment.python, "platform": environment.platform, **environment.virtual}
    for name, location in environment.origins.items():
        fact = f"not {name}" if name in environment.excluded else f"{name} = {known.get(name)}"
        out.write(safe(f"  {fact}  {_place(location, environment)}") + "\n")
    for skipped in environment.skipped:
        out.write(f"  {safe(skipped_text(skipped))}\n")


def _place(location: Location, environment: Environment) -> str:
    inside = location.path == environment.source and location.line is not None
    return f"line {location.line}" if inside else str(location)
