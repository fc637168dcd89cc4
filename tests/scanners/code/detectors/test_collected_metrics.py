"""What a MetricCollection of torchmetrics holds, and when a program computes its values."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code import python_code

HEAD = "from torchmetrics import MetricCollection\nmetrics = MetricCollection([p, r, f]).to(device)\n"
EPOCHS = "for epoch in range(3):\n    for x, y in loader:\n        metrics.update(x, y)\n    print(metrics.compute())\n"
LOOP = "for batch in loader:\n    metrics.update(model(batch), y)\n"


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (LOOP + "    if step % 100 == 0:\n        print(metrics.compute())", {"computed_on_the_way"}),
        (LOOP + "    print(metrics.compute())\n    metrics.reset()", set()),
        (LOOP + "print(metrics.compute())", set()),
        (EPOCHS, {"computed_on_the_way"}),
        (EPOCHS + "    metrics.reset()", set()),
        (
            "for fold in folds:\n    metrics = MetricCollection([p, r])\n    for x, y in fold:\n"
            "        metrics.update(x, y)\n    print(metrics.compute())",
            set(),
        ),
        ("for x, y in loader:\n    metrics(x, y)\n    print(metrics.compute())", set()),
        ("for x, y in loader:\n    train = metrics.clone()\n    train.update(x, y)\n    print(other.compute())", set()),
        (
            "train = metrics.clone(prefix='t_')\nfor x, y in loader:\n    train.update(x, y)\n    log(train.compute())",
            {"computed_on_the_way"},
        ),
        (
            "class Net(LightningModule):\n    def __init__(self):\n        self.train_metrics = metrics.clone()\n"
            "    def training_step(self, batch, index):\n        self.train_metrics.update(*batch)\n"
            "        self.log_dict(self.train_metrics.compute())",
            {"computed_on_the_way"},
        ),
        (LOOP + "print(metrics.compute())\nwandb.log(metrics.compute())", {"computed_twice"}),
        (LOOP + "a, b = metrics.compute()['a'], metrics.compute()['b']", {"computed_twice"}),
        (LOOP + "print(metrics.compute())\nmetrics.reset()\nmetrics.update(x, y)\nprint(metrics.compute())", set()),
        (LOOP + "print(metrics.compute())\nmetrics(x, y)\nprint(metrics.compute())", set()),
        (LOOP + "print(metrics.compute())\nprint(others.compute())", set()),
        (LOOP + "if best:\n    print(metrics.compute())\nelse:\n    save(metrics.compute())", set()),
    ],
)
def test_when_values_are_computed(lines: str, expected: set[str]) -> None:
    assert found(HEAD + lines) == expected


def test_metrics_that_share_nothing() -> None:
    head = HEAD.replace("[p, r, f]", "[p, r, f], compute_groups=False")
    assert found(f"{head}{LOOP}    print(metrics.compute())\n") == set()


@pytest.mark.parametrize(
    ("metrics", "expected"),
    [
        ("{'least': MinMetric(), 'most': MaxMetric()}", {"extremes"}),
        ("metrics={'most': least, 'all': torchmetrics.SumMetric(), 'acc': acc}", {"extremes"}),
        ("{'least': MinMetric(), 'most': MaxMetric()}, compute_groups=False", set()),
        ("{'least': MinMetric(), 'least_too': MinMetric()}", set()),
        ("{'least': MinMetric(), 'mean': torchmetrics.MeanMetric()}", set()),
        ("[MinMetric(), own.MaxMetric()]", set()),
        ("[MinMetric(), MaxMetric()]", {"extremes"}),
        ("MinMetric(), MaxMetric()", {"extremes"}),
        ("dict(least=least, most=MaxMetric())", {"extremes"}),
        ("parts", {"extremes"}),
        ("parts, compute_groups=OFF", set()),
        ("parts, compute_groups=[['a'], ['b']]", set()),
        ("{'least': MinMetric(), 'most': Peak()}", set()),
        ("[MeanAveragePrecision(), MeanAveragePrecision(iou_type='segm')]", set()),
        ("{'least': MinMetric(), 'most': own.MaxMetric()}", set()),
        ("{'boxes': MeanAveragePrecision(), 'masks': MeanAveragePrecision(iou_type='segm')}", {"same_results"}),
        ("{'boxes': MeanAveragePrecision()}", set()),
    ],
)
def test_metrics_that_a_collection_takes_for_one(metrics: str, expected: set[str]) -> None:
    head = (
        "import own, torchmetrics\nfrom torchmetrics import MaxMetric, MetricCollection, MinMetric\n"
        "from torchmetrics.detection import MeanAveragePrecision\nleast = MinMetric()\n"
        "parts = {'a': least, 'b': MaxMetric()}\nOFF = False\nclass Peak(MaxMetric):\n    top = 1\n"
        f"metrics = MetricCollection({metrics})\n"
    )
    assert found(head + LOOP + "print(metrics.compute())", "") & {"extremes", "same_results"} == expected


def test_results_that_are_computed_one_by_one() -> None:
    program = (
        "from torchmetrics import MetricCollection\nfrom torchmetrics.detection import MeanAveragePrecision as Map\n"
        f"metrics = MetricCollection({{'a': Map(), 'b': Map()}})\n{LOOP}"
        "for metric in metrics.values():\n    print(metric.compute())"
    )
    assert "same_results" not in found(program, "")


def test_a_collection_of_ones_own() -> None:
    program = (
        "from torchmetrics import MaxMetric, MetricCollection, MinMetric\nclass Mine(MetricCollection):\n    pass\n"
        f"metrics = Mine([MinMetric(), MaxMetric()])\n{LOOP}"
    )
    assert "extremes" not in found(program, "")


def test_a_collection_that_is_called() -> None:
    program = (
        "from torchmetrics import MaxMetric, MetricCollection, MinMetric\n"
        "metrics = MetricCollection({'least': MinMetric(), 'most': MaxMetric()})\n"
        "for x, y in loader:\n    metrics(loss(x, y))"
    )
    assert "extremes" not in found(program, "")


def found(program: str, prefix: str = "computed_") -> set[str]:
    context = python_code.scan(Document("train.py", program + "\n"))
    symbols = next(one.value for one in context.settings if one.key == "code.symbols")
    assert isinstance(symbols, tuple)
    name = "torchmetrics.MetricCollection."
    return {one.removeprefix(name) for one in symbols if str(one).startswith(f"{name}{prefix}")}
