"""Do several processes with a share of the batch each come to the same weights as one with the whole batch?

Two SGD steps without clipping: the update of the first is the gradient, and the second shows gradients that were not
cleared. The reference is a plain loop over the joined batch in one process. The control beside it is the same loop
over the micro-batches one by one, and a sum over all ranks, which says that they do exchange something.

``plant`` breaks a run on purpose: ``dropped`` leaves out the last micro-batch of the last rank, and ``unsynchronised``,
for DDP alone, all exchange of gradients.
"""

from .. import engines, ranks
from ..comparing import cosine, flat, norm_ratio, ratio

_STEPS = 2


def measure(parameters, device, seed):
    """``engine``: ddp, fsdp1, fsdp2, deepspeed, pipeline; ``processes``, ``accumulation``, ``dtype``, ``plant``.

    DeepSpeed takes ``stage``, ``offload``, ``communication_data_type`` and ``grad_accum_dtype`` besides.
    """

    def work(rank, processes, own):
        return _measured(parameters, own, seed, rank, processes)

    return ranks.together("data_parallel", parameters, device, seed, work)


def _measured(parameters, device, seed, rank, processes):
    import torch

    kind = parameters.get("engine", "ddp")
    dtype = parameters.get("dtype", "float32")
    accumulation = parameters.get("accumulation", 1)
    # The stages of a pipeline see all micro-batches; otherwise each rank has its own.
    shares = 1 if kind == "pipeline" else processes
    data = engines.samples(_STEPS * shares * accumulation, seed, dtype, device)
    steps = [data[index::_STEPS] for index in range(_STEPS)]
    own = [parts if shares == 1 else parts[rank::processes] for parts in steps]
    if parameters.get("plant") == "dropped" and rank == processes - 1:
        # Its outputs as targets: no gradient, and the exchange goes on.
        own = [[*parts[:-1], _silent(parts[-1], engines.network(seed, dtype).to(device))] for parts in own]

    start = _weights(engines.network(seed, dtype), device)
    found = engines.trained(engines.ENGINES[kind](engines.network(seed, dtype), parameters, device), own)
    expected = engines.trained(
        engines.plain(engines.network(seed, dtype), device), [engines.joined(one) for one in steps]
    )
    again = engines.trained(engines.plain(engines.network(seed, dtype), device), steps)

    apart = flat(found[-1].values()).to(device).float()
    all_apart = [torch.empty_like(apart) for _ in range(processes)]
    torch.distributed.all_gather(all_apart, apart)
    total = torch.tensor([float(rank + 1)], device=device)
    torch.distributed.all_reduce(total)

    first = engines.update(start, found[0])
    reference = engines.update(start, expected[0])
    moved = flat(reference.values())
    second = flat(engines.update(found[0], found[1]).values())
    return {
        "update_ratio": norm_ratio(flat(first.values()), moved),
        "update_cosine": cosine(flat(first.values()), moved),
        "tensor_ratio": _worst(first, reference),
        "second_update_ratio": norm_ratio(second, flat(engines.update(expected[0], expected[1]).values())),
        # Of tensors, not of numbers: that keeps what is not a number.
        "rank_difference": ratio(torch.stack([(one - all_apart[0]).norm() for one in all_apart]).max(), moved.norm()),
        "control_update_norm": float(moved.norm()),
        "control_update_ratio": norm_ratio(flat(engines.update(start, again[0]).values()), moved),
        "control_exchange": float(total) / (processes * (processes + 1) / 2),
    }


def _weights(model, device):
    return engines.plain(model, device)[1]()


def _worst(found, expected):
    """Of all tensors the ratio that is furthest from 1."""
    ratios = [norm_ratio(found[name], expected[name]) for name in expected]
    return max(ratios, key=lambda one: max(one, 1 / one) if one > 0 else float("inf"))


def _silent(part, model):
    import torch

    with torch.no_grad():
        return part[0], model(part[0])
