"""Ways to train one small network on several processes, and the plain loop that they all have to equal.

An engine is made in every rank from the same weights. It gives two functions: ``step(parts)`` takes one optimizer step
over the micro-batches of this rank, and ``weights()`` gives all weights by name, gathered from wherever they are. SGD
with a constant rate and no clipping makes the update a picture of the gradient; Adam would hide its scale.
"""

import contextlib
import importlib
import logging
import os

from .skipping import Skip

RATE = 0.05
BATCH = 2
_WIDTH = 16
_HIDDEN = 32
_PLENTY = 100_000  # elements: more than the network has
_FEW = 400  # fewer than its largest tensor has
_SHORT = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}


def network(seed, dtype):
    """The network with weights that depend on the seed alone."""
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(_WIDTH, _HIDDEN), torch.nn.Tanh(), torch.nn.Linear(_HIDDEN, _WIDTH)).to(
        getattr(torch, dtype)
    )


def samples(count, seed, dtype, device):
    """Micro-batches that differ, so that one which is lost or counted twice shows."""
    import torch

    generator = torch.Generator().manual_seed(seed + 1)
    return [
        tuple(
            (torch.randn(BATCH, _WIDTH, generator=generator) * (1 + 0.5 * (index % 3)))
            .to(getattr(torch, dtype))
            .to(device)
            for _ in range(2)
        )
        for index in range(count)
    ]


def loss_of(outputs, targets):
    """A mean over samples, as nearly every loss is."""
    import torch

    difference = outputs - targets
    return difference.to(torch.promote_types(difference.dtype, torch.float32)).pow(2).sum(-1).mean()


def trained(engine, steps):
    """Take the steps; all weights after each."""
    step, weights = engine
    seen = []
    for parts in steps:
        step(parts)
        seen.append(weights())
    return seen


def update(before, after):
    """How far every weight went, in float64."""
    return {name: before[name].double() - after[name].double() for name in sorted(before)}


def joined(parts):
    """Many micro-batches as one."""
    import torch

    return [tuple(torch.cat(tensors) for tensors in zip(*parts))]


def plain(model, device):
    """One process and a loop written by hand, with the weights kept in float64 beside the model."""
    import torch

    model = model.to(device)
    kept = {name: weight.detach().double().clone() for name, weight in model.named_parameters()}

    def step(parts):
        for inputs, targets in parts:
            (loss_of(model(inputs), targets) / len(parts)).backward()
        with torch.no_grad():
            for name, weight in model.named_parameters():
                kept[name] -= RATE * weight.grad.double()
                weight.copy_(kept[name])
                weight.grad = None

    return step, lambda: _on_cpu(model.named_parameters())


def ddp(model, parameters, device):
    """DistributedDataParallel; micro-batches but the last are kept from the exchange."""
    import torch

    inner = model.to(device)
    model = torch.nn.parallel.DistributedDataParallel(inner)
    never = parameters.get("plant") == "unsynchronised"
    return _looped(inner if never else model, contextlib.nullcontext if never else model.no_sync), lambda: _on_cpu(
        inner.named_parameters()
    )


def fsdp1(model, _parameters, device):
    """FullyShardedDataParallel, each linear layer a unit of its own."""
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    model = FullyShardedDataParallel(
        model.to(device),
        auto_wrap_policy=ModuleWrapPolicy({torch.nn.Linear}),
        device_id=torch.device(device),
        use_orig_params=True,
    )

    def weights():
        with FullyShardedDataParallel.summon_full_params(model):
            return {
                name.replace("_fsdp_wrapped_module.", ""): weight
                for name, weight in _on_cpu(model.named_parameters()).items()
            }

    return _looped(model, model.no_sync), weights


def fsdp2(model, _parameters, device):
    """``fully_shard``, each linear layer a unit of its own."""
    try:
        from torch.distributed.fsdp import fully_shard
    except ImportError:
        try:
            from torch.distributed._composable.fsdp import fully_shard  # before torch 2.6
        except ImportError:
            raise Skip("this release of torch has no fully_shard") from None
    import torch
    from torch.distributed.device_mesh import init_device_mesh

    mesh = init_device_mesh(device.partition(":")[0], (torch.distributed.get_world_size(),))
    model = model.to(device)
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=mesh)

    @contextlib.contextmanager
    def without_exchange():
        model.set_requires_gradient_sync(False)
        yield
        model.set_requires_gradient_sync(True)

    def weights():
        return {name: weight.full_tensor().detach().cpu().clone() for name, weight in model.named_parameters()}

    return _looped(model, without_exchange), weights


def deepspeed(model, parameters, device):
    """DeepSpeed's engine: see :func:`deepspeed_settings` for what it takes.

    ``loss``: ``inside``, the model computes it. ``divided_by``: ``loop``, the engine is told not to divide by the
    accumulation steps, as transformers does.
    """
    inside = parameters.get("loss") == "inside"
    engine, weights = deepspeed_engine(_with_loss(model) if inside else model, parameters, device)

    def step(parts):
        for inputs, targets in parts:
            loss = engine(inputs, targets)[0] if inside else loss_of(engine(inputs), targets)
            if parameters.get("divided_by") == "loop":
                engine.backward(loss / len(parts), scale_wrt_gas=False)
            else:
                engine.backward(loss)
            engine.step()

    return step, weights


def deepspeed_engine(model, parameters, device):
    """The engine itself, and ``weights()``."""
    package = deepspeed_package(device)
    held = list(model.parameters())
    engine, _, _, _ = package.initialize(
        model=model,
        model_parameters=held,
        optimizer=_optimizer(parameters.get("optimizer", "torch"), held),
        config=deepspeed_settings(parameters),
    )

    def weights():
        if parameters.get("stage", 2) != 3:
            return _on_cpu(engine.module.named_parameters())
        whole = {}
        for name, weight in engine.module.named_parameters():
            # One by one, because of several, too, it waits for the last alone.
            with package.zero.GatheredParameters([weight]):
                whole.update(_on_cpu([(name, weight)]))
        return whole

    return engine, weights


def pipeline(model, parameters, device):
    """DeepSpeed's pipeline, one stage a process; all micro-batches go through all stages."""
    package = deepspeed_package(device)
    import torch
    from deepspeed.pipe import PipelineModule

    stages = torch.distributed.get_world_size()
    if stages != 2:
        raise Skip("the network has two layers, and so two stages")
    module = PipelineModule(layers=list(model), num_stages=stages, loss_fn=loss_of, partition_method="uniform")
    weights = list(module.parameters())
    engine, _, _, _ = package.initialize(
        model=module,
        model_parameters=weights,
        optimizer=torch.optim.SGD(weights, lr=RATE),
        config=deepspeed_settings({**parameters, "stage": 0}),
    )

    def gathered():
        held = [None] * stages
        torch.distributed.all_gather_object(held, _on_cpu(module.named_parameters()))
        return {name: weight for part in held for name, weight in part.items()}

    return (lambda parts: engine.train_batch(data_iter=iter(parts))), gathered


ENGINES = {"ddp": ddp, "fsdp1": fsdp1, "fsdp2": fsdp2, "deepspeed": deepspeed, "pipeline": pipeline}


def deepspeed_package(device):
    """The package, for this device and without what it would compile.

    Its kernel for shared memory serves inference alone; where it is not compatible, DeepSpeed leaves it out. A CPU
    without instructions for fp16 it refuses, although torch is merely slow there, and its arithmetic the same.
    """
    os.environ["DS_ACCELERATOR"] = device.partition(":")[0]
    import deepspeed

    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    if device == "cpu":
        deepspeed.accelerator.get_accelerator().is_fp16_supported = lambda: True
    importlib.import_module("deepspeed.utils").logger.setLevel(logging.ERROR)
    deepspeed.init_distributed(dist_backend="gloo" if device == "cpu" else "nccl", verbose=False)
    return deepspeed


def deepspeed_settings(parameters):
    """``stage``, ``offload``, ``accumulation``, ``dtype``, ``communication_data_type``, … as DeepSpeed takes them."""
    few = parameters.get("bucket") == "small"
    zero = {
        "stage": parameters.get("stage", 2),
        "overlap_comm": False,
        "reduce_bucket_size": _FEW if few else _PLENTY,
        "allgather_bucket_size": _PLENTY,
        # Else stage 3 leaves tensors as small as these whole in every process. After a step it gathers them all and
        # waits for the last alone; gloo, unlike NCCL, may still be busy with the others then.
        "stage3_param_persistence_threshold": 0,
    }
    if parameters.get("offload"):
        zero["offload_optimizer"] = {"device": "cpu"}
    settings = {
        "train_micro_batch_size_per_gpu": BATCH,
        "gradient_accumulation_steps": parameters.get("accumulation", 1),
        "gradient_clipping": parameters.get("gradient_clipping", 0.0),
        "zero_optimization": zero,
        "zero_allow_untested_optimizer": True,
        "zero_force_ds_cpu_optimizer": False,
        "steps_per_print": 1_000_000,
    }
    dtype = parameters.get("dtype", "float32")
    if dtype == "bfloat16":
        settings["bf16"] = {"enabled": True}
    elif dtype == "float16":
        # So small a scale overflows nowhere here: every step counts.
        settings["fp16"] = {"enabled": True, "initial_scale_power": 8}
    if parameters.get("communication_data_type", "default") != "default":
        settings["communication_data_type"] = _SHORT[parameters["communication_data_type"]]
    if parameters.get("grad_accum_dtype", "default") != "default":
        settings["data_types"] = {"grad_accum_dtype": _SHORT[parameters["grad_accum_dtype"]]}
    return settings


def _with_loss(model):
    """A model that returns its loss and what the loss is computed from, as those of transformers do."""
    import torch

    class WithLoss(torch.nn.Sequential):
        def forward(self, inputs, targets):
            outputs = super().forward(inputs)
            return loss_of(outputs, targets), outputs

    return WithLoss(*model)


def _optimizer(kind, weights):
    import torch

    if kind == "torch":
        return torch.optim.SGD(weights, lr=RATE)
    from deepspeed.ops.adam import FusedAdam

    class FusedStep(FusedAdam):
        """SGD by the name of a fused optimizer: the class alone decides which wrapper DeepSpeed puts around it."""

        def __init__(self, weights):
            torch.optim.Optimizer.__init__(self, weights, {"lr": RATE})

        @torch.no_grad()
        def step(self, closure=None, **ignored):
            for part in self.param_groups:
                for weight in part["params"]:
                    if weight.grad is not None:
                        weight.add_(weight.grad, alpha=-part["lr"])

    return FusedStep(weights)


def _looped(model, without_exchange):
    """The usual loop, in which only the last micro-batch starts the exchange of gradients."""
    import torch

    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)

    def step(parts):
        for index, (inputs, targets) in enumerate(parts):
            with contextlib.nullcontext() if index == len(parts) - 1 else without_exchange():
                (loss_of(model(inputs), targets) / len(parts)).backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def _on_cpu(named):
    return {name: weight.detach().cpu().clone() for name, weight in named}
