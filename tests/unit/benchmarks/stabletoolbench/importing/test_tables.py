"""Result tables: headings as spreadsheets write them, and statuses that are hostile Python text."""

from __future__ import annotations

import pytest

from replay.benchmarks.stabletoolbench.faults import Faults
from replay.benchmarks.stabletoolbench.importing.results import read_pass_rate_rows
from replay.benchmarks.stabletoolbench.importing.tables import read_table, table_kind
from replay.core.errors import InputError

HEADING = "query\tquery_id\tis_solved\n"


@pytest.mark.parametrize(
    "heading", ["\ufeff" + HEADING, " query\tquery_id \tis_solved\n", '"query"\tquery_id\tis_solved\n']
)
def test_headings_are_read_without_what_is_around_them(heading: str) -> None:
    """A byte order mark, blanks or quotes around a column's name are no part of it."""
    text = heading + "q\t1\t{}\n"
    assert ("pass-rate", [{"query": "q", "query_id": "1", "is_solved": "{}"}]) == (
        table_kind(text),
        read_table("a.csv", text, Faults()),
    )


def test_an_empty_table_has_no_rows() -> None:
    """Nothing at all is no row, not a crash."""
    assert [] == read_table("a.csv", "", Faults())


@pytest.mark.parametrize(
    "text", ["{[1]: 2}", "{{1}: 2}", "{0x" + "f" * 5000 + ": 'AnswerStatus.Solved'}", "(" * 9000]
)
def test_statuses_that_are_no_dict_of_runs_are_one_fault(text: str) -> None:
    """Keys that cannot be hashed, numbers beyond every limit and deep nesting are named with the row."""
    faults = Faults()
    rows = [{"query": "q", "query_id": "1", "is_solved": text}]
    assert [] == list(read_pass_rate_rows("a.csv", rows, faults))
    with pytest.raises(InputError, match=r"a\.csv.*row 0, is_solved"):
        faults.raise_if_any()
