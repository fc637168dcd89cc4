"""Which grammars make files of which kind, and what such a file is called."""

from __future__ import annotations

from functools import partial

from fuzz.grammars import code, json, logs, requirements, toml, yaml
from fuzz.grammars.words import Grammar

GRAMMARS: dict[str, tuple[Grammar, ...]] = {
    "uv.lock": (toml.uv_lock,),
    "poetry.lock": (toml.poetry_lock,),
    "pdm.lock": (toml.pdm_lock,),
    "Pipfile.lock": (json.pipfile_lock,),
    "pylock.toml": (toml.pylock,),
    "pixi.lock": (yaml.pixi_lock,),
    "conda-lock": (yaml.conda_lock,),
    "conda-environment": (yaml.environment,),
    "conda-explicit": (requirements.conda_explicit,),
    "conda-list": (requirements.conda_list,),
    "pyproject.toml": (toml.pyproject,),
    "setup.cfg": (logs.setup_cfg,),
    "pip-inspect": (json.pip_inspect,),
    "pip-list": (requirements.pip_list, json.pip_list),
    "report": (logs.report,),
    "requirements": (requirements.requirements,),
    "cyclonedx": (json.cyclonedx,),
    "spdx": (json.spdx, logs.spdx_tags),
    "dockerfile": (requirements.dockerfile,),
    "notebook": (code.notebook,),
    "script": (code.python,),
    **{kind: (partial(yaml.config, kind),) for kind in yaml.HEADS},
    "deepspeed": (json.deepspeed, partial(yaml.config, "deepspeed")),
    "hf-training-args": (json.training_args,),
    "hf-trainer-state": (json.trainer_state,),
    "hf-adapter": (json.adapter_config,),
    "hf-model": (json.model_config,),
    "launch-script": (code.shell,),
    "python": (code.python,),
    "log": (logs.log, logs.curve, logs.report, json.trainer_state),
    "gradcompat.toml": (toml.gradcompat_toml,),
}
ANY: tuple[Grammar, ...] = (
    toml.document,
    yaml.document,
    json.document,
    requirements.requirements,
    code.python,
    code.shell,
)

FILE_NAMES = {
    "uv.lock": "uv.lock",
    "poetry.lock": "poetry.lock",
    "pdm.lock": "pdm.lock",
    "Pipfile.lock": "Pipfile.lock",
    "pylock.toml": "pylock.toml",
    "pixi.lock": "pixi.lock",
    "conda-lock": "conda-lock.yml",
    "conda-environment": "environment.yml",
    "conda-explicit": "spec-file.txt",
    "conda-list": "conda-list.txt",
    "pyproject.toml": "pyproject.toml",
    "setup.cfg": "setup.cfg",
    "pip-inspect": "pip-inspect.json",
    "pip-list": "pip-list.txt",
    "report": "collect_env.txt",
    "requirements": "requirements.txt",
    "cyclonedx": "sbom.cdx.json",
    "spdx": "sbom.spdx.json",
    "dockerfile": "Dockerfile",
    "notebook": "train.ipynb",
    "script": "script.py",
    "deepspeed": "ds.json",
    "hf-training-args": "training_args.json",
    "hf-trainer-state": "trainer_state.json",
    "hf-adapter": "adapter_config.json",
    "hf-model": "config.json",
    "launch-script": "launch.sh",
    "python": "train.py",
    "log": "train.log",
    "gradcompat.toml": "gradcompat.toml",
}


def file_name(kind: str) -> str:
    """What a file of that kind is called: as its kind, if that is a file name; else a config of a training."""
    return FILE_NAMES.get(kind, kind if "." in kind else "train.yaml")
