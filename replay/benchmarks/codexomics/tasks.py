"""A task of this benchmark, decoded: test, fixture, frozen retrieval, schemas, fingerprints."""

from __future__ import annotations

from typing import Any

import msgspec

from replay.benchmarks.codexomics.scoring.evaluator import Registry
from replay.benchmarks.codexomics.world.genome import load_genome
from replay.core.errors import InputError
from replay.core.types import Json, Record, Task

__all__ = ["Retrieval", "TaskData", "read_task"]


class Retrieval(Record, frozen=True, kw_only=True):
    """The candidates frozen with a test, and how much of the expected they cover."""

    retriever: str
    selected: tuple[str, ...]
    expected: int
    covered: int


class TaskData(Record, frozen=True, kw_only=True):
    """What `Task.data` holds."""

    suite: str
    test: dict[str, Any]
    prompt_sha256: str
    registry: str
    """Hash of the registry the schemas are of."""
    suites: str
    """Fingerprint of the suites."""
    fixture: dict[str, Any]
    retrieval: Retrieval
    schemas: dict[str, Any]
    """What the validator reads of every tool of the registry."""

    @property
    def genome(self) -> str:
        """Name of the genome of ours that the session can be executed on; empty when there is none."""
        name = self.fixture.get("genome")
        return name if isinstance(name, str) else ""

    def make_registry(self, *, trusts_record: bool = False) -> Registry:
        """The validator's registry, with the facts that the fixture fixes."""
        facts: dict[str, Json] = {}
        if self.genome:
            facts = dict(load_genome(self.genome).facts())
        elif isinstance(self.fixture.get("chromosome"), str):
            facts = {"current_chromosome": self.fixture["chromosome"]}
        return Registry(schemas=self.schemas, facts=facts, trusts_record=trusts_record)


def read_task(task: Task) -> TaskData:
    """Decode a task. Raises InputError naming the task and what is wrong with it."""
    try:
        return msgspec.convert(task.data, TaskData)
    except msgspec.ValidationError as error:
        raise InputError(
            f"not a task of this benchmark: {error}",
            where=f"task {task.id}",
            expected="data written by the importer",
            next_step="import the suites again",
        ) from None
