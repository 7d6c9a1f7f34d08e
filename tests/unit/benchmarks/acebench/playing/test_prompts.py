"""Prompts: one for each kind of task in both languages, with digests that tell them apart."""

from __future__ import annotations

import pytest

from replay.benchmarks.acebench.playing.prompts import PROMPT_NAMES, PromptBook, render_functions
from replay.benchmarks.acebench.records import AceTask
from replay.core.errors import InputError
from replay.core.types import Json
from tests.support.ace_agents import make_record

TOOL: Json = {"name": "send", "parameters": {"type": "object", "required": [], "properties": {"to": None}}}


def make_book(record: AceTask, *, wording: str = "own", step_language: str = "") -> PromptBook:
    """The prompts of a record."""
    return PromptBook(record, wording=wording, tool_format="python", step_language=step_language)


def single(category: str, language: str = "en", **fields: Json) -> AceTask:
    """A record with one request."""
    given = {"question": "user: {{time}} {history}", "time": "It is noon.", "function": (TOOL,), **fields}
    return make_record(category, language=language, classes=(), **given)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("category", ["normal_atom_bool", "normal_preference", "special_incomplete"])
def test_a_single_request_shows_everything_once(language: str, category: str) -> None:
    """Tools, dialogue, and time or profile; braces in values stay."""
    record = single(category, language, profile="{'likes': 'tea'}")
    (system, user), _ = make_book(record).single()
    known = "{'likes': 'tea'}" if category == "normal_preference" else "It is noon."
    assert [1, 1] == [str(system.content).count(text) for text in (str([TOOL]), known)]
    assert str(user.content).endswith("user: {{time}} {history}")


def test_kinds_and_languages_have_prompts_of_their_own() -> None:
    """Six digests for six prompts."""
    digests = {
        make_book(single(category, language)).single()[1]
        for language in ("en", "zh")
        for category in ("normal_atom_bool", "normal_preference", "special_incomplete")
    }
    assert len(digests) == 6


@pytest.mark.parametrize("language", ["en", "zh"])
def test_special_prompts_give_the_official_anchors(language: str) -> None:
    """The sentences are English in both languages."""
    (system, _), _ = make_book(single("special_error_param", language)).single()
    for anchor in (
        "There is incorrect value",
        "Missing necessary parameters",
        "the limitations of the function",
    ):
        assert anchor in str(system.content)


@pytest.mark.parametrize(
    ("classes", "clocks"),
    [
        (("BaseApi", "MessageApi"), ["2024-06-11 16:00"]),
        (("Travel",), ["2024-07-15 08:00"]),
        (("BaseApi", "Travel"), ["2024-07-15 08:00", "2024-06-11 16:00"]),
    ],
)
def test_an_agent_gets_the_policies_of_its_classes(classes: tuple[str, ...], clocks: list[str]) -> None:
    """Travel first, then the phone."""
    (system, user), _ = make_book(make_record(classes=classes)).turn("user:hi\n")
    found = [clock for clock in ("2024-07-15 08:00", "2024-06-11 16:00") if clock in str(system.content)]
    assert clocks == found
    assert str(user.content).endswith("user:hi\n")


def test_another_policy_is_another_digest() -> None:
    """So is a recording made with it."""
    phone = make_book(make_record()).turn("")[1]
    assert phone != make_book(make_record(classes=("Travel",))).turn("")[1]


def test_the_simulated_user_gets_the_instruction_and_an_opening() -> None:
    """Both kinds of tasks, both languages."""
    openings = {
        make_book(make_record(classes=classes, language=language, question="Buy tea.")).user()[0]
        for classes in (("BaseApi",), ("Travel",))
        for language in ("en", "zh")
    }
    assert len(openings) == 4
    for system, user in openings:
        assert "Buy tea." in str(system.content)
        assert "finish conversation" in str(system.content)
        assert user.role == "user"


def test_the_step_prompt_can_be_the_chinese_one() -> None:
    """As upstream shows it to models behind an API."""
    english = make_book(make_record("agent_multi_step")).step("")
    chinese = make_book(make_record("agent_multi_step"), step_language="zh").step("")
    assert english[1] != chinese[1] == make_book(make_record("agent_multi_step", language="zh")).step("")[1]


def test_tools_are_a_python_list_or_json() -> None:
    """Upstream inserts the text of a Python list."""
    assert "'to': None" in render_functions((TOOL,), "python")
    assert '"to": null' in render_functions((TOOL,), "json")


def test_every_prompt_is_there_in_both_languages() -> None:
    """And all of them can be filled in."""
    for language in ("en", "zh"):
        book = make_book(make_record(language=language))
        for name in PROMPT_NAMES:
            assert book._load(name).name == f"acebench-{name}-{language}"


UPSTREAM = {
    "SYSTEM_PROMPT_FOR_NORMAL_DATA": "T={time} F={function} {{x}} {other}",
    "USER_PROMPT": "Q={question}",
    "MULTI_TURN_AGENT_PROMPT_SYSTEM": "S{raw}",
    "MULTI_TURN_AGENT_PROMPT_USER": "{functions}|{history}",
    "BASE_PROMPT": "phone",
    "SYSTEM_PROMPT_BASE": "I={instruction}",
}


def test_upstream_wording_is_filled_in_by_name() -> None:
    """Doubled braces are halved, unknown names and braces in values stay."""
    record = single("normal_atom_bool", wording=UPSTREAM)
    (system, user), _ = make_book(record, wording="upstream").single()
    assert system.content == f"T=It is noon. F={[TOOL]} {{x}} {{other}}"
    assert user.content == "Q=user: {{time}} {history}"


def test_upstream_agents_get_their_policies_unformatted() -> None:
    """The system text is taken as it stands."""
    book = make_book(make_record(wording=UPSTREAM), wording="upstream")
    (system, user), _ = book.turn("H")
    assert (system.content, user.content) == ("S{raw}phone", "[]|H")
    assert book.user()[0][0].content == "I=Send a message."


def test_upstream_wording_that_is_not_there_is_refused() -> None:
    """Whole or in part, with what to do."""
    with pytest.raises(InputError, match="the task carries no upstream wording"):
        make_book(single("normal_atom_bool"), wording="upstream")
    record = make_record("agent_multi_step", wording={"USER_PROMPT": "x"})
    with pytest.raises(InputError, match="lacks MULTI_TURN_AGENT_PROMPT_SYSTEM"):
        make_book(record, wording="upstream").step("")
