"""What a run was asked for, and the digests of what came out.

`inputs` is hashed into the run root. `conditions` is not hashed (the same answers may be found under another
mode) but a run is only resumed under the same ones. `guard` and `roots` are written when the run is finished.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replay.core.canonical import canonical_bytes, digest, parse_json
from replay.core.protocols import Settings
from replay.core.types import Digest, Json, Record

__all__ = [
    "FORMAT_VERSION",
    "Guard",
    "RunInputs",
    "RunManifest",
    "RunRoots",
    "make_roots",
    "name_differences",
]

FORMAT_VERSION: Final = 1


class RunInputs(Record, frozen=True, kw_only=True):
    """Everything that a run is a function of. No host, user, folder, time or number of jobs."""

    benchmark: str
    archives: dict[str, str] = msgspec.field(default_factory=dict)
    """Name of each frozen archive to its root, and of an overlay that is read to its digest."""
    models: dict[str, Json] = msgspec.field(default_factory=dict)
    """Who answers (candidate, user, judge, simulator) to identity."""
    settings: Settings
    trials: int = 1
    plan: Digest
    """Digest of the plan: selection and limit are in it."""
    planned: int
    recipe_version: int
    fingerprint: Json = None
    """Numeric fingerprint of the local model runtime; None when none was used."""
    extra: Json = None
    """Further inputs by digest, for example the outputs of another harness."""


class Guard(Record, frozen=True, kw_only=True):
    """What the network guard counted over the whole run."""

    network_attempts: int
    episodes_with_attempts: int = 0


class RunRoots(Record, frozen=True, kw_only=True):
    """Digests of a finished run, whole and in parts that two parties can compare without the files."""

    run_root: Digest
    """Over the next four."""
    inputs: Digest
    trajectories: Digest
    verdicts: Digest
    summary: Digest
    results: Digest
    """Over verdicts and summary: equal when two runs scored alike."""
    outputs: Digest
    """Over task, trial and outcome: equal when two candidates produced the same."""


class RunManifest(Record, frozen=True, kw_only=True):
    """manifest.json of a run directory."""

    format_version: int = FORMAT_VERSION
    inputs: RunInputs
    conditions: dict[str, Json] = msgspec.field(default_factory=dict)
    """Modes by boundary, program version and the like; compared on resume, never hashed."""
    guard: Guard | None = None
    roots: RunRoots | None = None
    """None while the run is unfinished."""
    record: Digest | None = None
    """Over everything above, so that an edit of what is not hashed into the run root is found as well."""


def make_roots(
    inputs: RunInputs, *, trajectories: Digest, verdicts: Digest, summary: Digest, outputs: Digest
) -> RunRoots:
    """Compute the run root and the partial digests from the digests of the files."""
    parts = {
        "inputs": digest("run-inputs", [FORMAT_VERSION, msgspec.to_builtins(inputs)]),
        "trajectories": trajectories,
        "verdicts": verdicts,
        "summary": summary,
    }
    return RunRoots(
        run_root=digest("run", parts),
        inputs=parts["inputs"],
        trajectories=trajectories,
        verdicts=verdicts,
        summary=summary,
        results=digest("run-results", [verdicts, summary]),
        outputs=outputs,
    )


def seal_manifest(manifest: RunManifest) -> RunManifest:
    """Return the manifest with the digest of its own record."""
    bare = msgspec.structs.replace(manifest, record=None)
    return msgspec.structs.replace(bare, record=digest("run-manifest", msgspec.to_builtins(bare)))


def name_differences(
    ours: RunManifest, theirs: RunManifest, *, sides: tuple[str, str] = ("in the folder", "asked for")
) -> list[str]:
    """List what two manifests were asked for differently, as `path: VALUE in the folder, VALUE asked for`."""
    return [
        f"{path}: {_show(left)} {sides[0]}, {_show(right)} {sides[1]}"
        for path, left, right in _differences(_plain(ours), _plain(theirs), "")
    ]


def _plain(manifest: RunManifest) -> Json:
    # Through canonical JSON, so that a tuple and the list it was read back as are one value.
    asked = {"inputs": msgspec.to_builtins(manifest.inputs), "conditions": manifest.conditions}
    return parse_json(canonical_bytes(asked))


def _differences(ours: Json, theirs: Json, path: str) -> list[tuple[str, Json, Json]]:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        found: list[tuple[str, Json, Json]] = []
        for name in sorted(ours.keys() | theirs.keys()):
            found += _differences(ours.get(name), theirs.get(name), f"{path}.{name}" if path else name)
        return found
    if ours == theirs and isinstance(ours, bool) == isinstance(theirs, bool):
        return []
    return [(path, ours, theirs)]


def _show(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
