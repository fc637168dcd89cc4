"""Logs of trainings, curves and reports of environments."""

from __future__ import annotations

from random import Random

from fuzz.grammars.words import NUMBERS, amount, chance, name, odd, pick, secret_line, text, version

MESSAGES = (
    "RuntimeError: CUDA out of memory",
    "UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
    "ValueError: Attempting to unscale FP16 gradients.",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    "NCCL WARN Call to ibv_modify_qp failed",
    "ImportError: cannot import name 'top_k_top_p_filtering' from 'transformers'",
    "nan or inf gradient norm",
    "Traceback (most recent call last):",
    '  File "/opt/train.py", line 3, in <module>',
)


def log(random: Random) -> str:
    """What a training prints."""
    lines = []
    for step in range(1, amount(random, 40) + 1):
        loss = pick(random, NUMBERS) if chance(random, 0.1) else f"{random.random() * 4:.4f}"
        lines.append(
            pick(
                random,
                (
                    f"{{'loss': {loss}, 'grad_norm': {random.random():.3f}, 'learning_rate': 1e-05, 'epoch': 0.{step}}}",
                    f"step {step} loss={loss} lr=1e-4",
                    f"Epoch {step}: 10%|█| {step}/100 [00:01<00:09, loss={loss}]\r",
                    f"[{step}/100] train_loss {loss} grad_norm {random.random()}",
                    pick(random, MESSAGES) if chance(random, 0.3) else "x",
                    f"{name(random)}: {version(random)}",
                    secret_line(random) if chance(random, 0.2) else "",
                    odd(random) if chance(random, 0.2) else "",
                    f"[rank{step % 8}]: {text(random)}",
                ),
            )
        )
    return "\n".join(lines) + "\n"


def curve(random: Random) -> str:
    """A curve as CSV or lines of JSON."""
    rows = range(amount(random, 60))
    if chance(random, 0.5):
        return "step,loss,grad_norm\n" + "".join(f"{row},{pick(random, NUMBERS)},{random.random()}\n" for row in rows)
    return "".join(
        f'{{"step": {row}, "loss": {random.random()}, "grad_norm": {pick(random, NUMBERS)}}}\n' for row in rows
    )


def report(random: Random) -> str:
    """What ``collect_env`` and the like print."""
    lines = [
        "Collecting environment information...\n",
        f"PyTorch version: {version(random)}\nCUDA used to build PyTorch: 12.1\n",
    ]
    lines.append(
        "Python version: 3.11.7\nIs CUDA available: True\nNvidia driver version: 535.54\n\nVersions of relevant libraries:\n"
    )
    for _ in range(amount(random, 10)):
        joint = pick(random, ("==", "        "))
        lines.append(f"[{pick(random, ('pip3', 'conda'))}] {name(random)}{joint}{version(random)}\n")
    lines.append(secret_line(random) + "\n" if chance(random, 0.1) else "")
    lines.append(
        f"- `transformers` version: {version(random)}\n- Platform: {text(random)}\n" if chance(random, 0.3) else ""
    )
    return "".join(lines)


def setup_cfg(random: Random) -> str:
    """A setup.cfg."""
    listed = "".join(f"    {name(random)}=={version(random)}\n" for _ in range(amount(random, 6)))
    extra = f"[options.extras_require]\na =\n{listed}" if chance(random, 0.4) else ""
    noise = pick(random, ("", "", secret_line(random) + "\n", f"%({odd(random)})s\n", "[options]\n", odd(random)))
    return f"[metadata]\nname = x\n{noise}\n[options]\ninstall_requires =\n{listed}{extra}"


def spdx_tags(random: Random) -> str:
    """An SBOM of SPDX as tags and values."""
    lines = ["SPDXVersion: SPDX-2.3\nDocumentName: x\n"]
    for _ in range(amount(random, 6)):
        lines.append(f"\nPackageName: {name(random)}\nSPDXID: SPDXRef-a\nPackageVersion: {version(random)}\n")
        lines.append(f"ExternalRef: PACKAGE-MANAGER purl pkg:pypi/{name(random)}@{version(random)}\n")
        lines.append(f"PackageComment: <text>{odd(random)}</text>\n" if chance(random, 0.3) else "")
    return "".join(lines)
