"""Whether a stream was shuffled before it was mixed, drawn from by a loader, and split before samples were skipped."""

from __future__ import annotations

import pytest

from gradcompat.formats.document import Document
from gradcompat.scanners.code.python_code import scan

_HEAD = """\
from datasets import concatenate_datasets, interleave_datasets, load_dataset
from datasets.distributed import split_dataset_by_node
a = load_dataset("a", split="train", streaming=True)
b = load_dataset("b", split="train", streaming=True)
"""


def words(text: str) -> list[str]:
    settings = scan(Document("x.py", _HEAD + text)).settings
    values = [one.value for one in settings if one.key == "code.symbols"]
    names = [str(name) for value in values if isinstance(value, tuple) for name in value]
    return [name for name in names if name.endswith((".of_shuffled", ".of_split", ".of_mix", ".of_drawn_streams"))]


@pytest.mark.parametrize(
    "text",
    [
        "mixed = interleave_datasets([a.shuffle(seed=1, buffer_size=1000), b])",
        "a = a.shuffle(seed=1).map(tokenize)\nmixed = interleave_datasets([a, b], probabilities=[0.5, 0.5])",
        "parts = [load_dataset(n, streaming=True).shuffle(seed=1) for n in NAMES]\nmixed = interleave_datasets(parts)",
        "mixed = interleave_datasets(datasets=(a.shuffle(), b))",
        "parts = []\nfor n in NAMES:\n    part = load_dataset(n, streaming=True).shuffle(seed=1)\n"
        "    parts.append(part)\nmixed = interleave_datasets(parts)",
    ],
)
def test_streams_that_are_shuffled_and_then_mixed(text: str) -> None:
    mixed = [name for name in words(text) if not name.endswith("map.of_shuffled")]
    assert mixed == ["datasets.interleave_datasets.of_shuffled"]


def test_concatenated_streams() -> None:
    assert words("mixed = concatenate_datasets([a.shuffle(), b])") == ["datasets.concatenate_datasets.of_shuffled"]


@pytest.mark.parametrize(
    "text",
    [
        "a2 = interleave_datasets([a, b])\na = a.shuffle()",
        "mixed = interleave_datasets([a.map(shuffle), b])",
    ],
)
def test_streams_that_are_shuffled_behind_the_mix(text: str) -> None:
    assert words(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "mixed = interleave_datasets([a, b]).shuffle(seed=1)",
        "mixed = interleave_datasets([a, b])\nmixed = mixed.shuffle(seed=1)",
    ],
)
def test_a_mix_that_is_shuffled(text: str) -> None:
    assert [name.rpartition(".")[2] for name in words(text)] == ["of_mix"]


def test_samples_are_skipped_behind_the_split_or_before_it() -> None:
    split = "a = split_dataset_by_node(a, rank=0, world_size=2)\n"
    assert words(f"{split}a = a.skip(5)") == ["datasets.IterableDataset.skip.of_split"]
    assert words(f"a = a.skip(5)\n{split}") == []


def test_streams_that_are_split_before_they_are_mixed_or_split_again() -> None:
    split = "a = split_dataset_by_node(a, rank=0, world_size=2)\n"
    last = [name.rpartition(".")[2] for name in words(f"{split}mixed = concatenate_datasets([a.shuffle(), b])")]
    assert last == ["of_shuffled", "of_split"]
    assert words(f"{split}mixed = interleave_datasets([a, b])") == ["datasets.interleave_datasets.of_split"]
    again = "split_dataset_by_node(a, rank=0, world_size=4)"
    assert words(f"{split}a = {again}") == ["datasets.distributed.split_dataset_by_node.of_split"]
    mixed = words("a = interleave_datasets([a, b])\na = split_dataset_by_node(dataset=a, rank=0, world_size=4)")
    assert mixed == ["datasets.distributed.split_dataset_by_node.of_mix"]


@pytest.mark.parametrize(
    ("made", "stream"),
    [
        ('load_dataset("a", split="train", streaming=True)', True),
        ("table.to_iterable_dataset()", True),
        ("datasets.IterableDataset.from_generator(rows)", True),
        ('load_dataset("a", split="train")', False),
        ("datasets.Dataset.from_generator(rows)", False),
        ("given", False),
    ],
)
def test_whether_what_is_split_before_is_a_stream(made: str, stream: bool) -> None:
    split = (
        f"import datasets\na = split_dataset_by_node({made}, rank=0, world_size=2)\nmixed = interleave_datasets([a])"
    )
    settings = scan(Document("x.py", _HEAD + split)).settings
    names = [
        str(name)
        for one in settings
        if one.key == "code.symbols" and isinstance(one.value, tuple)
        for name in one.value
    ]
    assert ("datasets.interleave_datasets.of_split_stream" in names) is stream


@pytest.mark.parametrize(
    ("mixed", "told"),
    [
        ("interleave_datasets([a, b], probabilities=p)", True),
        ("interleave_datasets([a, b], p).shuffle(seed=1)", True),
        ("interleave_datasets([table.to_iterable_dataset(8), b], probabilities=p)", True),
        ("interleave_datasets([a, b], probabilities=None)", False),
        ("interleave_datasets([table.to_iterable_dataset(1), table.to_iterable_dataset()], probabilities=p)", False),
        ("interleave_datasets([table, table], probabilities=p)", False),
        ("a", False),
    ],
)
def test_loaders_of_streams_that_are_drawn(mixed: str, told: bool) -> None:
    text = f"from torch.utils.data import DataLoader\ntable = load_dataset('c')\nDataLoader({mixed}, num_workers=4)"
    assert words(text).count("torch.utils.data.DataLoader.of_drawn_streams") == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a = a.shuffle(seed=1).map(f)", ["datasets.IterableDataset.map.of_shuffled"]),
        ("a = a.shuffle(seed=1)\na = a.filter(f)", ["datasets.IterableDataset.filter.of_shuffled"]),
        ("a = a.map(f).shuffle(seed=1)", []),
        ("rows = table.shuffle(seed=1)\nrows = rows.to_iterable_dataset().map(f)", []),
    ],
)
def test_what_is_mapped_may_have_been_shuffled(text: str, told: list[str]) -> None:
    assert words(text) == told


@pytest.mark.parametrize(
    ("stream", "told"),
    [
        ("IterableDataset.from_generator(rows)", []),
        (
            "IterableDataset.from_generator(rows, gen_kwargs={'files': files})",
            ["datasets.IterableDataset.skip.of_split"],
        ),
        ("table.to_iterable_dataset()", []),
        ("table.to_iterable_dataset(num_shards=8)", ["datasets.IterableDataset.skip.of_split"]),
        ("load_dataset('json', data_files='a.jsonl', streaming=True)", []),
        ("load_dataset('json', data_files='*.jsonl', streaming=True)", ["datasets.IterableDataset.skip.of_split"]),
    ],
)
def test_of_one_shard_each_process_takes_its_samples(stream: str, told: list[str]) -> None:
    text = f"from datasets import IterableDataset\na = split_dataset_by_node({stream}, rank=R, world_size=N)\n"
    assert words(text + "a = a.skip(10)") == told


@pytest.mark.parametrize(
    "text",
    [
        'd = load_dataset("a").shuffle(seed=1)\nd = d.filter(f)',
        'd = load_dataset("a", split="train").filter(f).filter(g)',
        'd = load_dataset("a").train_test_split(0.1)["train"].filter(f)',
        'd = load_dataset("a")["train"].select(KEPT).rename_column("x", "y").filter(f)',
        'd = load_dataset("a", split="train").select(range(100, 200)).filter(f)',
        'd = load_dataset("a", split="train").select(range(0, 100, 2)).filter(f)',
        'import random\nd = load_dataset("a")["train"]\nd = d.select(random.sample(range(len(d)), 9)).filter(f)',
        'd = interleave_datasets([load_dataset("a"), load_dataset("b")]).filter(f)',
    ],
)
def test_a_filter_of_rows_that_were_chosen(text: str) -> None:
    assert any(name.endswith("filter.of_chosen") for name in chosen(text))


@pytest.mark.parametrize(
    "text",
    [
        'd = load_dataset("a").filter(f).shuffle(seed=1)',
        'd = load_dataset("a").shuffle(seed=1).map(g).filter(f)',
        'd = load_dataset("a").shuffle(seed=1).flatten_indices().filter(f)',
        'd = load_dataset("a", split="train").select(range(100)).filter(f)',
        'd = load_dataset("a", split="train").select(range(0, 100)).filter(f)',
        'd = load_dataset("a", split="train").select(list(range(min(n, 100)))).filter(f)',
        'few = range(100)\nd = load_dataset("a", split="train").select(few).filter(f)',
        'd = load_dataset("a", split="train").train_test_split(0.1, shuffle=False)["train"].filter(f)',
        'd = load_dataset("a", split="train", streaming=True).shuffle(seed=1).filter(f)',
    ],
)
def test_a_filter_of_rows_as_they_are(text: str) -> None:
    assert not any(name.endswith("filter.of_chosen") for name in chosen(text))


def chosen(text: str) -> list[str]:
    settings = scan(Document("x.py", f"from datasets import interleave_datasets, load_dataset\n{text}\n")).settings
    values = [one.value for one in settings if one.key == "code.symbols"]
    return [str(name) for value in values if isinstance(value, tuple) for name in value]
