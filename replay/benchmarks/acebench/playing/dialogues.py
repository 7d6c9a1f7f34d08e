"""The two agent protocols: who speaks next, who hears what, when it ends (spec 2 and 3.11).

Owns routing, transcripts and limits. A message counts as one step of the loop whoever wrote it. The official
end phrase counts from the third step on, in whoever's newest message. Source: the inference loop, scene and
agent modules at commit 56dd66c.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Final

from replay.benchmarks.acebench.literals.syntax import LiteralError
from replay.benchmarks.acebench.playing.candidate import Candidate, SilentError
from replay.benchmarks.acebench.playing.execution import Executor
from replay.benchmarks.acebench.playing.messages import (
    LineCall,
    is_for_execution,
    read_calls,
    read_clean_calls,
)
from replay.benchmarks.acebench.playing.options import PlayOptions
from replay.benchmarks.acebench.playing.prompts import PromptBook
from replay.benchmarks.users import speak
from replay.core.protocols import Answer, Ask
from replay.core.types import Json, Message

__all__ = ["END_PHRASE", "NUDGE", "Dialogue", "StepDialogue", "TurnDialogue"]

END_PHRASE: Final = "finish conversation"
NUDGE: Final = "Please do not ask me any questions, use the known conditions to solve the problem"
"""What the official execution says to an agent whose message it cannot decode."""

_FIRST_END: Final = 2
"""Step of the loop from which the end phrase counts."""


class Dialogue(ABC):
    """What both protocols share: candidate, prompts, executor, and what was done."""

    def __init__(
        self, book: PromptBook, candidate: Candidate, executor: Executor, options: PlayOptions, *, clean: bool
    ) -> None:
        """Start before the first message."""
        self.book = book
        self.candidate = candidate
        self.executor = executor
        self.options = options
        self.clean = clean
        self.process: list[str] = []
        """The agent's messages that went to execution."""
        self.has_executed = False
        """True once upstream would have a state to save."""

    def run(self) -> Generator[Ask, Answer, str]:
        """Let them speak until the end phrase or the limit; return how it stopped."""
        try:
            return (yield from self._run())
        except SilentError as silent:
            return silent.stop

    @abstractmethod
    def _run(self) -> Generator[Ask, Answer, str]:
        """Let them speak. Raises SilentError when one of them has nothing to say."""


class TurnDialogue(Dialogue):
    """User, agent and execution in turn."""

    def _run(self) -> Generator[Ask, Answer, str]:
        opening, digest = self.book.user()
        heard = list(opening)
        text: Json = yield from self._hear_user(heard, digest)
        transcript = [f"user:{text}\n"]
        recipient = "agent"
        for step in range(self.options.max_messages):
            if recipient == "user":
                heard.append(Message(role="user", content=_without_prefix(text)))
                text = yield from self._hear_user(heard, digest)
                sender, recipient = "user", "agent"
            elif recipient == "agent":
                text = yield from self.candidate.say(self.book.turn("".join(transcript)))
                sender, recipient = "agent", self._route(text)
            else:
                self.process.append(text)
                text = yield from self._execute(text)
                sender, recipient = "execution", "agent"
            transcript.append(f"{sender}:{text}\n")
            if step >= _FIRST_END and END_PHRASE in text:
                return "finished"
        return "step-limit"

    def _hear_user(self, heard: list[Message], digest: str) -> Generator[Ask, Answer, str]:
        sampling = self.options.sampling(self.options.user_max_tokens)
        turn = yield from speak(heard, sampling=sampling, prompt_digest=digest)
        if turn.fault:
            raise SilentError("user-failed")
        heard.append(Message(role=self.options.user_reply_role, content=turn.text))
        return turn.text

    def _route(self, message: str) -> str:
        if not self.clean:
            return "execution" if is_for_execution(message) else "user"
        return "user" if _read_clean(message) is None else "execution"

    def _execute(self, message: str) -> Generator[Ask, Answer, list[Json]]:
        if self.clean:
            done = yield from self.executor.run_clean(_read_clean(message) or [])
        else:
            done = yield from self.executor.run_turn(read_calls(message))
        self.has_executed = self.has_executed or done.is_whole
        return done.observation


class StepDialogue(Dialogue):
    """Agent and execution in turn, with the whole task told at the start.

    The official agent never sees its own messages; the clean one does.
    """

    def __init__(
        self,
        book: PromptBook,
        candidate: Candidate,
        executor: Executor,
        options: PlayOptions,
        *,
        clean: bool,
        question: str,
    ) -> None:
        """Start with the task."""
        super().__init__(book, candidate, executor, options, clean=clean)
        self._transcript = [f"user:{question}\n"]

    def _run(self) -> Generator[Ask, Answer, str]:
        text: Json = ""
        for step in range(self.options.max_messages):
            if step % 2 == 0:
                text = yield from self.candidate.say(self.book.step("".join(self._transcript)))
                if self.clean:
                    self._transcript.append(f"agent:{text}\n")
            else:
                text = yield from self._execute(text)
                self._transcript.append(f"execution result:{text}\n")
            if (step >= _FIRST_END or self.clean) and END_PHRASE in text:
                return "finished"
        return "step-limit"

    def _execute(self, message: str) -> Generator[Ask, Answer, Json]:
        """The official process keeps every message that was handed over, also those that are no calls."""
        calls = _read_clean(message) if self.clean else _read_official(message)
        if calls is None:
            if not self.clean:
                self.process.append(message)
            return NUDGE
        self.process.append(message)
        run = self.executor.run_clean if self.clean else self.executor.run_step
        done = yield from run(calls)
        self.has_executed = True
        return done.observation


def _read_clean(message: str) -> list[LineCall] | None:
    try:
        return read_clean_calls(message)
    except LiteralError:
        return None


def _read_official(message: str) -> list[LineCall] | None:
    try:
        return read_calls(message)
    except LiteralError:
        return None


def _without_prefix(message: str) -> str:
    """A speaker's name that the agent wrote before its own words is not for the user."""
    if message.startswith("user:"):
        return message.removeprefix("user:")
    return message.removeprefix("agent:")
