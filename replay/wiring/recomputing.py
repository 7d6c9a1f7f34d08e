"""Which generated answers this machine can compute again, and whether they come out the same.

A generated completion is recorded with its whole request, so it can be asked for once more wherever a model
of the same identity is: same weights, same numeric fingerprint. What cannot be asked here is counted with the
reason, never passed over. Made-up API answers and verdicts of local judges rest on such completions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import msgspec

from replay.core.canonical import canonical_bytes
from replay.core.errors import ModelError
from replay.core.types import Completion, Json, Key, Record, Snapshot
from replay.engine.rundir.checking import RunFinding
from replay.llm.dialects.choose import CALL_FORMS
from replay.store.answers import make_completion_snapshot
from replay.store.pending import SnapshotReader
from replay.wiring.asking import ask_again, is_generated, read_request
from replay.wiring.casting import find_models
from replay.wiring.engines import ModelPool
from replay.wiring.roles import AUTO, CONTEXT_TOKENS, ModelPlan, ModelWish

__all__ = ["Recomputed", "completions_behind", "recompute"]


class Recomputed(Record, frozen=True, kw_only=True):
    """What came of computing generated answers again."""

    generated: int = 0
    """Generated completions that were found."""
    recomputed: int = 0
    """Of these, the ones that this machine could compute again."""
    elsewhere: dict[str, int] = msgspec.field(default_factory=dict)
    """Why the others could not be, and how many."""
    differ: tuple[RunFinding, ...] = ()
    """Recomputed answers that came out differently."""


def completions_behind(reader: SnapshotReader, keys: Iterable[Key]) -> Iterator[Snapshot]:
    """Find the generated completions that answers rest on: themselves, or those their `meta` names."""
    seen: set[Key] = set()
    waiting = list(keys)
    while waiting:
        key = waiting.pop()
        snapshot = None if key in seen or not key else reader.get(key)
        seen.add(key)
        if snapshot is None:
            continue
        if is_generated(snapshot):
            yield snapshot
        elif isinstance(snapshot.meta, dict) and isinstance(snapshot.meta.get("completion"), str):
            waiting.append(Key(snapshot.meta["completion"]))


def recompute(
    snapshots: Iterable[Snapshot],
    *,
    finder: str,
    home: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Recomputed:
    """Compute every generated completion again that a model here has the identity of.

    finder: `module:function` that finds local models; home: folder above their weights.
    Errors:  DamagedError for a recorded request that is none; ModelError when a model that is here fails.
    """
    generated = sorted(filter(is_generated, snapshots), key=lambda snapshot: snapshot.key)
    here = _Here(finder, home)
    able: dict[bytes, list[Snapshot]] = {}
    elsewhere: Counter[str] = Counter()
    for snapshot in generated:
        identity = read_request(snapshot).model
        reason = here.reason(identity)
        if reason:
            elsewhere[reason] += 1
        else:
            able.setdefault(canonical_bytes(identity), []).append(snapshot)
    pool = ModelPool()
    findings: list[RunFinding] = []
    total = sum(map(len, able.values()))
    done = 0
    try:
        for group in able.values():
            for recorded, completion in ask_again(group, here.plan(read_request(group[0]).model), pool):
                done += 1
                finding = _compare(recorded, completion)
                findings += [] if finding is None else [finding]
                if progress is not None:
                    progress(done, total)
    finally:
        pool.close()
    return Recomputed(
        generated=len(generated),
        recomputed=total,
        elsewhere=dict(sorted(elsewhere.items())),
        differ=tuple(findings),
    )


class _Here:
    """The models of this machine; each is looked up once."""

    def __init__(self, finder: str, home: Path | None) -> None:
        self._finder = finder
        self._home = home
        self._found: dict[bytes, ModelPlan | str] = {}

    def reason(self, identity: Json) -> str:
        """Say why a model of this identity is not here; empty when it is."""
        found = self._look(identity)
        return found if isinstance(found, str) else ""

    def plan(self, identity: Json) -> ModelPlan:
        """Return the model of this identity, which is here."""
        found = self._look(identity)
        if isinstance(found, str):
            raise ModelError(found)
        return found

    def _look(self, identity: Json) -> ModelPlan | str:
        key = canonical_bytes(identity)
        if key not in self._found:
            self._found[key] = self._search(identity)
        return self._found[key]

    def _search(self, identity: Json) -> ModelPlan | str:
        name = identity.get("model") if isinstance(identity, dict) else None
        if not isinstance(name, str) or not name:
            return "generated by something that is no local model"
        # What a model's context holds is a part of its identity: ask for the same.
        context = identity.get("context")
        room = context if isinstance(context, int) and context > 0 else CONTEXT_TOKENS
        # The form of calls too; a model's own comes out of its template again.
        form = identity.get("dialect")
        dialect = form if form in CALL_FORMS else AUTO
        wish = ModelWish(home=self._home, context_tokens=room, dialect=dialect)
        try:
            plan = find_models(self._finder, wish)(name)
        except ModelError as error:
            return f"{name}: {error.what}"
        if canonical_bytes(plan.identity) == canonical_bytes(identity):
            return plan
        different = sorted(
            field for field in {*identity, *plan.identity} if identity.get(field) != plan.identity.get(field)
        )
        return f"{name}: recorded with another {', '.join(different)}"


def _compare(recorded: Snapshot, completion: Completion) -> RunFinding | None:
    asked = read_request(recorded)
    again = make_completion_snapshot(
        asked.model, asked.request, completion, seed=asked.seed, trial=asked.trial
    )
    if again.body == recorded.body:
        return None
    return RunFinding(
        member="completions", record=recorded.key, what=_first_difference(recorded.body, again.body)
    )


def _first_difference(recorded: str, again: str) -> str:
    ours, theirs = msgspec.json.decode(recorded), msgspec.json.decode(again)
    fields = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    return f"computed again, it differs in {', '.join(fields)}"
