"""Proof by trying that a key is made of the complete request: every single change of a request is a miss.

Every field of sample requests is changed in every way its value allows, nested records and free JSON
included. A change must give a key that nothing else has, unless the field is declared in `keys.NOT_IN_KEY`;
then it must *not* change the key. A record that gains a field is tested without another line here: the field
is found, changed, and must be in the key or declared. `replay doctor` shows the result.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import msgspec

from replay.core.keys import NOT_IN_KEY, alias_key, call_key, completion_key, simulated_alias, verdict_key
from replay.core.types import (
    CallAlias,
    CallRequest,
    ChatRequest,
    Json,
    JudgeRequest,
    Key,
    Message,
    Record,
    RepeatPolicy,
    Role,
    Sampling,
    ToolCall,
    ToolSpec,
)

__all__ = ["FieldCheck", "KeySubject", "check_keys", "check_subject", "key_subjects"]


class FieldCheck(Record, frozen=True, kw_only=True):
    """What changing one field does to a key."""

    kind: str
    """api, api-alias, simulated, completion or verdict."""
    field: str
    """The field, for example `request.sampling`."""
    changes: int
    """How many different changes were tried."""
    in_key: bool
    """False for fields that are declared to be left out."""
    reason: str = ""
    """Why it is left out."""
    fault: str = ""
    """The first change that did not do what it must; empty when all did."""


class KeySubject(NamedTuple):
    """One kind of request: the parts its key is made of, and how."""

    kind: str
    parts: dict[str, Json]
    key: Callable[[dict[str, Json]], Key]


def check_keys() -> tuple[FieldCheck, ...]:
    """Change every field of every kind of request; one result a field, faults inside."""
    return tuple(check for subject in key_subjects() for check in check_subject(subject))


def check_subject(subject: KeySubject) -> tuple[FieldCheck, ...]:
    """Change every field of one kind of request."""
    seen = {subject.key(subject.parts): "the request itself"}
    checks = []
    for name, part in subject.parts.items():
        fields = part.__struct_fields__ if isinstance(part, msgspec.Struct) else ("",)
        for field in fields:
            declared = NOT_IN_KEY.get(f"{type(part).__name__}.{field}", "")
            value = getattr(part, field) if field else part
            label = f"{name}.{field}" if field else name
            changes = [
                (f"{label}{path}", subject.parts | {name: _replace(part, field, changed)})
                for path, changed in _change(value)
            ]
            checks.append(
                FieldCheck(
                    kind=subject.kind,
                    field=label,
                    changes=len(changes),
                    in_key=not declared,
                    reason=declared,
                    fault=_try_changes(subject, changes, seen, in_key=not declared),
                )
            )
    return tuple(checks)


def _try_changes(
    subject: KeySubject, changes: list[tuple[str, dict[str, Json]]], seen: dict[Key, str], *, in_key: bool
) -> str:
    original = subject.key(subject.parts)
    for label, parts in changes:
        key = subject.key(parts)
        if not in_key:
            if key != original:
                return f"{label} is declared to be left out of the key and changes it"
        elif key in seen:
            return f"{label} has the key of {seen[key]}"
        else:
            seen[key] = label
    return ""


def _replace(part: Json, field: str, value: Json) -> Json:
    return msgspec.structs.replace(part, **{field: value}) if field else value


# ---- every single change of a value ---------------------------------------------------------------------


def _change(value: Json) -> Iterator[tuple[str, Json]]:
    """Yield every single change as (path inside the value, the whole value changed)."""
    if isinstance(value, msgspec.Struct):
        for field in value.__struct_fields__:
            for path, changed in _change(getattr(value, field)):
                yield f".{field}{path}", msgspec.structs.replace(value, **{field: changed})
    elif isinstance(value, (list, tuple)):
        yield from _change_items(list(value))
    elif isinstance(value, dict):
        yield from _change_names(value)
    else:
        yield from (("", changed) for changed in _change_leaf(value))


def _change_items(items: list[Json]) -> Iterator[tuple[str, Json]]:
    for index, item in enumerate(items):
        for path, changed in _change(item):
            yield f"[{index}]{path}", [*items[:index], changed, *items[index + 1 :]]
        yield f"[{index}] removed", items[:index] + items[index + 1 :]
    yield " with one more", [*items, *(items[-1:] or ["added"])]


def _change_names(members: dict[str, Json]) -> Iterator[tuple[str, Json]]:
    for name, item in members.items():
        for path, changed in _change(item):
            yield f".{name}{path}", members | {name: changed}
        rest = {other: kept for other, kept in members.items() if other != name}
        yield f".{name} removed", rest
        yield f".{name} renamed", rest | {name + "_": item}
    yield " with one more", members | {"added": None}


def _change_leaf(value: Json) -> Iterator[Json]:
    if isinstance(value, enum.Enum):
        yield from (other for other in type(value) if other is not value)
    elif isinstance(value, str):
        # A longer text, no text, other letter case, a space at the end, e-acute in its two Unicode forms.
        changed = (value + "x", "", value.swapcase(), value + " ", value + "\u00e9", value + "e\u0301", None)
        yield from dict.fromkeys(other for other in changed if other != value)
    elif isinstance(value, bool):
        yield from (not value, int(value), None)
    elif isinstance(value, (int, float)):
        yield from (value + 1, -value - 1, str(value), value == 1, None)
    else:
        yield from ("", False, 0, [], {})


# ---- samples: every field holds something, so that what is nested is reached too --------------------------

_ARGUMENTS: Final = {"city": "Oslo", "days": 5, "exact": True, "near": None, "box": [1.5, {"north": 60}]}
_SCHEMA: Final = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}


def key_subjects() -> tuple[KeySubject, ...]:
    """Build one sample of each kind of request that has a key."""
    alias = CallAlias(label="python-repr", tool="Weather/now/get", text="{'city': 'Oslo'}")
    return (
        KeySubject("api", {"request": _sample_call(alias)}, lambda parts: call_key(parts["request"])),
        KeySubject(
            "api-alias",
            {"benchmark": "demo", "alias": alias},
            lambda parts: alias_key(parts["benchmark"], parts["alias"]),
        ),
        KeySubject(
            "simulated",
            {
                "simulator": {"model": {"name": "s", "tensors": "2e"}, "prompt": "sha256:11"},
                "request": _sample_call(alias),
                "documentation": "sha256:22",
            },
            _simulated_key,
        ),
        KeySubject(
            "completion",
            {"model": {"name": "m", "tensors": "1f"}, "request": _sample_chat(), "seed": 7, "trial": 3},
            lambda parts: completion_key(
                parts["model"], parts["request"], seed=parts["seed"], trial=parts["trial"]
            ),
        ),
        KeySubject(
            "verdict",
            {"judge": {"model": {"name": "j"}, "temperature": 0.5}, "request": _sample_question()},
            lambda parts: verdict_key(parts["judge"], parts["request"]),
        ),
    )


def _simulated_key(parts: dict[str, Json]) -> Key:
    request = parts["request"]
    alias = simulated_alias(parts["simulator"], request, documentation=parts["documentation"])
    return alias_key(request.benchmark, alias)


def _sample_call(alias: CallAlias) -> CallRequest:
    return CallRequest(
        benchmark="demo",
        tool="Weather/now/get",
        arguments=_ARGUMENTS,
        call=ToolCall(id="call_7", name="get_for_now", arguments='{"city": "Oslo"}'),
        spec=_sample_tool(),
        state="sha256:5a",
        aliases_first=(alias,),
        aliases=(alias,),
    )


def _sample_tool() -> ToolSpec:
    return ToolSpec(
        name="get_for_now",
        identity="Weather/now/get",
        description="Weather now.",
        parameters=_SCHEMA,
        response_shape={"degrees": 2},
        repeat_policy=RepeatPolicy.ONCE,
        depends_on_state=True,
        mutates=True,
        extra={"method": "GET"},
    )


def _sample_chat() -> ChatRequest:
    call = ToolCall(id="call_7", name="get_for_now", arguments='{"city": "Oslo"}')
    return ChatRequest(
        role=Role.CANDIDATE,
        messages=(
            Message(role="user", content="How warm is it?", name="ann"),
            Message(role="assistant", content="I look.", tool_calls=(call,)),
            Message(role="tool", content="2 degrees", tool_call_id="call_7"),
        ),
        tools=(_sample_tool(),),
        tool_choice="required",
        sampling=Sampling(temperature=0.8, top_p=0.9, top_k=40, max_tokens=99, stop=("END",)),
        response_schema=_SCHEMA,
        prompt_digest="sha256:77",
        top_logprobs=2,
    )


def _sample_question() -> JudgeRequest:
    return JudgeRequest(
        benchmark="demo",
        rubric="sopr",
        rubric_digest="sha256:99",
        evidence={"query": "How warm is it?", "answer": {"final": "2 degrees", "steps": [1, 2]}},
        run=2,
        cached_only=True,
        choices=("Solved", "Unsolved"),
        messages=(Message(role="user", content="Is this solved?"),),
        response_schema=_SCHEMA,
    )
