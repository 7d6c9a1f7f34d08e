"""StableToolBench and ToolBench folders -> tasks, tools, recorded answers, outputs and verdicts.

One pass over the folder (intake), then everything is joined: queries and documents to tasks, answers and
result files to outputs and verdicts, cache files and observations to recorded answers. Nothing depends on the
order of directory listings, the working directory, locale, time or hash seeds. Faults are collected and
raised once.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from replay.benchmarks.stabletoolbench.evidence import BENCHMARK
from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.functions import build_functions
from replay.benchmarks.stabletoolbench.importing.answer_book import AnswerBook
from replay.benchmarks.stabletoolbench.importing.cache import CacheReader, CacheRules
from replay.benchmarks.stabletoolbench.importing.import_report import (
    count_functions,
    count_queries,
    moved_identities,
)
from replay.benchmarks.stabletoolbench.importing.intake import Intake
from replay.benchmarks.stabletoolbench.importing.observations import ObservationReader
from replay.benchmarks.stabletoolbench.importing.outputs_in import OutputJoiner
from replay.benchmarks.stabletoolbench.importing.specs import SpecBook
from replay.benchmarks.stabletoolbench.importing.tasks import TaskBook
from replay.benchmarks.stabletoolbench.wording import Wording, read_wording
from replay.core.canonical import digest
from replay.core.errors import InputError
from replay.core.protocols import ImportResult, SourceFile
from replay.core.types import Json

__all__ = ["OPTIONS", "StableToolBenchImporter"]

OPTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "filter": ("flag", "exclude"),
    "failures": ("leave-out", "keep"),
    "origin": ("auto", "real", "simulated", "unknown"),
    "observations": ("import", "leave-out"),
}
"""Options by name with their values, the default first; `prefer` names a candidate besides."""


class StableToolBenchImporter:
    """Reads a StableToolBench checkout, a ToolBench data folder, a response cache or tool documents."""

    def load(self, source: Path, options: Mapping[str, Json]) -> ImportResult:
        """Read everything under a folder.

        Options: `filter` exclude leaves out recorded answers that upstream's record filter rejects;
                 `failures` keep replays the simulator's failure records; `origin` declares where a whole
                 cache comes from; `observations` leave-out ignores answers recorded inside raw answers;
                 `prefer` names the candidate whose observations win over those of others.
        Errors:  InputError for a wrong folder, an unknown option, and for all faults of the data at once.
        """
        chosen = _checked_options(options)
        faults = Faults()
        return _Import(Intake(source, faults), chosen).result()


class _Import:
    """One import at work."""

    def __init__(self, intake: Intake, options: Mapping[str, str]) -> None:
        self._intake = intake
        self._options = options
        self._faults = intake.faults
        self._specs = SpecBook(intake.documents)
        self._book = TaskBook(self._specs, self._faults)
        self._answers = AnswerBook()
        self._observations = ObservationReader(self._answers)

    def result(self) -> ImportResult:
        for file, records in self._intake.queries:
            self._book.add_file(file, records, self._intake.ids_of(file))
        joiner = OutputJoiner(self._intake, self._book)
        joiner.join()
        cache = self._read_caches()
        if self._options["observations"] == "import":
            self._read_observations(joiner)
        self._faults.raise_if_any()
        wording = self._find_wording(joiner)
        tasks = self._book.build(wording)
        documented = self._specs.add_documented(spec.identity for spec in self._specs.specs)
        report = self._report(joiner, cache, wording=wording is not None, documented=documented)
        sources = self._intake.tree.sources
        return ImportResult(
            benchmark=BENCHMARK,
            version=_version(sources),
            tasks=tasks,
            tools=self._specs.specs,
            answers=self._answers.answers,
            verdicts=joiner.verdicts,
            outputs=joiner.outputs,
            report=report,
            sources=sources,
            licences={"upstream data": self._intake.tree.licence},
        )

    def _read_caches(self) -> CacheReader:
        planned = self._book.planned
        reader = CacheReader(
            self._answers,
            self._faults,
            rules=CacheRules(
                record_filter=self._options["filter"],
                failures=self._options["failures"],
                origin=self._options["origin"],
            ),
            old_names=moved_identities(planned) if planned else None,
        )
        for file in self._intake.cache_files:
            text = self._intake.tree.read_text(file, self._faults)
            if text is not None and text.strip():
                self._intake.tree.count(file, reader.read(file, text))
            elif text is not None:
                self._intake.tree.skipped[file] = "empty file"
        return reader

    def _read_observations(self, joiner: OutputJoiner) -> None:
        """Read observations file by file, those of the preferred candidate first: the first one stays."""
        preferred = self._options["prefer"]
        for answer, task in sorted(joiner.raw, key=lambda pair: pair[0].candidate != preferred):
            self._observations.read(answer, build_functions(task.specs))
        self._observations.compare_cut()

    def _find_wording(self, joiner: OutputJoiner) -> Wording | None:
        """The first upstream wording that some answer shows, one with its prompts before one without."""
        found = []
        for answer, task in joiner.raw:
            histories = answer.data["answer_generation"].get("train_messages") or [[]]
            wording = read_wording(
                task.query.entries, answer.functions, messages=histories[-1], query=answer.query
            )
            if wording is not None:
                found.append(wording)
        whole = (wording for wording in found if wording.system and wording.user)
        return next(whole, found[0] if found else None)

    def _report(
        self, joiner: OutputJoiner, cache: CacheReader, *, wording: bool, documented: int
    ) -> dict[str, Json]:
        intake, tree, planned = self._intake, self._intake.tree, self._book.planned
        skipped = {**tree.skipped, **self._book.left_out}
        return {
            "options": dict(self._options),
            "queries": {**count_queries(planned), "repeated_records": self._book.repeated},
            "functions": count_functions(planned),
            "documents": {
                "files": len(intake.documents.all),
                "apis_without_query": documented,
            },
            "tools": len(self._specs.specs),
            "cache": cache.report(),
            "observations": dict(sorted(self._observations.counts.items())),
            "answers": self._answers.report(),
            "outputs": {
                "counts": dict(sorted(joiner.counts.items())),
                "candidates": sorted({output.candidate for output in joiner.outputs}),
                "other_query": joiner.other_query,
            },
            "verdicts": {"filed": len(joiner.verdicts), "conflicts": joiner.conflicts},
            "upstream_wording": wording,
            "files": [
                {"path": file.path, "kind": intake.kind_of(file.path), "records": file.records}
                for file in tree.sources
            ],
            "ignored": dict(sorted(tree.ignored.items())),
            "skipped": [{"what": what, "why": why} for what, why in sorted(skipped.items())],
        }


def _checked_options(options: Mapping[str, Json]) -> dict[str, str]:
    chosen = {name: values[0] for name, values in OPTIONS.items()}
    chosen["prefer"] = ""
    for name, value in options.items():
        if name not in chosen:
            expected = f"one of {', '.join(sorted(chosen))}"
            raise InputError(f"unknown import option {name!r}", expected=expected)
        allowed = OPTIONS.get(name)
        if not isinstance(value, str) or (allowed is not None and value not in allowed):
            expected = f"one of {', '.join(allowed)}" if allowed else "the name of a candidate"
            raise InputError(f"unusable value {value!r}", where=f"option {name}", expected=expected)
        chosen[name] = value
    return chosen


def _version(sources: tuple[SourceFile, ...]) -> str:
    """A version made of the content: upstream's data carries no revision."""
    content = digest("import-version", [[source.path, source.digest] for source in sources])
    return f"content-{content.removeprefix('sha256:')[:12]}"
