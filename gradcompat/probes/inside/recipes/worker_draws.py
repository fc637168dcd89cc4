"""Do the workers of two processes draw different numbers where accelerate has prepared a shuffling loader?

Both shares of the loader are walked through here, one behind the other, each with the seed of its process, as
``set_seed(seed, device_specific=True)`` gives it. The control is the loader that does not shuffle.
"""

_SAMPLES = 16
_PROCESSES = 2


def measure(parameters, device, seed):
    """With ``plant`` both processes have one seed."""
    import torch
    from accelerate import Accelerator

    Accelerator(cpu=device == "cpu")  # the state that loaders look at

    class Augmented(torch.utils.data.Dataset):
        def __len__(self):
            return _SAMPLES

        def __getitem__(self, index):
            return torch.rand(())

    def distinct(shuffle, plant):
        """How many of the numbers of the second process the first one has not drawn, as a share."""
        first, second = (
            _drawn(Augmented(), shuffle, rank, seed + (0 if plant else 1000 * rank)) for rank in range(_PROCESSES)
        )
        return sum(one not in first for one in second) / len(second)

    return {"distinct_share": distinct(True, bool(parameters.get("plant"))), "control": distinct(False, False)}


def _drawn(data, shuffle, rank, seed):
    import torch
    from accelerate.data_loader import prepare_data_loader

    torch.manual_seed(seed)
    loader = torch.utils.data.DataLoader(data, shuffle=shuffle, num_workers=2)
    prepared = prepare_data_loader(loader, num_processes=_PROCESSES, process_index=rank, put_on_device=False)
    # At the start of an epoch each process takes the state that the first one has for the order of the samples.
    order = getattr(prepared, "synchronized_generator", prepared.generator)
    if order is not None:
        order.manual_seed(0)
    return [float(batch) for batch in prepared]
