"""Recipes of datasets."""

from __future__ import annotations

from gradcompat.recipes.recipe import Expectation, Recipe

RECIPES = (
    Recipe(
        name="streams",
        module="streams",
        summary="Whether a streamed dataset loses samples when it goes on from its state, and feeds all workers.",
        parameters={
            "what": ("filter", "map", "shuffle", "workers"),
            "format": ("none", "numpy", "torch"),
            "plant": (False, True),
        },
        expectations=(
            Expectation("lost_share", 0.0, 0.0, "{} of the samples that are left are lost"),
            Expectation("repeated_share", 0.0, 0.0, "{} of them come again"),
            Expectation("busy_share", 1.0, 1.0, "{} of the workers get samples"),
        ),
        controls=(Expectation("control", 1.0, 1.0, "of a stream to which nothing was done {} comes out right"),),
        variants=(
            {"what": "filter"},
            {"what": "filter", "format": "numpy"},
            {"what": "map"},
            {"what": "map", "format": "numpy"},
            {"what": "shuffle"},
            {"what": "workers"},
        ),
        needs=("torch", "datasets"),
    ),
    Recipe(
        name="stream_parts",
        module="stream_parts",
        summary="Whether a stream of datasets hands out the part that a process, skip, a resume or an epoch asks for.",
        parameters={"what": ("ranks", "skip", "again", "epochs", "interleave"), "plant": (False, True)},
        expectations=(
            Expectation("least_share", 0.99, 1.1, "the process with the fewest rows gets {} of its share"),
            Expectation("covered_share", 1.0, 1.0, "all processes together see {} of the rows"),
            Expectation("behind_share", 1.0, 1.0, "behind a skip come {} times the rows that are left"),
            Expectation("left_share", 1.0, 1.0, "after a second resume come {} times the rows that are left"),
            Expectation("alike_share", 0.0, 0.5, "two epochs have {} of their rows in the same place"),
            Expectation("mixed_share", 1.0, 1.0, "without replacement {} of the rows are in the mixture"),
        ),
        controls=(Expectation("control", 1.0, 1.0, "from its start to its end the stream hands out {} of the rows"),),
        variants=({"what": "ranks"}, {"what": "skip"}, {"what": "again"}, {"what": "epochs"}, {"what": "interleave"}),
        needs=("torch", "datasets"),
        environment={"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
    ),
    Recipe(
        name="stateful_loader",
        module="stateful_loader",
        summary="Whether torchdata's StatefulDataLoader resumes behind an epoch, and follows the seed.",
        parameters={"what": ("end", "seeds"), "plant": (False, True)},
        expectations=(
            Expectation("next_epoch_share", 1.0, 1.0, "the epoch after a resume has {} of its rows"),
            Expectation("orders_share", 1.0, 1.0, "{} of the seeds shuffle in an order of their own"),
        ),
        controls=(Expectation("control", 1.0, 1.0, "resumed inside an epoch {} of the rows come in their order"),),
        variants=({"what": "end"}, {"what": "seeds"}),
        needs=("torch", "torchdata"),
    ),
    Recipe(
        name="dataset_streams",
        module="dataset_streams",
        summary="Whether the epochs behind a resume of a stream are whole, and its workers draw for themselves.",
        parameters={"what": ("later", "draws"), "plant": (False, True)},
        expectations=(
            Expectation("later_share", 1.0, 1.0, "the epoch behind the one that was resumed has {} of its rows"),
            Expectation("alike_share", 0.0, 0.9, "two workers take {} of their first rows from the same source"),
        ),
        controls=(Expectation("control", 1.0, 1.0, "what is left, or mixed in turn, comes right to {}"),),
        variants=({"what": "later"}, {"what": "draws"}),
        needs=("torch", "datasets"),
        environment={"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"},
    ),
    Recipe(
        name="no_duplicates",
        module="no_duplicates",
        summary="Whether the sampler of sentence-transformers without duplicates shuffles, and anew in each epoch.",
        parameters={"plant": (False, True)},
        expectations=(
            Expectation("following", 0.0, 0.2, "{} of the rows come right behind the row before them"),
            Expectation("again", 0.0, 0.2, "the second epoch has {} of its batches from the first"),
        ),
        controls=(Expectation("control_following", 0.0, 0.2, "of torch's shuffled rows {} do"),),
        variants=({},),
        devices=("cpu",),
        needs=("torch", "sentence_transformers"),
    ),
)
