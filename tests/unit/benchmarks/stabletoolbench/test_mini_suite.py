"""The shipped mini suite: each oddity of its README is in its data, and its candidates meet each one."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from replay.benchmarks.stabletoolbench.cache_keys import parse_cache_key
from replay.benchmarks.stabletoolbench.functions import build_functions
from replay.benchmarks.stabletoolbench.importing.record_filter import (
    check_record,
    is_failure_record,
    origin_of,
)
from replay.benchmarks.stabletoolbench.importing.specs import name_flags
from replay.benchmarks.stabletoolbench.naming import (
    full_function_name,
    old_tool_identity,
    standardize,
    tool_identity,
)
from replay.benchmarks.stabletoolbench.playing.finish import GIVE_UP
from replay.benchmarks.stabletoolbench.playing.statuses import Status
from replay.core.canonical import canonical_bytes
from replay.core.types import Json, Role
from tests.unit.benchmarks.stabletoolbench.mini_suite import (
    CANDIDATES,
    GROUPS,
    ROOT,
    Played,
    cache_records,
    judge_file,
    play_all,
    queries,
    read,
    scripted,
    task_specs,
)


def _entries() -> Iterator[Json]:
    for _, record in queries().values():
        yield from record["api_list"]


def _flagged(flag: str) -> set[str]:
    return {task for task in queries() if flag in name_flags(task_specs(task))}


def _responses() -> list[Json]:
    return [record.answer.get("response") for record in cache_records()]


# ---- tasks and tools -----------------------------------------------------------------------------------


@pytest.mark.parametrize("group", GROUPS)
def test_id_file_lists_the_queries(group: str) -> None:
    """The denominators are the ids of the query file, in its order."""
    asked = [task for task, (split, _) in queries().items() if split == group]
    assert asked == list(read(f"solvable_queries/test_query_ids/{group}.json"))


def test_suite_has_its_size() -> None:
    """33 tasks over 26 tools, 67 APIs and 17 categories, as the README says."""
    tools = {(entry["category_name"], entry["tool_name"]) for entry in _entries()}
    apis = {(*_tool(entry), entry["api_name"]) for entry in _entries()}
    assert (len(queries()), len(tools), len(apis), len({tool[0] for tool in tools})) == (33, 26, 67, 17)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "33 tasks over 26 tools and 67 API endpoints in 17 categories" in text


def _tool(entry: Json) -> tuple[str, str]:
    return entry["category_name"], entry["tool_name"]


def test_every_api_is_documented() -> None:
    """Each listed API stands in the document of its tool, with equal parameters."""
    for entry in _entries():
        category, tool = _tool(entry)
        document = read(f"tools/{category}/{standardize(tool)}.json")
        found = next(api for api in document["api_list"] if api["name"] == entry["api_name"])
        assert found["required_parameters"] == entry["required_parameters"]


def test_readme_has_a_row_for_every_task() -> None:
    """The coverage table names each task with its group."""
    rows = re.findall(
        r"^\| (\d+) \| (\w+) \|", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert [(task, group) for task, (group, _) in queries().items()] == rows


@pytest.mark.parametrize(
    ("task", "identity"),
    [
        ("1001", "Weather/skyline_forecast_for_Weather/v2_current_conditions"),
        ("1001", "Weather/skyline_forecast_for_Weather/get_7_day_outlook"),
        ("1005", "Finance/ledger^rates_for_Finance/spot^price"),
        ("1007", "News_Media/gazette_stream_for_News_Media/新闻搜索"),
        ("2004", "Science/leafkey_for_Science/is_id"),
        ("2004", "Science/leafkey_for_Science/is_class"),
        ("4005", "Data/open_data_for_cities_for_Data/population"),
        ("5004", "Food/market_stall_for_Food/what_s_in_season"),
    ],
)
def test_odd_names_are_normalised(task: str, identity: str) -> None:
    """Slashes, a leading digit, a caret, Chinese, reserved words and quotes become the expected identity."""
    assert identity in {spec.identity for spec in task_specs(task)}


@pytest.mark.parametrize(
    ("flag", "tasks"),
    [
        ("duplicate-function-names", {"3003", "3004"}),
        ("suffix-ambiguous-names", {"3001"}),
        ("truncated-function-names", {"3002", "3004", "4002", "6004"}),
        ("dropped-parameters", {"1001", "1002", "4001"}),
        ("colliding-parameters", {"2001", "5001", "6001"}),
    ],
)
def test_upstream_construction_faults_are_met(flag: str, tasks: set[str]) -> None:
    """Each way in which upstream's functions differ from the documentation occurs in the named tasks."""
    assert tasks == _flagged(flag)


def test_two_names_become_equal_by_truncation() -> None:
    """The express and the economy estimate differ only in what the last 64 characters do not show."""
    express, economy = task_specs("3004")[:2]
    assert express.identity != economy.identity
    assert len({entry.shown.name for entry in build_functions((express, economy))[:2]}) == 1
    assert len(full_function_name(express.name, express.extra["tool_name"])) == 89


def test_parameter_kinds_are_complete() -> None:
    """Types, defaults and response shapes come in every form upstream has."""
    parameters = [p for e in _entries() for p in (*e["required_parameters"], *e["optional_parameters"])]
    types = {parameter["type"] for parameter in parameters}
    dated = {"DATE (YYYY-MM-DD)", "TIME (24-hour HH:MM)"}
    assert {"STRING", "NUMBER", "BOOLEAN", "ENUM", "ARRAY", "OBJECT", "string", *dated} == types
    assert {str, int, float, bool, list} == {type(parameter["default"]) for parameter in parameters}
    assert {dict, list, str} == {type(entry["template_response"]) for entry in _entries()}


# ---- recorded answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error",
    [
        "API not working error...",
        "Unauthorized error...",
        "Unsubscribed error...",
        "Too many requests error...",
        "Rate limit error...",
        "Rate limit per minute error...",
        "Gateway error...",
        "Blocked error...",
        "Message error...",
        "Timeout error...",
        "Failed to generate fake response",
    ],
)
def test_every_error_text_is_recorded(error: str) -> None:
    """Each error text of proxy, client and simulator is in the cache."""
    assert error in {record.answer.get("error") for record in cache_records()}


@pytest.mark.parametrize(
    "text", ["got an unexpected keyword argument", "missing 1 required positional argument"]
)
def test_python_exceptions_are_recorded(text: str) -> None:
    """The proxy's own exception texts stand in the error field."""
    errors = [record.answer.get("error", "") for record in cache_records()]
    assert [error for error in errors if error.startswith("Function executing ") and text in error]


@pytest.mark.parametrize(
    "matches",
    [
        pytest.param(lambda value: isinstance(value, str) and value.startswith("{'"), id="python text"),
        pytest.param(lambda value: isinstance(value, dict) and value, id="object"),
        pytest.param(lambda value: isinstance(value, list), id="list"),
        pytest.param(lambda value: isinstance(value, float), id="number"),
        pytest.param(lambda value: value is None, id="null"),
        pytest.param(lambda value: value == "", id="empty text"),
        pytest.param(lambda value: value == {}, id="empty object"),
        pytest.param(lambda value: 1024 < len(str(value)) < 2048, id="over 1,024"),
        pytest.param(lambda value: len(str(value)) == 2048, id="cut at 2,048"),
        pytest.param(lambda value: "🙂" in str(value), id="emoji"),
        pytest.param(lambda value: "é" in str(value), id="accent"),
        pytest.param(lambda value: "灯塔" in str(value), id="Chinese"),
    ],
)
def test_every_kind_of_response_is_recorded(matches: Callable[[Json], bool]) -> None:
    """Responses come in every type, length and script."""
    assert [value for value in _responses() if matches(value)]


def test_an_answer_without_an_error_key_is_recorded() -> None:
    """One record has no error key, where upstream's client stops."""
    assert ["Gaming/meeple_index_for_Gaming/get_1v1_ranking"] == [
        record.tool for record in cache_records() if "error" not in record.answer
    ]


def test_plain_data_fails_the_record_filter() -> None:
    """A carbon intensity of 404 is taken for an error by upstream's filter."""
    record = next(record for record in cache_records() if "'g_per_kwh': 404" in str(record.answer))
    assert check_record(record.answer) == "reject: 404"


def test_origins_are_mixed() -> None:
    """Flags and the proxy's cut tell some real and simulated answers; the rest is unknown."""
    assert set(Counter(origin_of(record.answer) for record in cache_records())) == {
        "real",
        "simulated",
        "unknown",
    }
    assert sum(is_failure_record(record.answer) for record in cache_records()) == 1


@pytest.mark.parametrize(
    "key",
    [
        "{}",
        "{'is_from': 'EUR', 'to': 'NOK', 'amount': 250}",
        "{'amount': 250, 'is_from': 'EUR', 'to': 'NOK'}",
        "{'route': 'N7', 'passengers': 5}",
        "{'route': 'N7', 'passengers': 5.0}",
        "{'route': 'N7', 'passengers': '5'}",
        "{'ingredient': \"confectioner's sugar\"}",
        "{'emoji': '🌧️'}",
        "{'q': '海港'}",
        "{'item': 'leek', 'organic': True}",
        "{'city': 'Kotor', 'checkin': '2025-06-12', 'max_price': None, 'sea_view': True}",
        "['Sun']",
        '{"city":"Ålund"}',
    ],
)
def test_odd_key_texts_are_recorded(key: str) -> None:
    """Key texts in both encodings hold what Python and JSON spell in their own way."""
    assert key in {record.key for record in cache_records()}


def test_two_canonical_keys_have_two_answers() -> None:
    """Exactly two pairs of keys are one JSON value with different answers."""
    answers: dict[tuple[str, bytes], list[Json]] = {}
    for record in cache_records():
        canonical = canonical_bytes(parse_cache_key(record.key).arguments)
        answers.setdefault((record.tool, canonical), []).append(record.answer)
    assert ["convert", "fares"] == [
        tool.rsplit("/")[-1] for (tool, _), found in answers.items() if len(found) > 1
    ]


def test_old_rule_holds_the_answers_of_a_renamed_api() -> None:
    """Get Rooms for Course has no cache file of its own: its answers lie under the old file name."""
    names = ("Education", "CampusPlan", "Get Rooms for Course")
    tools = {record.tool for record in cache_records()}
    assert old_tool_identity(*names) in tools
    assert tool_identity(*names) not in tools


# ---- candidates ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rules", ["compat", "strict"])
@pytest.mark.parametrize("name", CANDIDATES)
def test_no_call_is_missed(name: str, rules: str) -> None:
    """Every call of every candidate is answered under both rules."""
    missed = [
        (task, tool)
        for task, played in play_all(name, rules).items()
        for step, tool in played.lookups
        if not step
    ]
    assert missed == []


_OTHER_STOPS = {
    "cot": {"2004": "gave-up", "4002": "gave-up", "5002": "step-limit"},
    "dfs": {"4002": "gave-up", "5002": "query-limit"},
    "weak": {
        "1003": "gave-up",
        "1006": "step-limit",
        "2001": "gave-up",
        "3006": "tool-error",
        "4002": "tool-error",
        "6001": "step-limit",
    },
}


@pytest.mark.parametrize("name", CANDIDATES)
def test_stops_are_the_intended_ones(name: str) -> None:
    """Episodes end as the README says; a failed completion ends one more of the weak candidate's."""
    stops = {task: played.stop for task, played in play_all(name).items() if played.stop != "finished"}
    stops.pop("6003", None)
    assert _OTHER_STOPS[name] == stops


@pytest.mark.parametrize("name", CANDIDATES)
def test_scripts_are_said_to_their_ends(name: str) -> None:
    """Turns are left over only where compat stops before strict would, and in upstream's two failures."""
    left = {task for task, played in play_all(name).items() if played.left > 0}
    assert {"cot": {"5002"}, "dfs": set(), "weak": {"1006", "3006", "4002", "4004", "4005", "6001"}}[
        name
    ] == left


def test_every_status_code_is_met() -> None:
    """The three candidates together see each status code a call can have."""
    met = {code for name in CANDIDATES for played in play_all(name).values() for code in played.codes}
    assert {int(status) for status in Status} - {-1} == met - {-1}


@pytest.mark.parametrize(
    ("rules", "steps"),
    [("compat", {"python-repr", "canonical", "old-name"}), ("strict", {"canonical", "old-name"})],
)
def test_every_lookup_step_answers(rules: str, steps: set[str]) -> None:
    """Python keys, canonical keys and old file names all answer calls."""
    met = {
        step for name in CANDIDATES for played in play_all(name, rules).values() for step, _ in played.lookups
    }
    assert steps == met


@pytest.mark.parametrize(
    ("name", "task", "note"),
    [
        ("cot", "1007", "observation"),
        ("dfs", "1005", "diversity"),
        ("dfs", "5002", "query-limit"),
        ("weak", "1003", "arguments-refused"),
        ("weak", "2002", "incomplete-completion"),
        ("weak", "2003", "repeated-argument-names"),
        ("weak", "3005", "arguments-refused"),
        ("weak", "3006", "upstream-failure"),
        ("weak", "4002", "upstream-failure"),
        ("weak", "6003", "incomplete-completion"),
    ],
)
def test_protocol_events_happen(name: str, task: str, note: str) -> None:
    """Each event of the protocols and calling rules happens where the README says."""
    rules = "strict" if (task, note) == ("2002", "incomplete-completion") else "compat"
    assert note in {found for found, _ in play_all(name, rules)[task].notes}


def test_right_call_goes_to_the_wrong_api() -> None:
    """Compat routes Match Search to Advanced Match Search; strict does not."""
    assert "advanced_match_search" == _first_api(play_all("cot")["3001"])
    assert "match_search" == _first_api(play_all("cot", "strict")["3001"])


def _first_api(played: Played) -> str:
    return played.lookups[0][1].rsplit("/")[-1]


def test_empty_name_goes_to_the_first_api() -> None:
    """An empty function name is the end of every name, so compat takes the first."""
    assert "lookup" == _first_api(play_all("weak")["4003"])
    assert play_all("weak", "strict")["4003"].lookups == ()


@pytest.mark.parametrize(("task", "turns"), [("1005", 5), ("2004", 5), ("6004", 5), ("6002", 7)])
def test_search_goes_back_and_succeeds(task: str, turns: int) -> None:
    """The tree search leaves a branch and answers on another one."""
    played = play_all("dfs")[task]
    assert (turns, "finished") == (played.turns, played.stop)
    assert "diversity" in {name for name, _ in played.notes}


def test_query_budget_is_spent_whole() -> None:
    """The endless task takes exactly the 200 queries that upstream allows."""
    assert play_all("dfs")["5002"].turns == 200


@pytest.mark.parametrize("name", CANDIDATES)
def test_scripts_have_a_turn_for_every_task(name: str) -> None:
    """No task is left out of a script file."""
    assert all(scripted(name).find_script(task, Role.CANDIDATE, trial=0).turns for task in queries())


# ---- verdicts ------------------------------------------------------------------------------------------


def _judged(name: str, rules: str) -> set[str]:
    """Tasks whose final answer no rule decides."""
    finals = {task: p.converted["final_answer"] for task, p in play_all(name, rules).items() if p.outcome}
    return {task for task, final in finals.items() if final and f'"return_type": "{GIVE_UP}"' not in final}


@pytest.mark.parametrize("rules", ["compat", "strict"])
@pytest.mark.parametrize("name", CANDIDATES)
def test_every_final_answer_has_verdicts(name: str, rules: str) -> None:
    """Whatever a judge is asked about has three pass-rate verdicts and a completeness reply."""
    for metric in ("sopr", "fac"):
        assert set() == _judged(name, rules) - set(judge_file(metric)[name])


@pytest.mark.parametrize("name", CANDIDATES)
def test_pass_rate_verdicts_are_three_with_reasons(name: str) -> None:
    """Each run has an allowed label and one sentence of reason."""
    for runs in judge_file("sopr")[name].values():
        assert len(runs) == 3
        for run in runs:
            assert run["label"] in {"Solved", "Unsure", "Unsolved"}
            assert re.fullmatch(r"[A-Z0-9].+\.", run["reason"])


def test_judges_do_not_always_agree() -> None:
    """About a quarter of the judged answers is not unanimous, as measured on real verdicts (a fifth)."""
    runs = [
        [run["label"] for run in found] for name in CANDIDATES for found in judge_file("sopr")[name].values()
    ]
    split = sum(len(set(labels)) > 1 for labels in runs)
    assert 0.15 < split / len(runs) < 0.4


def test_every_pair_has_three_rounds() -> None:
    """Preferences exist for every task, in three rounds with an allowed label."""
    rounds = judge_file("sowr")["dfs"]
    assert set(queries()) == set(rounds)
    assert {3} == {len(found) for found in rounds.values()}
    assert {"candidate", "reference"} == {one["label"] for found in rounds.values() for one in found}


def test_a_completeness_reply_misleads_the_word_search() -> None:
    """One reply states solved and mentions the other word in its reason."""
    replies = [reply for found in judge_file("fac").values() for reply in found.values()]
    assert 1 == sum(reply["label"] == "solved" and "unsolved" in reply["reply"].lower() for reply in replies)
