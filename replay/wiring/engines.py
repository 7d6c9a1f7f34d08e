"""Loaded local models of one process: each file once, whatever roles it plays."""

from __future__ import annotations

import importlib
from collections.abc import Callable

from replay.core.errors import InternalError
from replay.llm.local import LocalWeights, Voice
from replay.wiring.roles import ModelPlan

__all__ = ["ModelPool"]


class ModelPool:
    """Loads models when they are first asked, and keeps them until it is closed."""

    def __init__(self) -> None:
        """Start with none loaded."""
        self._loaded: dict[str, LocalWeights] = {}

    def get(self, plan: ModelPlan) -> LocalWeights:
        """Return the weights of a plan; plans of one file share them. Nothing is loaded yet."""
        place = f"{plan.opener} {plan.weights or plan.name}"
        if place not in self._loaded:
            self._loaded[place] = LocalWeights(lambda: _open(plan))
        return self._loaded[place]

    def halt(self) -> None:
        """Let every model refuse further requests."""
        for weights in self._loaded.values():
            weights.halt()

    def close(self) -> None:
        """Free everything."""
        for weights in self._loaded.values():
            weights.close()


def _open(plan: ModelPlan) -> Voice:
    module, _, name = plan.opener.partition(":")
    function: Callable[[ModelPlan], Voice] | None = getattr(importlib.import_module(module), name, None)
    if function is None:
        raise InternalError(f"model opener {plan.opener!r} does not exist", expected="module:function")
    return function(plan)
