"""Why compat and strict part, and where compat itself is not upstream to the bit: one entry a reason.

Every `Verdict.differs` and every choice between the two calling rules names an entry here. Sources are
files of StableToolBench at commit aa4ed9f unless they say otherwise.
"""

from __future__ import annotations

from typing import Final

from replay.benchmarks.stabletoolbench.playing.play_differences import PLAY_DIFFERENCES
from replay.core.protocols import KnownDifference

__all__ = ["DIFFERENCES"]


def _entry(name: str, what: str, why: str, source: str) -> KnownDifference:
    return KnownDifference(id=name, what=what, why=why, source=source)


_SCORES: Final = (
    _entry(
        "result-file-denominator",
        "The pass rate divides by the records of the result file: a task that crashed or was skipped "
        "leaves it.",
        "Strict divides by the plan and counts the task as missing-output; a crash must not raise a score.",
        "toolbench/tooleval/eval_pass_rate.py; StableToolBench issue 37",
    ),
    _entry(
        "sopr-missing-run",
        "A judge run without a verdict counts 0 in that run.",
        "Strict takes the mean over the runs that have a verdict and shows how many there are.",
        "toolbench/tooleval/eval_pass_rate.py",
    ),
    _entry(
        "sopr-give-up-words",
        "A final answer that holds the words give_up_and_restart anywhere is unsolved without judging.",
        "Strict reads the return type of Finish: an answer may mention the words.",
        "toolbench/tooleval/evaluators/registered_cls/tooleval.py",
    ),
    _entry(
        "finish-without-answer",
        "Finish with an empty answer inside, or a give-up in FAC, is judged like an answer: the text "
        "that is tested is the argument JSON, which is never empty.",
        "Strict unwraps the arguments; nothing inside means nothing was answered.",
        "toolbench/tooleval/eval_pass_rate.py, fac_eval.py",
    ),
    _entry(
        "sopr-unsure",
        "Unsure counts 0.5. One sentence of the paper assigns 1, 0.5, 0 to Solved, Unsolved, Unsure in "
        "that order.",
        "Code and figure 6 of the paper agree on Unsure = 0.5, so both sides use it; abstentions are "
        "counted.",
        "paper section 4.2 and figure 6; eval_pass_rate.py",
    ),
    _entry(
        "sowr-use-pass-rate",
        "The option to let solved beat unsolved never takes effect: it reads a dict written as text.",
        "Strict does what the paper says: solved beats unsolved, otherwise the judge decides.",
        "toolbench/tooleval/eval_preference.py; paper section 4.2",
    ),
    _entry(
        "sowr-missing-answer",
        "A missing answer gives the other side the point. When both are missing, the table writer stops.",
        "Compat leaves an item out that neither side answered; strict leaves every such item unscored "
        "with its reason.",
        "toolbench/tooleval/eval_preference.py",
    ),
    _entry(
        "sowr-tie-is-loss",
        "The printed figure is the win rate: equal points count as a loss.",
        "Strict scores a tie 0.5 and shows wins, losses and ties.",
        "toolbench/tooleval/eval_preference.py",
    ),
    _entry(
        "sowr-presentation-order",
        "Each round shows the pair once, in an unseeded random order, with final answers cut to 1,000 "
        "characters; the swap between rounds is disabled and statuses are not tied to a Finish call.",
        "Compat draws the order from the run's seed. Strict shows each pair whole and in both orders; a"
        " winner that depends on the order is a tie.",
        "toolbench/tooleval/eval_preference.py",
    ),
    _entry(
        "fac-reply-words",
        "The whole reply is searched: unsolved anywhere is 0, so a reason that mentions the word flips "
        "the verdict.",
        "Strict reads the status that the reply states.",
        "toolbench/tooleval/fac_eval.py",
    ),
    _entry(
        "fac-finish-arguments",
        "The judge is shown the argument JSON of Finish: the test that should unwrap it never matches.",
        "Strict shows the plain answer.",
        "toolbench/tooleval/fac_eval.py",
    ),
    _entry(
        "fac-missing-id",
        "An id that is missing from the answers stops the script, although a check for it follows.",
        "Compat leaves the task out, strict counts it as missing-output.",
        "toolbench/tooleval/fac_eval.py",
    ),
    _entry(
        "judge-wording",
        "Verdicts that are not frozen are asked with upstream's prompts, the verdict before its reason.",
        "The rubrics here are in our own words, the reason first unless judge_order says otherwise, one"
        " request for compat and strict; their digests are part of every verdict's key.",
        "toolbench/tooleval/evaluators/tooleval_gpt-3.5-turbo_default",
    ),
    _entry(
        "task-solvable-unused",
        "Whether a task can be solved is asked when neither answer solves it, and the verdict is thrown"
        " away.",
        "Asked only with the option ask_solvable, and shown beside the score.",
        "toolbench/tooleval/evaluators/registered_cls/tooleval.py",
    ),
)

_CALLS: Final = (
    _entry(
        "name-suffix",
        "A call goes to the first function whose name ends with the called name (35 of 765 queries are "
        "ambiguous).",
        "Strict resolves whole names only.",
        "toolbench/inference/Downstream_tasks/rapidapi_multithread.py",
    ),
    _entry(
        "name-tail",
        "Function names keep their last 64 characters (117 of 4,070 lose their beginning) and may be equal.",
        "Strict keeps names distinct within 64 characters.",
        "toolbench/inference/Downstream_tasks/rapidapi_multithread.py",
    ),
    _entry(
        "optional-parameters",
        "Optional parameters are shown only when there is a required one (402 of 4,070 lose all), and "
        "both name lists start with an empty text.",
        "Strict shows every parameter the documentation has.",
        "toolbench/inference/Downstream_tasks/rapidapi_multithread.py",
    ),
    _entry(
        "finish-lenient",
        "Broken arguments of Finish are searched as text, and JSON that is no object stops the program.",
        "Strict tells the candidate about its mistake.",
        "toolbench/inference/Downstream_tasks/rapidapi_multithread.py",
    ),
    _entry(
        "cache-key",
        "Answers are looked up by Python's text of the arguments: order, 5 against 5.0 and spelling of "
        "names matter.",
        "Compat tries that key first, strict the canonical one first; equal JSON values are one call.",
        "server/main.py; server/utils.py",
    ),
    _entry(
        "api-name-cut",
        "Since 2024-09-10 an API name is cut at its tool's name, before at the first _for_; the cache "
        "is older.",
        "Both names are tried, the current one first.",
        "server/utils.py, commit 06d2acf",
    ),
    _entry(
        "random-walk",
        "An invalid answer is converted along a random try or walk, seeded once, in directory order.",
        "Both sides draw from the query's own seed, so neither file order nor file system matters.",
        "toolbench/tooleval/convert_to_answer_format.py",
    ),
    _entry(
        "random-give-up",
        "DFSDT without an answer takes a random give-up node, unseeded across threads.",
        "Both sides draw from the episode's seed.",
        "toolbench/inference/Algorithms/DFS.py",
    ),
    _entry(
        "answer-shape",
        "An answer without the key error raises in the client and leaves no answer file.",
        "Strict makes it an error observation with code 12.",
        "toolbench/inference/Downstream_tasks/rapidapi_multithread.py",
    ),
)

DIFFERENCES: Final[tuple[KnownDifference, ...]] = (*_SCORES, *_CALLS, *PLAY_DIFFERENCES)
"""Differences of scores first, then of calls and lookups, then of episodes."""
