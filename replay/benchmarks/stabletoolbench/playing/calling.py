"""One call of the candidate, from the name it wrote to the observation it reads.

Owns name resolution, routing of Finish, the lookup request with its declared aliases, and the order in which
the rules apply (spec 1.4, 1.6, 4.4). Sans IO: it yields what it needs looked up. Source: server/main.py and
toolbench/inference/Downstream_tasks/rapidapi_multithread.py at aa4ed9f.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Sequence
from typing import Final

from replay.benchmarks.stabletoolbench.cache_keys import COMPACT_JSON, OLD_NAME, PYTHON_REPR
from replay.benchmarks.stabletoolbench.evidence import BENCHMARK
from replay.benchmarks.stabletoolbench.functions import FunctionEntry, find_by_suffix
from replay.benchmarks.stabletoolbench.naming import FINISH, old_tool_identity
from replay.benchmarks.stabletoolbench.playing.arguments import (
    PARSE_ERROR,
    ParsedArguments,
    compact_json_text,
    parse_arguments,
    python_repr_text,
)
from replay.benchmarks.stabletoolbench.playing.finish import read_finish
from replay.benchmarks.stabletoolbench.playing.statuses import (
    INVALID_BODY,
    Observation,
    Status,
    UpstreamFailureError,
    cut_text,
    error_text,
    observe_answer,
    observe_text,
)
from replay.core.protocols import Answer, Ask, answered, call, note
from replay.core.types import (
    CallAlias,
    CallRequest,
    Json,
    Provenance,
    Record,
    ToolCall,
    ToolResult,
    ToolSpec,
)

__all__ = ["INVALID_NAME", "CallingRules", "call_function", "make_request", "resolve_function"]

INVALID_NAME: Final = "invalid_hallucination_function_name"
"""What a history holds in place of a name that no function has."""

_USER_API: Final = "chat_with_user"
_USER_ANSWER: Final = {"error": "", "response": "Chat with user."}


class CallingRules(Record, frozen=True, kw_only=True):
    """How calls are resolved and observed."""

    strict: bool = False
    """False: compat, bug for bug. True: exact names, JSON objects only, no answer without its two keys."""
    max_observation: int = 1024
    """Units: characters before the cut."""


def resolve_function(name: str, entries: Sequence[FunctionEntry], *, strict: bool) -> FunctionEntry | None:
    """Find the API function a name stands for; None when there is none.

    Errors:  UpstreamFailureError (compat only) when only Finish ends with the name: upstream has no API for
             it.
    Source:  rapidapi_multithread.py, _step: the first function whose name *ends* with the called name.
             Differs in strict: the whole name counts, so no call is routed to another API.
    """
    if strict:
        return next((entry for entry in entries if entry.raw and entry.shown.name == name), None)
    found = find_by_suffix(entries, name)
    if found is None and FINISH.endswith(name):
        raise UpstreamFailureError("function-name", f"only {FINISH!r} ends with {name!r}, which is no API")
    return found


def make_request(entry: FunctionEntry, tool_call: ToolCall, arguments: Json, *, strict: bool) -> CallRequest:
    """Build the lookup of a call: canonical key and upstream's own key texts as declared aliases.

    Source:  server/main.py: the key inside an API's cache file is Python's text of the parsed arguments.
             Compat asks for it first, strict after the canonical key. The old API-name rule and the fork's
             compact JSON come last under both.
    """
    spec = entry.raw if entry.raw is not None else entry.shown
    identity = _identity(spec)
    text = python_repr_text(arguments)
    by_repr = CallAlias(label=PYTHON_REPR, tool=identity, text=text)
    others = [
        *_old_name_alias(spec, identity, text),
        CallAlias(label=COMPACT_JSON, tool=identity, text=compact_json_text(arguments)),
    ]
    return CallRequest(
        benchmark=BENCHMARK,
        tool=identity,
        arguments=arguments,
        call=tool_call,
        spec=spec,
        aliases_first=() if strict else (by_repr,),
        aliases=(by_repr, *others) if strict else tuple(others),
    )


def call_function(
    tool_call: ToolCall, entries: Sequence[FunctionEntry], rules: CallingRules
) -> Generator[Ask, Answer, Observation]:
    """Carry out one call and return what the candidate reads, cut, with its status code.

    Errors:  UpstreamFailureError (compat only) where upstream's program would stop.
    """
    if tool_call.name == FINISH:
        finished = read_finish(tool_call.arguments, strict=rules.strict)
        return (yield from _by_rule(tool_call, finished.observation, finished.code, rules))
    entry = resolve_function(tool_call.name, entries, strict=rules.strict)
    if entry is None:
        text = error_text(f"No such function name: {tool_call.name}")
        return (yield from _by_rule(tool_call, text, Status.NO_FUNCTION, rules))
    if _identity(entry.shown).rsplit("/", 1)[-1] == _USER_API:
        return (yield from _call_user(tool_call, rules))
    parsed = parse_arguments(tool_call.arguments, objects_only=rules.strict)
    if parsed.fault:
        return (yield from _refuse(tool_call, parsed, rules))
    if parsed.repeated:
        yield from note("repeated-argument-names", {"call": tool_call.id, "names": list(parsed.repeated)})
    result = yield from call(make_request(entry, tool_call, parsed.value, strict=rules.strict))
    return (yield from _observe(tool_call, result, rules))


def _observe(
    tool_call: ToolCall, result: ToolResult, rules: CallingRules
) -> Generator[Ask, Answer, Observation]:
    seen = _read_result(result, strict=rules.strict)
    cut = cut_text(seen.text, rules.max_observation)
    if seen.code or cut is not seen.text:
        yield from note("observation", {"call": tool_call.id, "code": seen.code, "cut": cut is not seen.text})
    return Observation(text=cut, code=seen.code)


def _read_result(result: ToolResult, *, strict: bool) -> Observation:
    """Read a source's result: JSON by its body; what is not JSON by its text.

    A text answer has itself as body; the body of a JSON string never equals its quoted text.
    """
    body = result.body
    if isinstance(body, str) and body == result.content:
        return observe_text(body, strict=strict)
    if isinstance(body, dict) and body.keys() == {"base64"}:
        return observe_text(result.content, strict=strict)
    return observe_answer(body, strict=strict)


def _refuse(
    tool_call: ToolCall, parsed: ParsedArguments, rules: CallingRules
) -> Generator[Ask, Answer, Observation]:
    """Answer a call whose arguments cannot be looked up, naming what is wrong with them."""
    if parsed.fault == "malformed":
        # Compat: the server answers in good order, so the client sees a normal answer.
        code = Status.BAD_INPUT if rules.strict else Status.OK
        text = json.dumps(PARSE_ERROR)
    else:
        code = Status.BAD_INPUT
        text = error_text(f"Tool input refused ({parsed.fault}): {parsed.detail}")
    why = {"call": tool_call.id, "fault": parsed.fault, "detail": parsed.detail}
    yield from note("arguments-refused", why)
    return (yield from _by_rule(tool_call, text, code, rules))


def _call_user(tool_call: ToolCall, rules: CallingRules) -> Generator[Ask, Answer, Observation]:
    """Answer the one API the server knows by name: its branch fails upstream, a fixed answer was meant."""
    if rules.strict:
        return (yield from _by_rule(tool_call, json.dumps(_USER_ANSWER), Status.OK, rules))
    text = error_text(f"{INVALID_BODY}. status_code=500")
    return (yield from _by_rule(tool_call, text, Status.BAD_REQUEST, rules))


def _by_rule(
    tool_call: ToolCall, text: str, code: int, rules: CallingRules
) -> Generator[Ask, Answer, Observation]:
    seen = Observation(text=cut_text(text, rules.max_observation), code=int(code))
    result = ToolResult(
        content=seen.text,
        provenance=Provenance.WORLD,
        is_error=code not in (Status.OK, Status.ANSWERED, Status.GAVE_UP),
        code=seen.code,
    )
    yield from answered(tool_call, result)
    return seen


def _old_name_alias(spec: ToolSpec, identity: str, text: str) -> list[CallAlias]:
    extra = spec.extra if isinstance(spec.extra, dict) else {}
    category, tool, api = (extra.get(name) for name in ("category_name", "tool_name", "api_name"))
    if not (isinstance(category, str) and isinstance(tool, str) and isinstance(api, str)):
        return []
    old = old_tool_identity(category, tool, api)
    return [] if old == identity else [CallAlias(label=OLD_NAME, tool=old, text=text)]


def _identity(spec: ToolSpec) -> str:
    return spec.identity or spec.name
