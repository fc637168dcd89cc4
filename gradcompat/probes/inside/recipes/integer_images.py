"""Does MONAI normalise an image of whole numbers, a channel at a time, as it does one of floats?"""

from ..comparing import distance, flat


def measure(parameters, _device, seed):
    """With ``plant`` the normalised image is cut to whole numbers."""
    import torch
    from monai.transforms import NormalizeIntensity

    generator = torch.Generator().manual_seed(seed)
    image = torch.randint(0, 1000, (2, 6, 6, 6), generator=generator)
    exact = image.double()
    mean, deviation = exact.mean((1, 2, 3), keepdim=True), exact.std((1, 2, 3), keepdim=True, unbiased=False)
    expected = flat([(exact - mean) / deviation])

    def off(kind):
        found = torch.as_tensor(NormalizeIntensity(channel_wise=True)(image.numpy().astype(kind)))
        return distance(flat([found.int() if parameters.get("plant") and kind == "int16" else found]), expected)

    return {"off": off("int16"), "control_off": off("float32")}
