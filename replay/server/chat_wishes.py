"""What an OpenAI client asks for, once it is read, and how a request is refused."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from replay.core.types import Json, Message, Record, ToolSpec

__all__ = ["ChatWish", "WishError", "refuse_others"]


class WishError(ValueError):
    """A request that is not served; names the option."""

    def __init__(self, message: str, param: str, *, status: int = 400, code: str = "invalid_value") -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.status = status
        self.code = code

    def to_json(self) -> dict[str, Json]:
        """Write it as the API's clients read it."""
        kind = "not_found_error" if self.status == 404 else "invalid_request_error"
        return {"message": self.message, "type": kind, "param": self.param or None, "code": self.code}


class ChatWish(Record, frozen=True, kw_only=True):
    """One request; None where the client left an option out."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    strict_tools: tuple[str, ...] = ()
    """Tools whose calls must fit their schema: one that does not is no answer."""
    tool_choice: str = "auto"
    one_call: bool = False
    """True: an answer with several calls is no answer."""
    schema: Json = None
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] | None = None
    seed: int | None = None
    top_logprobs: int | None = None
    """Alternatives of each token that are wanted with log-probabilities; None: no log-probabilities."""
    n: int = 1
    stream: bool = False
    with_usage: bool = False


def refuse_others(value: Mapping[str, Json], known: Collection[str], where: str) -> None:
    """Refuse what a part of a request holds beside the known names, unless it says nothing.

    Errors:  WishError naming the first.
    """
    for name, held in value.items():
        # What the client's own answers carry along, empty, is no part of a conversation.
        if name not in known and held not in (None, [], ""):
            place = f"{where}.{name}" if where else name
            raise WishError(
                f"{place} is not honoured by this server; leave it out", place, code="unsupported_parameter"
            )
