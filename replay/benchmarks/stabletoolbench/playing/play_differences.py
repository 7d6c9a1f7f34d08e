"""Where an episode departs from upstream's program, or strict from compat, one entry a reason.

Joined to the one table in `differences`. Sources are files of StableToolBench at commit aa4ed9f.
"""

from __future__ import annotations

from typing import Final

from replay.core.protocols import KnownDifference

__all__ = ["PLAY_DIFFERENCES"]

_CLIENT: Final = "toolbench/inference/Downstream_tasks/rapidapi_multithread.py"
_CHAIN: Final = "toolbench/inference/Algorithms/single_chain.py"
_TREE: Final = "toolbench/inference/Algorithms/DFS.py"

PLAY_DIFFERENCES: Final = (
    KnownDifference(
        id="step-counting",
        what="A step is a tree node: a thought, an action and its input count one each, so 12 steps are"
        " at most"
        " 6 calls. total_steps also counts the system and user nodes.",
        why="Strict counts turns of the candidate; text beside a call then costs nothing.",
        source=f"{_CHAIN}; toolbench/tooleval/convert_to_answer_format.py",
    ),
    KnownDifference(
        id="arguments-refused",
        what="Whatever Python's JSON reads is looked up by its text: NaN, infinities, lone surrogates,"
        " any depth.",
        why="No honest key exists for these; under both rules the candidate reads a named error with code 2."
        " Texts over 1,048,576 characters are refused likewise.",
        source="server/main.py",
    ),
    KnownDifference(
        id="arguments-not-an-object",
        what="A list, number, text or null is looked up like an object, and malformed JSON is a normal"
        " answer.",
        why="Strict wants one JSON object and gives both mistakes code 2.",
        source=f"server/main.py; {_CLIENT}",
    ),
    KnownDifference(
        id="finish-suffix",
        what="A called name that only Finish ends with raises in the client and leaves no answer file.",
        why="Strict answers that there is no such function; compat ends the episode with nothing produced.",
        source=_CLIENT,
    ),
    KnownDifference(
        id="calls-behind-finish",
        what="Calls behind Finish in one turn are carried out, and the last node's text becomes the answer; a"
        " give-up with a call behind it does not end the attempt.",
        why="Strict ends the turn at a Finish that counts and takes its arguments.",
        source=f"{_CHAIN}; {_TREE}",
    ),
    KnownDifference(
        id="incomplete-completion",
        what="The finish reason of a completion is never read: cut text is taken as it is; a failed request"
        " becomes a pruned thought with code -1.",
        why="Strict ends the episode as truncated or refused and keeps what was done.",
        source="toolbench/inference/LLM/chatgpt_function_model.py",
    ),
    KnownDifference(
        id="empty-text",
        what="Empty text in a completion is a thought and costs a step.",
        why="Strict ignores it.",
        source=f"{_CHAIN}; {_TREE}",
    ),
    KnownDifference(
        id="empty-turns",
        what="CoT asks for ever while turns hold neither text nor calls.",
        why="Both rules end such a try at max_queries turns.",
        source=_CHAIN,
    ),
    KnownDifference(
        id="hallucinated-name-in-history",
        what="In DFSDT the last of several parallel calls keeps its unknown name in the history; all"
        " others, and"
        " all in CoT, are replaced.",
        why="Both rules replace every unknown name.",
        source=_TREE,
    ),
    KnownDifference(
        id="deep-turns",
        what="A turn may hold any number of calls, each two nodes deeper.",
        why="Answer files nest two levels a node and canonical JSON ends at 200: calls below node 90"
        " are dropped"
        " with a note, and max_steps ends at 80.",
        source=f"{_CHAIN}; {_TREE}",
    ),
    KnownDifference(
        id="votes",
        what="Every vote that does not end in A is one for B; an empty one raises.",
        why="An empty vote counts for nobody; strict treats every unreadable one so.",
        source="toolbench/inference/LLM_rank/rank_candidate.py",
    ),
    KnownDifference(
        id="user-api",
        what="The branch for chat_with_user logs a variable that is not set: HTTP 500, code 12.",
        why="Strict gives the fixed answer that was meant.",
        source="server/main.py",
    ),
    KnownDifference(
        id="dead-end-climb",
        what="In ToolBench's first release every leaf climbed two turns; in StableToolBench only answers and"
        " give-ups do.",
        why="One turn by default; the option dead_end_climb gives the older search.",
        source=f"{_TREE}; 3 of ToolBench's 15 example answers",
    ),
)
"""In the order of an episode: steps, calls, turns, search."""
