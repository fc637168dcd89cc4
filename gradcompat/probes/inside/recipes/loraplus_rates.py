"""Does LoRA+ train the adapters of embeddings at the learning rate that it is told for them?

The control is the rate of lora_B, which is that of lora_A times the ratio.
"""

from ..skipping import Skip

_RATE = 1e-3
_RATIO = 16.0
_EMBEDDING_RATE = 1e-5


def measure(parameters, device, seed):  # noqa: ARG001  # groups of parameters are the same everywhere
    """With ``plant`` it is told the rate of lora_A."""
    import peft
    import torch

    try:
        from peft.optimizers import create_loraplus_optimizer
    except ImportError as error:
        raise Skip("this release of PEFT has no LoRA+") from error
    model = torch.nn.Sequential(torch.nn.Embedding(8, 4), torch.nn.Linear(4, 4))
    model = peft.get_peft_model(model, peft.LoraConfig(r=2, target_modules=["0", "1"]))
    optimizer = create_loraplus_optimizer(
        model,
        torch.optim.AdamW,
        lr=_RATE,
        loraplus_lr_ratio=_RATIO,
        loraplus_lr_embedding=_RATE if parameters.get("plant") else _EMBEDDING_RATE,
    )
    rates = {id(weight): group["lr"] for group in optimizer.param_groups for weight in group["params"]}

    def rate(part):
        return max(rates[id(weight)] for name, weight in model.named_parameters() if part in name)

    return {
        "embedding_rate": rate("lora_embedding_A") / _EMBEDDING_RATE,
        "control_rate": rate("lora_B") / (_RATE * _RATIO),
    }
