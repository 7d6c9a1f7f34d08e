"""pass@k and pass^k."""

from __future__ import annotations

import pytest

from replay.core.errors import InputError
from replay.evaluate.trials import pass_at_k, pass_hat_k

FIVE = {"a": [True, True, False, False, False], "b": [True] * 5}


def test_pass_at_one_is_the_success_rate() -> None:
    """With k = 1 both are the mean success rate."""
    assert pass_at_k(FIVE, 1) == pytest.approx(0.7)
    assert pass_hat_k(FIVE, 1) == pytest.approx(0.7)


def test_pass_at_k_needs_one_success() -> None:
    """Two successes of five: three draws miss both once in ten."""
    assert pass_at_k(FIVE, 3) == pytest.approx((0.9 + 1.0) / 2)


def test_pass_hat_k_needs_all() -> None:
    """Two successes of five: two draws are both successes once in ten."""
    assert pass_hat_k(FIVE, 2) == pytest.approx((0.1 + 1.0) / 2)


@pytest.mark.parametrize("estimate", [pass_at_k, pass_hat_k])
def test_k_beyond_recorded_trials_is_refused(estimate: object) -> None:
    """Five recorded trials answer no question about eight."""
    with pytest.raises(InputError, match=r"k = 8 asks for more trials.*a \(5\), b \(5\).*--trials 8"):
        estimate(FIVE, 8)  # type: ignore[operator]


def test_long_lists_of_tasks_are_cut() -> None:
    """The message stays one line: five tasks are named, the rest counted."""
    with pytest.raises(InputError, match="and 2 more"):
        pass_at_k({f"t{i}": [True] for i in range(7)}, 2)


def test_k_below_one_is_refused() -> None:
    """No trials say nothing."""
    with pytest.raises(InputError, match="k = 0 trials; expected k of at least 1"):
        pass_at_k(FIVE, 0)


def test_no_tasks_is_refused() -> None:
    """There is no estimate from nothing."""
    with pytest.raises(InputError, match="no trials to estimate from"):
        pass_hat_k({}, 1)
