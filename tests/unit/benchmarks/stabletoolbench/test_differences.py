"""The table of known differences."""

from __future__ import annotations

import re
from importlib import resources

from replay.benchmarks.stabletoolbench.differences import DIFFERENCES
from replay.benchmarks.stabletoolbench.scoring.questions import RUBRICS, Rubrics


def test_ids_are_distinct() -> None:
    """One id, one reason."""
    assert len(DIFFERENCES) == len({entry.id for entry in DIFFERENCES})


def test_every_entry_is_complete() -> None:
    """What upstream does, why strict does otherwise, and where it is written."""
    assert [] == [entry.id for entry in DIFFERENCES if not (entry.what and entry.why and entry.source)]


def test_every_cause_in_the_scorers_has_an_entry() -> None:
    """Each id that a scorer names as a cause is explained in the table."""
    folder = resources.files("replay.benchmarks.stabletoolbench")
    files = ("scoring/sopr.py", "scoring/sowr.py", "scoring/fac.py", "benchmark.py")
    texts = [(folder / name).read_text(encoding="utf-8") for name in files]
    pattern = re.compile(r'"((?:sopr|sowr|fac|finish|result)-[a-z-]+)"')
    named = {name for text in texts for name in pattern.findall(text)}
    assert set() == named - {entry.id for entry in DIFFERENCES}


def test_every_rubric_loads() -> None:
    """All rubric files are in the package and well formed."""
    rubrics = Rubrics()
    assert list(RUBRICS) == [rubrics.get(name).name for name in RUBRICS]


def test_every_rubric_file_is_listed() -> None:
    """No rubric file lies about unused."""
    folder = resources.files("replay.benchmarks.stabletoolbench.scoring") / "rubrics"
    files = sorted(file.name for file in folder.iterdir())
    assert [f"{name}.txt" for name in RUBRICS] == files
