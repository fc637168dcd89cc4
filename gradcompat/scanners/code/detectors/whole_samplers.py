"""Samplers that are asked for as many samples as their data have: ``RandomSampler(data, num_samples=len(data))``."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from gradcompat.scanners.code.syntax import argument_of

DRAWING = ("torch.utils.data.RandomSampler", "torch.utils.data.sampler.RandomSampler")
OF_ALL = "RandomSampler.of_all"
_NUMBER = 2  # data_source and replacement stand in front of num_samples


def first_of_all(samplers: Iterable[ast.Call]) -> ast.Call | None:
    """The first such sampler, where all that are asked for a number are."""
    counted = [call for call in samplers if argument_of(call, "num_samples", _NUMBER) is not None]
    return counted[0] if counted and all(map(_draws_all, counted)) else None


def _draws_all(sampler: ast.Call) -> bool:
    data = argument_of(sampler, "data_source", 0)
    match argument_of(sampler, "num_samples", _NUMBER):
        case ast.Call(func=ast.Name(id="len"), args=[counted], keywords=[]):
            return data is not None and ast.unparse(counted) == ast.unparse(data)
    return False
