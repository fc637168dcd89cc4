"""Does a data loader that accelerate has prepared draw the order that the seed and the epoch ask for?

The control of the seed is the loader of a single process, that of the order is the whole epoch, drawn again.
"""

from ..skipping import Skip

_SAMPLES = 16
_SEEDS = (1, 2, 3)
_SKIPPED = 3


def measure(parameters, device, seed):
    """``what``: seed (does another one give another order to the first of two processes), skip (is what
    skip_first_batches leaves of the second epoch its end).

    With ``plant`` the sampler has a generator that no seed reaches, or the loader is not told the epoch.
    """
    from accelerate import Accelerator

    plant = bool(parameters.get("plant"))
    if parameters.get("what", "seed") == "seed":
        Accelerator(cpu=device == "cpu")  # the state that loaders look at
        return {"distinct_share": _distinct(2, plant), "control": _distinct(1, False)}
    whole = _epoch(device, seed)
    return {
        "same_order_share": _agreement(_epoch(device, seed, skipped=_SKIPPED, told=not plant), whole[_SKIPPED:]),
        "control": _agreement(_epoch(device, seed), whole),
    }


def _distinct(processes, plant):
    """How many different orders there are for as many seeds, in the first process."""
    import torch
    from accelerate.data_loader import prepare_data_loader
    from accelerate.utils import set_seed

    orders = set()
    for seed in _SEEDS:
        set_seed(seed)
        given = {"generator": torch.Generator()} if plant and processes > 1 else {}
        loader = torch.utils.data.DataLoader(range(_SAMPLES), shuffle=True, **given)
        prepared = prepare_data_loader(loader, num_processes=processes, process_index=0, put_on_device=False)
        orders.add(tuple(int(batch) for batch in prepared))
    return len(orders) / len(_SEEDS)


def _epoch(device, seed, skipped=0, told=True):
    """The order of the second epoch, behind what is skipped of it."""
    import torch
    from accelerate import Accelerator, skip_first_batches
    from accelerate.utils import set_seed

    try:
        from accelerate.utils import DataLoaderConfiguration
    except ImportError as error:
        raise Skip("this release of accelerate has no DataLoaderConfiguration") from error
    set_seed(seed)
    accelerator = Accelerator(cpu=device == "cpu", dataloader_config=DataLoaderConfiguration(use_seedable_sampler=True))
    loader = accelerator.prepare(torch.utils.data.DataLoader(range(_SAMPLES), shuffle=True))
    if told:
        loader.set_epoch(1)
    rest = skip_first_batches(loader, skipped) if skipped else loader
    return [int(batch) for batch in rest]


def _agreement(found, wanted):
    return sum(one == two for one, two in zip(found, wanted)) / max(len(found), len(wanted))
