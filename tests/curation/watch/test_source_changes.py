"""What the rules single out between two versions of a module, and what they leave alone."""

from __future__ import annotations

import pytest

from gradcompat.curation.watch.source_changes import source_changes, trains

PAIR = ("1.0", "1.1")


def changes(
    before: str, after: str, module: str = "one.trainer"
) -> list[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    found = source_changes("one", module, before.encode(), after.encode(), PAIR)
    return [(one.rule, one.place, one.removed, one.added) for one in found]


def method(*lines: str, name: str = "training_step") -> str:
    body = "".join(f"        {line}\n" for line in lines)
    return f"class Trainer:\n    def {name}(self, loss, mask):\n{body}        return loss\n"


@pytest.mark.parametrize(
    ("before", "after", "rule", "removed", "added"),
    [
        ("loss = loss / self.accumulation", "pass", "division", ("loss / accumulation",), ()),
        ("pass", "loss /= count_of_tokens", "division", (), ("loss /= count_of_tokens",)),
        ("pass", "loss = loss * self.num_processes", "division", (), ("loss * num_processes",)),
        (
            "loss = cross_entropy(loss, mask, reduction='mean')",
            "loss = cross_entropy(loss, mask, reduction='sum')",
            "reduction",
            ("cross_entropy(reduction='mean')", "cross_entropy(loss, mask, reduction='mean')"),
            ("cross_entropy(reduction='sum')", "cross_entropy(loss, mask, reduction='sum')"),
        ),
        (
            "loss = nll_loss(loss)",
            "loss = nll_loss(loss, mask)",
            "loss",
            ("nll_loss(loss)",),
            ("nll_loss(loss, mask)",),
        ),
        ("clip_grad_norm_(loss, 1)", "pass", "clipping", ("clip_grad_norm_(loss, 1)",), ()),
        ("pass", "loss = loss.detach()", "gradients", (), ("loss.detach()",)),
        ("self.sampler.set_epoch(1)", "pass", "order", ("sampler.set_epoch(1)",), ()),
        ("mask = mask != -100", "pass", "mask", ("mask != -100", "mask = mask != -100"), ()),
        (
            "pass",
            "labels = labels.masked_fill(mask, 0)",
            "mask",
            (),
            ("labels = labels.masked_fill(mask, 0)", "labels.masked_fill(mask, 0)"),
        ),
    ],
)
def test_each_rule(before: str, after: str, rule: str, removed: tuple[str, ...], added: tuple[str, ...]) -> None:
    assert changes(method(before), method(after)) == [(rule, "one.trainer: Trainer.training_step", removed, added)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (method("loss = loss / 2"), method("", "# a comment", "loss = loss / 2")),  # lines move
        (method("loss = loss / 2", name="old"), method("loss = loss / 2", name="new")),  # the function is renamed
        (method("x = 1"), method("x = 2")),
        (method("path = loss_dir / 'a'"), method("path = loss_dir / 'b'")),  # a path, not a number
        ("x = 1\n", "x = 1\n\n\n" + method("loss = loss / 2")),  # a class that is new is no change
    ],
)
def test_what_is_no_change(before: str, after: str) -> None:
    assert changes(before, after) == []


def test_all_changes_of_a_function_are_one_candidate_of_the_heaviest_rule() -> None:
    (found,) = source_changes(
        "one",
        "one.trainer",
        method("loss = loss / self.steps", "loss = loss.detach()").encode(),
        method("pass").encode(),
        PAIR,
    )
    assert (found.rule, found.removed, found.line) == ("division", ("loss / steps", "loss.detach()"), 2)


def test_a_division_that_is_gone_weighs_more_than_one_that_has_changed() -> None:
    gone, changed = (
        next(source_changes("one", "one.trainer", method("loss = loss / 2").encode(), method(after).encode(), PAIR))
        for after in ("pass", "loss = loss / 4")
    )
    assert gone.weight > changed.weight


MODEL = """\
class A:
    def forward(self, x, labels):
        return cross_entropy({logits}, labels)
    def other(self, x):
        return {other}
"""


def test_a_model_counts_where_it_makes_its_loss() -> None:
    before = MODEL.format(logits="x", other="loss / 2")
    after = MODEL.format(logits="x[1:]", other="loss")
    assert [place for _, place, _, _ in changes(before, after, "one.models.a.modeling_a")] == [
        "one.models.a.modeling_a: A.forward"
    ]


@pytest.mark.parametrize(
    ("module", "compared"),
    [
        ("one.trainer", True),
        ("one.loss.loss_utils", True),
        ("one.data.data_collator", True),
        ("one.optim.adamw", True),
        ("one.models.llama.modeling_llama", True),
        ("one.models.llama.configuration_llama", False),
        ("one.test_utils.testing_trainer", False),
        ("one.utils.hub", False),
        ("one.pretrained", False),
    ],
)
def test_the_modules_that_train(module: str, compared: bool) -> None:
    assert trains(module) is compared


@pytest.mark.parametrize("broken", ["def", "x = (" * 300, "\x00"])
def test_a_module_that_cannot_be_parsed(broken: str) -> None:
    with pytest.raises(ValueError, match="cannot be parsed"):
        changes("x = 1", broken)
