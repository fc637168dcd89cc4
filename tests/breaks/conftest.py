"""A small file of pairs in place of the one that ships: invented packages, so that no record speaks of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import gradcompat.releases.argument_defaults  # noqa: F401  # takes the tables that ship, before a test replaces them
from gradcompat.breaks import pairs
from gradcompat.breaks.pairs import Break, Need, Pair, data_of
from gradcompat.requirements.versions import VersionSet


def of(text: str) -> VersionSet:
    return VersionSet.parse(text)


CACHE = Need(module="server", name="Cache", file="client/core.py", line=12, absent=of(">=3.0,<=3.2"))
STORE = Need(module="server.store", name=None, file="client/store.py", line=3, absent=of(">=1.0,<2.0"))
BATCH = Need(module="server", name="Batch", file="client/batch.py", line=1, absent=of(">=1.0,<2.0"))
CLIENT = Pair(
    consumer="client",
    provider="server",
    oldest="1.0",
    breaks=(
        Break(consumers=of(">=0.1,<0.3"), providers=CACHE.absent, needs=(CACHE,)),
        Break(consumers=of(">=0.4,<=0.5"), providers=STORE.absent, needs=(STORE,)),
        Break(consumers=of("==0.6"), providers=of(">=1.0,<2.0 || >=3.0,<=3.2"), needs=(CACHE, BATCH)),
    ),
)
# peft 0.17 beside transformers 5 is told by GC-0098.
PEFT = Pair(
    consumer="peft",
    provider="transformers",
    oldest="4.26.0",
    breaks=(
        Break(
            consumers=of(">=0.16.0,<0.18.0"),
            providers=of(">=5.0.0,<=5.5.4"),
            needs=(
                Need(
                    module="transformers",
                    name="HybridCache",
                    file="peft/peft_model.py",
                    line=37,
                    absent=of(">=5.0.0,<=5.5.4"),
                ),
            ),
        ),
    ),
)


@pytest.fixture(autouse=True)
def small_pairs(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.json"
    file.write_text(json.dumps(data_of([CLIENT, PEFT])))
    monkeypatch.setattr(pairs, "COMPILED", file)
    return file
