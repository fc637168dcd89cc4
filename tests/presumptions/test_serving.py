"""Environments that serve models and train none: no trainer is presumed there."""

from __future__ import annotations

from pathlib import Path

import pytest

import gradcompat
from gradcompat.model.report import Report
from gradcompat.presumptions.serving import serves
from tests.building import package

# The Trainer stops with so old an accelerate, and load_dataset with so new an fsspec.
PINS = "transformers==4.46.3\naccelerate==0.24.1\n"
SERVER = "grpcio-reflection==1.67.1\n"
ONLY = ["GC-0298", "GC-0196"]


def check(folder: Path, pins: str, **options: object) -> Report:
    (folder / "requirements.txt").write_text(pins, "utf-8")
    return gradcompat.check(folder / "requirements.txt", only=ONLY, **options)  # type: ignore[arg-type]


def statuses(report: Report) -> dict[str, str]:
    return {one.finding.issue.id: one.finding.status for one in report.findings}


def test_the_trainer_is_presumed_unless_the_environment_serves(tmp_path: Path) -> None:
    assert statuses(check(tmp_path, PINS)) == {"GC-0298": "affected"}
    report = check(tmp_path, PINS + SERVER)
    (reported,) = report.findings
    assert (reported.finding.status, report.exit_status) == ("dormant", 0)
    assert reported.finding.dormant == ("the Trainer of transformers",)


@pytest.mark.parametrize("more", ["trl==0.12.0\n", "wandb==0.18.0\n", "datasets==3.0.0\n", "peft==0.13.0\n"])
def test_a_server_beside_what_training_brings_trains(tmp_path: Path, more: str) -> None:
    assert statuses(check(tmp_path, PINS + SERVER + more))["GC-0298"] == "affected"


def test_a_stated_trainer_and_no_presumptions_count_more(tmp_path: Path) -> None:
    stated = check(tmp_path, PINS + SERVER, settings={"training.framework": "transformers.Trainer"})
    assert statuses(stated) == {"GC-0298": "affected"}
    assert statuses(check(tmp_path, PINS + SERVER, assume="none")) == {"GC-0298": "conditional"}


def test_data_that_a_server_reads_for_one_extra_are_not_presumed_to_be_loaded(tmp_path: Path) -> None:
    def locked(*, optional: bool) -> dict[str, str]:
        lock = "".join(
            f'[[package]]\nname = "{name}"\nversion = "{version}"\noptional = {str(extra).lower()}\n'
            f'python-versions = ">=3.9"\nfiles = []\n\n'
            for name, version, extra in (
                ("transformers", "4.46.3", False),
                ("grpcio-reflection", "1.67.1", False),
                ("datasets", "2.14.4", optional),
                ("fsspec", "2024.12.0", False),
            )
        )
        extras = '[extras]\nquantize = ["datasets"]\n\n' if optional else ""
        end = '[metadata]\nlock-version = "2.0"\npython-versions = "^3.9"\ncontent-hash = "0"\n'
        (tmp_path / "poetry.lock").write_text(lock + extras + end, "utf-8")
        return statuses(gradcompat.check(tmp_path / "poetry.lock", only=ONLY))

    assert locked(optional=True) == {"GC-0196": "dormant"}
    assert locked(optional=False) == {"GC-0196": "affected"}


def test_what_serves() -> None:
    def listed(*names: str) -> bool:
        return serves((name, package(name, "1.0")) for name in names)

    assert listed("vllm", "transformers")
    assert not listed("transformers", "accelerate")
    assert not listed("vllm", "transformers", "deepspeed")
