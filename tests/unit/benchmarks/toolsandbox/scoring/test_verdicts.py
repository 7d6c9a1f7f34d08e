"""Outcomes to verdicts, verdicts to figures."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from replay.benchmarks.toolsandbox.records import Failure, Scenario, make_context, make_outcome
from replay.benchmarks.toolsandbox.scoring.differences import SCORE_DIFFERENCES
from replay.benchmarks.toolsandbox.scoring.rules import FIXES
from replay.benchmarks.toolsandbox.scoring.summary import summarize
from replay.benchmarks.toolsandbox.scoring.verdicts import METRICS, BaselineBook, judge, without_score
from replay.core.types import Json, Task, Verdict
from replay.evaluate.states import Unscored
from tests.support.toolsandbox_rows import make_scenario, make_tables

ASKED = {"sender": "USER", "recipient": "AGENT", "content": "q"}
CALLED = {"sender": "AGENT", "recipient": "EXECUTION_ENVIRONMENT", "content": "call"}
DONE = {"sender": "AGENT", "recipient": "USER", "content": "done"}
TRACE = {"tool_name": "set_wifi_status", "arguments": {"on": False}, "result": None}
REPLIED = {"sender": "EXECUTION_ENVIRONMENT", "recipient": "AGENT", "content": "None", "tool_trace": [TRACE]}
WIFI_OFF = {"at": 2, "database": "SETTING", "rows": [{"device_id": "d", "wifi": False}]}

MILESTONES: list[dict[str, Any]] = [
    {
        "constraints": [
            {"database": "SETTING", "target": [{"wifi": False}]},
            {"database": "SANDBOX", "target": [{"recipient": "AGENT", "tool_trace": TRACE}]},
        ]
    },
    {"constraints": [{"database": "SANDBOX", "target": [DONE]}]},
]


def scenario(name: str = "wifi_off", milestones: Any = MILESTONES, **fields: Any) -> Scenario:
    """A scenario that switches the wifi off and says so."""
    messages: Json = ({**ASKED, "visible_to": None},)
    made = make_scenario(milestones, fields.pop("edges", None))
    categories = ("SINGLE_TOOL_CALL", "STATE_DEPENDENCY")
    return msgspec.structs.replace(
        made, name=name, base=name, categories=categories, messages=messages, **fields
    )


def task(one: Scenario, split: str = "NO_DISTRACTION_TOOLS") -> Task:
    """Its task."""
    return Task(id=one.name, split=split, data=msgspec.to_builtins(one))


def outcome(one: Scenario, *messages: dict[str, Any], exception: Failure | None = None) -> Json:
    """An outcome of a conversation that switches the wifi off when its first call is replied to."""
    return make_outcome(make_context(make_tables(messages, [WIFI_OFF]), one), exception)


def verdicts(one: Scenario, given: Json) -> dict[str, Verdict]:
    """Verdicts by metric."""
    found = judge(task(one), given, trial=0, baselines=BaselineBook())
    return {verdict.metric: verdict for verdict in found}


GOOD = (ASKED, CALLED, REPLIED, DONE)


def test_a_good_conversation_scores_one_by_every_metric() -> None:
    """Tables, calls and words are all as they should be."""
    found = verdicts(scenario(), outcome(scenario(), *GOOD))
    assert dict.fromkeys(METRICS, (1.0, 1.0, "")) == {
        name: (one.compat.value, one.strict.value, one.differs) for name, one in found.items()
    }


def test_a_scenario_has_the_metrics_that_its_milestones_speak_of() -> None:
    """Without milestones there is nothing but the similarity."""
    only = scenario(milestones=[])
    assert ["similarity"] == list(verdicts(only, outcome(only, *GOOD)))


def test_a_liar_is_told_from_a_worker() -> None:
    """Words alone: the answer is right, route and outcome are not, and the difference has its name."""
    found = verdicts(scenario(), outcome(scenario(), ASKED, DONE))
    similarity = found["similarity"]
    assert (0.5, 0.0, "unmet-predecessor") == (
        similarity.compat.value,
        similarity.strict.value,
        similarity.differs,
    )
    assert (0.0, 0.0, 1.0) == (
        found["outcome"].strict.value,
        found["route"].strict.value,
        found["answer"].strict.value,
    )


def test_details_stand_beside_the_similarity() -> None:
    """Baselines, mapping, categories and turns by all three rules."""
    detail = verdicts(scenario(), outcome(scenario(), *GOOD))["similarity"].compat.detail
    assert {"do-nothing": 0.0, "last-sentence": 0.5} == detail["baselines"]
    assert {"0": [2, 1.0], "1": [3, 1.0]} == detail["milestone_mapping"]
    assert {"official": 4, "strict": 4, "readme": 4} == detail["turns"]


def test_a_hallucinated_tool_is_named() -> None:
    """Officially the scenario is lost with 30 turns; strictly it is scored as far as it went."""
    failure = Failure(type="KeyError", text="'fly_to_moon'")
    found = verdicts(scenario(), outcome(scenario(), *GOOD, exception=failure))["similarity"]
    assert (0.0, "KeyError: 'fly_to_moon'", 30) == (
        found.compat.value,
        found.compat.why,
        found.compat.detail["turns"]["official"],
    )
    assert (1.0, "episode-crash") == (found.strict.value, found.differs)


def test_a_lost_worker_is_unscored_officially_only() -> None:
    """A null sentence would kill upstream's worker; strictly the conversation is scored."""
    silent = {**DONE, "content": None}
    found = verdicts(scenario(), outcome(scenario(), ASKED, CALLED, REPLIED, silent, DONE))["similarity"]
    assert (Unscored.EVALUATOR_CRASH, 1.0, "null-cell") == (
        found.compat.unscored,
        found.strict.value,
        found.differs,
    )


def test_a_circle_keeps_its_official_number_beside() -> None:
    """No fraction on either side; the official -0.5 is in the detail."""
    round_about = scenario(edges=[[0, 1], [1, 0]])
    found = verdicts(round_about, outcome(round_about, *GOOD))["similarity"]
    assert (Unscored.DATA_ERROR, Unscored.DATA_ERROR) == (found.compat.unscored, found.strict.unscored)
    assert found.compat.detail["official_similarity"] == -0.5


@pytest.mark.parametrize(
    ("reason", "given"),
    [
        (Unscored.MISSING_OUTPUT, None),
        (Unscored.UNUSABLE_OUTPUT, {}),
        (Unscored.UNUSABLE_OUTPUT, {"context": {"_dbs": {"SANDBOX": [{"sender": 3}]}}}),
        (Unscored.UNUSABLE_OUTPUT, {"context": {"_dbs": {"PLANETS": []}}}),
    ],
)
def test_outcomes_that_cannot_be_read_have_a_reason(reason: Unscored, given: Json) -> None:
    """Every metric is unscored by the same name."""
    assert {reason} == {one.compat.unscored for one in verdicts(scenario(), given).values()}


def test_a_task_that_is_no_scenario_is_a_data_error() -> None:
    """Its one verdict says so."""
    broken = Task(id="x", split="s", data={"name": 3})
    (found,) = judge(broken, {}, trial=0, baselines=BaselineBook())
    assert found.strict.unscored == Unscored.DATA_ERROR


def test_every_mended_defect_has_an_entry() -> None:
    """The difference table names the defects, and one entry for several at once."""
    assert [*FIXES, "several-defects"] == [entry.id for entry in SCORE_DIFFERENCES]


# ---- figures -------------------------------------------------------------------------------------------


def test_figures_by_split_and_category() -> None:
    """Two of three are played, one well and one by a liar; the third has no score and stays in the plan."""
    book = BaselineBook()
    names = ("good", "liar", "missing")
    tasks = {name: task(scenario(name)) for name in names}
    given = {
        "good": outcome(scenario("good"), *GOOD),
        "liar": outcome(scenario("liar"), ASKED, DONE),
        "missing": None,
    }
    every = [v for name in names for v in judge(tasks[name], given[name], trial=0, baselines=book)]
    found = summarize([(name, "NO_DISTRACTION_TOOLS", 0) for name in names], every)
    assert (50.0, 0.5, 1) == (
        found.compat["similarity"].value,
        found.compat["similarity"].detail["official"],
        found.compat["similarity"].missing,
    )
    assert found.strict["categories"].groups["STATE_DEPENDENCY"].value == pytest.approx(100 / 3)
    assert (0.0, 50.0) == (found.compat["do-nothing"].value, found.compat["last-sentence"].value)
    assert (3.0, 2) == (found.compat["turns"].value, found.compat["turns"].n)
    assert {"unmet-predecessor"} == {entry["difference"] for entry in found.differing}


def test_variants_share_their_baselines() -> None:
    """Another name and another tool list make no other baseline."""
    book = BaselineBook()
    one, other = scenario("a"), scenario("a_10", tools=("set_wifi_status",))
    assert book.read(one) is book.read(other)


def test_an_episode_without_a_score_keeps_its_frame() -> None:
    """Categories and baselines stand beside a reason as beside a score."""
    found = without_score(task(scenario()), trial=0, reason=Unscored.TOOL_MISS, baselines=BaselineBook())
    assert {"categories", "baselines"} == set(found[0].strict.detail)
    assert list(METRICS) == [one.metric for one in found]
