"""Loaders that are shared among the processes twice."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.split_loaders import (
    left_unprepared,
    none_prepared,
    prepares_no_loader,
    shared_twice,
)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loader = DataLoader(data, 8, sampler=DistributedSampler(data))", True),
        ("sampler = distributed.DistributedSampler(data, 2, 0)\nloader = DataLoader(data, 8, False, sampler)", True),
        ("sampler = DistributedSampler(data) if many else None\nloader = DataLoader(data, sampler=sampler)", True),
        ("data = split_dataset_by_node(data, 0, 2)\ndata = data.map(f)\nloader = DataLoader(data)", True),
        ("loader = DataLoader(data, sampler=DistributedSampler(data, num_replicas=1, rank=0))", False),
        ("loader = DataLoader(data, sampler=RandomSampler(data))", False),
        ("other = DataLoader(data, sampler=DistributedSampler(data))\nloader = DataLoader(data, shuffle=True)", False),
        ("loader = make(data, sampler=DistributedSampler(data))", False),
        ("loader = DataLoader(data)\nif many:\n    loader = DataLoader(data, sampler=DistributedSampler(data))", False),
    ],
)
def test_a_loader_that_is_shared_before_it_is_prepared(text: str, told: bool) -> None:
    prepared = "model, loader = accelerator.prepare(model, loader)"
    assert (shared_twice(ast.parse(f"{text}\n{prepared}").body) is not None) is told
    assert shared_twice(ast.parse(f"{text}\nmodel = accelerator.prepare(model)").body) is None


def test_a_method_that_prepares_what_it_makes() -> None:
    text = """
        class Mine(Trainer):
            def get_train_dataloader(self):
                sampler = DistributedSampler(self.train_dataset)
                return self.{owner}.prepare(DataLoader(self.train_dataset, sampler=sampler))
    """
    assert shared_twice(ast.parse(dedent(text.format(owner="accelerator"))).body) is not None
    assert shared_twice(ast.parse(dedent(text.format(owner="index"))).body) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("loader = DataLoader(stream, 8)\nmodel, opt = accelerator.prepare(model, opt)", True),
        ("loader = DataLoader(data, shuffle=True)\nmodel = accelerator.prepare(model)", True),
        ("loader = DataLoader(stream, 8)\nmodel, loader = accelerator.prepare(model, loader)", False),
        (
            "loader = DataLoader(stream, 8)\nmodel = accelerator.prepare(model)\nloader = accelerator.prepare(loader)",
            False,
        ),
        ("loader = DataLoader(stream, 8)\nmodel, train_loader = accelerator.prepare(model, train_loader)", False),
        ("loader = DataLoader(stream, 8)\nmodel, it = accelerator.prepare(model, DataLoader(stream))", False),
        ("loader = DataLoader(stream, 8)\nparts = accelerator.prepare(*parts)", False),
        ("loader = DataLoader(stream, 8)", False),
    ],
)
def test_no_loader_is_prepared(text: str, told: bool) -> None:
    assert (none_prepared(ast.parse(text).body) is not None) is told


def test_an_optimizer_that_is_made_where_it_is_prepared_is_no_loader() -> None:
    text = "loader = DataLoader(data, shuffle=True)\nmodel, opt = accelerator.prepare(model, {made})"
    assert left_unprepared(ast.parse(text.format(made="torch.optim.AdamW(model.parameters())")).body) is not None
    assert left_unprepared(ast.parse(text.format(made="make_loader(data)")).body) is None


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("model, optimizer = accelerator.prepare(model, optimizer)", True),
        ("self.net = self.accelerator.prepare(self.net)", True),
        ("model, optimizer, loader = accelerator.prepare(model, optimizer, loader)", False),
        ("model, other = accelerator.prepare(model, other)", False),
        ("model, it = accelerator.prepare(model, make())", False),
        ("model = accelerator.prepare(model)\nloader = accelerator.prepare_data_loader(loader)", False),
        ("parts = accelerator.prepare(*parts)", False),
        ("loader = prepare_data_loader(dataloader=loader)", False),
        ("index.prepare()", None),
    ],
)
def test_a_file_that_prepares_what_is_no_loader(text: str, told: bool | None) -> None:
    assert prepares_no_loader(ast.parse(text).body) is told


def test_a_loader_of_another_package_that_is_prepared() -> None:
    made = "loader = wds.WebLoader(stream)\nshown = DataLoader(data, shuffle=True)"
    text = f"{made}\nm, loader = accelerator.prepare(m, loader)"
    assert left_unprepared(ast.parse(text).body) is not None
