"""What a server has done, as numbers: shared by all its workers, shown by `/metrics`."""

from __future__ import annotations

from collections.abc import Callable, MutableSequence
from typing import Final

__all__ = ["NAMES", "Counters"]

NAMES: Final = (
    "requests",
    "refused",
    "failed",
    "virtual_hits",
    "virtual_misses",
    "virtual_errors",
    "virtual_simulated",
    "http_hits",
    "http_misses",
    "completions",
    "completion_misses",
    "recorded",
    "upstream_failures",
)
"""Every counter, in its fixed place."""

_HELP: Final = {
    "requests": "Requests that came in.",
    "refused": "Requests refused before they were served: Host, size, load, form.",
    "failed": "Requests that damaged data or a broken model failed.",
    "virtual_hits": "Calls of /virtual answered from records.",
    "virtual_misses": "Calls of /virtual that nothing answers.",
    "virtual_errors": "Calls of /virtual that the calling rules answered.",
    "virtual_simulated": "Calls of /virtual answered by a simulator.",
    "http_hits": "REST requests answered from records.",
    "http_misses": "REST requests that nothing answers.",
    "completions": "Completions given.",
    "completion_misses": "Completions that nothing answers.",
    "recorded": "New answers that were written down in record mode.",
    "upstream_failures": "Requests that a live upstream gave no answer to.",
}


class Counters:
    """One worker's counters in a table of all workers; each worker writes its own row only."""

    def __init__(
        self,
        table: MutableSequence[int] | None = None,
        *,
        worker: int = 0,
        attempts: Callable[[], int] = int,
    ) -> None:
        """Count into a row of `table`, which all workers share; into a table of its own without one.

        attempts: how many network calls this process has refused.
        """
        self._table = [0] * (len(NAMES) + 1) if table is None else table
        self._start = worker * (len(NAMES) + 1)
        self._places = {name: self._start + place for place, name in enumerate(NAMES)}
        self._attempts = attempts

    @staticmethod
    def table_size(workers: int) -> int:
        """How many numbers so many workers need."""
        return workers * (len(NAMES) + 1)

    def add(self, name: str) -> None:
        """Count one."""
        self._table[self._places[name]] += 1

    def note_attempts(self) -> None:
        """Bring the number of refused network calls up to date."""
        self._table[self._start + len(NAMES)] = self._attempts()

    def read(self) -> dict[str, int]:
        """Sum all workers up, by name."""
        self.note_attempts()
        return self.read_all()

    def read_all(self) -> dict[str, int]:
        """Sum all workers up as they stand, for whoever is none of them."""
        width = len(NAMES) + 1
        return {
            name: sum(self._table[place::width]) for place, name in enumerate((*NAMES, "network_attempts"))
        }

    def write(self) -> bytes:
        """Write the sums in Prometheus' text form."""
        lines: list[str] = []
        helps = _HELP | {"network_attempts": "Network calls that the guard refused."}
        for name, value in self.read().items():
            full = f"replay_{name}_total"
            lines += [f"# HELP {full} {helps[name]}", f"# TYPE {full} counter", f"{full} {value}"]
        return ("\n".join(lines) + "\n").encode()
