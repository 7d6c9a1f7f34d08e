"""The cast of a run: whom a request names for each role, as plans that a worker can set up.

Whether a model may be asked at all is a question of mode, which sources.py answers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from replay.core.errors import InputError, InternalError
from replay.core.keys import SIMULATED
from replay.core.protocols import Benchmark, Settings
from replay.core.types import Json, Mode, Record
from replay.evaluate.judge import describe_judge
from replay.store.answers import model_scope
from replay.tools.simulator import describe_simulator
from replay.wiring.candidates import FindModel, FindRemote, choose_candidate, choose_judge, choose_role
from replay.wiring.library import CandidateRow, JudgeRow, Library, RoleRow
from replay.wiring.requests import RunRequest
from replay.wiring.roles import AUTO, ModelPlan, ModelWish, RolePlan, UpstreamPlan
from replay.wiring.sources import (
    JUDGE_MAKER,
    AnswerPlan,
    CandidatePlan,
    identify_makers,
    keeps_candidate,
    may_ask_models,
)
from replay.wiring.upstreams import find_remote, plan_upstreams

__all__ = ["MAKER_TABLES", "cast_answers", "cast_candidate", "describe_makers", "find_models"]


def cast_candidate(request: RunRequest, benchmark: Benchmark, library: Library) -> CandidatePlan:
    """Find the agent that is evaluated. Errors: those of choosing; InputError for a dialect nobody speaks."""
    if request.dialect != AUTO and not request.candidate.startswith("model:"):
        raise InputError(
            f"candidate {request.candidate!r} is no local model",
            where="--dialect",
            expected="model:NAME or model:FILE.gguf, which has a dialect",
        )
    find = _finder(request, request.modes.candidate, dialect=request.dialect)
    remote = _remote_finder(request, request.modes.candidate)
    return choose_candidate(
        request.candidate, request.candidate_name, benchmark, library, find=find, find_remote=remote
    )


def cast_answers(
    request: RunRequest, library: Library, *, candidate: CandidatePlan, settings: Settings
) -> AnswerPlan:
    """Find everyone else and put the plan of answers together. Errors: those of choosing."""
    modes, seed = request.modes, settings.seed
    judge_model = choose_role(
        request.judge_model,
        "--judge-model",
        {name: row.identity for name, row in library.judges().items()} | _recorded(library, _JUDGE_MODELS),
        find=_finder(request, modes.judge),
        find_remote=_remote_finder(request, modes.judge),
        describe=partial(describe_judge, seed=seed),
    )
    # Whoever names a model to judge is not judged by the archive's judge instead, unless he names that too.
    is_read = bool(request.judge) or judge_model is None
    return AnswerPlan(
        benchmark=library.paths.benchmark,
        archive=library.paths.name,
        modes=modes,
        candidate=candidate,
        judge=choose_judge(request.judge, library) if is_read else None,
        live=request.live,
        upstreams=_plan_upstreams(request),
        simulator=request.simulator,
        judge_maker=request.judge_maker,
        keep_errors=request.keep_errors,
        without=request.without,
        fresh=request.fresh,
        user_model=choose_role(
            request.user_model,
            "--user-model",
            _recorded(library, _USERS),
            find=_finder(request, modes.user),
            find_remote=_remote_finder(request, modes.user),
            describe=_same,
            takes_script=True,
        ),
        simulator_model=choose_role(
            request.simulator_model,
            "--simulator",
            _recorded(library, _SIMULATORS),
            find=_finder(request, modes.tools),
            find_remote=_remote_finder(request, modes.tools),
            describe=partial(describe_simulator, seed=seed),
        ),
        judge_model=judge_model,
        seed=seed,
    )


def describe_makers(answers: AnswerPlan, settings: Settings) -> dict[str, tuple[Record, ...]]:
    """Rows that make what a run recorded choosable by name in an archive that is frozen from its overlay."""
    rows: dict[str, tuple[Record, ...]] = {}
    candidate, made = answers.candidate, identify_makers(answers)
    if keeps_candidate(answers):
        rows["candidates"] = (
            CandidateRow(
                name=candidate.name,
                identity=candidate.identity,
                protocol=settings.protocol,
                seed=settings.seed,
                options=settings.options,
                rules=settings.rules,
            ),
        )
    if JUDGE_MAKER in made:
        judge = made[JUDGE_MAKER]
        name = _name(answers.judge_model, judge)
        # A table of their own: an archive's judge stays the one that is read when none is named.
        rows |= (
            {"judges": (JudgeRow(name=name, identity=judge),)}
            if answers.judge_model is None
            else {_JUDGE_MODELS: (RoleRow(name=name, identity=judge),)}
        )
    if SIMULATED in made:
        simulator = made[SIMULATED]
        rows[_SIMULATORS] = (RoleRow(name=_name(answers.simulator_model, simulator), identity=simulator),)
    if answers.user_model is not None:
        rows[_USERS] = (RoleRow(name=answers.user_model.name, identity=answers.user_model.identity),)
    return rows


_SIMULATORS, _USERS, _JUDGE_MODELS = "simulators", "users", "judge-models"

MAKER_TABLES: Final = ("candidates", "judges", _JUDGE_MODELS, _SIMULATORS, _USERS)
"""Tables of an archive that say who made its answers; ids are names."""


def find_models(finder: str, wish: ModelWish | None = None) -> FindModel:
    """Return how local models are found: by `module:function`, imported when the first one is wanted."""

    def find(word: str) -> ModelPlan:
        module, _, name = finder.partition(":")
        function: Callable[[str, ModelWish], ModelPlan] | None = getattr(
            importlib.import_module(module), name, None
        )
        if function is None:
            raise InternalError(f"model finder {finder!r} does not exist", expected="module:function")
        return function(word, wish or ModelWish())

    return find


def _finder(request: RunRequest, mode: Mode, *, dialect: str = AUTO) -> FindModel | None:
    """How a run finds local models; None where none may be asked."""
    if not may_ask_models(mode):
        return None
    wish = ModelWish(
        home=Path(request.home) if request.home else None,
        jobs=request.jobs,
        allow_unpinned=request.allow_unpinned,
        context_tokens=request.context_tokens,
        threads=request.threads,
        dialect=dialect,
    )
    return find_models(request.finder, wish)


def _plan_upstreams(request: RunRequest) -> UpstreamPlan | None:
    return plan_upstreams(request.upstream, request.modes, workers=request.jobs)


def _remote_finder(request: RunRequest, mode: Mode) -> FindRemote | None:
    """How a run finds remote models; None where none may be asked."""
    return partial(find_remote, plan=_plan_upstreams(request)) if mode is Mode.RECORD else None


def _recorded(library: Library, table: str) -> dict[str, Json]:
    return {name: row.identity for name, row in library.roles(table).items()}


def _name(role: RolePlan | None, identity: Json) -> str:
    return model_scope(identity) if role is None else role.name


def _same(identity: Json) -> Json:
    return identity
