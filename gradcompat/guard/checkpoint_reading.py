"""The first checkpoint of a run, read back and held against the model: what a resumed run would begin with.

Files that ``torch.save`` and safetensors write are read back as soon as they are there, while the model is as it was
written. A file counts as a checkpoint of the model if it holds tensors by the names of its parameters.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from gradcompat.guard.findings import Unverified
from gradcompat.guard.instrumentation import Fail, Instrumentation, loaded
from gradcompat.guard.measurement import Checkpoint

_SHARD = re.compile(r"-(\d+)-of-(\d+)\.")
# Parts of a name that wrappers put in, and that files may leave out.
_WRAPPERS = re.compile(r"(^|\.)(module|_orig_mod|_fsdp_wrapped_module|base_layer)(?=\.)")
_DEEPEST = 4  # mappings within mappings


class CheckpointReading:
    """Waits for the first checkpoint, and takes everything off then."""

    def __init__(
        self, models: Sequence[Any], told: Callable[[Checkpoint | Unverified], None], fail: Fail, *, sharded: bool
    ) -> None:
        """Wrap what writes files.

        Args:
            models: that are trained.
            told: is given what was read, or why nothing could be.
            fail: is told of an error of the guard itself.
            sharded: ranks hold parts of the parameters.
        """
        self._models = models
        self._told = told
        self._fail = fail
        self._sharded = sharded
        self._shards: dict[str, Mapping[str, Any]] = {}
        self._reading = False
        self._instrumentation = Instrumentation()
        # Both have names that others have bound already; every way of writing ends in these.
        writer = getattr(loaded("torch.serialization"), "_open_zipfile_writer_file", None)
        if writer is not None:
            self._instrumentation.wrap(writer, "__exit__", self._saved)
        safetensors = loaded("safetensors.torch")
        if safetensors is not None:
            self._instrumentation.wrap(safetensors, "serialize_file", self._serialized)

    def end(self) -> None:
        """Take everything off."""
        self._instrumentation.remove()

    def _saved(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        self._look(getattr(arguments[0], "name", None), self._of_torch)
        return result

    def _serialized(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        result = function(*arguments, **keywords)
        self._look(arguments[1] if len(arguments) > 1 else keywords.get("filename"), self._of_safetensors)
        return result

    def _of_torch(self, path: str) -> Mapping[str, Any]:
        return loaded("torch").load(path, map_location="cpu", weights_only=True)  # type: ignore[no-any-return]

    def _of_safetensors(self, path: str) -> Mapping[str, Any]:
        return loaded("safetensors.torch").load_file(path, device="cpu")  # type: ignore[no-any-return]

    def _look(self, file: Any, read: Callable[[str], Mapping[str, Any]]) -> None:
        if self._reading or not isinstance(file, (str, os.PathLike)):
            return  # an open file is somebody's own stream
        self._reading = True
        try:
            self._read(os.fspath(file), read)
        except Exception as error:  # whatever it is, the run goes on
            self._instrumentation.remove()
            self._fail(error)
        finally:
            self._reading = False

    def _read(self, path: str, read: Callable[[str], Mapping[str, Any]]) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                content = read(path)
        except Exception as error:  # what a reader raises for files that hold more than tensors
            self._unread(f"a file that was written cannot be read back with weights_only ({type(error).__name__})")
            return
        names = {name for model in self._models for name, _, _ in _parameters(model)}
        states = [state for state in _states(content) if names & state.keys()]
        if not states:
            return  # of the optimizer, a generator, a metric
        if self._sharded:
            self._unread("parameters are sharded over ranks")
            self.end()
            return
        part = _SHARD.search(os.path.basename(path))
        if part is None:
            self.end()
            self._told(best(self._models, states))
            return
        self._shards[path] = states[0]
        if len(self._shards) >= int(part[2]):
            self.end()
            whole = {name: tensor for shard in self._shards.values() for name, tensor in shard.items()}
            self._told(best(self._models, [whole]))

    def _unread(self, why: str) -> None:
        self._told(Unverified("checkpoint", why))


def best(models: Sequence[Any], states: Sequence[Mapping[str, Any]]) -> Checkpoint:
    """What a file says of the models, where each state is taken for that of the model which it equals most.

    A file may hold an average beside the weights, and two models may have the same names.

    Args:
        models: that are trained.
        states: tensors by their names without wrappers.
    """
    found: list[Checkpoint] = []
    for state in states:
        found.append(max((compared(model, state) for model in models), key=_agreement))
    return max(found, key=_agreement)


def _agreement(checkpoint: Checkpoint) -> tuple[int, int]:
    return checkpoint.equal + len(checkpoint.cast), -len(checkpoint.different)


def compared(model: Any, tensors: Mapping[str, Any]) -> Checkpoint:
    """Hold one state against the parameters of one model.

    Args:
        model: that is trained.
        tensors: by their names without wrappers.
    """
    equal, different, missing, cast = 0, [], [], []
    aliases: dict[int, list[str]] = {}
    parameters: dict[int, tuple[str, Any]] = {}
    for name, key, parameter in _parameters(model):
        aliases.setdefault(id(parameter), []).append(name)
        parameters.setdefault(id(parameter), (key, parameter))
    for identity, (key, parameter) in parameters.items():
        found = [name for name in aliases[identity] if name in tensors]
        if not found:
            if parameter.requires_grad:
                missing.append(key)
            continue
        stored, live = tensors[found[0]], parameter.detach().cpu()
        if stored.shape == live.shape and stored.dtype == live.dtype and _same(stored, live):
            equal += 1
        elif stored.shape == live.shape and _same(stored, live.to(stored.dtype)):
            cast.append(key)
        else:
            different.append(key)
    # Where a file has other names than the model (some are renamed as they are written), absence says nothing.
    known = {name for names in aliases.values() for name in names} | {_plain(key) for key, _ in model.named_buffers()}
    return Checkpoint(
        equal=equal,
        different=tuple(different),
        missing=tuple(missing),
        cast=tuple(cast),
        unknown=len(tensors.keys() - known),
    )


def _same(one: Any, other: Any) -> bool:
    """Whether all elements are equal, and NaN where the other is."""
    torch = loaded("torch")
    return bool(torch.equal(torch.nan_to_num(one), torch.nan_to_num(other)))


def _states(content: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Every mapping of names to tensors, within others as well; names are without wrappers."""
    if not isinstance(content, Mapping) or depth > _DEEPEST:
        return
    torch = loaded("torch")
    state = {_plain(str(name)): value for name, value in content.items() if torch.is_tensor(value)}
    if state:
        yield state
    for value in content.values():
        yield from _states(value, depth + 1)


def _parameters(model: Any) -> Iterator[tuple[str, str, Any]]:
    """Name in a file, name in the model, and parameter, with every name of those that are tied."""
    adapters = tuple(getattr(getattr(model, "module", model), "peft_config", None) or ())
    for key, parameter in model.named_parameters(remove_duplicate=False):
        yield _plain(key, adapters), key, parameter


def _plain(name: str, adapters: tuple[str, ...] = ()) -> str:
    """A name as files have it: without wrappers and names of adapters."""
    for adapter in adapters:
        name = name.replace(f".modules_to_save.{adapter}.", ".").replace(f".{adapter}.", ".")
        name = name.removesuffix(f".{adapter}")
    return _WRAPPERS.sub("", name).removeprefix(".")
