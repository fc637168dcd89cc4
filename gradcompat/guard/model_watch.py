"""A model while it trains: which modules ran, what autograd delivered, and whether parameters moved."""

from __future__ import annotations

from typing import Any

from gradcompat.guard.instrumentation import Fail, Harmless, Instrumentation, loaded

SAMPLED_TENSORS = 8
SAMPLED_ELEMENTS = 256
MOVING_ELEMENTS = 32
_DROPOUT = "Dropout"


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
        self.stride = max(1, parameter.numel() // SAMPLED_ELEMENTS)
        self.delivered: Any = None
        self.leftover: Any = None
        self.whole: Any = None  # put together from the partitions of ranks

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

    def clear(self) -> None:
        """The step is over."""
        self.delivered = self.leftover = self.whole = None


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
        whole = [entry for entry in self.trainable if entry[1].numel() >= 4] if not self.sharded else []
        spread = max(1, len(whole) // SAMPLED_TENSORS)
        self.sums = [GradientSum(name, parameter) for name, parameter in whole[::spread][:SAMPLED_TENSORS]]
        for one in self.sums:
            instrumentation.keep(one.parameter.register_hook(Harmless(one.add, fail)))
        self._before: dict[int, tuple[Any, Any, Any]] = {}
        self.moved: dict[str, Any] = {}

    def _running(self, name: str, torch: Any) -> Any:
        def ran(module: Any, _inputs: Any) -> None:
            if module.training:
                (self._with_graph if torch.is_grad_enabled() else self._without_graph).add(name)

        return ran

    def evaluating(self) -> tuple[str, ...]:
        """Classes of dropout modules that ask for a probability above 0 and are in evaluation mode."""
        return tuple(
            type(module).__name__
            for module in self.model.modules()
            if _DROPOUT in type(module).__name__ and getattr(module, "p", None) and not module.training
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

    def digest(self) -> Any:
        """A sum over a few elements of a few parameters, for ranks to compare."""
        torch = loaded("torch")
        if not self.sums:
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
        self._with_graph.clear()
        self._without_graph.clear()


def _here(tensor: Any) -> Any:
    """The tensor, or of one that is spread over ranks the part that this rank has."""
    local = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return local.detach()
