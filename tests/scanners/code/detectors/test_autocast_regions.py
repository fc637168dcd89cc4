"""A model that runs without gradients first, in a region of autocast."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.autocast_regions import ungraded_first


def line(text: str) -> int | None:
    found = ungraded_first(ast.parse(dedent(text).strip()).body)
    return getattr(found, "lineno", None)


@pytest.mark.parametrize(
    "region", ["torch.autocast('cuda')", "torch.cuda.amp.autocast(enabled=args.amp)", "accelerator.autocast()"]
)
def test_the_second_pass_of_the_same_weights(region: str) -> None:
    text = f"""
        def step(self, batch):
            with {region}:
                with torch.no_grad():
                    target = self.model(batch.clean)
                loss = F.mse_loss(self.model(batch.noisy), target)
    """
    assert line(text) == 5


@pytest.mark.parametrize(
    "text",
    [
        """
        with torch.autocast("cuda"):
            with torch.no_grad():
                target = teacher_model(x)
            loss = model(x)
        """,
        """
        with torch.autocast("cuda"):
            loss = model(x)
            with torch.no_grad():
                target = model(x)
        """,
        """
        with torch.autocast("cuda", cache_enabled=False):
            with torch.no_grad():
                target = model(x)
            loss = model(x)
        """,
        """
        with torch.autocast("cuda"):
            with torch.no_grad():
                target = model(x)
            torch.clear_autocast_cache()
            loss = model(x)
        """,
        """
        with torch.no_grad():
            with torch.autocast("cuda"):
                target = model(x)
        with torch.autocast("cuda"):
            loss = model(x)
        """,
        """
        with torch.autocast("cuda"):
            with torch.no_grad():
                noise = torch.randn_like(x)
            loss = torch.randn_like(model(x))
        """,
        """
        with torch.no_grad(), torch.autocast("cuda"):
            a = model(x)
            b = model(y)
        """,
    ],
)
def test_no_pass_takes_the_copies_of_another(text: str) -> None:
    assert line(text) is None
