"""Keys of axolotl's configs, which are fields of a model of pydantic: what no field has is passed over."""

from pathlib import Path

import pytest

import gradcompat

CONFIG = "base_model: m\nmicro_batch_size: 2\nsequence_len: 2048\nnum_epochs: 1\n"
LINE = CONFIG.count("\n") + 1


def broken(folder: Path, version: str, config: str) -> dict[str, tuple[int | None, str]]:
    (folder / "requirements.txt").write_text(f"axolotl=={version}\n")
    (folder / "train.yml").write_text(CONFIG + config)
    report = gradcompat.check(folder)
    found = [one.finding for one in report.findings if one.finding.issue.id.startswith("code:")]
    return {one.issue.id: (one.location.line, one.status) for one in found if one.location is not None}


@pytest.mark.parametrize(
    ("version", "config", "identifier"),
    [
        ("0.12.0", "relora_steps: 100", "code:axolotl:relora_steps"),
        ("0.8.0", "relora_steps: 100", None),
        ("0.8.0", "context_parallel_size: 2", "code:axolotl:context_parallel_size"),
        ("0.6.0", "context_parallel_size: 2", "code:axolotl:context_parallel_size"),
        ("0.12.0", "context_parallel_size: 2", None),
        ("0.12.0", "model_config: {}", None),  # the alias of a field
        ("0.19.0", "relora_steps: 100", None),  # a validator reads it
        ("0.12.0", "relora_steps:", None),  # asks for nothing
        ("0.12.0", "flash_attn_fuse_qkv: false", None),
        ("0.12.0", "of_a_fork: 1", None),
        ("0.12.0", "liger_rope: true", None),  # of a plugin
        ("99.0.0", "relora_steps: 100", None),
    ],
)
def test_keys_of_a_config(tmp_path: Path, version: str, config: str, identifier: str | None) -> None:
    expected = {} if identifier is None else {identifier: (LINE, "affected")}
    assert broken(tmp_path, version, config) == expected


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ("plugins: [axolotl.integrations.liger.LigerPlugin]", {"code:axolotl:relora_steps": (LINE, "affected")}),
        ("plugins: [mine.Plugin]", {}),
        ("plugins: [[]]", {}),
        ("plugins: mine.Plugin", {}),
    ],
)
def test_a_plugin_of_somebody_else_may_take_any_key(
    tmp_path: Path, plugins: str, expected: dict[str, tuple[int, str]]
) -> None:
    assert broken(tmp_path, "0.12.0", f"relora_steps: 100\n{plugins}\n") == expected


def test_what_it_says_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("axolotl==0.12.0\n")
    (tmp_path / "train.yml").write_text(f"{CONFIG}relora_steps: 100\n")
    (found,) = (one.finding for one in gradcompat.check(tmp_path).findings if one.finding.issue.id.startswith("code:"))
    assert found.issue.summary == "axolotl 0.12.0 passes over the key `relora_steps`: removed in 0.12.0"
    assert found.because[0].sentence.startswith("the config has the key `relora_steps` in ")
    assert [getattr(remedy, "kind", "code") for remedy in found.issue.remedies] == ["downgrade", "code"]
