"""Commands, their help and examples, the README and the exit codes say the same."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from replay.cli.main import INTERRUPTED, app
from replay.core import errors
from tests.support.commands import run_command, run_process
from tests.support.data import CHECKOUT

README = (CHECKOUT / "README.md").read_text("utf-8")


def walk_commands(group: Any, *words: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command with the words that call it."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from walk_commands(command, *words, name)
        else:
            yield (*words, name), command


COMMANDS = dict(walk_commands(typer.main.get_command(app)))
NAMES = [" ".join(words) for words in COMMANDS]


def read_codes(text: str) -> set[int]:
    """Exit codes in the README's table."""
    table = text.partition("| exit code |")[2].partition("\n\n")[0]
    return {int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)}


def error_codes() -> set[int]:
    """Exit codes of all error classes that are raised."""
    found = {errors.InternalError.exit_code}
    classes = [errors.ReplayError]
    while classes:
        kind = classes.pop()
        found.add(kind.exit_code)
        classes += kind.__subclasses__()
    return found


def test_all_commands_are_there() -> None:
    """The nouns and verbs of the command line."""
    expected = [
        "run",
        "score",
        "serve",
        "shipped",
        "verify",
        "compare",
        "explain",
        "misses",
        "export",
        "import",
        "doctor",
    ]
    expected += [f"archive {verb}" for verb in ("freeze", "thaw", "verify", "list", "diff", "sign")]
    expected += [f"models {verb}" for verb in ("fetch", "list", "add", "verify", "fingerprint")]
    assert sorted(expected) == sorted(NAMES)


@pytest.mark.parametrize("words", COMMANDS, ids=NAMES)
def test_every_command_helps_with_an_example(words: tuple[str, ...]) -> None:
    """Help is complete text on standard output with exit 0 and ends with one example."""
    answered = run_command(*words, "--help")
    assert 0 == answered.code
    assert f"Usage: replay {' '.join(words)}" in answered.out
    assert 1 == answered.out.count("Example: replay ")
    assert "" == answered.err


@pytest.mark.parametrize("words", COMMANDS, ids=NAMES)
def test_every_example_is_a_line_that_can_be_typed(words: tuple[str, ...]) -> None:
    """The example names the command and its parser takes every word of it."""
    command = COMMANDS[words]
    _, *typed = shlex.split(command.epilog.removeprefix("Example: "))
    assert list(words) == typed[: len(words)]
    command.make_context("replay", typed[len(words) :])


@pytest.mark.parametrize("words", COMMANDS, ids=NAMES)
def test_every_command_says_json(words: tuple[str, ...]) -> None:
    """Every command has --json, and each of its options says what it is for."""
    options = {name: param for param in COMMANDS[words].params for name in param.opts}
    assert "--json" in options
    assert [] == [name for name, param in options.items() if not getattr(param, "help", "")]


def test_the_readme_lists_every_command() -> None:
    """The table of commands in the README names each command once, and nothing else."""
    table = README.partition("## Commands")[2].partition("\n\n| exit code")[0]
    listed = re.findall(r"^\| `replay ((?:archive |models )?[a-z]+)", table, re.MULTILINE)
    assert sorted(NAMES) == sorted(listed)


def test_the_readme_lists_every_exit_code() -> None:
    """The README's table holds the codes of the error classes, 0 for done and 130 for interrupted."""
    assert error_codes() | {0, INTERRUPTED} == read_codes(README)


@pytest.mark.parametrize("line", re.findall(r"^replay [^\n#]+", README, re.MULTILINE))
def test_the_readme_types_what_can_be_typed(line: str) -> None:
    """Every command line of the README names a command and only options it has."""
    _, *typed = shlex.split(line)
    if typed == ["--install-completion"]:
        return
    words = next(words for words in COMMANDS if list(words) == typed[: len(words)])
    COMMANDS[words].make_context("replay", typed[len(words) :])


def test_the_version_is_one_line() -> None:
    """`replay --version` prints name and version."""
    answered = run_command("--version")
    assert 0 == answered.code
    assert re.fullmatch(r"replay \d+\.\d+\S*\n", answered.out)


def test_a_shell_completes_commands() -> None:
    """Bash gets the commands that begin with what was typed."""
    answered = run_process(
        environment={"_REPLAY_COMPLETE": "complete_bash", "COMP_WORDS": "replay ver", "COMP_CWORD": "1"}
    )
    assert ["verify"] == answered.out.split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), r"Missing command; expected one of: run, score, .*; next: replay --help"),
        (("archive",), r"Missing command; expected one of: freeze, .*; next: replay archive --help"),
        (("rum",), r"No such command 'rum'.*'run'.*; expected one of: run, "),
        (("run",), r"Missing .*archive.*; next: replay run --help"),
        (("run", "x", "--limi", "3"), r"No such option: --limi .*--limit"),
        (("run", "x", "--limit", "0"), r"'--limit'.*greater than or equal to 1"),
        (("run", "x", "--jobs", "0"), r"'--jobs'.*greater than or equal to 1"),
        (("run", "x", "--trials", "-1"), r"'--trials'.*greater than or equal to 1"),
        (("run", "x", "--seed", "one"), r"'--seed'.*valid integer"),
        (("run", "x", "--mode", "fast"), r"unknown mode 'fast'.*one of: strict, replay, record"),
        (("run", "x", "--tools", "fast"), r"unknown mode 'fast'.*mode of tools"),
        (("run", "x", "--option", "steps"), r"option 'steps' has no value.*NAME=VALUE"),
        (("archive", "freeze", "x", "-o", "y", "--merge"), r"--merge has nothing to merge with.*--base"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(words: tuple[str, ...], message: str) -> None:
    """What cannot be understood is said in one line that names the option and the way on; nothing is done."""
    answered = run_command(*words)
    assert 2 == answered.code
    assert re.search(message, answered.err), answered.err
    assert ("", 1) == (answered.out, len(answered.err.splitlines()))
