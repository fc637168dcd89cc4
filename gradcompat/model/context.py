"""What one file says of a training run, before it is joined with others."""

from __future__ import annotations

from dataclasses import dataclass

from gradcompat.model.environment import Setting, Skipped


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The settings that one training config, launch script or program states.

    Attributes:
        source: how the user calls it.
        kind: the tool whose file it is: ``deepspeed``, ``axolotl``, ``llamafactory``, ….
        settings: what it says, in the order of the file; a value of None is set to something that is not literal.
        run: it describes a run on its own (a trainer's config, a launch script, a program). What does not (a DeepSpeed
            config, a model's config.json) belongs to the runs that name it, or to all where none does.
        refers_to: other files that it names, as they are written there.
        skipped: what could not be read.
    """

    source: str
    kind: str
    settings: tuple[Setting, ...]
    run: bool
    refers_to: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
