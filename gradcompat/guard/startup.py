"""What ``GRADCOMPAT_GUARD=1`` does in a process: guards whatever trains in it, from the import of its framework on."""

from __future__ import annotations

import atexit
import functools
import sys
from dataclasses import asdict
from typing import Any

from gradcompat.guard import tracebacks
from gradcompat.guard.import_hooks import AfterImport
from gradcompat.guard.options import Options, from_environment


def start() -> None:
    """Wait for torch and for the Trainers; without them nothing happens."""
    try:
        options = from_environment()
    except ValueError as error:
        sys.stderr.write(f"gradcompat guard: {error}; nothing is guarded\n")
        return
    tracebacks.install()
    AfterImport(
        {
            "torch": lambda _module: _loop(options),
            "transformers.trainer": lambda module: _transformers(module.Trainer, options),
            "lightning.pytorch.trainer.trainer": lambda module: _lightning(module.Trainer, options),
            "pytorch_lightning.trainer.trainer": lambda module: _lightning(module.Trainer, options),
        }
    ).install()


def _loop(options: Options) -> None:
    from gradcompat.guard.guard import Guard

    guard = Guard(**asdict(options))
    guard.automatic = True
    guard.start()
    atexit.register(guard.end, at_exit=True)


def _transformers(trainer_class: Any, options: Options) -> None:
    original = trainer_class.__init__

    @functools.wraps(original)
    def guarded(self: Any, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        from gradcompat.guard.trainer_callback import GuardCallback, attach

        if not any(isinstance(one, GuardCallback) for one in self.callback_handler.callbacks):
            attach(self, **asdict(options))

    trainer_class.__init__ = guarded


def _lightning(trainer_class: Any, options: Options) -> None:
    original = trainer_class.__init__

    @functools.wraps(original)
    def guarded(self: Any, *arguments: Any, **keywords: Any) -> None:
        original(self, *arguments, **keywords)
        from gradcompat.guard.lightning_callback import LightningGuard

        if not any(isinstance(one, LightningGuard) for one in self.callbacks):
            self.callbacks.append(LightningGuard(**asdict(options)))

    trainer_class.__init__ = guarded
