"""Runs generation jobs of many threads together: their sequences share every call of the library.

There is no worker thread. Of the threads that wait for an answer one *leads*: it admits waiting jobs to
sequences, evaluates one batch with something of every running job, chooses tokens, and wakes those that are
done; when its own job is done it hands the lead to another thread. So nothing runs when nobody waits, and an
interrupt reaches a thread that can act on it.

Which jobs run beside each other depends on the threads; what each answers does not. If the leader fails or
is interrupted, the other jobs start again from their prompts under the next leader, which gives the same
answers.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence

from replay.core.errors import InternalError, ModelError
from replay.llm.llamacpp.context import Context, Span
from replay.llm.llamacpp.jobs import Generation, GenerationJob, Listener
from replay.llm.llamacpp.model import Model
from replay.llm.llamacpp.prefix import PrefixCache, Slot
from replay.llm.llamacpp.running import RunningJob
from replay.llm.llamacpp.sampling import Constraint
from replay.llm.llamacpp.schedule import Schedule

__all__ = ["Scheduler"]


class Scheduler:
    """Serves jobs with the sequences it is given."""

    def __init__(
        self,
        model: Model,
        contexts: Sequence[Context],
        schedule: Schedule,
        *,
        context_tokens: int,
        make_constraint: Callable[[str], Constraint],
    ) -> None:
        """Serve jobs with every sequence of `contexts`; a constraint is made from a job's grammar."""
        self._model = model
        self._schedule = schedule
        self._context_tokens = context_tokens
        self._make_constraint = make_constraint
        self._slots = tuple(Slot(context, s) for context in contexts for s in range(context.sequences))
        self._cache = PrefixCache(self._slots, schedule, copies=model.is_plain)
        self._lock = threading.Lock()
        self._waiting: deque[RunningJob] = deque()
        self._running: list[RunningJob] = []
        self._leader: RunningJob | None = None
        self._closed = False
        self._idle = threading.Event()
        self._idle.set()

    def generate(self, job: GenerationJob, listener: Listener | None = None) -> Generation:
        """Run one job to its end; blocks. May be called from any number of threads.

        listener: hears the text as it grows.

        Errors:  GrammarError when the job's grammar is refused or allows nothing; ModelError when the library
                 fails.
        """
        running = RunningJob(
            job,
            self._model,
            context_tokens=self._context_tokens,
            make_constraint=self._make_constraint,
            listener=listener,
        )
        if running.is_done:
            return running.result()
        try:
            self._join(running)
            running.wake.wait()
            while self._leader is running and not running.is_done:
                self._step()
        except BaseException:
            self._give_up(running)
            raise
        finally:
            try:
                self._leave(running)
            except BaseException:
                # Interrupted while it left: nobody else would ever lead.
                self._leave(running)
                raise
        return running.result()

    def missing(self, prompt: Sequence[int]) -> int:
        """Count the tokens of a prompt that are not evaluated here; a guess while jobs run."""
        return len(prompt) - self._cache.held(prompt)

    def halt(self) -> None:
        """Refuse new jobs and end the running ones after their current step, with an error."""
        with self._lock:
            self._closed = True
            for running in (*self._running, *self._waiting):
                running.stop(ModelError("the local model was stopped", expected="a run that goes on"))

    def close(self) -> None:
        """Refuse new jobs and wait until the running ones are done."""
        with self._lock:
            self._closed = True
        self._idle.wait()

    # ---- leading ---------------------------------------------------------------------------------------

    def _step(self) -> None:
        """Evaluate one batch in every context and choose what follows."""
        self._admit()
        for context in dict.fromkeys(running.slot.context for running in self._running):
            self._advance(context)
        for running in [running for running in self._running if running.is_done]:
            running.wake.set()
            self._running.remove(running)

    def _admit(self) -> None:
        """Give waiting jobs idle slots, in the order of their coming."""
        with self._lock:
            self._drop_done()
            waiting = list(self._waiting)
        for running in waiting:
            busy = {id(other.slot) for other in self._running}
            idle = [slot for slot in self._slots if id(slot) not in busy]
            if not idle:
                return
            place = self._cache.find(running.prompt, idle)
            coming = [other.prompt for other in self._running if other.is_prefilling]
            if any(self._cache.is_worth_waiting(running.prompt, place, prompt) for prompt in coming):
                continue
            running.start(place.slot, kept=self._cache.take(place))
            # Wherever an interrupt comes, a job is in one of the two.
            self._running.append(running)
            with self._lock:
                self._waiting.remove(running)

    def _advance(self, context: Context) -> None:
        """Evaluate one batch: a token of each job that generates, then of prompts what fits."""
        room = context.batch_tokens
        planned: list[tuple[RunningJob, Span]] = []
        jobs = [running for running in self._running if running.slot.context is context]
        for running in sorted(jobs, key=lambda running: running.is_prefilling):
            slot = running.slot
            count = self._schedule.next_run(len(slot.tokens), pending=len(running.pending), room=room)
            if count:
                room -= count
                planned.append((running, running.next_span(count)))
        rows = context.decode([span for _, span in planned])
        wanted = sorted((span.sequence for _, span in planned if span.wants_row))
        place_of = {sequence: place for place, sequence in enumerate(wanted)}
        for running, span in planned:
            running.note_evaluated(span, self._schedule)
        for running, span in planned:
            if span.wants_row:
                running.choose(rows[place_of[span.sequence]])

    # ---- changing leaders ------------------------------------------------------------------------------

    def _join(self, running: RunningJob) -> None:
        with self._lock:
            if self._closed:
                raise InternalError("a generation asked of a closed engine")
            self._waiting.append(running)
            if self._leader is None:
                self._idle.clear()
                self._leader = running
                running.wake.set()

    def _give_up(self, running: RunningJob) -> None:
        """Take a failed or interrupted job out. If it led, what running sequences hold is now unknown."""
        running.is_cancelled = True
        if self._leader is not running:
            return  # the leader takes it out
        others = [other for other in self._running if other is not running]
        for other in self._running:
            other.slot.forget()
        self._running.clear()
        for other in others:
            if not other.is_done:
                other.reset()
        with self._lock:
            begun = [other for other in others if not other.is_done]
            self._waiting = deque([*begun, *(other for other in self._waiting if other not in begun)])
        for other in others:
            if other.is_done:
                other.wake.set()

    def _leave(self, running: RunningJob) -> None:
        """Hand the lead to a thread whose job is not done, if there is one. May be repeated."""
        with self._lock:
            if self._leader is running:
                self._drop_done()
                self._leader = next(iter([*self._running, *self._waiting]), None)
            if self._leader is None:
                self._idle.set()
            else:
                self._leader.wake.set()

    def _drop_done(self) -> None:
        """Take out the jobs that were stopped between two steps and wake whoever waits for them."""
        for running in (*self._running, *self._waiting):
            if running.is_done:
                running.wake.set()
        self._running = [running for running in self._running if not running.is_done]
        self._waiting = deque(running for running in self._waiting if not running.is_done)
