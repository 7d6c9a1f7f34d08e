"""Options that several commands share, so that one word means one thing everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replay.core.errors import UsageError
from replay.core.types import Json

__all__ = [
    "AllowUnpinned",
    "Archive",
    "Bases",
    "Candidate",
    "CandidateMode",
    "CandidateName",
    "CandidateProtocol",
    "CheckUpstream",
    "ContextTokens",
    "Dialect",
    "ExpectRoot",
    "Fresh",
    "GeneralMode",
    "Home",
    "Jobs",
    "JsonFlag",
    "Judge",
    "JudgeMode",
    "JudgeModel",
    "JudgeRuns",
    "KeepErrors",
    "Limit",
    "Options",
    "Out",
    "Overlay",
    "Reference",
    "Rules",
    "RunArchive",
    "RunCandidate",
    "RunOverlay",
    "Seed",
    "Select",
    "SimulatorModel",
    "Threads",
    "ToolsMode",
    "Trials",
    "UpstreamFile",
    "UserMode",
    "UserModel",
    "WantList",
    "Without",
    "parse_options",
]

Archive = Annotated[
    str, typer.Argument(help="A .replay file, or the name of a shipped archive or its benchmark.")
]
JsonFlag = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, errors included.")]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder for rebuildable stores [default: $REPLAY_HOME or the user cache]."),
]
Bases = Annotated[
    list[Path] | None, typer.Option("--base", help="A base archive of a layered one; may be repeated.")
]
Select = Annotated[
    list[str] | None,
    typer.Option("--select", help="Glob over task id, split or split/id; may be repeated."),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="At most so many tasks.")]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Worker processes; changes nothing but the time.")]
Rules = Annotated[str, typer.Option("--rules", help="Rules of play: compat (as upstream does) or strict.")]
JudgeRuns = Annotated[int | None, typer.Option("--judge-runs", min=1, help="Verdicts asked for each answer.")]
RunArchive = Annotated[
    str, typer.Option("--archive", help="Runs: the archive, when it is not a shipped one.")
]
RunCandidate = Annotated[
    str,
    typer.Option("--candidate", help="Runs: scripted:FILE or outputs:PATH, when it is no recorded one."),
]
RunOverlay = Annotated[
    Path | None, typer.Option("--overlay", help="Runs: the overlay that the run was told to read.")
]
Judge = Annotated[str, typer.Option("--judge", help="Name of the judge whose recorded verdicts are read.")]
Reference = Annotated[
    str, typer.Option("--reference", help="Candidate whose outputs preferences compare with.")
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="NAME=VALUE of the benchmark, JSON or text; repeatable; a wrong NAME lists all.",
    ),
]
Candidate = Annotated[
    str,
    typer.Option(
        help="Recorded name, model:NAME, model:FILE.gguf, remote:NAME, scripted:FILE, or outputs:PATH. A "
        "recorded one brings the protocol and options that it was recorded with; a model that answers itself "
        "has the benchmark's own, and what --protocol, --rules, --seed and --option say."
    ),
]
SimulatorModel = Annotated[
    str,
    typer.Option(
        "--simulator",
        help="model:NAME or remote:NAME that answers calls of unrecorded APIs, or a recorded one.",
    ),
]
JudgeModel = Annotated[
    str,
    typer.Option(
        "--judge-model", help="model:NAME or remote:NAME that judges what no recorded verdict does."
    ),
]
UserModel = Annotated[
    str,
    typer.Option(
        "--user-model",
        help="model:NAME, remote:NAME or scripted:FILE that plays the user, or a recorded one.",
    ),
]
ContextTokens = Annotated[
    int, typer.Option("--context", min=256, help="Tokens of one request to a local model, answer included.")
]
Dialect = Annotated[
    str,
    typer.Option(
        help="How a local candidate writes calls: auto (its own form, else JSON), native, json-calls, "
        "or react (lines Thought, Action, Action Input).",
    ),
]
Threads = Annotated[
    int,
    typer.Option(
        min=0,
        help="Threads of a local model, for a machine that others use too [default: processors / jobs].",
        show_default=False,
    ),
]
AllowUnpinned = Annotated[
    bool,
    typer.Option(
        "--allow-unpinned", help="Generate with another llama.cpp build than the pinned one; marks the run."
    ),
]
CandidateName = Annotated[str, typer.Option(help="Which candidate of outputs:PATH.")]
GeneralMode = Annotated[
    str, typer.Option(help="strict: recorded answers only. replay: also simulate. record: also live.")
]
ToolsMode = Annotated[str | None, typer.Option(help="Mode of the tools alone.")]
CandidateMode = Annotated[str | None, typer.Option(help="Mode of the candidate alone.")]
UserMode = Annotated[str | None, typer.Option(help="Mode of the user simulator alone.")]
JudgeMode = Annotated[str | None, typer.Option(help="Mode of the judge alone.")]
Trials = Annotated[int, typer.Option(min=1, help="Trials of each task.")]
Out = Annotated[Path | None, typer.Option(help="Run directory [default: runs/NAME-HASH].")]
CandidateProtocol = Annotated[str, typer.Option(help="Candidate protocol; a wrong name lists all.")]
Seed = Annotated[int | None, typer.Option(help="Run seed; every other seed derives from it.")]
Overlay = Annotated[Path | None, typer.Option(help="Overlay of an earlier run to read.")]
UpstreamFile = Annotated[
    Path | None, typer.Option("--upstream", help="TOML file of live upstreams, for what is recorded.")
]
WantList = Annotated[
    Path | None,
    typer.Option(
        "--want", help="Record just the calls of this list (replay misses -o), without a candidate."
    ),
]
CheckUpstream = Annotated[
    bool,
    typer.Option("--check-upstream", help="Compare recorded answers with live ones; nothing is written."),
]
KeepErrors = Annotated[bool, typer.Option("--keep-errors", help="Record error answers too.")]
Without = Annotated[
    list[str] | None,
    typer.Option("--without", help="Glob over tools whose recorded answers are not served; may be repeated."),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Compute generated answers anew, whatever the archive holds of them."),
]
ExpectRoot = Annotated[str, typer.Option(help="Fail with exit 8 unless this is the run root.")]


def parse_options(words: list[str] | None) -> dict[str, Json]:
    """Read NAME=VALUE words; a value that is no JSON is text. Errors: UsageError."""
    from replay.core.canonical import parse_json
    from replay.core.errors import CanonicalError

    options: dict[str, Json] = {}
    for word in words or ():
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise UsageError(f"option {word!r} has no value", where="--option", expected="NAME=VALUE")
        try:
            options[name] = parse_json(value)
        except CanonicalError:
            options[name] = value
    return options
