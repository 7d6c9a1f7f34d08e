"""What a benchmark's APIs look like to a simulator: by its own rules where it has some, else general ones."""

from __future__ import annotations

from replay.benchmarks.registry import get_api_rules
from replay.core.types import Json, ToolSpec
from replay.llm.grammar.schema import check_output, compile_schema
from replay.tools.simulator import ApiForm

__all__ = ["api_form"]


def api_form(benchmark: str) -> ApiForm:
    """Return documentation, answer schema and check of a benchmark's APIs."""
    rules = get_api_rules(benchmark)
    if rules is None:
        return ApiForm(document=_document, schema=_schema, check=_check)
    return ApiForm(document=rules.document, schema=rules.schema, check=_check)


def _check(schema: Json, text: str) -> Json:
    return check_output(compile_schema(schema), text)


def _document(spec: ToolSpec) -> Json:
    return {"name": spec.name, "description": spec.description, "parameters": spec.parameters}


def _schema(spec: ToolSpec) -> Json:
    """The recorded shape when it is a JSON Schema, else any JSON."""
    return spec.response_shape if isinstance(spec.response_shape, (dict, bool)) else True
