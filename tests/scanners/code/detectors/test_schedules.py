"""Schedules that start from a learning rate that is not theirs."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest

from gradcompat.scanners.code.detectors.schedules import uses


def names(text: str) -> list[str]:
    return [name.removeprefix("torch.optim.lr_scheduler.") for name, _ in uses(ast.parse(dedent(text)).body)]


RESUMED = """
    optimizer = AdamW(model.parameters(), lr=1e-3)
    if args.resume:
        state = torch.load(args.resume)
        optimizer.load_state_dict(state["optimizer"])
    scheduler = {made}
    if args.resume:
        scheduler.load_state_dict(state["scheduler"])
"""


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("LinearLR(optimizer, 0.1, total_iters=5)", ["LinearLR.after_state"]),
        ("lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[5])", ["SequentialLR.after_state"]),
        ("StepLR(optimizer, 30)", []),  # which takes the learning rate as it is
    ],
)
def test_a_schedule_between_two_states(made: str, found: list[str]) -> None:
    assert names(RESUMED.format(made=made)) == found


@pytest.mark.parametrize(
    "text",
    [
        """
        scheduler = LinearLR(optimizer, 0.1)
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        """,
        """
        optimizer.load_state_dict(state["optimizer"])
        scheduler = LinearLR(optimizer, 0.1)
        optimizer.load_state_dict(state["optimizer"])
        scheduler.load_state_dict(state["scheduler"])
        """,
        """
        optimizer.load_state_dict(state["optimizer"])
        scheduler = LinearLR(optimizer, 0.1)
        """,
        """
        def load():
            optimizer.load_state_dict(state["optimizer"])
        scheduler = LinearLR(optimizer, 0.1)
        scheduler.load_state_dict(state["scheduler"])
        """,
        """
        optimizer.load_state_dict(state["optimizer"])
        scheduler = LinearLR(optimizer, 0.1)
        scheduler.load_state_dict(state["scheduler"])
        optimizer.load_state_dict(state["optimizer"])
        """,
        """
        model.load_state_dict(state["model"])
        scheduler = LinearLR(optimizer, 0.1)
        scheduler.load_state_dict(state["scheduler"])
        """,
    ],
)
def test_another_order_is_right(text: str) -> None:
    assert names(text) == []


def test_a_schedule_that_steps_with_the_exchange_of_gradients() -> None:
    text = """
        for batch in loader:
            if accelerator.sync_gradients:
                {call}
    """
    assert names(text.format(call="scheduler.step()")) == ["scheduler.step.at_exchange"]
    assert names(text.format(call="accelerator.clip_grad_norm_(parameters, 1.0)")) == []


def test_a_cosine_for_each_stage() -> None:
    text = """
        def train(model, stages):
            optimizer = SGD(model.parameters(), lr=0.1)
            for epochs in stages:
                scheduler = CosineAnnealingLR({optimizer}, T_max=epochs)
                for epoch in range(epochs):
                    one_epoch(model, optimizer)
                    scheduler.step()
    """
    assert names(text.format(optimizer="optimizer")) == ["CosineAnnealingLR.again"]
    assert names(text.format(optimizer="optimizer, epochs")) == ["CosineAnnealingLR.again"]
    assert names(text.format(optimizer="make(model)")) == []


@pytest.mark.parametrize(
    "text",
    [
        """
        for fold in folds:
            optimizer.load_state_dict(first)
            scheduler = CosineAnnealingLR(optimizer, T_max=10)
            for epoch in range(10):
                scheduler.step()
        """,
        """
        for fold in folds:
            optimizer = SGD(model.parameters(), lr=0.1)
            scheduler = CosineAnnealingLR(optimizer, T_max=10)
            for epoch in range(10):
                scheduler.step()
        """,
        """
        for fold in folds:
            model, optimizer = make(fold)
            scheduler = CosineAnnealingLR(optimizer, T_max=10)
            for epoch in range(10):
                scheduler.step()
        """,
        """
        for epochs in stages:
            for group in optimizer.param_groups:
                group["lr"] = 0.1
            scheduler = CosineAnnealingLR(optimizer, T_max=epochs)
            for epoch in range(epochs):
                scheduler.step()
        """,
        """
        scheduler = CosineAnnealingLR(optimizer, T_max=10)
        for epoch in range(10):
            for batch in loader:
                optimizer.step()
            scheduler.step()
        """,
        """
        for epoch in range(10):
            scheduler = CosineAnnealingLR(optimizer, T_max=10)
            scheduler.step()
        """,
    ],
)
def test_one_cosine_for_an_optimizer(text: str) -> None:
    assert names(text) == []


@pytest.mark.parametrize(
    ("prepared", "found"),
    [
        ("accelerator.prepare(model, optimizer, loader())", ["scheduler.unprepared"]),
        ("accelerator.prepare(model, optimizer, scheduler)", []),
        ("accelerator.prepare(*everything)", []),
        ("accelerator.prepare_scheduler(scheduler)", []),
        ("prepare(model)", []),  # of something else, and of nothing here
    ],
)
def test_a_schedule_that_is_not_prepared(prepared: str, found: list[str]) -> None:
    text = f"optimizer = AdamW(groups)\nscheduler = StepLR(optimizer, 10)\nmade = {prepared}\n"
    assert names(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("restarts = CosineAnnealingWarmRestarts(o, 10)\nwarmup = LinearLR(o, 0.1)", True),
        ("warmup = LinearLR(o, 0.1)\nrestarts = CosineAnnealingWarmRestarts(o, 10)", False),
        ("SequentialLR(o, [LinearLR(o, 0.1), CosineAnnealingWarmRestarts(o, 10)], [5])", False),
        ("def f(o):\n    r = CosineAnnealingWarmRestarts(o, 10)\n    return made(o,\n [LinearLR(o), r], [5])", True),
    ],
)
def test_a_warm_up_that_is_made_behind_the_restarts(text: str, found: bool) -> None:
    assert ("LinearLR.after_restarts" in names(text)) is found


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ("get_scheduler('cosine', optimizer, 10, 100 * accelerator.num_processes)", ["scheduler.of_all_processes"]),
        (
            "get_scheduler('cosine', optimizer, num_training_steps=steps)",
            ["scheduler.of_all_processes", "scheduler.of_whole_loader"],
        ),
        ("LinearLR(optimizer, total_iters=self.warmup)", ["scheduler.of_all_processes"]),
        ("get_scheduler('cosine', optimizer, 10, 100 * dist.get_world_size())", ["scheduler.of_all_processes"]),
        ("get_scheduler('cosine', optimizer, 10, 100 * int(os.environ['WORLD_SIZE']))", ["scheduler.of_all_processes"]),
        ("get_scheduler('cosine', optimizer, 10, 100 * world)", ["scheduler.of_all_processes"]),
        ("get_scheduler('cosine', optimizer, 10, 100)", []),
        ("get_scheduler('cosine', optimizer, 10, 100 * int(os.environ['EPOCHS']))", []),
        ("get_scheduler('cosine', optimizer, 10, batches)", ["scheduler.of_whole_loader"]),
    ],
)
def test_a_schedule_whose_steps_count_the_processes(made: str, found: list[str]) -> None:
    text = f"""
        samples = size * accelerator.num_processes
        world = int(os.environ.get("WORLD_SIZE", 1))
        batches = len(loader)
        total = epochs * accelerator.num_processes
        steps = total * batches
        rate = 1e-4 * accelerator.num_processes
        optimizer = make(parameters, lr=rate)
        self.warmup = 100 * self.accelerator.num_processes
        scheduler = {made}
        loader, scheduler = accelerator.prepare(loader, scheduler)
    """
    assert names(text) == found


@pytest.mark.parametrize(("given", "told"), [("accelerator.num_processes", True), ("2", False)])
def test_a_function_that_is_told_the_number_of_processes(given: str, told: bool) -> None:
    text = f"""
        def make(optimizer, steps, factor):
            return LinearLR(optimizer, total_iters=steps * factor)
        scheduler = make(optimizer, 100, {given})
        size = 4 * accelerator.num_processes
        optimizer, scheduler = accelerator.prepare(optimizer, scheduler)
    """
    assert ("scheduler.of_all_processes" in names(text)) is told


@pytest.mark.parametrize(
    ("before", "steps", "told"),
    [
        ("", "len(loader) * 3", True),
        ("steps = math.ceil(len(loader) / 2)", "3 * steps", True),
        ("", "10000", False),
        ("", "len(other)", False),
        ("args.steps = len(loader)", "args.steps", False),
        ("loader = accelerator.prepare(loader)", "len(loader)", False),
    ],
)
def test_schedules_over_a_loader_that_is_prepared_later(before: str, steps: str, told: bool) -> None:
    text = f"""
        {before}
        scheduler = get_scheduler("linear", optimizer, 0, {steps})
        model, loader, scheduler = accelerator.prepare(model, loader, scheduler)
    """
    assert names(text) == ["scheduler.of_whole_loader"] * told
