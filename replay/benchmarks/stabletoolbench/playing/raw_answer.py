"""The raw answer object `<query id>_<method>.json`, field by field as upstream writes it (spec 4.7).

Owns names, order and presence of the fields of both protocols, and the two spellings of conversations and
tools: nested (`tool_calls`, role `tool`, functions under `function`), as upstream writes now, and flat
(`function_call`, role `function`), as in the shipped examples. Source: single_chain.py, DFS.py, Tree.py at
aa4ed9f.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from replay.benchmarks.stabletoolbench.functions import FunctionEntry, nested_form
from replay.benchmarks.stabletoolbench.playing.cot import ChainSearch
from replay.benchmarks.stabletoolbench.playing.dfsdt import TreeSearch
from replay.benchmarks.stabletoolbench.playing.nodes import ACTION_INPUT, Node, Said, train_histories
from replay.benchmarks.stabletoolbench.playing.turns import Candidate
from replay.core.types import Json

__all__ = ["chain_answer", "flatten_answer", "tree_answer"]


def chain_answer(search: ChainSearch, candidate: Candidate) -> dict[str, Json]:
    """Write the raw answer of a CoT episode."""
    kept = [end for end in search.ends if not end.pruned]
    limits = search.limits
    tries = zip(search.ends, search.wins, strict=True)
    answer: dict[str, Json] = {
        "valid_data": bool(kept),
        "final_answer": kept[0].text if kept else "",
        "function": _functions(candidate.entries),
        "query_count": candidate.queries,
        "total_tokens": candidate.tokens,
        "train_messages": _histories(kept[0]) if kept else [],
        "chain": [],
        "query": candidate.query,
    }
    return {
        "win": search.answers > 0,
        "try_count": len(search.ends),
        "trys": [{"chain": _chain(end), "win": won} for end, won in tries],
        "compare_candidates": [_chain(end) for end in kept],
        "forward_args": {
            "single_chain_max_step": limits.max_steps,
            "pass_at": search.tries,
            "answer": limits.answers,
        },
        "answer_generation": answer,
    }


def tree_answer(search: TreeSearch, candidate: Candidate, chosen: Node | None) -> dict[str, Json]:
    """Write the raw answer of a DFSDT episode; `chosen` is the answer, else a give-up, else None.

    Without an answer or a give-up the field `train_messages` is absent and `finish_type` keeps its start
    value.
    """
    limits = search.limits
    size, length = _measure(search.root)
    gave_up = chosen is not None and not chosen.terminal
    answer: dict[str, Json] = {
        "valid_data": chosen is not None,
        "query_count": candidate.queries,
        "total_tokens": candidate.tokens,
        "final_answer": chosen.text if chosen is not None else "",
        "finish_type": "give_up" if gave_up else "give_answer",
        "function": _functions(candidate.entries),
        "chain": [],
    }
    if chosen is not None:
        answer["train_messages"] = _histories(chosen)
    answer["query"] = candidate.query
    return {
        "win": bool(search.answered),
        "tree": {"size": size, "max_length": length, "tree": _tree(search.root)},
        "forward_args": {
            "single_chain_max_step": limits.max_steps,
            "tree_beam_size": search.width,
            "max_query_count": limits.max_queries,
            "answer": limits.answers,
            "with_filter": search.with_filter,
        },
        "compare_candidates": [_chain(node) for node in search.answered if not node.pruned],
        "answer_generation": answer,
    }


def flatten_answer(raw: Mapping[str, Json]) -> dict[str, Json]:
    """Respell a raw answer in the flat form of the shipped examples; what is flat already stays as it is.

    A turn with several calls has no flat form and stays nested, with its replies.
    """
    answer = dict(raw["answer_generation"])
    answer["function"] = [item.get("function", item) for item in answer["function"]]
    if "train_messages" in answer:
        answer["train_messages"] = [_flatten_history(history) for history in answer["train_messages"]]
    return {**raw, "answer_generation": answer}


# ---- nodes ---------------------------------------------------------------------------------------------


def _chain(end: Node) -> list[dict[str, Json]]:
    return [_node(node) for node in end.path()]


def _tree(root: Node) -> dict[str, Json]:
    """Nest the nodes of a tree; written without recursion, so that depth is bounded by the limits alone."""
    written: dict[int, dict[str, Json]] = {}
    for node in root.walk():
        fields = {**_node(node), "children": []}
        written[id(node)] = fields
        if node is not root and node.parent is not None:
            written[id(node.parent)]["children"].append(fields)
    return written[id(root)]


def _node(node: Node) -> dict[str, Json]:
    fields: dict[str, Json] = {
        "is_terminal": False,
        "pruned": node.pruned,
        "finished": node.finished,
        "depth": node.depth,
        "node_type": node.kind,
        "description": node.text,
        "Elo": 1000.0,
    }
    if node.observation:
        fields["observation"] = node.observation
    if node.code is not None:
        fields["observation_code"] = int(node.code)
    fields["child_count"] = len(node.children)
    fields["expand_num"] = node.expand_num
    if node.kind == ACTION_INPUT:
        fields["io_state"] = {}
    return fields


def _measure(root: Node) -> tuple[int, int]:
    """Count nodes and levels of a tree, the root included in both."""
    depths = [node.depth for node in root.walk()]
    return len(depths), max(depths) + 1


# ---- conversations -------------------------------------------------------------------------------------


def _functions(entries: Sequence[FunctionEntry]) -> list[Json]:
    return [nested_form(entry.upstream) for entry in entries]


def _histories(node: Node) -> list[list[dict[str, Json]]]:
    return [[_message(said) for said in history] for history in train_histories(node)]


def _message(said: Said) -> dict[str, Json]:
    message = said.message
    if message.role == "tool":
        return {
            "role": "tool",
            "name": message.name,
            "content": message.content,
            "tool_call_id": message.tool_call_id,
        }
    fields: dict[str, Json] = {"role": message.role}
    if message.content is not None:
        fields["content"] = message.content
    if message.tool_calls:
        fields["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.tool_calls
        ]
    if not said.shown:
        fields["valid"] = False
    return fields


def _flatten_history(history: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    flat: list[dict[str, Json]] = []
    nested_ids: set[str] = set()
    for message in history:
        calls = message.get("tool_calls") or []
        if message.get("role") == "tool" and message.get("tool_call_id") not in nested_ids:
            flat.append({"role": "function", "name": message["name"], "content": message["content"]})
        elif len(calls) == 1:
            spoken = {name: value for name, value in message.items() if name != "tool_calls"}
            flat.append({**spoken, "function_call": calls[0]["function"]})
            nested_ids = set()
        else:
            flat.append(dict(message))
            if calls:
                nested_ids = {call["id"] for call in calls}
    return flat
