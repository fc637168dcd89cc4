"""Passes through the model inside of DeepSpeed's engine."""

from __future__ import annotations

import ast

import pytest

from gradcompat.scanners.code.detectors.inner_passes import inner_pass

_HEAD = "engine, _, _, _ = deepspeed.initialize(model=model, config=config)\n"


def found(body: str, head: str = _HEAD) -> bool:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    tree = ast.parse(f"{head}for x, y in loader:\n{lines}    engine.backward(loss)\n    engine.step()\n")
    return inner_pass(tree.body) is not None


@pytest.mark.parametrize(
    "body",
    [
        "h = engine(x)\nz = engine.module.encoder(y)\nloss = f(h, z)",
        "h = engine(x)\nz = model.encoder(y)\nloss = f(h, z)",
        "loss = f(engine(x), model(y))",
        "loss = engine.module(x).loss",
        "losses = [g(engine(x))]\nlosses.append(f(model.encoder(y)))\nloss = sum(losses)",
        "out = {}\nout['z'], _ = model.encoder(y)\nloss = g(engine(x))\nloss += f(out)",
        "loss = engine.module.compute_loss(x, y)",
    ],
)
def test_passes_beside_the_engine(body: str) -> None:
    assert found(body)


@pytest.mark.parametrize(
    "body",
    [
        "loss = engine(x, y)",
        "with torch.no_grad():\n    z = engine.module.encoder(y)\nloss = f(engine(x), z)",
        "z = engine.module.encoder(y).detach()\nloss = f(engine(x), z)",
        "loss = engine(x, y)\nengine.module.train()\nlog(engine.module.state_dict())",
        "loss = engine(x, y)\nmodel.save_pretrained('out')\nnorm = f(model.parameters())",
        "loss = f(engine(x), teacher(y))",
        "loss = f(engine(x))\nshow(engine.module.sample(y))",
        "z = model.encoder(y)\nloss = f(engine(x), z.detach())",
        "out = engine(x)\nloss = model.criterion(out, y)",
        "model.vae.requires_grad_(False)\nloss = engine(model.vae.encode(x))",
        "for p in model.vae.parameters():\n    p.requires_grad = False\nloss = engine(model.vae.encode(x))",
        "loss = engine(model.tokenizer(x))",
    ],
)
def test_passes_through_the_engine_alone(body: str) -> None:
    assert not found(body)


def test_a_name_that_the_engine_takes_over() -> None:
    assert not found("loss = engine(x)", head="engine, *_ = deepspeed.initialize(config, engine)\n")


def test_what_only_evaluates() -> None:
    tree = ast.parse(f"{_HEAD}for x in loader:\n    print(engine.module(x))\n")
    assert inner_pass(tree.body) is None


def test_a_validation_behind_the_steps() -> None:
    steps = "for x in loader:\n        loss = engine(x)\n        engine.backward(loss)"
    tree = ast.parse(f"{_HEAD}for epoch in epochs:\n    {steps}\n    for x in others:\n        loss = model(x)\n")
    assert inner_pass(tree.body) is None
