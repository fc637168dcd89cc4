"""Every setting that a scanner finds in its own fixtures: changed, scanned again, and nothing else is different."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from gradcompat.audit.runs import in_folder
from gradcompat.edit.settings import edit
from gradcompat.files.root import root_of_folder
from gradcompat.model.environment import Setting
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.run_assembly import join
from tests.edit.changing import change, literal, other, outcome
from tests.scanners.scanned import FIXTURES, fixture

# What is refused, with the reason: what stands there is not what the setting says, or more than a word.
REFUSED = {
    ("hf/training_args.json", "optimizer.scheduler"): "says `SchedulerType.LINEAR`, not `linear`",
    ("hf/training_args.json", "optimizer.name"): "says `OptimizerNames.ADAMW_TORCH`, not `adamw_torch`",
    ("hydra/run.yaml", "distributed.processes"): "is more than one value",
}
# A program that says the same thing twice is heard once: to change it in one place is not enough, and the scan says so.
TWICE = {("python/loop_by_hand.py", "precision.mode"): "says ['fp16_x', 'fp16'] instead of 'fp16_x'"}

NAMES = sorted(
    path.relative_to(FIXTURES).as_posix() for path in FIXTURES.rglob("*") if path.is_file() and path.suffix != ".pyc"
)


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith(".md")])
def test_each_setting_of_a_fixture(name: str) -> None:
    document = fixture(name)
    context = scan(document)
    refused, wrong = {}, {}
    for setting in literal(context):
        found = outcome(document, context, setting)
        if found.refused is not None:
            refused[name, setting.key] = found.refused.split("`: ", 1)[1].split(": ")[0]
        if found.wrong is not None:
            wrong[name, setting.key] = found.wrong
    assert refused == {key: reason for key, reason in REFUSED.items() if key[0] == name}
    assert wrong == {key: reason for key, reason in TWICE.items() if key[0] == name}


def test_the_fixtures_have_settings_of_every_kind() -> None:
    kinds = {scan(fixture(name)).kind for name in NAMES if literal(scan(fixture(name)))}
    assert {
        *("accelerate", "axolotl", "deepspeed", "gpt-neox", "hf-training-args", "hydra", "launch-script"),
        *("lightning-cli", "llamafactory", "ms-swift", "notebook", "python", "torchtune", "trl"),
    } <= kinds


def test_each_setting_of_a_config_that_is_composed(tmp_path: Path) -> None:
    """Each stands in a file of its own: in the config, in a file that it takes, on the command line."""
    project = tmp_path / "project"
    shutil.copytree(FIXTURES.parent / "hydra" / "project", project)

    def run() -> dict[str, Setting]:
        first = join(in_folder(project, ".", root_of_folder(project, "."))[0])[0]
        return {one.key: one for one in first.settings}

    before = run()
    scanned, _ = in_folder(project, ".", root_of_folder(project, "."))
    wanted = [one for one in literal(join(scanned)[0]) if one.key not in ("code.symbols", "code.calls")]
    assert {one.location.path for one in wanted} == {
        *("configs/experiment/llava.yaml", "configs/model/llava.yaml", "configs/trainer/default.yaml", "run.sh"),
    }
    for setting in wanted:
        path = project / setting.location.path
        text = path.read_text("utf-8")
        new = other(setting)
        path.write_text(edit(text, setting.location.path, [change(setting, new)]), "utf-8")
        after = run()
        concluded = {one.key for one in before.values() if one.location == setting.location}
        concluded.add("code.calls")  # what a config makes by `_target_` is called with its values
        assert after[setting.key].value == new
        assert {key: one.value for key, one in after.items() if key not in concluded} == {
            key: one.value for key, one in before.items() if key not in concluded
        }
        path.write_text(text, "utf-8")
