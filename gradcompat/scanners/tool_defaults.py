"""What tools around transformers do to checkpointing and DDP where nobody asks: presumptions about their runs.

Their own arguments have other defaults than those of the Trainer below them, whose left-out fields would be taken
instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradcompat.model.environment import Location, Setting, SettingValue

_CHECKPOINTING, _REENTRANT = "training.gradient_checkpointing", "training.use_reentrant"
_UNUSED = "distributed.find_unused_parameters"
_STRATEGY = "training.packing_strategy"
_HOOK, _CACHE = "training.enable_input_require_grads", "model.use_cache"
_PADDING = "data.padding_side"

# The tool as messages call it, and what it does. Where they checkpoint, all of them turn the cache off.
_OF_TOOL: Mapping[str, tuple[str, Mapping[str, SettingValue]]] = {
    # model/model_utils/checkpointing.py in 0.9.1, 0.9.2 and 0.9.4: on unless `disable_gradient_checkpointing`, and each
    # checkpointed layer lets its inputs require a gradient.
    "llamafactory": (
        "LLaMA-Factory",
        # hparams/parser.py in 0.8.3 and 0.9.3: DDP looks for no unused parameters beside an adapter.
        # data/processor/supervised.py in 0.9.2 packs whole samples, which see one another without `neat_packing`.
        {
            _CHECKPOINTING: True,
            _REENTRANT: True,
            _HOOK: True,
            _CACHE: False,
            _UNUSED: False,
            _STRATEGY: "knapsack",
        },
    ),
    # trainers/arguments.py and llm/train/sft.py in 3.2.0, trainers/mixin.py in 4.5.3; which kind of checkpointing
    # depends on the release and the launch.
    "ms-swift": ("ms-swift", {_CHECKPOINTING: True, _HOOK: True, _CACHE: False, _PADDING: "right"}),
    # load_adapter in 0.6.0, 0.9.2, 0.12.2 and 0.19.0; the embeddings of other runs are trained, or have it as well.
    "axolotl": ("axolotl", {_HOOK: True, _CACHE: False}),
}


def left_to_tool(tool: str, stated: Iterable[Setting]) -> list[Setting]:
    """The settings that a tool brings with it, as presumptions, where a run does not state them.

    Args:
        tool: by its name on the index.
        stated: the settings of the run.
    """
    if tool not in _OF_TOOL:
        return []
    name, defaults = _OF_TOOL[tool]
    values = {setting.key: setting.value for setting in stated}
    keys = values.keys() | ({_CACHE} if values.get(_CHECKPOINTING) is False else set())
    place = Location(path=f"default of {name}")
    return [
        Setting(key=key, value=value, location=place, presumed=True)
        for key, value in defaults.items()
        if key not in keys
    ]
