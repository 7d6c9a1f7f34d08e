"""The pytest plugin: modes, marker, unused answers, the network."""

from __future__ import annotations

from pathlib import Path

import pytest

from replay.testing import plugin

pytest_plugins = ["pytester"]

SUITE = """
import httpx, pytest

LIVE = httpx.MockTransport(lambda request: httpx.Response(200, text=f"live {request.url.path}"))

@pytest.mark.replay(upstream="weather")
def test_one(replay):
    client = httpx.Client(transport=replay.transport(LIVE))
    assert client.get("https://x.example/one").text == "live /one"

@pytest.mark.replay(upstream="weather")
def test_two(replay):
    client = httpx.Client(transport=replay.transport(LIVE))
    assert client.get("https://y.example/two").text == "live /two"
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A test module of a user, stores in a folder of its own."""
    monkeypatch.setenv("REPLAY_HOME", str(pytester.path / "home"))
    pytester.makepyfile(test_weather=SUITE)
    return pytester


def run(suite: pytest.Pytester, *words: str) -> pytest.RunResult:
    """Run it."""
    return suite.runpytest_inprocess("-q", "-p", "no:cacheprovider", *words)


def test_record_once_then_replay(suite: pytest.Pytester) -> None:
    """The archive lies beside the tests, named after their module."""
    run(suite, "--replay-mode", "record").assert_outcomes(passed=2)
    assert (suite.path / "archives" / "test_weather.replay").exists()
    run(suite, "--replay-mode", "strict").assert_outcomes(passed=2)


def test_without_an_archive_a_test_says_how_to_get_one(suite: pytest.Pytester) -> None:
    """Replaying is the default, and it never falls back to the network."""
    result = run(suite)
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*no archive test_weather.replay*"])


def test_recorded_answers_that_nobody_asks_for_are_named(suite: pytest.Pytester) -> None:
    """Reported by default; a failure where that is asked for."""
    run(suite, "--replay-mode", "record")
    result = run(suite, "-k", "one")
    result.stdout.fnmatch_lines(
        ["*recorded and not asked for*", "*test_weather.replay: 1 of 2", "  weather GET /two"]
    )
    assert pytest.ExitCode.OK == result.ret
    assert pytest.ExitCode.TESTS_FAILED == run(suite, "-k", "one", "--replay-unused", "fail").ret
    assert pytest.ExitCode.OK == run(suite, "--replay-unused", "fail").ret


def test_a_failure_that_was_not_recorded_is_named(pytester: pytest.Pytester) -> None:
    """A recording is green where a test expects it, and the replay would miss: `keep_errors` is the way."""
    text = SUITE.replace("Response(200", "Response(200 if request.url.path == '/one' else 429")
    pytester.makepyfile(test_weather=text)
    words = ("-q", "-p", "no:cacheprovider", "--replay-mode", "record")
    result = pytester.runpytest_inprocess(*words)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["*failed and not recorded*", "*test_weather.replay: 1; keep_errors=True*", "  weather GET /two: 429"]
    )
    pytester.makepyfile(
        test_weather=text.replace('upstream="weather"', 'upstream="weather", keep_errors=True')
    )
    assert "not recorded" not in pytester.runpytest_inprocess(*words).stdout.str()


def test_the_network_is_closed_to_marked_tests(pytester: pytest.Pytester) -> None:
    """A client that goes around the transport is refused, and a marker can open it again."""
    pytester.makepyfile(
        """
        import pytest, urllib.request

        @pytest.mark.replay
        def test_shut():
            urllib.request.urlopen("http://127.0.0.1:9/")
        """
    )
    result = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*was refused*"])


def test_an_unknown_marker_field_is_a_usage_error(pytester: pytest.Pytester) -> None:
    """The known ones are listed."""
    pytester.makepyfile("import pytest\n@pytest.mark.replay(arch='x')\ndef test(replay): pass")
    result = pytester.runpytest_inprocess("-q", "-p", "no:cacheprovider")
    result.stdout.fnmatch_lines(["*pytest.mark.replay takes archive*not *arch*"])


def test_recording_needs_the_network(pytester: pytest.Pytester) -> None:
    """Two options that contradict each other are refused at once."""
    result = pytester.runpytest_inprocess("--replay-mode", "record", "--replay-block-network")
    assert pytest.ExitCode.USAGE_ERROR == result.ret


@pytest.mark.slow
def test_workers_report_together(suite: pytest.Pytester) -> None:
    """With pytest-xdist nothing is unused that any worker asked for."""
    run(suite, "--replay-mode", "record")
    result = suite.runpytest_subprocess("-q", "-p", "no:cacheprovider", "-n", "2", "--replay-unused", "fail")
    assert pytest.ExitCode.OK == result.ret
    assert "not asked for" not in result.stdout.str()


def test_the_plugin_imports_nothing_before_it_is_asked() -> None:
    """It is loaded into every test run of its users."""
    text = Path(plugin.__file__).read_text(encoding="utf-8")
    top = [line for line in text.splitlines() if line.startswith(("import replay", "from replay"))]
    assert [] == top


def test_tests_of_one_archive_may_look_at_it_each_in_its_own_way(suite: pytest.Pytester) -> None:
    """It is opened once, recording or not."""
    suite.makepyfile(test_ways=SUITE.replace('upstream="weather"', "left_out=['x-*']", 1))
    for mode in ("record", "strict"):
        run(suite, "--replay-mode", mode, "test_ways.py").assert_outcomes(passed=2)


def test_a_recording_that_is_not_frozen_fails_the_session(suite: pytest.Pytester) -> None:
    """Told in a line; those of other modules are frozen all the same."""
    suite.makepyfile(test_a_quiet_one="def test_quiet(replay):\n    assert replay.recorded == 0\n")
    result = run(suite, "--replay-mode", "record")
    result.assert_outcomes(passed=3)
    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["*not frozen*", "nothing was recorded (test_a_quiet_one.replay)*"])
    assert ["test_weather.replay"] == [file.name for file in (suite.path / "archives").iterdir()]


def test_archives_of_equal_content_are_open_beside_each_other(suite: pytest.Pytester) -> None:
    """Two modules that record the same share a store, in every mode, also when both record more."""
    suite.makepyfile(test_same=SUITE)
    more = SUITE.replace("/two", "/three")
    for text, mode in ((SUITE, "record"), (SUITE, "strict"), (more, "record"), (more, "replay")):
        suite.makepyfile(test_weather=text, test_same=text)
        result = run(suite, "--replay-mode", mode)
        result.assert_outcomes(passed=4)
        assert pytest.ExitCode.OK == result.ret


def test_workers_that_would_share_an_archive_do_not_record(suite: pytest.Pytester) -> None:
    """Told at once, with what to say instead, which works."""
    pytest.importorskip("xdist")
    result = run(suite, "--replay-mode", "record", "-n", "2")
    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--dist loadfile*"])
    run(suite, "--replay-mode", "record", "-n", "1", "--dist", "loadfile").assert_outcomes(passed=2)
