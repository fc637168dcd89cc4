"""Configs that Hydra composes: as Hydra does it, each value with its place, and open what nobody can see."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradcompat.audit.runs import in_folder
from gradcompat.errors import Malformed, SourceError
from gradcompat.files.root import root_of_folder
from gradcompat.formats import yaml_nodes, yaml_text
from gradcompat.formats.document import Document, read_document
from gradcompat.model.context import Context, Override
from gradcompat.model.environment import Location, SettingValue
from gradcompat.scanners.any_config import scan
from gradcompat.scanners.configs import hydra
from gradcompat.scanners.configs.hydra_composition import Folder, beside, compose
from gradcompat.scanners.configs.hydra_defaults import File, header_of
from gradcompat.scanners.run_assembly import join

FIXTURES = Path(__file__).parents[2] / "fixtures" / "hydra"
PROJECT = FIXTURES / "project"

_CLASSES = ("code.symbols", "code.calls")  # which the config has made

Case = dict[str, Any]
Place = tuple[str, int | None, SettingValue | None]


def cases(name: str) -> list[Case]:
    found: list[Case] = json.loads((FIXTURES / name).read_text("utf-8"))
    return found


def overrides(*words: str) -> list[Override]:
    """What a command line says, one word in each column."""
    return [
        Override(
            name=word.partition("=")[0],
            value=word.partition("=")[2] if "=" in word else None,
            location=Location(path="run.sh", line=1, column=number),
        )
        for number, word in enumerate(words, 1)
    ]


def plain(node: yaml_nodes.Node) -> Any:
    """The values without their places."""
    if isinstance(node, yaml_nodes.Mapping):
        return {key: plain(one) for key, one in node.entries.items()}
    if isinstance(node, yaml_nodes.Sequence):
        return [plain(one) for one in node.items]
    return node.value


def folder(files: Mapping[str, str]) -> Folder:
    """A folder that lies nowhere."""

    def load(path: str) -> File | None:
        name = path if path.endswith(".yaml") else f"{path}.yaml"
        if name not in files:
            return None
        text = files[name]
        documents = yaml_text.parse(text, name) if text.strip("\n") else []
        content = documents[0] if documents else yaml_nodes.Mapping({}, 1, 1)
        if not isinstance(content, yaml_nodes.Mapping):
            raise Malformed("has no `key: value` lines at its top", path=name)
        return File(name, content, header_of(text))

    def is_group(path: str) -> bool:
        return any(name.startswith(f"{path}/") for name in files)

    def has_headers(path: str) -> bool:
        return any(name.startswith(f"{path}/") and header_of(text) is not None for name, text in files.items())

    return Folder(load, is_group, has_headers)


def told(context: Context) -> dict[str, Place]:
    """The settings of a context but for its classes by their keys, with the end of the path and the line of each."""
    settings = [one for one in context.settings if one.key not in _CLASSES or one.location.path.startswith("src/")]
    found = {one.key: (one.location.path, one.location.line, one.value) for one in settings}
    assert len(found) == len(settings)
    return found


def scanned(tmp_path: Path, files: Mapping[str, str], *words: str) -> Context:
    """The scan of `configs/train.yaml` among those files."""
    for name, text in files.items():
        path = tmp_path / "configs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    document = read_document(tmp_path / "configs" / "train.yaml", "configs/train.yaml")
    return hydra.scan(document, overrides(*words))


# What Hydra composes


@pytest.mark.parametrize("case", cases("project.json"), ids=lambda case: " ".join(case["overrides"]) or "none")
def test_a_project_as_hydra_composes_it(case: Case) -> None:
    document = read_document(PROJECT / "configs" / "train.yaml")
    content = yaml_text.parse_mapping(document.text, document.path)
    composed = compose("train", beside(document, content), overrides(*case["overrides"]))
    assert plain(composed.merged.top) == case["config"]
    assert (composed.opened, composed.skipped) == ([], [])


@pytest.mark.parametrize("case", cases("compositions.json"), ids=range(len(cases("compositions.json"))))
def test_whatever_hydra_composes(case: Case) -> None:
    composed = compose("config", folder(case["files"]), overrides(*case["overrides"]))
    assert plain(composed.merged.top) == case["config"]


@pytest.mark.e2e  # Hydra composes all of the fixtures, and takes half a second to import
@pytest.mark.filterwarnings("ignore:.*Defaults list is missing `_self_`:UserWarning")
def test_the_expectations_are_hydras_own(tmp_path: Path) -> None:
    real = pytest.importorskip("hydra", reason="hydra-core is not installed")
    container = pytest.importorskip("omegaconf").OmegaConf.to_container
    for number, case in enumerate(cases("compositions.json")):
        for name, text in case["files"].items():
            path = tmp_path / str(number) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        with real.initialize_config_dir(str(tmp_path / str(number)), version_base=None):
            assert container(real.compose("config", overrides=case["overrides"])) == case["config"]
    for case in cases("project.json"):
        with real.initialize_config_dir(str(PROJECT / "configs"), version_base="1.3"):
            config = container(real.compose("train", overrides=case["overrides"]))
        assert {key: value for key, value in config.items() if key != "hydra"} == case["config"]


# What is stated


def test_each_value_has_its_own_place() -> None:
    context = hydra.scan(read_document(PROJECT / "configs" / "train.yaml", "configs/train.yaml"))
    assert told(context) == {
        # `${steps}` stands where `steps` stands
        "training.gradient_accumulation_steps": ("configs/train.yaml", 10, 4),
        "training.gradient_checkpointing": ("configs/train.yaml", 13, True),
        "training.framework": ("configs/trainer/default.yaml", 1, "lightning"),
        "training.num_train_epochs": ("configs/trainer/default.yaml", 2, 3.0),
        "distributed.processes": ("configs/trainer/default.yaml", 4, 1),
        "precision.mode": ("configs/trainer/default.yaml", 6, "bf16"),
        "optimizer.name": ("configs/model/optimizer/adamw.yaml", 1, "AdamW"),
        "optimizer.library": ("configs/model/optimizer/adamw.yaml", 1, "torch"),
        "optimizer.weight_decay": ("configs/model/optimizer/adamw.yaml", 2, 0.01),
        "optimizer.fused": ("configs/model/optimizer/adamw.yaml", 3, True),
        "model.name": ("configs/model/llama.yaml", 3, "meta-llama/Llama-2-7b-hf"),
        "model.architecture": ("configs/model/llama.yaml", 3, ("LlamaForCausalLM",)),
        "training.label_smoothing_factor": ("configs/model/llama.yaml", 4, 0.1),
    }
    assert (context.run, context.skipped) == (True, ())
    spellings = {one.key: one.spelling for one in context.settings}
    assert spellings["training.gradient_accumulation_steps"] == "steps: {}"
    assert spellings["training.label_smoothing_factor"] == "label_smoothing_factor: {}"


def test_a_project_is_the_run_that_its_script_starts() -> None:
    contexts = in_folder(PROJECT, ".", root_of_folder(PROJECT, "."))[0]
    runs = {one.source: one for one in join(contexts)}
    assert list(runs) == ["run.sh + train.py + configs/train.yaml", "configs/eval.yaml"]
    run = runs["run.sh + train.py + configs/train.yaml"]
    code = ("code.symbols", "code.calls", "code.guarded", "training.framework")
    values = {one.key: one for one in run.settings if one.key not in code}
    assert {key: (str(one.location), one.value) for key, one in values.items()} == {
        "training.gradient_accumulation_steps": ("configs/experiment/llava.yaml:5", 16),
        "training.gradient_checkpointing": ("run.sh:2", False),
        "training.num_train_epochs": ("configs/trainer/default.yaml:2", 3.0),
        "training.seed": ("run.sh:3", 7),
        "distributed.processes": ("run.sh:2", 4),
        "distributed.strategy": ("configs/trainer/ddp.yaml:3", "ddp"),
        "precision.mode": ("configs/trainer/default.yaml:6", "bf16"),
        "optimizer.name": ("configs/model/optimizer/adafactor.yaml:1", "Adafactor"),
        "optimizer.library": ("configs/model/optimizer/adafactor.yaml:1", "transformers"),
        "optimizer.weight_decay": ("run.sh:2", 0.2),
        "model.name": ("configs/model/llava.yaml:4", "llava-hf/llava-1.5-7b-hf"),
        "model.architecture": ("configs/model/llava.yaml:4", ("LlavaForConditionalGeneration",)),
    }
    assert values["optimizer.weight_decay"].spelling == "model.optimizer.weight_decay={}"


def test_two_command_lines_make_two_configs_of_one() -> None:
    script = Document("run.sh", "python train.py trainer=ddp\npython train.py trainer=ddp steps=8\n")
    config = read_document(PROJECT / "configs" / "train.yaml", "configs/train.yaml")
    program = read_document(PROJECT / "train.py", "train.py")
    (run,) = join([scan(script), scan(program), scan(config)])
    found = [one.value for one in run.settings if one.key == "training.gradient_accumulation_steps"]
    assert sorted(map(str, found)) == ["4", "8"]
    assert [one.value for one in run.settings if one.key == "distributed.strategy"] == ["ddp"]


def test_the_config_that_a_command_line_names() -> None:
    text = "python -m lab.train --config-path ../configs --config-name=train seed=1,2 +x=$X ~y -m trainer=ddp"
    context = scan(Document("run.sh", text))
    assert "../configs/train.yaml" in context.refers_to
    (line,) = context.overrides
    assert [(one.name, one.value, text[(one.location.column or 0) - 1 :][:3]) for one in line] == [
        ("seed", "1,2", "1,2"),
        ("+x", None, "$X "),
        ("~y", None, "~y "),
        ("trainer", "ddp", "ddp"),
    ]


def test_the_config_of_the_command_line_takes_the_place_of_the_programs_own() -> None:
    script = Document("run.sh", "python train.py --config-path configs --config-name eval\n")
    files = ["train.py", "configs/train.yaml", "configs/eval.yaml"]
    runs = join([scan(script), *(scan(read_document(PROJECT / name, name)) for name in files)])
    assert [one.source for one in runs] == ["run.sh + train.py + configs/eval.yaml", "configs/train.yaml"]


def in_a_project(tmp_path: Path, files: Mapping[str, str]) -> dict[str, Context]:
    """The runs of a folder with those files, by the files that belong to each."""
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return {run.source: run for run in join(in_folder(tmp_path, ".", root_of_folder(tmp_path, "."))[0])}


def test_a_choice_of_the_command_line_is_no_value(tmp_path: Path) -> None:
    """`optim=fast` chooses a file here, whatever `optim` means to other programs."""
    files = {
        "train.py": "",
        "run.sh": "python train.py --config-name train optim=fast seed=3\n",
        "train.yaml": "defaults: [_self_, optim: slow]\naccumulate_grad_batches: 4\n",
        "optim/slow.yaml": "_target_: torch.optim.SGD\n",
        "optim/fast.yaml": "_target_: torch.optim.AdamW\n",
    }
    (run,) = in_a_project(tmp_path, files).values()
    assert told(run) == {
        "training.gradient_accumulation_steps": ("train.yaml", 2, 4),
        "optimizer.name": ("optim/fast.yaml", 1, "AdamW"),
        "optimizer.library": ("optim/fast.yaml", 1, "torch"),
        "training.seed": ("run.sh", 1, 3),
    }


def test_a_config_that_another_one_builds_on_is_a_run_of_its_own(tmp_path: Path) -> None:
    files = {
        "base.yaml": "label_smoothing_factor: 0.1\n",
        "train.yaml": "defaults: [base, _self_]\naccumulate_grad_batches: 4\n",
        "larger.yaml": "defaults: [train, _self_]\naccumulate_grad_batches: 8\n",
    }
    runs = in_a_project(tmp_path, files)
    found = {name: [one.value for one in run.settings] for name, run in runs.items()}
    assert found == {"larger.yaml": [0.1, 8], "train.yaml": [0.1, 4]}


def test_what_the_user_names_beside_a_config_belongs_to_it() -> None:
    def values(*names: str) -> list[SettingValue | None]:
        contexts = [scan(read_document(PROJECT / "configs" / name, name)) for name in ("train.yaml", *names)]
        (run,) = join(contexts, together=True)
        return [one.value for one in run.settings if one.key == "training.num_train_epochs"]

    assert values() == [3.0]
    assert values("experiment/quick.yaml") == [3.0, 1.0]
    # with the whole folder nothing is meant
    assert values("experiment/quick.yaml", "experiment/llava.yaml") == [3.0]


def test_a_mapping_is_merged_into_what_a_reference_stands_for() -> None:
    files = {"config.yaml": "defaults: [a, _self_]\nq: {b: 1}\nr: {s: 2}\n", "a.yaml": "r: ${q}\n"}
    composed = compose("config", folder(files), [])
    assert plain(composed.merged.top) == {"r": {"b": 1, "s": 2}, "q": {"b": 1}}


# What nobody can see

BASE = """\
defaults:
  - _self_
  - model: {choice}
  - trainer: ddp
model: {{label_smoothing_factor: 0.1}}
accumulate_grad_batches: 4
seed: 1
"""
DDP = "accumulate_grad_batches: 8\n"


def test_an_unknown_choice_opens_what_it_may_override(tmp_path: Path) -> None:
    files = {"train.yaml": BASE.format(choice="llava"), "trainer/ddp.yaml": DDP, "model/llava.yaml": "x: 1"}
    context = scanned(tmp_path, files)
    assert [one.value for one in context.settings] == [0.1, 4, 8]
    context = hydra.scan(
        read_document(tmp_path / "configs" / "train.yaml", "configs/train.yaml"),
        [Override(name="model", value=None, location=Location(path="run.sh", line=2))],
    )
    assert [(one.key, one.location.line, one.value) for one in context.settings] == [
        ("training.label_smoothing_factor", 5, None),
        ("training.gradient_accumulation_steps", 6, 4),
        ("training.gradient_accumulation_steps", 1, 8),
    ]
    assert [(one.what, one.reason, str(one.location)) for one in context.skipped] == [
        ("model: None", "nobody knows which is chosen", "configs/train.yaml:3")
    ]


def test_a_header_of_one_option_opens_everything_before(tmp_path: Path) -> None:
    files = {
        "train.yaml": BASE.format(choice="???"),
        "trainer/ddp.yaml": DDP,
        "model/llava.yaml": "# @package _global_\nseed: 2\n",
    }
    context = scanned(tmp_path, files)
    assert [(one.key, one.value) for one in context.settings] == [
        ("training.label_smoothing_factor", None),
        ("training.gradient_accumulation_steps", None),
        ("training.gradient_accumulation_steps", 8),
    ]
    assert [(one.what, one.reason) for one in context.skipped] == [
        ("model: ???", "has to be chosen on the command line")
    ]


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (None, "there is no such file"),
        ("a: [", "not valid YAML: did not find expected node content"),
        ("- 1", "has no `key: value` lines at its top"),
        ("x" * 300_000, "is larger than 256 KiB, which is too large for a config"),
    ],
)
def test_a_file_that_cannot_be_read_is_said(tmp_path: Path, model: str | None, reason: str) -> None:
    files = {"train.yaml": BASE.format(choice="llava"), "trainer/ddp.yaml": DDP}
    context = scanned(tmp_path, files if model is None else {**files, "model/llava.yaml": model})
    assert [(one.what, one.reason, one.gap) for one in context.skipped] == [("model: llava", reason, True)]
    assert [one.value for one in context.settings] == [None, 4, 8]


@pytest.mark.parametrize("name", ["../secret", "/../secret", "a/../../secret"])
def test_nothing_is_read_outside_of_the_folder(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.yaml").write_text("accumulate_grad_batches: 3\n", "utf-8")
    context = scanned(tmp_path, {"train.yaml": f"defaults: [{name}, _self_]\naccumulate_grad_batches: 4\n"})
    assert [one.value for one in context.settings] == [4]
    assert [one.reason for one in context.skipped] == ["there is no such file"]


def test_values_of_a_command_line() -> None:
    files = {"config.yaml": "defaults: [_self_]\na: {b: 1}\nc: 2\n"}
    words = ["a.b=null", "c=yes", "+d='1'", "+e=[x, 2]", "+f=1,2", "+g={h:1}", "+h=choice(1,2)", "~a.b", "++a.z=True"]
    composed = compose("config", folder(files), [*overrides(*words, "a[0]=1", "hydra.run.dir=x")])
    unknown = "${}"
    assert plain(composed.merged.top) == {
        "a": {"z": True},
        "c": "yes",
        "d": "1",
        "e": ["x", 2],
        "f": unknown,
        "g": unknown,
        "h": unknown,
    }
    assert [one.what for one in composed.skipped] == ["a[0]"]


# Bad input


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"config.yaml": "defaults: [config]"}, "`config.yaml:1`: `config` is composed of itself"),
        (
            {"config.yaml": "defaults: [a/x]", "a/x.yaml": "defaults: [/b/x]", "b/x.yaml": "defaults: [/a/x]"},
            "`a/x.yaml:1`: `a/x` is composed of itself",
        ),
        (
            {"config.yaml": "defaults: [f0]"} | {f"f{n}.yaml": f"defaults: [f{n + 1}]" for n in range(30)},
            "`f19.yaml:1`: composed more than 20 levels deep",
        ),
        (
            {"config.yaml": f"defaults: {[f'f{n}' for n in range(400)]}"} | {f"f{n}.yaml": "" for n in range(400)},
            "`config.yaml:1`: is composed of more than 300 files",
        ),
        (
            {"config.yaml": "defaults: [b0, b0]"}
            | {f"b{n}.yaml": f"defaults: [b{n + 1}, b{n + 1}]" for n in range(19)},
            "is composed of more than 2000 choices",
        ),
        (
            {
                "config.yaml": f"defaults: [a: {['x'] * 50}]",
                "a/x.yaml": f"defaults: [b: {['x'] * 50}]",
                "a/b/x.yaml": "",
            },
            "is composed of more than 2000 choices",
        ),
        (
            {"config.yaml": f"defaults: [a: {['x'] * 900}]", "a/x.yaml": f"k: {list(range(600))}"},
            "`a/x.yaml:1`: expands to more than any config holds",
        ),
        ({"config.yaml": "defaults: [[x]]"}, "`defaults` has a line that is neither a name nor a choice"),
        ({"config.yaml": "defaults: [{a: {b: c}}]"}, "`config.yaml:1`: a choice that is no name"),
        ({"config.yaml": "defaults: [{'': c}]"}, "`config.yaml:1`: a choice without a group"),
    ],
)
def test_what_cannot_be_composed_is_refused(files: dict[str, str], message: str) -> None:
    with pytest.raises(Malformed) as error:
        compose("config", folder(files), [])
    assert message in str(error.value)


def test_aliases_are_not_multiplied() -> None:
    bomb = "k0: &a0 {s: 1}\n" + "".join(f"k{n}: &a{n} {{x: *a{n - 1}, y: *a{n - 1}}}\n" for n in range(1, 40))
    files = {"config.yaml": f"defaults: [other, _self_]\n{bomb}", "other.yaml": bomb}
    composed = compose("config", folder(files), overrides("+k0.s=2"))
    assert plain(composed.merged.top.entries["k0"]) == {"s": 2}


_LINES = st.sampled_from(
    [
        *("defaults:", "  - _self_", "  - a", "  - /b/x", "  - b: x", "  - b@: y", "  - b@a.c: x", "  - override b: y"),
        *("  - optional b: z", "  - b: [x, y]", "  - b: null", "  - b: ${b}", "  - ${b}", "  - b@_group_.x: x"),
        *("# @package _global_", "# @package a.b", "x: 1", "y: ${x}", "z: ${.y}", "a: {b: 1}", "b: {x: {y: 2}}"),
        *("a: ${b}", "x: ???", "- 1", "k: &k {x: 1}", "l: *k", "<<: *k", "seed: ${seed}", "  - ../a", "  - hydra: x"),
        *("accumulate_grad_batches: ${x}", "gradient_checkpointing: true", "use_liger_kernel: ${b.x.y}"),
        "trainer: {_target_: lightning.Trainer, devices: [0, 1], max_epochs: ${x}, strategy: {_target_: x}}",
    ]
)
_TEXTS = st.lists(_LINES, max_size=7).map("\n".join)
_WORDS = st.sampled_from(
    [
        "b=x",
        "+b=y",
        "~b",
        "b@a=x",
        "x=1",
        "~x",
        "+a.b.c=2",
        "b=x,y",
        "b=",
        "=",
        "a[0]=1",
        "a..b=1",
        "~a.b",
        "b=[x]",
        "gradient_checkpointing=false",
        "+trainer.devices=[1]",
        "trainer=1",
    ]
)


@given(
    files=st.dictionaries(st.sampled_from(["a.yaml", "b/x.yaml", "b/y.yaml", "b/z.yaml"]), _TEXTS, max_size=4),
    config=_TEXTS,
    words=st.lists(_WORDS, max_size=3),
)
def test_whatever_stands_there_is_composed_or_refused(files: dict[str, str], config: str, words: list[str]) -> None:
    try:
        composed = compose("config", folder({**files, "config.yaml": config}), overrides(*words))
    except SourceError:
        return
    assert all("\n" not in one.reason for one in composed.skipped)
    assert isinstance(composed.merged.top, yaml_nodes.Mapping)


@given(
    files=st.dictionaries(st.sampled_from(["a.yaml", "b/x.yaml", "b/y.yaml"]), _TEXTS, max_size=3),
    config=_TEXTS,
    words=st.lists(_WORDS, max_size=2),
)
def test_whatever_stands_there_is_scanned_or_refused(files: dict[str, str], config: str, words: list[str]) -> None:
    with TemporaryDirectory() as path:
        try:
            context = scanned(Path(path), {**files, "train.yaml": f"defaults:\n{config}"}, *words)
        except SourceError:
            return
    for setting in context.settings:
        assert setting.location.path == "run.sh" or (Path("configs") / setting.location.path).suffix == ".yaml"
        assert (setting.location.line or 0) >= 1


@pytest.mark.parametrize("written", ["file://me:{}@index.example/a.git@v1.0", "git+https://{}@x/y", "a@https://{}@x/y"])
def test_an_address_among_the_defaults_shows_no_credentials(tmp_path: Path, written: str) -> None:
    config = tmp_path / "train.yaml"
    link = written.format("s3cret")
    config.write_text(f"defaults: ['{link}', 'model@{link}': x]\ntrainer:\n  _target_: lightning.Trainer\n", "utf-8")
    context = scan(Document("train.yaml", config.read_text("utf-8"), config))
    assert context.skipped
    assert "s3cret" not in repr(context.skipped)


EXPERIMENT = {
    "src/train.py": "import hydra\nimport lightning\n\n\n@hydra.main(config_path='../configs', config_name='train')\n"
    "def main(config):\n"
    "    hydra.utils.instantiate(config.trainer).fit(hydra.utils.instantiate(config.model))\n",
    "configs/train.yaml": "defaults: [_self_, strategy: ddp, trainer: gpu, experiment: null]\n",
    "configs/trainer/gpu.yaml": "_target_: lightning.Trainer\nstrategy: ${strategy}\n",
    "configs/strategy/ddp.yaml": "_target_: lightning.pytorch.strategies.DDPStrategy\n",
    "configs/strategy/deepspeed.yaml": "_target_: lightning.pytorch.strategies.DeepSpeedStrategy\nstage: 2\n",
    "configs/strategy/own.yaml": "_target_: project.Strategy\nstage: 2\n",
    "configs/experiment/large.yaml": "# @package _global_\ndefaults:\n  - override /strategy: deepspeed\n",
}
COMMANDS = [
    "python src/train.py experiment=large",
    "python -m src.train experiment=large",
    "python -m src.train -m experiment=large",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_trainer_refers_to_the_strategy_that_an_experiment_chooses(tmp_path: Path, command: str) -> None:
    (run,) = in_a_project(tmp_path, {**EXPERIMENT, "run.sh": f"{command}\n"}).values()
    stated = told(run)
    assert stated["distributed.strategy"] == ("configs/strategy/deepspeed.yaml", 1, "deepspeed")
    assert stated["deepspeed.zero_stage"] == ("configs/strategy/deepspeed.yaml", 2, 2)


def test_an_option_of_a_group_is_no_run_where_no_command_names_the_config(tmp_path: Path) -> None:
    idle = {**EXPERIMENT, "src/train.py": EXPERIMENT["src/train.py"].replace(".fit(", ".show(")}
    files = {**idle, "configs/trainer/cpu.yaml": "defaults: [gpu]\naccelerator: cpu\n"}
    assert list(in_a_project(tmp_path, files)) == ["configs/train.yaml + src/train.py"]


def test_a_strategy_of_the_projects_own_is_open(tmp_path: Path) -> None:
    files = {**EXPERIMENT, "run.sh": "python src/train.py strategy=own\n"}
    (run,) = in_a_project(tmp_path, files).values()
    stated = told(run)
    assert stated["distributed.strategy"] == ("configs/trainer/gpu.yaml", 2, None)


def test_an_experiment_chooses_another_strategy(tmp_path: Path) -> None:
    files = {
        "train.py": "import lightning\n",
        "run.sh": "python train.py --config-name train experiment=large\n",
        "train.yaml": "defaults: [_self_, strategy: ddp, experiment: null]\naccumulate_grad_batches: 4\n",
        "strategy/ddp.yaml": "_target_: lightning.pytorch.strategies.DDPStrategy\n",
        "strategy/deepspeed.yaml": "_target_: lightning.pytorch.strategies.DeepSpeedStrategy\n"
        "stage: 2\noverlap_comm: true\n",
        "experiment/large.yaml": "# @package _global_\ndefaults:\n  - override /strategy: deepspeed\n",
    }
    (run,) = in_a_project(tmp_path, files).values()
    assert told(run) == {
        "training.gradient_accumulation_steps": ("train.yaml", 2, 4),
        "distributed.strategy": ("strategy/deepspeed.yaml", 1, "deepspeed"),
        "deepspeed.zero_stage": ("strategy/deepspeed.yaml", 2, 2),
        "deepspeed.overlap_comm": ("strategy/deepspeed.yaml", 3, True),
    }


# What Hydra has made


def calls(context: Context) -> list[tuple[str, str, int | None]]:
    """Each call of a config with the place of its class."""
    return [
        (str(line), setting.place(index).path, setting.place(index).line)
        for setting in context.settings
        if setting.key == "code.calls" and isinstance(setting.value, tuple)
        for index, line in enumerate(setting.value)
    ]


_EMA = "defaults: [callbacks: ema, _self_]\nsteps: 500\ntrainer: {_target_: lightning.Trainer, max_epochs: 3}\n"
_AVERAGE = "_target_: lightning.pytorch.callbacks.EMAWeightAveraging"


@pytest.mark.parametrize(
    ("written", "words", "call"),
    [
        ("update_starting_at_step: 9", (), "(update_starting_at_step=9)"),
        ("update_starting_at_step: ${steps}", (), "(update_starting_at_step=500)"),
        ("update_starting_at_step: ${oc.env:STEPS}", (), "(update_starting_at_step=_)"),
        ("update_starting_at_step: 9", ("callbacks.ema.update_starting_at_step=0",), "(update_starting_at_step=0)"),
        ("_partial_: true", (), "(**_)"),
        ("device: {_target_: torch.device, type: cpu}", (), "(device=_)"),
    ],
)
def test_a_target_is_a_call_with_what_stands_beside_it(
    tmp_path: Path, written: str, words: tuple[str, ...], call: str
) -> None:
    ema = f"ema:\n  {_AVERAGE}\n  {written}\n"
    context = scanned(tmp_path, {"train.yaml": _EMA, "callbacks/ema.yaml": ema}, *words)
    name = _AVERAGE.partition(": ")[2]
    assert (f"{name}{call}", "configs/callbacks/ema.yaml", 2) in calls(context)


@pytest.mark.parametrize(
    ("written", "call"),
    [
        ("_partial_: true, lr: 0.1", "(lr=0.1, params=_)"),
        ("lr: 0.1", "(lr=0.1, params=_)"),
        ("_partial_: true, _args_: [x]", "(**_)"),
    ],
)
def test_an_optimizer_gets_the_parameters_where_it_is_called(tmp_path: Path, written: str, call: str) -> None:
    optimizer = f"optimizer: {{_target_: torch.optim.SGD, {written}}}\n"
    context = scanned(tmp_path, {"train.yaml": _EMA.replace("callbacks: ema, ", "") + optimizer})
    assert f"torch.optim.SGD{call}" in [line for line, _, _ in calls(context)]


@pytest.mark.parametrize(("name", "whole"), [("lightning.pytorch.callbacks.Timer", True), ("src.models.Net", False)])
def test_what_a_class_of_the_project_uses_is_not_seen(tmp_path: Path, name: str, whole: bool) -> None:
    context = scanned(tmp_path, {"train.yaml": f"{_EMA.replace('callbacks: ema, ', '')}model: {{_target_: {name}}}\n"})
    assert (None not in [one.value for one in context.settings if one.key == "code.symbols"]) is whole
