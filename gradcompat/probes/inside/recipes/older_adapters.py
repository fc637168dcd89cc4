"""Is an adapter of a vision-language model loaded that was saved under the names of transformers before 4.52?

The file of an adapter is renamed as 4.51 would have written it, with the language model outside of ``model``. The
control is the same file with the names of this release.
"""

import glob
import os
import tempfile

from .. import models
from ..skipping import Skip

_NEW = "base_model.model.model.language_model.layers."
_OLD = "base_model.model.language_model.model.layers."


def measure(parameters, device, seed):  # noqa: ARG001  # files are loaded into main memory
    """``model``: llava; with ``plant`` the names are those of nobody."""
    import peft
    import torch
    from safetensors.torch import load_file, save_file

    kind = parameters.get("model", "llava")
    config = peft.LoraConfig(r=2, target_modules=["q_proj"])
    adapted = peft.get_peft_model(models.build(kind, seed), config)
    with torch.no_grad():
        for weight in adapted.parameters():
            if weight.requires_grad:
                weight.add_(1.0)  # so that no fresh adapter is the same by chance
    folder = tempfile.mkdtemp(dir=".")
    adapted.save_pretrained(folder)
    (path,) = glob.glob(os.path.join(folder, "adapter_model.safetensors"))
    saved = load_file(path)
    if not any(name.startswith(_NEW) for name in saved):
        raise Skip("this release of transformers has the older names itself")
    wanted = peft.get_peft_model_state_dict(adapted)

    def share():
        loaded = peft.PeftModel.from_pretrained(models.build(kind, seed), folder)
        found = peft.get_peft_model_state_dict(loaded)
        return sum(torch.equal(found[name], tensor) for name, tensor in wanted.items()) / len(wanted)

    control = share()
    older = "base_model.model.nobody.layers." if parameters.get("plant") else _OLD
    renamed = {name.replace(_NEW, older): tensor.clone() for name, tensor in saved.items()}
    save_file(renamed, path, metadata={"format": "pt"})
    return {"loaded_share": share(), "control_loaded_share": control}
