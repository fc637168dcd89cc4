"""The first micro-batch of a language model: its labels, and who sees whom in attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gradcompat.guard import packed_samples
from gradcompat.guard.instrumentation import Fail, Harmless, Instrumentation, loaded
from gradcompat.guard.loss_calls import LossLedger
from gradcompat.guard.measurement import Batch
from gradcompat.guard.readout import Readout

_IGNORED = -100
_MASKED_BELOW = -1000.0  # what an additive mask puts on a pair that may not see each other
_CAUSAL = ("ForCausalLM", "LMHeadModel")


class BatchReading:
    """Inputs of the first forward pass, looked at without changing or copying them to the host."""

    def __init__(self, model: Any, fail: Fail) -> None:
        """Wait for the first forward pass of a model."""
        self.inputs: dict[str, Any] = {}
        self.data: Any = None
        self._mixes: Any = None
        self._influence: Any = None
        self._problem = ""
        self._ledger: LossLedger | None = None
        self._model = model
        self._fail = fail
        self._places: dict[str, int] = {}
        self._samples = 0

    def attach(self, instrumentation: Instrumentation) -> None:
        """See what the model is called with, and which masks reach attention meanwhile."""
        torch = loaded("torch")
        try:
            handle = self._model.register_forward_pre_hook(Harmless(self._called, self._fail), with_kwargs=True)
        except TypeError:  # torch before 2.0
            return
        instrumentation.keep(handle)
        if self._ledger is not None:
            repeat = Harmless(self._after, self._fail)
            instrumentation.keep(self._model.register_forward_hook(repeat, with_kwargs=True))
        functional = torch.nn.functional
        instrumentation.wrap(functional, "scaled_dot_product_attention", self._attention)
        instrumentation.wrap(functional, "softmax", self._softmax)

    def test_packing(self, ledger: LossLedger, *, sharded: bool) -> None:
        """Ask for the exact test of packed samples, before :meth:`attach`.

        Args:
            ledger: sees loss functions.
            sharded: a forward pass of one rank alone would hang.
        """
        if sharded:
            self._problem = "forward passes of sharded parameters are not repeated"
        else:
            self._ledger = ledger

    def _after(self, module: Any, arguments: Any, keywords: dict[str, Any], _output: Any) -> None:
        """The first forward pass is done: repeat it, where packed samples are to be tested."""
        ledger = self._ledger
        if ledger is None or not self.inputs or not module.training:
            return
        self._ledger = None
        segments = self._segments()
        if segments is None or not (segments > 0).any():
            return
        try:
            self._influence = packed_samples.influence(module, arguments, keywords, segments, ledger)
        except Exception as error:  # what the user's model raises, too
            self._problem = str(error) if type(error) is ValueError else f"{type(error).__name__} in a forward pass"

    def _called(self, module: Any, arguments: Any, keywords: dict[str, Any]) -> None:
        torch = loaded("torch")
        if self.inputs or not module.training:
            return
        names = ("input_ids", "labels", "attention_mask", "position_ids", "decoder_input_ids")
        self.inputs = {name: keywords[name] for name in names if torch.is_tensor(keywords.get(name))} or {"": None}
        given = (keywords.get("input_ids"), *arguments, *keywords.values())
        self.data = next((one for one in given if torch.is_tensor(one) and one.numel() > 1), None)

    def _segments(self) -> Any:
        """The number of the sample that a token belongs to, by ``position_ids`` that begin anew; None without them."""
        torch = loaded("torch")
        positions = self.inputs.get("position_ids")
        if positions is None or positions.ndim != 2 or positions.shape[-1] < 2:
            return None
        begins = torch.zeros_like(positions)
        begins[:, 1:] = (positions[:, 1:] <= positions[:, :-1]).to(positions.dtype)
        return begins.cumsum(-1)

    def _attention(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        try:
            if self._mixes is None:
                mask = arguments[3] if len(arguments) > 3 else keywords.get("attn_mask")
                query = arguments[0] if arguments else keywords["query"]
                key = arguments[1] if len(arguments) > 1 else keywords["key"]
                self._look(mask, query.shape[-2], key.shape[-2], additive=True)
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
        return function(*arguments, **keywords)

    def _softmax(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        output = function(*arguments, **keywords)
        try:
            if self._mixes is None and output.ndim == 4:
                self._look(output.detach() > 0, output.shape[-2], output.shape[-1], additive=False)
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
        return output

    def _look(self, mask: Any, queries: int, keys: int, *, additive: bool) -> None:
        torch = loaded("torch")
        segments = self._segments()
        if segments is None or not queries == keys == segments.shape[-1]:
            return
        apart = segments[:, :, None] > segments[:, None, :]  # the query is of a later sample than the key
        if mask is None:
            self._mixes = apart.any()
            return
        seen = mask.detach()
        if seen.ndim == 4:
            seen = seen.any(1) if seen.dtype == torch.bool else seen.amax(1)
        if additive and seen.dtype != torch.bool:
            seen = seen > _MASKED_BELOW
        self._mixes = (seen & apart).any()

    def measure(self, target: Any, readout: Readout) -> None:
        """Put what is to be known into the readout.

        Args:
            target: the labels of the first loss call of the first micro-batch, flat; None if there was none.
            readout: reads the device.
        """
        ids = self.inputs.get("input_ids")
        segments = self._segments()
        self._places["packed"] = readout.add(None if segments is None else (segments > 0).any())
        self._places["mixes"] = readout.add(self._mixes)
        self._places["influence"] = readout.add(self._influence)
        if ids is None or ids.ndim != 2 or target is None:
            return
        rows, length = ids.shape
        if "decoder_input_ids" in self.inputs or target.numel() not in (rows * length, rows * (length - 1)):
            return
        labels = target.reshape(rows, -1)
        counted = labels != _IGNORED
        self._samples = rows
        self._places["counted"] = readout.add(counted.sum())
        self._places["unlabelled"] = readout.add((~counted.any(1)).sum())
        for offset in range(3):
            width = min(labels.shape[1], length - offset)
            same = (labels[:, :width] == ids[:, offset : offset + width]) & counted[:, :width]
            self._places[f"offset {offset}"] = readout.add(same.sum())
        self._ends(ids, counted, readout)

    def _ends(self, ids: Any, counted: Any, readout: Readout) -> None:
        """Rows that end with the end-of-sequence token, and labels at padding."""
        torch = loaded("torch")
        rows, length = ids.shape
        mask = self.inputs.get("attention_mask")
        mask = mask.bool() if mask is not None and mask.shape == ids.shape else None
        # The label of the token at `t` stands at `t - 1`.
        of_token = torch.zeros_like(ids, dtype=torch.bool)
        of_token[:, 1:] = counted[:, : length - 1]
        if mask is not None:
            self._places["padding"] = readout.add((of_token & ~mask).sum())
        ends = _end_tokens(self._model)
        if not ends:
            return
        is_end = torch.isin(ids, torch.tensor(ends, device=ids.device))
        positions = torch.arange(length, device=ids.device)
        # Without a mask the first end behind the last other token is real, and what follows is padding.
        last = (~is_end * positions).amax(1) + 1 if mask is None else (mask * positions).amax(1)
        last = last.clamp(max=length - 1)
        row = torch.arange(rows, device=ids.device)
        before = (last - 1).clamp(min=0)
        taught = of_token[row, before]  # the answer before it is learned
        ending = is_end[row, last] & taught
        self._places["ends"] = readout.add(ending.sum())
        self._places["left out"] = readout.add((ending & ~of_token[row, last]).sum())

    def batch(self, readout: Readout) -> Batch | None:
        """What was read; None if the model got no tokens."""
        if not self._places:
            return None

        def number(name: str) -> float:
            return readout.number(self._places[name]) if name in self._places else 0.0

        seen = {name for name, place in self._places.items() if readout.numbers(place)}
        counted = number("counted")
        return Batch(
            offsets=(number("offset 0") / counted, number("offset 1") / counted, number("offset 2") / counted)
            if counted
            else None,
            causal=any(end in class_name(self._model) for end in _CAUSAL),
            unlabelled=(int(number("unlabelled")), self._samples),
            ends=(int(number("ends")), int(number("left out"))),
            padding_labels=int(number("padding")),
            packed=bool(number("packed")),
            mixes=bool(number("mixes")) if "mixes" in seen else None,
            influence=number("influence") if "influence" in seen else None,
            problem=self._problem,
        )


def base_model(model: Any) -> Any:
    """The model below wrappers of DDP, DeepSpeed, torch.compile and PEFT."""
    for _ in range(8):
        inner = getattr(model, "module", None) or getattr(model, "_orig_mod", None)
        if inner is None and hasattr(model, "get_base_model"):
            inner = model.get_base_model()
        if inner is None or inner is model:
            break
        model = inner
    return model


def class_name(model: Any) -> str:
    """Of the model below its wrappers."""
    return type(base_model(model)).__name__


def _end_tokens(model: Any) -> list[int]:
    config = getattr(base_model(model), "config", None)
    if config is not None and hasattr(config, "get_text_config"):
        config = config.get_text_config()
    end = getattr(config, "eos_token_id", None)
    return [end] if isinstance(end, int) else [one for one in end or () if isinstance(one, int)]
