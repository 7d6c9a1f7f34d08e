"""Lanes: contexts that compute side by side, each on its share of the threads.

Threads that evaluate one batch wait for each other some hundred times a token, by spinning. Two contexts with
half of the threads each have nothing to wait for, so that requests which run at the same time are divided
among lanes. A lane that is alone at work has all threads. What is evaluated in one lane cannot be used again
in another, so a request goes where most of it is evaluated already, unless that lane has more to do.

Which lane a request goes to depends on what else runs; what it is answered does not.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Final

from replay.llm.llamacpp.jobs import Generation, GenerationJob, Listener
from replay.llm.llamacpp.scheduler import Scheduler
from replay.llm.llamacpp.threads import ThreadShare

__all__ = ["Lanes", "divide"]

MOST_LANES: Final = 2
"""Sequences that decode together also share the reading of the weights, which more lanes would give up."""
LEAST_SEQUENCES: Final = 2
"""Of a lane; with one each, nothing would be decoded together."""
TOKENS_OF_A_REQUEST: Final = 128
"""What a request that is in a lane already costs another one there, in prompt tokens."""


def divide(sequences: int, threads: int) -> tuple[int, ...]:
    """Divide sequences among lanes: how many each has."""
    lanes = max(1, min(MOST_LANES, threads, sequences // LEAST_SEQUENCES))
    return tuple(sequences // lanes + (place < sequences % lanes) for place in range(lanes))


class Lanes:
    """Sends each job to one of several schedulers."""

    def __init__(self, schedulers: Sequence[Scheduler], share: ThreadShare) -> None:
        """Send jobs to these; `share` is told how many are at work."""
        self._schedulers = tuple(schedulers)
        self._share = share
        self._jobs = [0] * len(self._schedulers)
        self._lock = threading.Lock()

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Run one job to its end; blocks. May be called from any number of threads.

        listener: hears the text as it grows.

        Errors:  those of the scheduler.
        """
        place = self._enter(job)
        try:
            return self._schedulers[place].generate(job, listener)
        finally:
            self._leave(place)

    def halt(self) -> None:
        """Refuse new jobs and end the running ones after their current step, with an error."""
        for scheduler in self._schedulers:
            scheduler.halt()

    def close(self) -> None:
        """Refuse new jobs and wait until the running ones are done."""
        for scheduler in self._schedulers:
            scheduler.close()

    def _enter(self, job: GenerationJob) -> int:
        with self._lock:
            place = min(range(len(self._jobs)), key=lambda place: self._cost(place, job))
            self._jobs[place] += 1
            self._tell()
        return place

    def _cost(self, place: int, job: GenerationJob) -> int:
        if len(self._jobs) == 1:
            return 0
        return self._schedulers[place].missing(job.tokens) + TOKENS_OF_A_REQUEST * self._jobs[place]

    def _leave(self, place: int) -> None:
        with self._lock:
            self._jobs[place] -= 1
            self._tell()

    def _tell(self) -> None:
        self._share.at_work = sum(1 for count in self._jobs if count)
