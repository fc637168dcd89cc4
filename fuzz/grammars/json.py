"""JSON: any, lockfiles, lists of what is installed, SBOMs, configs of models and trainers."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from fuzz.grammars.words import amount, chance, marker, name, odd, pick, specifier, text, url, version

NUMBERS: tuple[Any, ...] = (0, 1, -1, 8, 1.5, 1e308, float("inf"), float("nan"), 10**30, True, False, None)


def value(random: Random, depth: int = 0) -> Any:
    """Any value."""
    draw = random.random()
    if draw < 0.45 or depth > 4:
        return text(random)
    if draw < 0.75:
        return pick(random, NUMBERS)
    if draw < 0.88:
        return [value(random, depth + 1) for _ in range(int(random.random() * 4))]
    return {key(random): value(random, depth + 1) for _ in range(int(random.random() * 4))}


def key(random: Random) -> str:
    """A key that a tool knows, as a rule."""
    known = ("name", "version", "packages", "metadata", "components", "purl", "stage", "train_batch_size", "model_type")
    return pick(random, known) if chance(random, 0.8) else odd(random)


def written(random: Random, data: Any) -> str:
    """The data as JSON, with what damages it now and then."""
    result = json.dumps(data, ensure_ascii=chance(random, 0.5), indent=pick(random, (None, 1, 2)))
    draw = random.random()
    if draw < 0.9:
        return result
    at = int(random.random() * len(result))
    if draw < 0.92:
        deep = pick(random, (100, 900, 100_000))
        return result[:at] + pick(random, ("[", '{"a":')) * deep + result[at:]
    return result[:at] + pick(random, (odd(random), ",", "// c\n", "}", "]", '"', "\\ud800", "9" * 4400)) + result[at:]


def document(random: Random) -> str:
    """Any JSON."""
    return written(random, {key(random): value(random) for _ in range(amount(random, 5))})


def _shaken(random: Random, data: dict[str, Any]) -> dict[str, Any]:
    """Now and then one value is something else."""
    if data and chance(random, 0.1):
        data[pick(random, list(data))] = value(random)
    return data


def pipfile_lock(random: Random) -> str:
    """A Pipfile.lock."""
    sources = [{"name": "x", "url": url(random), "verify_ssl": True}]

    def entries() -> dict[str, Any]:
        return {
            name(random): _shaken(random, {"version": f"=={version(random)}", "markers": marker(random), "index": "x"})
            for _ in range(amount(random, 5))
        }

    meta = _shaken(random, {"pipfile-spec": 6, "requires": {"python_version": "3.11"}, "sources": sources})
    return written(random, _shaken(random, {"_meta": meta, "default": entries(), "develop": entries()}))


def pip_inspect(random: Random) -> str:
    """What ``pip inspect`` prints."""
    installed = []
    for _ in range(amount(random, 6)):
        metadata = {
            "name": name(random),
            "version": version(random),
            "requires_dist": [name(random) + specifier(random)],
        }
        one: dict[str, Any] = {"metadata": _shaken(random, metadata), "installer": "pip", "requested": True}
        if chance(random, 0.3):
            one["direct_url"] = {"url": url(random), "vcs_info": {"vcs": "git", "commit_id": "1" * 40}}
        installed.append(_shaken(random, one))
    environment = {"python_full_version": "3.11.7", "sys_platform": "linux", "platform_machine": "x86_64"}
    return written(random, _shaken(random, {"version": "1", "installed": installed, "environment": environment}))


def pip_list(random: Random) -> str:
    """What ``pip list --format json`` prints."""
    return written(
        random, [_shaken(random, {"name": name(random), "version": version(random)}) for _ in range(amount(random))]
    )


def _purl(random: Random) -> str:
    return f"pkg:{pick(random, ('pypi', 'conda', 'npm', 'PyPI', ''))}/{name(random)}@{version(random)}{pick(random, ('', '?x=1', '#a', '%zz'))}"


def cyclonedx(random: Random) -> str:
    """An SBOM of CycloneDX."""
    components: list[Any] = []
    for _ in range(amount(random, 6)):
        one: dict[str, Any] = {
            "type": "library",
            "name": name(random),
            "version": version(random),
            "purl": _purl(random),
        }
        one["externalReferences"] = [{"type": "distribution", "url": url(random)}]
        if components and chance(random, 0.2):
            one["components"] = [pick(random, components)]
        components.append(_shaken(random, one))
    return written(random, _shaken(random, {"bomFormat": "CycloneDX", "specVersion": "1.6", "components": components}))


def spdx(random: Random) -> str:
    """An SBOM of SPDX 2, or of 3 now and then."""
    packages = [
        _shaken(
            random,
            {
                "SPDXID": f"SPDXRef-{number}",
                "name": name(random),
                "versionInfo": version(random),
                "downloadLocation": url(random),
                "externalRefs": [
                    {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": _purl(random)}
                ],
            },
        )
        for number in range(amount(random, 6))
    ]
    if chance(random, 0.2):
        graph = [
            {"type": "software_Package", "name": name(random), "software_packageVersion": version(random)},
            *packages,
        ]
        return written(random, {"@context": "https://spdx.org/rdf/3.0.1/spdx-context.jsonld", "@graph": graph})
    return written(random, _shaken(random, {"spdxVersion": "SPDX-2.3", "name": "x", "packages": packages}))


def deepspeed(random: Random) -> str:
    """A config of DeepSpeed."""
    data: dict[str, Any] = {
        "train_batch_size": pick(random, ("auto", 8, *NUMBERS)),
        "gradient_accumulation_steps": pick(random, ("auto", 8, *NUMBERS)),
        "gradient_clipping": pick(random, ("auto", 1.0, *NUMBERS)),
        "zero_optimization": _shaken(random, {"stage": pick(random, (0, 1, 2, 3, *NUMBERS)), "overlap_comm": True}),
        "bf16": {"enabled": pick(random, ("auto", True, *NUMBERS))},
        "optimizer": {"type": "AdamW", "params": {"lr": value(random)}},
    }
    return written(random, _shaken(random, data))


def model_config(random: Random) -> str:
    """A model's config.json."""
    data = {
        "architectures": ["LlavaForConditionalGeneration", text(random)],
        "model_type": "llava",
        "torch_dtype": "bfloat16",
    }
    return written(
        random, _shaken(random, {**data, "text_config": {"model_type": text(random)}, "num_experts": value(random)})
    )


def adapter_config(random: Random) -> str:
    """An adapter_config.json of PEFT."""
    data = {
        "peft_type": "LORA",
        "r": value(random),
        "modules_to_save": value(random),
        "base_model_name_or_path": text(random),
    }
    return written(random, _shaken(random, {**data, "use_dora": value(random), "target_modules": value(random)}))


def trainer_state(random: Random) -> str:
    """A trainer_state.json, with a curve."""
    history = [
        {"loss": pick(random, NUMBERS), "grad_norm": value(random), "step": step} for step in range(amount(random, 30))
    ]
    return written(random, _shaken(random, {"global_step": value(random), "log_history": history, "max_steps": 10}))


def training_args(random: Random) -> str:
    """A training_args.json."""
    data = {
        "per_device_train_batch_size": value(random),
        "gradient_accumulation_steps": value(random),
        "bf16": value(random),
    }
    return written(random, _shaken(random, {**data, "hub_token": text(random), "output_dir": text(random)}))
