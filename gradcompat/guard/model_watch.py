"""A model while it trains: which modules ran, what autograd delivered, and whether parameters moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gradcompat.guard.instrumentation import Fail, Harmless, Instrumentation, loaded

SAMPLED_TENSORS = 8
SAMPLED_ELEMENTS = 256
MOVING_ELEMENTS = 32
_DROPOUT = "Dropout"
_BATCH_NORM = ("BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "SyncBatchNorm")


def are_copies(held: list[Any], models: list[ModelWatch]) -> bool:
    """Whether these stand in for the parameters: partitions of one flat tensor, or weights in another precision.

    An optimizer of another model, whose parameters nobody trains, has as many tensors of the same shapes and types.
    """
    trainable = [parameter for watch in models for _, parameter in watch.trainable]
    flat = len(held) < len(trainable) and all(one.ndim == 1 for one in held)
    return flat or not {one.dtype for one in held} & {one.dtype for one in trainable}


class GradientSum:
    """Some elements of a parameter's gradient, added up beside autograd."""

    def __init__(self, name: str, parameter: Any) -> None:
        """Nothing has arrived yet."""
        self.name = name
        self.parameter = parameter
        self.size = whole_size(parameter)
        self.stride = max(1, self.size // SAMPLED_ELEMENTS)
        self.count = len(range(0, self.size, self.stride)[:SAMPLED_ELEMENTS])
        self.delivered: Any = None
        self.leftover: Any = None
        self.whole: Any = None  # put together from the partitions of ranks
        self._unclipped: Any = None
        self._clipped: Any = None
        self._passes = 0

    def elements(self, tensor: Any) -> Any:
        """The elements that are compared."""
        return tensor.detach().reshape(-1)[:: self.stride][:SAMPLED_ELEMENTS].float()

    def add(self, gradient: Any) -> None:
        """A micro-batch delivers this."""
        if gradient.is_sparse:
            return
        if self.delivered is None:
            before = self.parameter.grad
            self.leftover = None if before is None or before.is_sparse else self.elements(before).abs().sum()
            self.delivered = self.elements(gradient).clone()
        else:
            self.delivered = self.delivered + self.elements(gradient)

    def before_clipping(self, passes: int) -> None:
        """Somebody clips, perhaps the groups of parameters one by one.

        Args:
            passes: backward passes of this step so far.
        """
        gradient = self.parameter.grad
        if gradient is not None and not gradient.is_sparse and (self._unclipped is None or passes != self._passes):
            self._unclipped, self._passes = self.elements(gradient).clone(), passes

    def of_delivered(self) -> Any:
        """The norm before clipping, in that of what was delivered; None if either is not known."""
        if self._unclipped is None or self.delivered is None:
            return None
        return self._unclipped.norm() / self.delivered.norm()

    def after_clipping(self) -> None:
        """The call is over."""
        gradient = self.parameter.grad
        if gradient is not None and self._unclipped is not None and not gradient.is_sparse:
            self._clipped = self.elements(gradient).clone()

    def as_accumulated(self, gradient: Any) -> Any:
        """Elements as they were before they were clipped, where nothing else has changed them since."""
        found = self.elements(gradient)
        if self._clipped is None:
            return found
        return loaded("torch").where((found == self._clipped).all(), self._unclipped, found)

    def clear(self) -> None:
        """The step is over."""
        self.delivered = self.leftover = self.whole = self._unclipped = self._clipped = None


class ModelWatch:
    """One model, of which parameters and modules are known by name."""

    def __init__(self, model: Any, instrumentation: Instrumentation, fail: Fail) -> None:
        """Put hooks on modules with trainable parameters, and on a few of these.

        Args:
            model: what trains.
            instrumentation: takes the hooks off again.
            fail: is told of an error of the guard itself.
        """
        torch = loaded("torch")
        self.model = model
        named = list(model.named_parameters())
        self.names = {id(parameter): name for name, parameter in named}
        self.trainable = [(name, parameter) for name, parameter in named if parameter.requires_grad]
        self.dtypes = {name: parameter.dtype for name, parameter in self.trainable}
        self.distributed = type(model).__name__ in ("DistributedDataParallel", "DeepSpeedEngine", "DeepSpeedLight")
        self.sharded = any(hasattr(parameter, "to_local") or hasattr(parameter, "ds_id") for _, parameter in named)
        self.sharded = self.sharded or any("FlatParam" in type(parameter).__name__ for _, parameter in named)
        self.compiled = any(
            type(module).__name__ == "OptimizedModule" or getattr(module, "_compiled_call_impl", None) is not None
            for module in model.modules()
        )
        self.data_parallel = self.distributed or any(
            type(module).__name__.startswith(("FSDP", "FullyShardedDataParallel")) for module in model.modules()
        )
        self.modules = {id(module) for module in model.modules()}
        self._with_graph: set[str] = set()
        self._without_graph: set[str] = set()
        self.owner: dict[str, str] = {}
        for name, module in model.named_modules():
            own = [key for key, one in module._parameters.items() if one is not None and one.requires_grad]
            for key in own:
                self.owner[f"{name}.{key}" if name else key] = name
            if own:
                instrumentation.keep(module.register_forward_pre_hook(Harmless(self._running(name, torch), fail)))
        if any(type(module).__name__ == "FullyShardedDataParallel" for module in model.modules()):
            self.sharded = True  # with use_orig_params the flat parameter of FSDP 1 is none of the named ones
        # Under ZeRO 3 a parameter is whole while backward passes it, and so is the gradient that autograd delivers.
        delivered = not self.sharded or all(hasattr(parameter, "ds_id") for _, parameter in named)
        whole = [entry for entry in self.trainable if whole_size(entry[1]) >= 4] if delivered else []
        spread = max(1, len(whole) // SAMPLED_TENSORS)
        self.sums = [GradientSum(name, parameter) for name, parameter in whole[::spread][:SAMPLED_TENSORS]]
        for one in self.sums:
            instrumentation.keep(one.parameter.register_hook(Harmless(one.add, fail)))
        self._before: dict[int, tuple[Any, Any, Any]] = {}
        self.moved: dict[str, Any] = {}
        self._resting: list[tuple[str, Any, Any, Any]] = []
        self.unfounded: dict[str, Any] = {}
        self._untouched: dict[str, tuple[Any, Any, int]] | None = None

    def _running(self, name: str, torch: Any) -> Any:
        def ran(module: Any, _inputs: Any) -> None:
            if module.training:
                (self._with_graph if torch.is_grad_enabled() else self._without_graph).add(name)

        return ran

    def evaluating(self, *, whole: bool) -> tuple[str, ...]:
        """Classes of modules that would act differently in training and are in evaluation mode.

        A dropout counts that asks for a probability above 0, but for one inside of a part in evaluation mode of which
        nothing trains: whoever freezes a part turns its noise off. Whoever puts batch normalisation into evaluation
        mode keeps its averages as they are; so it counts only where all that trains is in that mode.

        Args:
            whole: all that trains is in evaluation mode.
        """
        return tuple(
            type(module).__name__
            for module in dict.fromkeys(_in_use(self.model))
            if not module.training
            and (
                (_DROPOUT in type(module).__name__ and getattr(module, "p", None))
                or (whole and type(module).__name__ in _BATCH_NORM and _trains(module))
            )
        )

    def without_gradient(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Trainable tensors without a gradient: those that ran without a graph, and those that ran with one."""
        lost, cut = [], []
        for name, parameter in self.trainable:
            if parameter.grad is None and parameter.requires_grad:
                owner = self.owner.get(name, "")
                if owner in self._with_graph:
                    cut.append(name)
                elif owner in self._without_graph:
                    lost.append(name)
        return tuple(lost), tuple(cut)

    # Gradients that nobody has delivered.

    def remember_gradients(self) -> None:
        """A step begins: what is there already is of an earlier one."""
        if self._untouched is None:
            having = [] if self.sharded else [(name, one, one.grad) for name, one in self.trainable]
            self._untouched = {
                name: (parameter, gradient, gradient._version)
                for name, parameter, gradient in having
                if gradient is not None
            }

    def forget_delivered(self) -> None:
        """A backward pass is over: autograd adds to a gradient in place, or puts another one there."""
        untouched = self._untouched or {}
        for name, (parameter, gradient, version) in list(untouched.items()):
            if parameter.grad is not gradient or gradient._version != version:
                del untouched[name]

    def stale(self) -> tuple[str, ...]:
        """Parameters that have the gradient they had when the step began; clipping may have scaled it."""
        untouched = self._untouched or {}
        return tuple(name for name, (parameter, gradient, _) in untouched.items() if parameter.grad is gradient)

    # Movement without a gradient.

    def rest(self, held: Mapping[int, Any]) -> None:
        """Remember some elements of parameters that an optimizer holds and that have no gradient."""
        torch = loaded("torch")
        self._resting = []
        mine = [] if self.sharded else [(name, one) for name, one in self.trainable if id(one) in held]
        still = [(name, one) for name, one in mine if one.grad is None]
        if not still:
            return
        driven = {_storage(one) for _, one in mine if one.grad is not None}
        for name, parameter in still:
            if _storage(parameter) in driven or not _here(parameter).numel():
                continue  # it is another name for numbers that do move
            flat = _here(parameter).reshape(-1)
            stride = max(1, flat.numel() // MOVING_ELEMENTS)
            places = torch.arange(0, flat.numel(), stride, device=flat.device)[:MOVING_ELEMENTS]
            self._resting.append((name, parameter, places, flat[places].clone()))

    def compare_resting(self) -> None:
        """The optimizer has stepped: which of these parameters are another number now."""
        for name, parameter, places, before in self._resting:
            changed = (_here(parameter).reshape(-1)[places] != before).any()
            self.unfounded[name] = changed if name not in self.unfounded else self.unfounded[name] | changed

    def forget_resting(self) -> None:
        """Backward is called inside of the optimizer's step (LBFGS), and may deliver what was missing."""
        self._resting = []

    def digest(self) -> Any:
        """A sum over a few elements of a few parameters, for ranks to compare."""
        torch = loaded("torch")
        if self.sharded or not self.sums:
            return None
        return torch.stack([one.elements(one.parameter).double().sum().float() for one in self.sums]).sum()

    def snapshot(self) -> None:
        """Remember some elements of every parameter with a gradient."""
        torch = loaded("torch")
        self._before = {}
        for _, parameter in self.trainable:
            gradient = parameter.grad
            if gradient is None or gradient.is_sparse or not _here(parameter).numel():
                continue
            flat = _here(parameter).reshape(-1)
            stride = max(1, flat.numel() // MOVING_ELEMENTS)
            places = torch.arange(0, flat.numel(), stride, device=flat.device)[:MOVING_ELEMENTS]
            # Of an embedding only the rows that were used move: the largest gradient is in one of them.
            largest = _here(gradient).reshape(-1).abs().argmax().reshape(1)
            places = torch.cat([places, largest])
            self._before[id(parameter)] = (parameter, places, flat[places].clone())

    def compare(self) -> None:
        """After the update: which of these parameters are another number now."""
        for key, (parameter, places, before) in self._before.items():
            changed = (_here(parameter).reshape(-1)[places] != before).any()
            name = self.names[key]
            self.moved[name] = changed if name not in self.moved else self.moved[name] | changed
        self._before = {}

    def clear(self) -> None:
        """The step is over."""
        for one in self.sums:
            one.clear()
        self._untouched = None
        self._with_graph.clear()
        self._without_graph.clear()


def _in_use(module: Any) -> Iterator[Any]:
    """A module and those below it, but for parts in evaluation mode that have parameters and train none."""
    if not module.training and not _trains(module) and next(module.parameters(), None) is not None:
        return
    yield module
    for child in module.children():
        yield from _in_use(child)


def _trains(module: Any) -> bool:
    return any(parameter.requires_grad for parameter in module.parameters())


def whole_size(parameter: Any) -> int:
    """Elements of a parameter, also where DeepSpeed has parted it over ranks and left it empty here (ZeRO 3)."""
    return int(getattr(parameter, "ds_numel", None) or parameter.numel())


def _storage(parameter: Any) -> Any:
    return _here(parameter).untyped_storage().data_ptr()


def _here(tensor: Any) -> Any:
    """The tensor, or of one that is spread over ranks the part that this rank has."""
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local.detach()
