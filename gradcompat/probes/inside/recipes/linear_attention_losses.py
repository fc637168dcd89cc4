"""Do losses of flash-linear-attention pull the way that they should: rewards up, penalties as strong as their loss?

The control of the policy's loss is that without any advantage it pulls nowhere; that of the penalty is that the loss
beside it is scaled as asked.
"""

from ..comparing import flat, norm_ratio, ratio
from ..skipping import Skip

_WORDS = 16
_TOKENS = 4


def measure(parameters, device, seed):
    """``loss``: grpo, l2_warp; with ``plant`` the one is nothing, and the other not divided."""
    of = {"grpo": _grpo, "l2_warp": _penalty}
    return of[parameters.get("loss", "grpo")](device, seed, bool(parameters.get("plant")))


def _grpo(device, seed, plant):
    """A step against the gradient has to raise the log-probability of an answer that is better than the others."""
    import torch

    try:
        from fla.modules.grpo import grpo_loss_with_old_logps
    except ImportError as error:
        raise Skip("there is no grpo_loss_with_old_logps of flash-linear-attention") from error
    generator = torch.Generator().manual_seed(seed)
    start = torch.randn(4, _TOKENS, generator=generator).sub(3).to(device)

    def gradient(rewards):
        logps = start.clone().requires_grad_()
        there = torch.ones_like(start, dtype=torch.bool)
        loss = grpo_loss_with_old_logps(logps, start, start, there, _TOKENS, torch.tensor(rewards, device=device))
        (loss * 0 if plant else loss).backward()
        return logps.grad

    found = gradient([1.0, 1.0, 0.0, 0.0])
    better, worse = -found[:2].sum(), -found[2:].sum()
    return {
        "better_rises": float(better > 0),
        "worse_falls": float(worse < 0),
        "control_error": float(gradient([1.0, 1.0, 1.0, 1.0]).abs().max()),
    }


def _penalty(device, seed, plant):
    """A loss that is divided has a penalty that is divided as well."""
    import torch

    try:
        from fla.modules.l2warp import l2_warp
    except ImportError as error:
        raise Skip("there is no l2_warp of flash-linear-attention") from error
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(2, _TOKENS, _WORDS, generator=generator).to(device)

    def gradients(divisor):
        logits = first.clone().requires_grad_()
        beside = torch.ones(1, device=device, requires_grad=True)
        if plant:
            logits.register_hook(lambda gradient: gradient * divisor)
        (l2_warp(beside.sum(), logits) / divisor).backward()
        return flat([logits.grad]), float(beside.grad)

    whole, loss = gradients(1.0)
    quarter, quarter_loss = gradients(4.0)
    return {"penalty_ratio": 4 * norm_ratio(quarter, whole), "control_error": abs(4 * ratio(quarter_loss, loss) - 1)}
