"""What a judge wrote -> a label, or `error` with the raw text kept; and a judge made of a chat model.

A verdict is read only from a text that is a label or holds one JSON object with one. Prose is never
searched for labels ("not solved" holds "solved"), and an unreadable answer is an error that counts, never a
silent null.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Final

from replay.core.canonical import digest, parse_json
from replay.core.determinism import derive_seed
from replay.core.errors import CanonicalError, InputError, MissError
from replay.core.protocols import ChatModel
from replay.core.types import ChatRequest, Json, JudgeRequest, JudgeVerdict, Record, Role, Sampling

__all__ = ["ERROR", "ModelJudge", "ParsedAnswer", "ask_judge", "describe_judge", "parse_answer"]

ERROR: Final = "error"
"""The label of an answer that holds no verdict."""

_MAX_TEXT: Final = 64 * 1024
"""Far beyond any judge's answer; bounds the search for JSON in hostile text."""

_MAX_STARTS: Final = 64
"""How many opening braces are tried as the start of a JSON object."""


class ParsedAnswer(Record, frozen=True, kw_only=True):
    """What a judge's text says."""

    label: str
    """One of the choices, spelled as they are, or `error`."""
    reason: str = ""
    """The judge's reason; for `error`, why the text holds no verdict."""


class ModelJudge:
    """Ask a chat model, constrained to the answer's schema where the model can be."""

    def __init__(self, model: ChatModel, *, seed: int = 0, sampling: Sampling | None = None) -> None:
        """Judge with `model`; `sampling` defaults to greedy, which gives every repeat one verdict."""
        self._model = model
        self._seed = seed
        self._sampling = sampling or Sampling()

    @property
    def identity(self) -> Json:
        """Model, sampling and run seed: what tells this judge's verdicts from another's."""
        return describe_judge(self._model.identity, seed=self._seed, sampling=self._sampling)

    def decide(self, request: JudgeRequest) -> JudgeVerdict | None:
        """Answer one question; None if only a frozen verdict may answer it, or the model has no answer."""
        if request.cached_only or not request.messages:
            return None
        seed = derive_seed(
            self._seed, request.benchmark, request.rubric, digest("evidence", request.evidence)
        )
        question = ChatRequest(
            role=Role.JUDGE,
            messages=request.messages,
            sampling=self._sampling,
            response_schema=request.response_schema,
            prompt_digest=request.rubric_digest,
        )
        try:
            completion = self._model.complete(
                question, seed=derive_seed(seed, request.run), trial=request.run
            )
        except MissError:
            return None
        text = completion.content or ""
        parsed = parse_answer(text, request.choices)
        if completion.finish not in ("stop", "tool_calls"):
            parsed = ParsedAnswer(label=ERROR, reason=f"the judge's answer was cut ({completion.finish})")
        return JudgeVerdict(
            label=parsed.label,
            reason=parsed.reason,
            raw=text,
            provenance=completion.provenance,
            judge=_name(self._model.identity),
        )


def describe_judge(model: Json, *, seed: int = 0, sampling: Sampling | None = None) -> Json:
    """Identity of a judge made of the model of that identity."""
    chosen = sampling or Sampling()
    fields = {name: getattr(chosen, name) for name in chosen.__struct_fields__}
    return {"model": model, "sampling": fields, "seed": seed}


def ask_judge(
    request: JudgeRequest,
) -> Generator[JudgeRequest, JudgeVerdict | None, JudgeVerdict | None]:
    """Yield one question; None when no verdict is to be had.

    Errors:  InputError for a verdict with a label that is neither one of the choices nor `error`: it must not
             pass for a miss, nor for a score.
    """
    verdict = yield request
    if verdict is not None and request.choices and verdict.label not in (*request.choices, ERROR):
        raise InputError(
            f"a verdict with the unknown label {verdict.label[:80]!r}",
            where=f"rubric {request.rubric}, run {request.run}, {verdict.key or 'no key'}",
            expected=f"one of {', '.join((*request.choices, ERROR))}",
            next_step="check the archive the verdict is from: replay archive verify",
        )
    return verdict


def parse_answer(text: str, choices: Sequence[str], *, field: str = "verdict") -> ParsedAnswer:
    """Read one label from a judge's answer.

    Shape:   a bare label (any case, quotes and a final stop allowed), or one JSON object with `field` (and
             `reason`), bare, in a code fence or inside prose. Two objects are read only if they agree.
    """
    if not text.strip():
        return _error("the answer is empty")
    if len(text) > _MAX_TEXT:
        return _error(f"the answer has {len(text)} characters, more than {_MAX_TEXT}")
    bare = _match(text.strip().strip("`*\"'").rstrip(".!").strip("`*\"'"), choices)
    if bare:
        return ParsedAnswer(label=bare)
    found = _objects(text)
    if not found:
        return _error(f"neither a label ({', '.join(choices)}) nor a JSON object")
    read = [_read(start, choices, field) for start in found]
    labels = sorted({answer.label for answer in read})
    if len(labels) > 1:
        return _error(f"{len(read)} JSON objects that disagree: {', '.join(labels)}")
    return read[0]


def _error(reason: str) -> ParsedAnswer:
    return ParsedAnswer(label=ERROR, reason=reason)


def _match(text: Json, choices: Sequence[str]) -> str:
    """The choice a value spells, or the empty text."""
    if isinstance(text, bool) or not isinstance(text, (str, int)):
        return ""
    wanted = str(text).strip().casefold()
    return next((choice for choice in choices if choice.casefold() == wanted), "")


def _objects(text: str) -> list[str]:
    """Texts of the JSON objects in an answer, outermost ones, in order."""
    decoder = json.JSONDecoder()
    found: list[str] = []
    at = text.find("{")
    for _ in range(_MAX_STARTS):
        if at < 0:
            break
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            found.append(text[at:end])
        at = text.find("{", end)
    return found


def _read(text: str, choices: Sequence[str], field: str) -> ParsedAnswer:
    try:
        value = parse_json(text, where="judge answer")
    except CanonicalError as error:
        return _error(str(error))
    if field not in value:
        return _error(f"the JSON object has no {field!r}")
    label = _match(value[field], choices)
    if not label:
        return _error(f"{field} is {value[field]!r:.80}, not one of {', '.join(choices)}")
    reason = value.get("reason", "")
    return ParsedAnswer(label=label, reason=reason if isinstance(reason, str) else "")


def _name(identity: Json) -> str:
    """A short name for reports; the whole identity is in the verdict's key."""
    names = [identity.get("name"), identity.get("model")] if isinstance(identity, dict) else [identity]
    named = [name for name in names if isinstance(name, str) and name]
    return named[0] if named else str(digest("judge", identity))
