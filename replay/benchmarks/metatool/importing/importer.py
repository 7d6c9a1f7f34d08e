"""A MetaTool checkout, or its `dataset` folder, -> tasks and tool descriptions.

Nothing of upstream is run and nothing is asked for over a network: no vector database, no pickle loader. The
same files give the same archive whatever the order of listings, the locale or the time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.metatool.importing.catalogue import DESCRIPTIONS, Catalogue
from replay.benchmarks.metatool.importing.embeddings import NeighbourTable, Vectors, read_npy, read_pickle
from replay.benchmarks.metatool.importing.files import Checkout
from replay.benchmarks.metatool.importing.lists import ListBuilder
from replay.benchmarks.metatool.importing.queries import QueryBook
from replay.benchmarks.metatool.importing.tasks import TaskBuilder
from replay.benchmarks.metatool.records import BENCHMARK
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import ImportResult, SourceFile
from replay.core.types import Json, Task

__all__ = ["MetaToolImporter"]

_ARRAY: Final = "tool_embedding.npy"
_NAMES: Final = "tool_embedding_names.json"
_PICKLE: Final = "tool_embedding.pkl"


class MetaToolImporter:
    """Reads upstream's data files."""

    def load(self, source: Path, options: Mapping[str, Json]) -> ImportResult:
        """Read everything under a folder.

        Shape:   subtasks without a published file are built again by the published rules; one that cannot be
                 built is absent and named in the report.
        Errors:  InputError for a wrong folder, any option, and for all faults of the data at once.
        """
        if options:
            raise InputError(f"unknown import option {min(options)!r}", expected="no option: there are none")
        checkout = Checkout(source, mark=DESCRIPTIONS)
        catalogue = Catalogue(checkout)
        book = QueryBook(checkout)
        vectors, vectors_from = _read_vectors(checkout, catalogue)
        lists = (
            None
            if vectors is None
            else ListBuilder(catalogue.names, NeighbourTable(catalogue.names, vectors))
        )
        builder = TaskBuilder(checkout, catalogue, book, lists)
        tasks = builder.build()
        checkout.raise_if_any()
        if not tasks:
            raise InputError(
                "no question in any file",
                where=source.name,
                expected="tmp_dataset/*.json, or data/ with scenario/ and embeddings",
            )
        return ImportResult(
            benchmark=BENCHMARK,
            version=_version(checkout.sources),
            tasks=tasks,
            tools=tuple(catalogue.specs.values()),
            report={
                "subtasks": _count(tasks, builder),
                "rebuilt_lists": builder.agreement,
                "published_samples_unlike_query_file": builder.other_samples,
                "tools": {"all": len(catalogue.names), "merged": catalogue.merged},
                "queries": _count_queries(book, catalogue),
                "embeddings": vectors_from,
                "flags": dict(sorted(Counter(flag for task in tasks for flag in task.flags).items())),
                "flagged_tasks": sum(1 for task in tasks if task.flags),
                "files": [{"path": file.path, "records": file.records} for file in checkout.sources],
            },
            sources=checkout.sources,
            licences={"upstream data": checkout.licence},
        )


def _read_vectors(checkout: Checkout, catalogue: Catalogue) -> tuple[Vectors | None, str]:
    """Embeddings of every tool, from the array or from upstream's own file."""
    if checkout.has(_ARRAY):
        data = checkout.read(_ARRAY)
        names = checkout.read_json(_NAMES, list[str])
        checkout.raise_if_any()
        vectors, where = read_npy(data or b"", names or [], where=_ARRAY), _ARRAY
    elif checkout.has(_PICKLE):
        data = checkout.read(_PICKLE)
        checkout.raise_if_any()
        vectors, where = read_pickle(data or b"", where=_PICKLE), _PICKLE
    else:
        return None, "none"
    missing = [name for name in catalogue.names if name not in vectors]
    if missing:
        raise InputError(
            f"no embedding of {len(missing)} tools, the first {missing[0]!r}",
            where=where,
            expected=f"one for each tool of {DESCRIPTIONS}",
        )
    checkout.count(where, len(vectors))
    return vectors, where


def _count(tasks: tuple[Task, ...], builder: TaskBuilder) -> dict[str, Json]:
    counts = Counter(task.data["subtask"] for task in tasks)
    splits = Counter(task.split for task in tasks)
    found: dict[str, Json] = {
        subtask: {"tasks": counts[subtask], "from": origin} for subtask, origin in builder.origin.items()
    }
    found["scenario"]["by_scenario"] = {
        split: count for split, count in sorted(splits.items()) if split.startswith("scenario-")
    }
    return found


def _count_queries(book: QueryBook, catalogue: Catalogue) -> dict[str, Json]:
    return {
        "rows": book.rows,
        "tools": len(book.by_tool),
        "repeated_rows": sum(count - 1 for count in book.counts.values()),
        "with_several_labels": sum(len(labels) > 1 for labels in book.labels.values()),
        "of_unknown_tools": sorted(set(book.by_tool) - set(catalogue.names)),
    }


def _version(sources: tuple[SourceFile, ...]) -> str:
    """A version made of the content: upstream's data carries no revision."""
    content = digest("import-version", [[source.path, source.digest] for source in sources])
    return f"content-{content.removeprefix('sha256:')[:12]}"
