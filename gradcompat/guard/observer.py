"""Watches torch while steps are made, and turns what it saw into plain measurements."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from gradcompat.guard import collective, deepspeed_engine, fsdp
from gradcompat.guard.clipping_watch import ClippingWatch
from gradcompat.guard.detectors import auxiliary_loss, objective_weight
from gradcompat.guard.first_batch import BatchReading
from gradcompat.guard.instrumentation import Fail, Harmless, Instrumentation, loaded
from gradcompat.guard.judgement import local_errors
from gradcompat.guard.loss_calls import LossCall, LossLedger, merged
from gradcompat.guard.measurement import (
    Gradients,
    GradientSample,
    MicroBatch,
    RankShare,
    Replay,
    Run,
    Step,
    sampled,
)
from gradcompat.guard.model_watch import ModelWatch, are_copies
from gradcompat.guard.optimizer_watch import OptimizerWatch
from gradcompat.guard.readout import Readout

NOISE = 1e-5  # of the gradient's norm: below it a tensor's gradient is rounding (the bias of a key projection)
_MOST_MODELS = 8
_MOST_NODES = 64  # of the graph behind an input
_DIGEST = 1 << 20
_AS_DELIVERED = 0.1  # a norm differs at most so much from that of what autograd delivered


@dataclass
class _Pending:
    """One backward pass whose numbers are still on the device.

    Attributes:
        calls: of loss functions.
        root: the loss.
        evaluating: modules in evaluation mode, by class.
        of_inputs: what the model was called with asks for a gradient of its own (an attack, a saliency map).
    """

    calls: list[LossCall]
    root: Any
    evaluating: tuple[str, ...] = ()
    of_inputs: bool = False


@dataclass
class Asked:
    """What the run asks for, as far as somebody told.

    Attributes:
        accumulation: micro-batches of an optimizer step; None if nobody said.
        max_grad_norm: clipping by global norm; 0 if off, None if unknown.
        data_parallel: ranks average their gradients.
        replay: runs the first micro-batch of a step alone.
        resumed: where in its data a resumed run goes on; None if it is not resumed, or nobody said.
        packing: packed samples are tested by forward passes.
        taken: optimizer steps that a framework counts before the first guarded one; None if nobody counts.
    """

    accumulation: int | None = None
    max_grad_norm: float | None = None
    data_parallel: bool = False
    replay: Callable[[], Replay | None] | None = None
    resumed: Literal["inside an epoch", "somewhere"] | None = None
    packing: bool = False
    taken: int | None = None


class Observer:
    """The state between torch's calls: what has happened since the last optimizer step."""

    def __init__(self, asked: Asked, instrumentation: Instrumentation, fail: Fail) -> None:
        """Wrap losses, ``backward`` and the GradScaler.

        Args:
            asked: what the run asks for; adapters may fill it in later.
            instrumentation: takes everything off again.
            fail: is told of an error of the guard itself.
        """
        torch = loaded("torch")
        self.asked = asked
        self.steps: list[Step] = []
        self.models: list[ModelWatch] = []
        self.evaluated: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self.ranks = collective.Ranks()
        self.optimizers = OptimizerWatch(instrumentation, fail)
        self.ledger = LossLedger(instrumentation, fail)
        self.clipping = ClippingWatch(instrumentation, fail, self._before_clipping, self._after_clipping)
        self._instrumentation = instrumentation
        self._fail = fail
        self._pending: list[_Pending] = []
        self._scaler: Any = None
        self._scaling: Any = None  # has scaled a loss of which backward is not called yet
        self._unscaled = False
        self._resting: Any = None
        self._reading: BatchReading | None = None
        self._of_inputs = False
        self._versions: dict[int, int] = {}  # of parameters, after the last backward pass
        self.before_backward: Callable[[], None] = lambda: None
        self._held: dict[int, Any] = {}
        self._optimizers = 0
        instrumentation.wrap(torch.autograd, "backward", self._backward)
        scaler = getattr(getattr(torch, "amp", None), "GradScaler", None) or torch.cuda.amp.GradScaler
        instrumentation.wrap(scaler, "scale", self._scale)
        instrumentation.wrap(scaler, "unscale_", self._unscale)
        instrumentation.wrap(scaler, "update", self._update)

    @property
    def pending(self) -> int:
        """Backward passes since the last optimizer step."""
        return len(self._pending)

    def watch(self, model: Any) -> None:
        """Watch a model, from its next forward pass on."""
        self.ledger.wrap_fused()
        self.clipping.wrap_frameworks()
        if len(self.models) < _MOST_MODELS:
            self.models.append(ModelWatch(model, self._instrumentation, self._fail))
            noting = Harmless(self._noting, self._fail)
            self._instrumentation.keep(model.register_forward_pre_hook(noting, with_kwargs=True))
            if self._reading is None:
                self._reading = BatchReading(model, self._fail)
                if self.asked.packing:
                    self._reading.test_packing(self.ledger, sharded=self.models[0].sharded)
                self._reading.attach(self._instrumentation)

    def watch_evaluated(self, model: Any) -> None:
        """Watch a model that trains in evaluation mode, which shows when an optimizer that holds it steps."""
        self.watch(model)
        last = self._pending[-1]
        last.evaluating = last.evaluating or self._evaluating()

    @property
    def together(self) -> bool:
        """Whether ranks train one model, so that each makes every step with the others."""
        return collective.world_size() > 1 and (
            self.asked.data_parallel or any(watch.distributed or watch.sharded for watch in self.models)
        )

    @property
    def device(self) -> Any:
        """Of the parameters, by which ranks exchange numbers."""
        return self.models[0].trainable[0][1].device

    def digest(self) -> Any:
        """A number on the device that is the same on ranks with the same parameters; None if there are none here."""
        return self.models[0].digest() if self.models else None

    def knows(self, module: Any) -> bool:
        """Whether a module is part of a model that is watched."""
        return any(id(module) in watch.modules for watch in self.models)

    def discard(self) -> None:
        """Forget the step that was begun."""
        self._pending = []
        self._scaler = None
        self._unscaled = False
        self.clipping.clear()
        for watch in self.models:
            watch.clear()

    # While the step is made.

    def _backward(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self.ledger.in_backward:  # reentrant checkpointing calls it from inside
            return function(*arguments, **keywords)
        calls_before = self.ledger.take()
        self.before_backward()
        self.ledger.calls = calls_before
        if self._scaling is not None:  # the step before is over, and with it what it was scaled by
            self._scaler, self._scaling = self._scaling, None
        self._begin_pass()
        self.ledger.in_backward = True
        try:
            result = function(*arguments, **keywords)
        finally:
            self.ledger.in_backward = False
            calls = self.ledger.take()
        try:
            roots: Any = arguments[0] if arguments else keywords.get("tensors")
            root = roots if loaded("torch").is_tensor(roots) else roots[0]
            if root.numel() == 1:
                self._pending.append(_Pending(calls, root.detach().clone(), self._evaluating(), self._of_inputs))
                self._of_inputs = False
            self._versions = {id(one): one._version for one in self._trainable()}
            for watch in self.models:
                watch.forget_delivered()
        except Exception as error:  # whatever it is, the run goes on
            self._fail(error)
        return result

    def _begin_pass(self) -> None:
        try:
            if self._pending and self._are_erased():
                scaler = self._scaler
                self.discard()  # those were not for this step
                self._scaler = scaler
            for watch in self.models:
                watch.remember_gradients()
                watch.forget_resting()
        except Exception as error:  # as above
            self._fail(error)

    def _evaluating(self) -> tuple[str, ...]:
        """What is in evaluation mode; models that are called one by one may be the parts of one."""
        whole = not any(watch.model.training for watch in self.models)
        return tuple(name for watch in self.models for name in watch.evaluating(whole=whole))

    def _noting(self, _module: Any, inputs: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        self.note_inputs((*inputs, *keywords.values()))

    def note_inputs(self, inputs: Iterable[Any]) -> None:
        """A model is called with these, for the next backward pass."""
        self._of_inputs = self._of_inputs or any(map(_asks_for_gradient, _tensors(inputs)))

    def _are_erased(self) -> bool:
        """Whether the gradients so far were for something else, and somebody has zeroed them.

        They were for the inputs (an attack), or have moved parameters since the last backward pass (SAM).
        """
        trainable = self._trainable()
        used = all(one.of_inputs for one in self._pending) or any(
            self._versions.get(id(one), one._version) != one._version for one in trainable
        )
        return used and bool(trainable) and not any(map(_has_gradient, trainable))

    def _trainable(self) -> list[Any]:
        """Parameters of the models that are watched, or else of those called in evaluation mode."""
        watched = [one for watch in self.models for _, one in watch.trainable]
        called = (one for module in list(self.evaluated.values()) for one in module.parameters() if one.requires_grad)
        return watched or list(called)

    def _before_clipping(self) -> tuple[int, Any]:
        for watch in self.models:
            for one in watch.sums:
                one.before_clipping(self.pending)
        return self.pending, None if self._unscaled else self._factor()

    def _factor(self) -> Any:
        """What a GradScaler has multiplied gradients by that are as autograd delivered them; None if there is none."""
        torch = loaded("torch")
        scale = getattr(self._scaler, "_scale", None)
        ratios = [ratio for watch in self.models for one in watch.sums if (ratio := one.of_delivered()) is not None]
        if scale is None or not ratios:
            return None
        ratio = torch.stack([one.to(scale.device) for one in ratios]).nanmedian()
        return torch.where((ratio - 1).abs() < _AS_DELIVERED, scale, torch.ones_like(scale))

    def _after_clipping(self) -> None:
        for watch in self.models:
            for one in watch.sums:
                one.after_clipping()

    def _scale(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self._scaling = arguments[0]
        return function(*arguments, **keywords)

    def _unscale(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        self._unscaled = True
        return function(*arguments, **keywords)

    def _update(self, function: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        if self._pending:  # the scaler has found an overflow, and skips the step
            self.discard()
        return function(*arguments, **keywords)

    # Before the update.

    def measure(self, optimizer: Any) -> Step:
        """What the step is made of, from all ranks where they train together."""
        readout = Readout()
        scale_at = readout.add(
            deepspeed_engine.loss_scale(self.models) if self._scaler is None else getattr(self._scaler, "_scale", None)
        )
        micro_at = [
            (readout.add(one.root), [tuple(map(readout.add, call.tensors)) for call in one.calls])
            for one in self._pending
        ]
        held = _held(optimizer)
        gradients = _GradientReading(self.models, held, readout, self.ranks)
        clips = self.clipping.add(readout)
        digest_at = readout.add(self.digest())
        data = self._reading.data if self._reading is not None and not self.steps else None
        data_at = readout.add(None if data is None else _digest(data))
        first_calls = self._pending[0].calls
        target = next((call.target for call in first_calls if call.target is not None), None)
        reading = self._reading if self._reading is not None and self._reading.inputs else None
        if reading is not None:
            reading.measure(target, readout)
        readout.fetch()

        scale = readout.number(scale_at, 1.0)
        micro_batches = tuple(
            self._micro_batch(one, places, readout, scale) for one, places in zip(self._pending, micro_at, strict=True)
        )
        share = _share(micro_batches, int(readout.number(data_at)), readout.number(digest_at))
        step = Step(
            number=len(self.steps) + 1,
            micro_batches=micro_batches,
            ranks=(share,),
            accumulation=self.asked.accumulation,
            max_grad_norm=self.asked.max_grad_norm,
            clips=clips(),
            taken=None if self.asked.taken is None else self.asked.taken + len(self.steps),
            rates=tuple(float(group["lr"]) for group in optimizer.param_groups if "lr" in group),
            schedule=self.optimizers.schedule(optimizer),
            loss_scale=scale,
            evaluating=next((one.evaluating for one in self._pending if one.evaluating), ()) if self.models else None,
            batch=reading.batch(readout) if reading is not None else None,
            engine=any(deepspeed_engine.is_engine(watch.model) for watch in self.models),
            compiled=any(watch.compiled for watch in self.models),
            resumed=(self.asked.resumed or _loaded(optimizer)) if not self.steps else None,
        )
        if reading is not None:
            self._reading = None
            self.ledger.keep_targets = False
        if self.asked.replay is not None and _needs_replay(step):
            step = replace(step, replay=self.asked.replay())
        return self._with_ranks(step, gradients, readout)

    def _micro_batch(
        self, pending: _Pending, places: tuple[int, list[tuple[int, ...]]], readout: Readout, scale: float
    ) -> MicroBatch:
        root, calls = places
        terms = [
            (call.reduction, call.term(*map(readout.number, at), scale=scale))
            for call, at in zip(pending.calls, calls, strict=True)
        ]
        return MicroBatch(loss=readout.number(root) / scale, terms=merged(terms))

    def _with_ranks(self, step: Step, gradients: _GradientReading, readout: Readout) -> Step:
        """The step with what all ranks contribute; the one exchange, whatever this rank has found."""
        own = gradients.elements(readout)
        if not self.together:
            return replace(step, gradients=gradients.measured(readout, step.loss_scale, [own]))
        if not self.asked.data_parallel and not any(watch.data_parallel for watch in self.models):
            step = replace(step, ranks=(replace(step.ranks[0], data=0),))  # tensor parallel ranks share their batch
        alone = replace(step, gradients=gradients.measured(readout, step.loss_scale, []))
        share = replace(step.ranks[0], failing=bool(local_errors(alone)))
        mine = collective.RankReport(share=share, replay=step.replay, elements=own)
        reports = self.ranks.exchange(mine, self.device)
        if reports is None:  # what this rank sees by itself still counts
            return replace(alone, apart=True)
        step = replace(
            step,
            ranks=tuple(one.share for one in reports),
            replay=_mean([one.replay for one in reports if one.replay is not None]),
        )
        elements = [one.elements for one in reports]
        return replace(step, gradients=gradients.measured(readout, step.loss_scale, elements))

    # Around the update.

    def hold(self, optimizer: Any) -> None:
        """An optimizer steps: remember what it holds."""
        self._held.update(_held(optimizer))
        self.optimizers.hold(optimizer)

    def rest(self, optimizer: Any) -> None:
        """Remember parameters that this optimizer holds and that have no gradient."""
        self._resting = optimizer
        for watch in self.models:
            if not deepspeed_engine.is_engine(watch.model):
                watch.rest(_held(optimizer))

    def compare_resting(self, optimizer: Any) -> None:
        """The optimizer has stepped; a class that calls the step of its parent is there once more later."""
        for watch in self.models if optimizer is self._resting else ():
            watch.compare_resting()

    def snapshot(self) -> None:
        """Remember parameters before the update."""
        for watch in self.models:
            watch.snapshot()

    def compare(self, optimizers: int) -> None:
        """Look at the parameters after the update, which ends the step.

        Args:
            optimizers: that have stepped so far.
        """
        self._optimizers = optimizers
        if self.steps and max(self.steps[-1].rates, default=0.0) > 0:
            for watch in self.models:
                watch.compare()
        self.discard()

    def run(self) -> Run:
        """What is known at the end."""
        readout = Readout()
        moved_at = {(watch, name): readout.add(flag) for watch in self.models for name, flag in watch.moved.items()}
        unfounded_at = [(name, readout.add(flag)) for watch in self.models for name, flag in watch.unfounded.items()]
        readout.fetch()
        still = [entry for entry, place in moved_at.items() if not readout.number(place)]
        low = ("torch.bfloat16", "torch.float16")
        # A model of which no optimizer holds anything, beside one that trains, is a copy: an average, or a reference.
        trained = [watch for watch in self.models if any(key in self._held for key in watch.names)] or self.models
        trainable = {id(one): name for watch in trained for name, one in watch.trainable if one.requires_grad}
        known = {key for watch in self.models for key in watch.names}
        foreign = [one for key, one in self._held.items() if key not in known and one.requires_grad]
        copied = any(watch.sharded for watch in self.models) or (
            not any(key in known for key in self._held) and are_copies(foreign, self.models)
        )
        return Run(
            steps=tuple(self.steps),
            optimizers=self._optimizers,
            moved=len(moved_at) - len(still),
            still=tuple(name for _, name in still),
            still_low_precision=sum(str(watch.dtypes.get(name)) in low for watch, name in still),
            unfounded=tuple(name for name, place in unfounded_at if readout.number(place)),
            unheld=tuple(name for key, name in trainable.items() if key not in self._held),
            foreign=0 if copied else len(foreign),
            held=sum(key in self._held for key in trainable),
            dtype_changed=tuple(
                name
                for watch in self.models
                for name, one in watch.model.named_parameters()
                if name in watch.dtypes and one.dtype != watch.dtypes[name]
            ),
            moments_changed=self.optimizers.moments_changed,
        )


class _GradientReading:
    """The gradients of the parameters that one optimizer holds."""

    def __init__(
        self, models: list[ModelWatch], held: dict[int, Any], readout: Readout, ranks: collective.Ranks
    ) -> None:
        torch = loaded("torch")
        self._entries = [
            (name, parameter) for watch in models for name, parameter in watch.trainable if id(parameter) in held
        ]
        with_gradient = [(name, one) for name, one in self._entries if one.grad is not None and not one.grad.is_sparse]
        # Of FSDP 2 every rank knows which part of a gradient it has; of ZeRO the parts are in flat tensors, and under
        # FSDP 1 a rank may have no part of a tensor.
        self._flat = bool(self._entries) and all(fsdp.is_parted(watch.model) for watch in models)
        self._parted = self._flat or (
            bool(self._entries) and all(_is_spread_over_all_ranks(one) for _, one in self._entries)
        )
        self._sharded = any(watch.sharded for watch in models)
        self._readable = self._flat or ((self._parted or not self._sharded) and bool(with_gradient))
        self._lost: tuple[str, ...] = ()
        self._cut: tuple[str, ...] = ()
        self._stale: tuple[str, ...] = ()
        self._norms: list[tuple[str, int]] = []
        self._pairs: list[tuple[str, int, int, int, int]] = []
        for watch in models:  # two of them may have the same names: a copy for an average, the halves of a GAN
            mine = {name for name, parameter in watch.trainable if id(parameter) in held}
            lost, cut = watch.without_gradient()
            self._lost += tuple(name for name in lost if name in mine)
            self._cut += tuple(name for name in cut if name in mine)
            self._stale += tuple(name for name in watch.stale() if name in mine)
        sums = models[0].sums if models else []
        self._partitioned = not self._readable and any(one.whole is not None for one in sums)
        self._trainable = sum(len(watch.trainable) for watch in models)
        if self._readable and self._parted:
            squares = ranks.summed(torch.stack([_square(one) for _, one in self._entries]))
            self._readable = squares is not None
            self._norms = [
                (name, readout.add(square.sqrt()))
                for (name, one), square in zip(self._entries, squares if squares is not None else (), strict=False)
                if self._flat or one.grad is not None
            ]
        elif self._readable:
            with torch.no_grad():
                self._norms = [
                    (name, readout.add(torch.linalg.vector_norm(one.grad.detach(), dtype=torch.float32)))
                    for name, one in with_gradient
                ]
        for one in sums:
            gradient = one.parameter.grad
            usable = self._readable and id(one.parameter) in held and gradient is not None and not gradient.is_sparse
            found = one.as_accumulated(gradient) if usable else one.whole if self._partitioned else None
            self._pairs.append(
                (
                    one.name,
                    one.count,
                    readout.add(one.delivered),
                    readout.add(found),
                    readout.add(one.leftover),
                )
            )

    def elements(self, readout: Readout) -> tuple[float, ...]:
        """What autograd delivered on this rank, and what its optimizer gets; as many numbers on every rank."""
        found: list[float] = []
        for _, count, delivered, gradient, _ in self._pairs:
            found += readout.numbers(delivered) or [0.0] * count
            found += readout.numbers(gradient) or [math.nan] * count
        return tuple(found)

    def measured(self, readout: Readout, scale: float, elements: list[tuple[float, ...]]) -> Gradients | None:
        """The gradients; None if they cannot be read here.

        Args:
            readout: has read the device.
            scale: factor of a GradScaler.
            elements: what :meth:`elements` gave on each rank; empty to compare nothing.
        """
        if self._partitioned:  # the factor of fp16 is still in what is delivered and in what is read
            return Gradients(trainable=self._trainable, samples=self._samples(elements, 1.0, 0.0), partitioned=True)
        if not self._readable:
            return None
        norms = [(name, readout.number(place)) for name, place in self._norms]
        norm = math.sqrt(math.fsum(one * one for _, one in norms)) if norms else None
        if self._flat:  # which tensors have no gradient is not known by the names of modules
            zero = () if norm else tuple(name for name, _ in norms)
            return Gradients(trainable=len(self._entries), zero=zero, norm=norm, stale=None, flat=True)
        sizes = {name: one.numel() for name, one in self._entries}
        cut_size = sum(sizes[name] for name in self._cut) / max(1, sum(sizes.values()))
        return Gradients(
            trainable=len(self._entries),
            without_graph=self._lost,
            cut_off=self._cut,
            cut_off_share=max(cut_size, len(self._cut) / len(self._entries)),
            zero=tuple(name for name, one in norms if one == 0.0),
            norm=norm,
            samples=self._samples(elements, scale, norm or 0.0),
            stale=None if self._sharded else tuple(name for name, one in norms if one > 0.0 and name in self._stale),
            leftover=any(readout.number(place) > 0 for *_, place in self._pairs),
        )

    def _samples(self, ranks: list[tuple[float, ...]], scale: float, norm: float) -> tuple[GradientSample, ...]:
        """Every rank's optimizer against the mean of what was delivered on all ranks."""
        found, start = [], 0
        for name, count, *_ in self._pairs:
            middle, end = start + count, start + 2 * count
            columns = zip(*(one[start:middle] for one in ranks), strict=True)
            delivered = [math.fsum(column) / len(ranks) / scale for column in columns]
            if math.sqrt(math.fsum(one * one for one in delivered)) > NOISE * norm:
                pairs = (sampled(delivered, one[middle:end], name) for one in ranks if not math.isnan(one[middle]))
                found += [pair for pair in pairs if pair is not None]
            start = end
        return tuple(found)


def _is_spread_over_all_ranks(parameter: Any) -> bool:
    """Whether it is a DTensor of a mesh that has every rank."""
    mesh = getattr(parameter, "device_mesh", None)
    placements = getattr(parameter, "placements", ())
    return (
        mesh is not None
        and mesh.size() == collective.world_size()
        and all(one.is_shard() or one.is_replicate() for one in placements)
    )


def _square(parameter: Any) -> Any:
    """The part of this rank in the squared norm of a gradient that is spread over ranks."""
    torch, gradient = loaded("torch"), parameter.grad
    if gradient is None:
        return torch.zeros((), device=parameter.device)
    if not hasattr(gradient, "to_local"):
        return gradient.detach().float().square().sum()
    mesh = parameter.device_mesh
    # A dimension of the mesh that does not part it has copies.
    copies = math.prod(mesh.size(place) for place, one in enumerate(gradient.placements) if one.is_replicate())
    return gradient.to_local().detach().float().square().sum() / copies


def _held(optimizer: Any) -> dict[int, Any]:
    return {id(parameter): parameter for group in optimizer.param_groups for parameter in group["params"]}


def _has_gradient(parameter: Any) -> bool:
    gradient = parameter.grad
    if gradient is None or gradient.is_sparse:
        return gradient is not None
    here = gradient.to_local() if hasattr(gradient, "to_local") else gradient
    return bool(here.any())


def _tensors(given: Iterable[Any]) -> Iterator[Any]:
    """Tensors among arguments, those in lists and mappings included."""
    for one in given:
        if loaded("torch").is_tensor(one):
            yield one
        elif isinstance(one, Mapping):
            yield from _tensors(one.values())
        elif isinstance(one, (list, tuple)):
            yield from _tensors(one)


def _asks_for_gradient(tensor: Any) -> bool:
    """Whether a tensor is computed from one that is no parameter and gets a gradient, as far as a short look shows."""
    torch = loaded("torch")
    if not tensor.requires_grad:
        return False
    if tensor.is_leaf:
        return not isinstance(tensor, torch.nn.Parameter)
    nodes = [tensor.grad_fn]
    for node in nodes:  # grows meanwhile
        leaf = getattr(node, "variable", None)
        if leaf is not None and not isinstance(leaf, torch.nn.Parameter):
            return True
        if len(nodes) < _MOST_NODES:
            nodes += [one for one, _ in node.next_functions if one is not None]
    return False


def _loaded(optimizer: Any) -> Literal["somewhere"] | None:
    """Whether an optimizer that this process has not stepped has state: it was loaded."""
    for state in optimizer.state.values():
        if isinstance(state, Mapping) and (float(state.get("step", 0)) > 0 or state.get("momentum_buffer") is not None):
            return "somewhere"
    return None


def _needs_replay(step: Step) -> bool:
    if not step.finite:
        return False
    return not step.terms or not objective_weight.is_right(step) or auxiliary_loss.is_there(step)


def _share(micro_batches: tuple[MicroBatch, ...], data: int, parameters: float) -> RankShare:
    first = [micro.terms[0] for micro in micro_batches if micro.terms]
    terms = [term for micro in micro_batches for term in micro.terms]
    loss = math.fsum(micro.loss for micro in micro_batches)
    return RankShare(
        first=math.fsum(term.weight for term in first),
        total=math.fsum(term.weight for term in terms),
        labels=math.fsum(term.labels for term in first),
        loss=loss,
        unexplained=loss - math.fsum(term.weight * term.mean for term in terms),
        data=data,
        parameters=parameters,
    )


def _mean(replays: list[Replay]) -> Replay | None:
    if not replays:
        return None
    count = len(replays)
    weights = [one.weight for one in replays if one.weight is not None]
    shares = [one.share for one in replays if one.share is not None]
    return Replay(
        loss=math.fsum(one.loss for one in replays) / count,
        weight=math.fsum(weights) / len(weights) if weights else None,
        unexplained=math.fsum(one.unexplained for one in replays) / count,
        share=math.fsum(shares) / len(shares) if shares else None,
    )


def _digest(data: Any) -> Any:
    """A number below :data:`_DIGEST`; 0 where all elements are the same, which tells nothing of a sample."""
    torch = loaded("torch")
    flat = data.detach().reshape(-1)
    flat = flat.float().view(torch.int32).to(torch.int64) if flat.is_floating_point() else flat.to(torch.int64)
    places = torch.arange(1, flat.numel() + 1, device=flat.device)
    return torch.where((flat == flat[0]).all(), 0, (flat * places).sum() % _DIGEST)
