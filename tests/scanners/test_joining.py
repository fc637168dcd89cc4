"""Which files make one training run, and which are runs of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gradcompat.audit.runs import Contexts
from gradcompat.formats.document import Document
from gradcompat.model.context import Context
from gradcompat.model.environment import Location, Setting, SettingValue
from gradcompat.scanners import any_config
from gradcompat.scanners.code import python_code
from gradcompat.scanners.configs import deepspeed
from gradcompat.scanners.run_assembly import Assembly, assemble, join


def context(
    source: str, *refers_to: str, kind: str = "trl", run: bool = True, **settings: SettingValue | None
) -> Context:
    return Context(
        source=source,
        kind=kind,
        settings=tuple(
            Setting(key=key, value=value, location=Location(path=source, line=line))
            for line, (key, value) in enumerate(settings.items(), 1)
        ),
        run=run,
        refers_to=refers_to,
    )


def values(joined: Context) -> dict[str, list[SettingValue | None]]:
    found: dict[str, list[SettingValue | None]] = {}
    for setting in joined.settings:
        found.setdefault(setting.key, []).append(setting.value)
    return found


def test_a_script_its_config_and_what_that_names_are_one_run() -> None:
    (one,) = join(
        [
            context("ds/z2.json", kind="deepspeed", run=False, stage=2),
            context("run.sh", "configs/train.yaml", kind="launch-script", processes=8),
            context("configs/train.yaml", "../ds/z2.json", steps=4),
        ]
    )
    assert one.source == "run.sh + configs/train.yaml + ds/z2.json"
    assert values(one) == {"processes": [8], "steps": [4], "stage": [2]}


def test_two_configs_are_two_runs() -> None:
    assert [one.source for one in join([context("a.yaml", steps=1), context("b.yaml", steps=8)])] == [
        "a.yaml",
        "b.yaml",
    ]


def test_one_config_under_two_scripts_is_two_runs() -> None:
    joined = join([context("a.sh", "c.yaml"), context("b.sh", "c.yaml"), context("c.yaml", steps=2)])
    assert [one.source for one in joined] == ["a.sh + c.yaml", "b.sh + c.yaml"]


def presumed(joined: Context) -> dict[str, SettingValue | None]:
    return {setting.key: setting.value for setting in joined.settings if setting.presumed}


TRAINER: dict[str, Any] = {"training.framework": "transformers.Trainer"}
LIGHTNING: dict[str, Any] = {"training.framework": "lightning"}
FSDP: dict[str, Any] = {"distributed.strategy": "fsdp", "precision.mode": None}


def launch_config(source: str) -> Context:
    return context(source, kind="accelerate", run=False, **FSDP)


def test_the_one_accelerate_config_beside_a_program_is_presumed_to_launch_it() -> None:
    program = context("a/train.py", kind="python", **TRAINER)
    (one,) = join([program, launch_config("a/fsdp.yaml")])
    assert one.source == "a/train.py + a/fsdp.yaml"
    assert presumed(one) == {"distributed.strategy": "fsdp"}
    assert [setting.value for setting in one.settings if setting.key == "precision.mode"] == [None]


def test_an_accelerate_config_that_may_be_for_something_else_is_left() -> None:
    program = context("a/train.py", kind="python", **TRAINER)
    config = launch_config("a/fsdp.yaml")
    loop = context("a/train.py", kind="python", **LIGHTNING)
    launch = context("a/run.sh", "train.py", kind="launch-script")
    for files in (
        [program, config, launch_config("a/ds.yaml")],  # one of two
        [program, launch_config("configs/fsdp.yaml")],  # elsewhere
        [loop, config],
        [launch, program, config],  # the command would name it
        [context("a/train.yaml", kind="trl", **TRAINER), config],
    ):
        assembly = assemble(files)
        assert [presumed(run) for run in assembly.runs] == [{}]
        assert {one.kind for one in assembly.unused} == {"accelerate"}


def test_the_program_that_makes_a_lightning_cli_belongs_to_the_config_beside_it() -> None:
    symbols = ("lightning.pytorch.cli.LightningCLI", "link_arguments")
    program = context("a/train.py", kind="python", run=False, **{"code.symbols": symbols})
    config = context("a/train.yaml", kind="lightning-cli", seed=1)
    (one,) = join([config, program])
    assert one.source == "a/train.yaml + a/train.py"
    assert presumed(one) == {}
    other = context("a/data.py", kind="python", run=False, **{"code.symbols": ("torch.nn.Module",)})
    assert [one.source for one in join([config, other])] == ["a/train.yaml"]
    assert [one.source for one in join([config, program, replace(program, source="a/test.py")])] == ["a/train.yaml"]


def test_auto_takes_what_the_trainer_says() -> None:
    (one,) = join(
        [
            context("train.yaml", "z2.json", steps=8),
            context("z2.json", kind="deepspeed", run=False, steps=None, clipping=None),
        ]
    )
    assert values(one) == {"steps": [8], "clipping": [None]}


def test_a_script_that_computes_a_value_leaves_it_open() -> None:
    (one,) = join([context("run.sh", "c.yaml", steps=None), context("c.yaml", steps=8)])
    assert values(one) == {"steps": [None, 8]}


def test_a_flag_overrides_the_config_that_the_command_names() -> None:
    script = context("run.sh", "c.yaml", "train.py", kind="launch-script", steps=8)
    (one,) = join([script, context("c.yaml", steps=1, seed=3), context("train.py", kind="python", steps=2)])
    # What the program makes of its flags is not known, so its own value contradicts.
    assert values(one) == {"steps": [8, 2], "seed": [3]}


def unused(contexts: list[Context]) -> list[str]:
    return [one.source for one in assemble(contexts).unused]


def test_what_a_training_leaves_behind_belongs_to_the_only_run() -> None:
    parts = [context("config.json", kind="hf-model", run=False), context("adapter.json", kind="hf-adapter", run=False)]
    assert [one.source for one in join([context("a.yaml"), *parts])] == ["a.yaml + config.json + adapter.json"]
    assert [one.source for one in join([context("a.yaml"), context("b.yaml"), *parts])] == ["a.yaml", "b.yaml"]
    assert unused([context("a.yaml"), context("b.yaml"), *parts]) == ["config.json", "adapter.json"]


def test_a_config_that_nothing_names_is_no_run() -> None:
    parts = [context(name, kind="deepspeed", run=False) for name in ("z2.json", "z3.json")]
    for only in (parts[:1], parts):
        assert [one.source for one in join([context("a.yaml"), *only])] == ["a.yaml"]
        assert unused([context("a.yaml"), *only]) == [one.source for one in only]
        assert (join(only), unused(only)) == ([], [one.source for one in only])
    assert [one.source for one in join([context("a.yaml", "z3.json"), *parts])] == ["a.yaml + z3.json"]
    assert unused([context("a.yaml", "z3.json"), *parts]) == ["z2.json"]


def test_a_program_that_trains_nothing_is_no_run() -> None:
    demo = context("demo.ipynb", kind="notebook", run=False, bits=4)
    script = context("train.sh", kind="launch-script", steps=8)
    assert [(one.source, values(one)) for one in join([script, demo])] == [("train.sh", {"steps": [8]})]
    assert unused([script, demo]) == ["demo.ipynb"]
    assert (join([demo]), unused([demo])) == ([], ["demo.ipynb"])


def test_a_command_whose_only_program_of_that_name_trains_nothing_is_no_run() -> None:
    symbols = ("torch.multiprocessing.spawn", "transformers.AutoModelForCausalLM.from_pretrained")
    program = context("tools/ppl.py", kind="python", run=False, **{"code.symbols": symbols})
    launch = context("tools/scripts/ppl.sh", "scripts/ppl.py", kind="launch-script")
    launch = replace(launch, targets=launch.refers_to)
    assert [one.source for one in join([launch, program])] == []  # which only asks a model, in processes of its own
    assert [one.source for one in join([launch, program, replace(program, source="other/ppl.py")])] == [launch.source]
    trains = replace(program, run=True)
    assert [one.source for one in join([launch, trains])] == [launch.source, trains.source]


def test_a_command_that_says_who_drives_is_a_run_although_its_program_takes_no_step() -> None:
    symbols = ("lightning.pytorch.cli.LightningCLI",)
    program = context("main.py", kind="python", run=False, **{"code.symbols": symbols})
    launch = replace(context("run.sh", "main.py", kind="launch-script", steps=8), targets=("main.py",))
    assert [one.source for one in join([launch, program])] == []
    said = Setting(key="training.framework", value="lightning", location=Location(path="run.sh", line=1))
    driven = replace(launch, settings=(*launch.settings, said))
    assert [one.source for one in join([driven, program])] == ["run.sh + main.py"]


def test_a_module_that_a_run_imports_is_part_of_it() -> None:
    program = replace(context("train.py", kind="python"), modules=("sft.py",))
    assert assemble([context("sft.py", kind="python"), program]) == Assembly((replace(program, refers_to=()),), ())


def test_what_is_named_with_context_is_one_run() -> None:
    contexts = Contexts(together=(context("a.yaml", steps=1), context("run.sh", kind="launch-script", steps=8)))
    assert [(one.source, values(one)) for one in contexts.of(["uv.lock"])[0]] == [
        ("run.sh + a.yaml", {"steps": [8]}),
    ]
    contexts = Contexts(together=(context("a.yaml", steps=1), context("b.yaml", steps=8)))
    assert [(one.source, values(one)) for one in contexts.of(["uv.lock"])[0]] == [
        ("a.yaml + b.yaml", {"steps": [1, 8]})
    ]
    only = Contexts(together=(context("z2.json", kind="deepspeed", run=False, stage=2),))
    assert [one.source for one in only.of(["uv.lock"])[0]] == ["z2.json"]


def test_named_together_they_belong_together() -> None:
    parts = [context("z2.json", kind="deepspeed", run=False, stage=2), context("m.json", kind="hf-model", run=False)]
    assert [one.source for one in join(parts, together=True)] == ["z2.json + m.json"]
    assert [one.source for one in join([context("a.yaml"), context("b.yaml"), *parts], together=True)] == [
        "a.yaml + z2.json + m.json",
        "b.yaml + z2.json + m.json",
    ]


def test_a_path_that_fits_several_files_names_none() -> None:
    joined = join([context("x/run.sh", "c.yaml"), context("a/c.yaml"), context("b/c.yaml")])
    assert [one.source for one in joined] == ["x/run.sh", "a/c.yaml", "b/c.yaml"]


def test_configs_that_name_one_another_in_a_circle() -> None:
    joined = join([context("a.yaml", "b.yaml", "a.yaml"), context("b.yaml", "a.yaml")])
    assert [one.source for one in joined] == ["a.yaml + b.yaml", "b.yaml + a.yaml"]


def test_each_project_keeps_its_own() -> None:
    contexts = Contexts(
        named=(context("said.yaml"),),
        found=(context("a/configs/x.yaml"), context("b/y.yaml"), context("z.yaml")),
    )
    owned = contexts.of(["a/uv.lock", "b/uv.lock", "b/requirements.txt"])
    assert [[one.source for one in runs] for runs in owned] == [
        ["said.yaml", "a/configs/x.yaml"],
        ["said.yaml", "b/y.yaml"],
        ["said.yaml", "b/y.yaml"],
    ]
    (lone,) = contexts.unused(["a/uv.lock", "b/uv.lock", "b/requirements.txt"])
    assert (lone.what, lone.gap) == ("z.yaml", True)


def test_the_config_of_a_model_stands_beside_what_its_path_suggests() -> None:
    at = Location(path="run.sh", line=2)
    presumed = Setting(key="model.architecture", value=("Qwen3ForCausalLM",), location=at, presumed=True)
    run = replace(context("run.sh", "models/Qwen3-8B/config.json", kind="launch-script"), settings=(presumed,))
    config = context("models/Qwen3-8B/config.json", kind="model-config", run=False, **{"model.architecture": ("Mine",)})

    (joined,) = join([run, config])
    assert [(one.value, one.presumed) for one in joined.settings] == [(("Qwen3ForCausalLM",), True), (("Mine",), False)]

    (alone,) = join([run])
    assert alone.settings == (presumed,)


def run_of_files(program: str, config: str) -> Context:
    contexts = [python_code.scan(Document("train.py", program)), deepspeed.scan(Document("ds.json", config))]
    (one,) = join(contexts)
    return one


HANDED_ON = """import json, deepspeed
config = json.load(open("ds.json"))
engine, *_ = deepspeed.initialize(model=model, config=config)
for batch in batches:
    engine.backward(engine(batch))
    engine.step()
"""


def test_a_deepspeed_config_that_a_program_loads_and_hands_on_counts() -> None:
    one = run_of_files(HANDED_ON, '{"zero_optimization": {"stage": 0}, "bf16": {"enabled": true}}')
    found = values(one)
    assert (found["deepspeed.zero_stage"], found["precision.mode"]) == ([0], ["bf16"])
    assert None not in found.get("deepspeed.gradient_clipping", [])
    inline = HANDED_ON.replace("config=config", 'config=json.load(open("ds.json"))')
    assert values(run_of_files(inline, '{"zero_optimization": {"stage": 0}}'))["deepspeed.zero_stage"] == [0]


def test_a_deepspeed_config_that_a_program_changes_is_not_known() -> None:
    changed = HANDED_ON.replace("engine,", 'config["zero_optimization"]["stage"] = stage\nengine,')
    one = run_of_files(changed, '{"zero_optimization": {"stage": 0}}')
    assert None in values(one)["deepspeed.zero_stage"]
    without = join([python_code.scan(Document("train.py", HANDED_ON))])[0]
    assert values(without)["deepspeed.zero_stage"] == [None]


def test_python_alone_is_one_process_unless_the_trainer_starts_others() -> None:
    start = Location(path="run.sh", line=1)
    script = replace(context("run.sh", "train.py", kind="launch-script"), alone=start)
    programs: tuple[tuple[str, dict[str, int]], ...] = (
        ("transformers.Trainer", {}),
        ("lightning", {}),
        ("accelerate", {"distributed.processes": 4}),
    )
    counts = {
        framework: [
            (setting.value, setting.presumed)
            for setting in join(
                [script, context("train.py", kind="python", run=True, **{"training.framework": framework}, **more)]
            )[0].settings
            if setting.key == "distributed.processes"
        ]
        for framework, more in programs
    }
    assert counts == {"transformers.Trainer": [(1, True)], "lightning": [], "accelerate": [(4, False)]}


def test_a_trainer_that_python_starts_on_several_gpus_copies_the_model_to_each() -> None:
    start = Location(path="run.sh", line=1)
    script = replace(context("run.sh", "train.py", kind="launch-script"), alone=start, devices=start)
    by_all: dict[str, SettingValue] = {"training.framework": "transformers.Trainer"}
    programs: dict[str, tuple[dict[str, SettingValue], bool]] = {
        "several": (by_all, True),
        "one": (by_all, False),
        "accelerate": ({"training.framework": "accelerate"}, True),
        "sharded": ({**by_all, "fsdp.version": 2}, True),
        "told": ({**by_all, "distributed.strategy": "deepspeed"}, True),
        "spread": (
            {**by_all, "code.calls": ("transformers.AutoModelForCausalLM.from_pretrained(_1, device_map='auto')",)},
            True,
        ),
    }
    strategies = {
        name: [
            (setting.value, setting.presumed)
            for setting in join(
                [
                    script if several else replace(script, devices=None),
                    context("train.py", kind="python", run=True, **said),
                ]
            )[0].settings
            if setting.key == "distributed.strategy"
        ]
        for name, (said, several) in programs.items()
    }
    assert strategies == {
        "several": [("dp", True)],
        "one": [],
        "accelerate": [],
        "sharded": [],
        "told": [("deepspeed", False)],
        "spread": [],
    }


@pytest.mark.parametrize(
    ("config", "alike"),
    [
        ('{"gradient_accumulation_steps": 4, "zero_optimization": {"stage": 2}}', [True]),
        ('{"gradient_accumulation_steps": 1, "zero_optimization": {"stage": 2}}', [False]),
        ('{"gradient_accumulation_steps": "auto", "zero_optimization": {"stage": 2}}', [True]),
        ('{"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 2}}', [False]),  # one by default
    ],
)
def test_the_number_of_micro_batches_in_both(config: str, alike: list[bool]) -> None:
    program = (
        "from accelerate import Accelerator\nfrom accelerate import DeepSpeedPlugin\n"
        'accelerator = Accelerator(gradient_accumulation_steps=4, deepspeed_plugin=DeepSpeedPlugin("ds.json"))\n'
        "for batch in loader:\n    accelerator.backward(model(batch))\n    optimizer.step()\n"
    )
    scanned = python_code.scan(Document("train.py", program))
    contexts = [replace(scanned, refers_to=("ds.json",)), deepspeed.scan(Document("ds.json", config))]
    assert values(join(contexts)[0]).get("deepspeed.same_accumulation") == alike


@pytest.mark.parametrize(
    ("config", "computed", "told"),
    [
        # A helper is handed what the config says, and is read apart from it.
        ("trl", [None], [("m", True)]),
        ("launch-script", [None], [("m", True)]),
        # Two models are loaded, or the program writes one itself: which is meant is not known.
        ("trl", [None, None], [(None, False), (None, False), ("m", False)]),
        ("trl", [None, "other"], [(None, False), ("other", False), ("m", False)]),
        # An engine and a model that lies in a folder say something of their own.
        ("deepspeed", [None], [(None, False), ("m", False)]),
        ("hf-model", [None], [(None, False), ("m", False)]),
    ],
)
def test_what_a_program_computes_is_presumed_to_be_what_its_config_says(
    config: str, computed: list[str | None], told: list[tuple[str | None, bool]]
) -> None:
    program = context("train.py", kind="python")
    places = [Location(path="models.py", line=line) for line in range(len(computed))]
    program = replace(
        program,
        settings=tuple(
            Setting(key="model.name", value=value, location=place)
            for value, place in zip(computed, places, strict=True)
        ),
    )
    source = "run.sh" if config == "launch-script" else "train.yaml"
    named = context(source, "train.py", kind=config, run=config in ("trl", "launch-script"), **{"model.name": "m"})
    first = named if config == "launch-script" else context("go.sh", "train.py", source, kind="launch-script")
    (one,) = join([first, program, *([] if first is named else [named])])
    assert sorted((setting.value or "", setting.presumed) for setting in one.settings) == sorted(
        (value or "", presumed) for value, presumed in told
    )


PARSING = """\
from accelerate import Accelerator
from transformers import HfArgumentParser, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_json_file("given.json")
accelerator = Accelerator()
model, optimizer, loader = accelerator.prepare(*made())
for batch in loader:
    accelerator.backward(model(batch))
    optimizer.step()
"""
ARGUMENTS = """{"model_name_or_path": "a/tts", "output_dir": "out", "num_train_epochs": 3, "warmup_ratio": 0.1,
"per_device_train_batch_size": 4, "gradient_accumulation_steps": 8, "do_train": true, "logging_steps": 10}"""


@pytest.mark.parametrize(
    ("programs", "drivers"),
    [
        ({"train.py": PARSING}, ["accelerate"]),
        ({"train.py": PARSING.replace(".parse_json_file", ".parse_args")}, ["transformers.Trainer", "trl"]),
        ({"train.py": PARSING, "train_tts.py": PARSING}, ["transformers.Trainer", "trl"]),
        ({"other/train.py": PARSING}, ["transformers.Trainer", "trl"]),
    ],
)
def test_a_file_of_arguments_is_for_the_one_program_above_it_that_parses_such_files(
    programs: dict[str, str], drivers: list[str]
) -> None:
    config = any_config.scan(Document("configs/tts.json", ARGUMENTS))
    found = [python_code.scan(Document(name, text)) for name, text in programs.items()]
    runs = [one for one in join([config, *found]) if "configs/tts.json" in one.source]
    assert [values(one)["training.framework"] for one in runs] == [drivers]
    assert [values(one)["training.gradient_accumulation_steps"] for one in runs] == [[8]]
