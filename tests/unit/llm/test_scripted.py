"""A scripted candidate says what its file says, turn by turn."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from replay.core.errors import InputError, MissError
from replay.core.types import Completion, Json, Provenance, Role
from replay.llm.scripted import Script, ScriptedCandidate, ScriptedTurn
from tests.support.answering import make_chat


def make_script(task: str = "t1", *texts: str, **changes: Json) -> Script:
    """Build a script that says these texts."""
    return Script(task=task, turns=tuple(ScriptedTurn(content=text) for text in texts), **changes)


def say(
    candidate: ScriptedCandidate, task: str = "t1", *, trial: int = 0, role: Role = Role.CANDIDATE
) -> Completion:
    """Return the first turn of an episode."""
    return candidate.for_episode(task, trial=trial).complete(make_chat(role=role), seed=1, trial=trial)


def load(tmp_path: Path, content: str, name: str = "script.json") -> ScriptedCandidate:
    """Write a script file and load it."""
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return ScriptedCandidate.load(path)


def test_turns_are_said_in_order() -> None:
    """One turn a request."""
    episode = ScriptedCandidate((make_script("t1", "one", "two"),)).for_episode("t1", trial=0)
    said = [episode.complete(make_chat(), seed=1, trial=0).content for _ in range(2)]
    assert ["one", "two"] == said


def test_episodes_start_at_the_first_turn() -> None:
    """What one episode has said is not said to the next one's account."""
    candidate = ScriptedCandidate((make_script("t1", "one", "two"),))
    assert ["one", "one"] == [say(candidate).content, say(candidate).content]


def test_an_exhausted_script_is_a_named_miss() -> None:
    """After the last turn the episode ends, and the message says how to go on."""
    episode = ScriptedCandidate((make_script("t1", "one"),)).for_episode("t1", trial=0)
    episode.complete(make_chat(), seed=1, trial=0)
    with pytest.raises(MissError, match=r"no turn 2 for role candidate \(task t1, trial 0\).*otherwise"):
        episode.complete(make_chat(), seed=1, trial=0)


def test_a_task_without_a_script_is_a_named_miss() -> None:
    """Nothing is said where nothing was written."""
    with pytest.raises(MissError, match="says nothing for role candidate"):
        say(ScriptedCandidate((make_script("t1", "one"),)), "t2")


def test_otherwise_is_said_for_ever() -> None:
    """A script with an otherwise turn never runs out."""
    script = make_script("t1", otherwise=ScriptedTurn(content="again"))
    episode = ScriptedCandidate((script,)).for_episode("t1", trial=0)
    said = [episode.complete(make_chat(), seed=1, trial=0).content for _ in range(3)]
    assert ["again"] * 3 == said


def test_the_file_may_have_one_otherwise_for_all() -> None:
    """A file-wide otherwise turn serves tasks without a script."""
    candidate = ScriptedCandidate((), otherwise=ScriptedTurn(content="idle"))
    assert "idle" == say(candidate, "anything").content


@pytest.mark.parametrize(
    ("task", "trial", "expected"),
    [("t1", 0, "t1, trial 0"), ("t1", 1, "t1"), ("t2", 0, "glob, trial 0"), ("t2", 1, "glob")],
)
def test_the_most_specific_script_wins(task: str, trial: int, expected: str) -> None:
    """Exact id before glob, with trial before without."""
    candidate = ScriptedCandidate(
        (
            make_script("t*", "glob"),
            make_script("t*", "glob, trial 0", trial=0),
            make_script("t1", "t1"),
            make_script("t1", "t1, trial 0", trial=0),
        )
    )
    assert expected == say(candidate, task, trial=trial).content


def test_roles_have_scripts_of_their_own() -> None:
    """A user simulator and a candidate may speak from one file."""
    candidate = ScriptedCandidate((make_script("t1", "agent"), make_script("t1", "user", role=Role.USER)))
    assert "user" == say(candidate, role=Role.USER).content


def test_calls_get_deterministic_ids(tmp_path: Path) -> None:
    """Ids come from task, trial, role, turn and place, so two runs have one transcript."""
    turn = {
        "tool_calls": [{"name": "f", "arguments": {"b": 1, "a": "é"}}, {"name": "g", "arguments": "{cut"}]
    }
    content = json.dumps({"scripts": [{"task": "t1", "turns": [turn]}]})
    first, second = say(load(tmp_path, content)), say(load(tmp_path, content))
    assert first == second
    assert len({call.id for call in first.tool_calls}) == 2


def test_arguments_keep_their_own_order_or_text(tmp_path: Path) -> None:
    """An object is written out in its order; a text stands as it is, malformed or not."""
    turn = {
        "tool_calls": [{"name": "f", "arguments": {"b": 1, "a": "é"}}, {"name": "g", "arguments": "{cut"}]
    }
    completion = say(load(tmp_path, json.dumps({"scripts": [{"task": "t1", "turns": [turn]}]})))
    assert ['{"b": 1, "a": "é"}', "{cut"] == [call.arguments for call in completion.tool_calls]
    assert ("tool_calls", Provenance.SCRIPTED) == (completion.finish, completion.provenance)


def test_json_lines_with_a_header(tmp_path: Path) -> None:
    """One script a line, after an optional header."""
    lines = '{"name": "demo"}\n{"task": "t1", "turns": [{"content": "one"}]}\n\n'
    candidate = load(tmp_path, lines, "script.jsonl")
    assert ("one", "demo") == (say(candidate).content, candidate.identity["name"])


def test_json_and_json_lines_are_one_identity(tmp_path: Path) -> None:
    """Identity is what the file says, not how or where it is written."""
    lines = load(tmp_path, '{"task": "t1", "turns": []}\n', "a.jsonl")
    document = load(tmp_path, '{"scripts": [ {"turns": [], "task": "t1"} ]}', "b.json")
    assert lines.identity == document.identity


def test_any_change_is_another_identity() -> None:
    """Two scripts that say different things are two candidates."""
    one, two = ScriptedCandidate((make_script("t1", "a"),)), ScriptedCandidate((make_script("t1", "b"),))
    assert one.identity != two.identity


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("s.json", "{", r"not.*JSON.*\(s\.json"),
        ("s.json", "[]", r"documented shape: Expected `object`.*\(s\.json\)"),
        ("s.json", '{"scripts": [{"task": 5, "turns": []}]}', r"\$\.scripts\[0\]\.task"),
        (
            "s.json",
            '{"scripts": [{"task": "a", "turns": [{"text": "x"}]}]}',
            r"unknown field `text`.*turns\[0\]",
        ),
        ("s.json", '{"scripts": [{"task": "a", "turns": [], "role": "boss"}]}', r"Invalid enum value 'boss'"),
        (
            "s.json",
            '{"scripts": [{"task": "a", "turns": [{"finish": "x"}]}]}',
            r"finish 'x' is unknown.*length",
        ),
        (
            "s.jsonl",
            '{"task": "a", "turns": []}\n{"task": "b"}\n',
            r"missing required field `turns`.*record 2",
        ),
        ("s.jsonl", '{"task": "a", "turns": []}\n{"task"\n', r"s\.jsonl, record 2"),
        ("s.json", '{"name": "a", "name": "b"}', r"name"),
        ("s.json", '{"scripts": [{"task": "a", "turns": [{"content": NaN}]}]}', r"NaN"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, name: str, content: str, message: str) -> None:
    """File, record and JSON path of what is wrong, and what was expected."""
    with pytest.raises(InputError, match=message):
        load(tmp_path, content, name)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A path that is not there is one clear line."""
    with pytest.raises(InputError, match="script file cannot be read: No such file"):
        ScriptedCandidate.load(tmp_path / "absent.json")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    """Bytes that are no UTF-8 are refused at their place."""
    (tmp_path / "s.json").write_bytes(b'{"name": "\xff"}')
    with pytest.raises(InputError, match="not UTF-8 at byte 10"):
        ScriptedCandidate.load(tmp_path / "s.json")
