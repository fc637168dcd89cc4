"""Random numbers of NumPy that are drawn while a sample is made."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.sampled_numbers import sampled_number

IN_A_DATASET = """
    class Images(Dataset):
        def __getitem__(self, index):
            return crop(self.images[index], np.random.randint(0, 32))
"""
IN_A_FUNCTION = """
    def flip(image):
        return image[::-1] if numpy.random.rand() < 0.5 else image

    class Flip:
        def __call__(self, image):
            return flip(image)
"""
SEEDED = """
    class Images(Dataset):
        def __getitem__(self, index):
            np.random.seed(index)
            return crop(self.images[index], np.random.randint(0, 32))
"""
SPLIT = """
    class Images(Dataset):
        def __init__(self, paths):
            self.paths = np.random.permutation(paths)

        def __getitem__(self, index):
            return read(self.paths[index])
"""


@pytest.mark.parametrize("program", [IN_A_DATASET, IN_A_FUNCTION])
def test_what_a_sample_draws_is_found(program: str) -> None:
    assert sampled_number(ast.parse(dedent(program)).body) is not None


@pytest.mark.parametrize("program", [SEEDED, SPLIT, "def split(n):\n    return np.random.permutation(n)"])
def test_what_others_draw_is_not(program: str) -> None:
    assert sampled_number(ast.parse(dedent(program)).body) is None
