"""Where the published rules, our default reading and the strict one part, and where upstream's data does.

The first group are the causes that verdicts name; the others say why a figure of ours is not the one that
upstream's files or rules would lead to word for word.
"""

from __future__ import annotations

from typing import Final

from replay.core.protocols import KnownDifference

__all__ = [
    "CONTRADICTIONS",
    "DENIALS",
    "DIFFERENCES",
    "EVERYDAY",
    "JUDGED",
    "LONG",
    "NONE_SAID",
    "OTHERS",
    "REJECTED",
    "SEVERAL",
    "SPELLING",
    "STATEMENTS",
]

CONTRADICTIONS: Final = "contradictions-are-open"
STATEMENTS: Final = "statements-are-read"
DENIALS: Final = "labels-and-denials-are-read"
NONE_SAID: Final = "none-must-be-said"
SEVERAL: Final = "several-names-are-open"
REJECTED: Final = "rejected-names-are-not-chosen"
EVERYDAY: Final = "everyday-words-are-no-names"
SPELLING: Final = "spelling-is-forgiven"
OTHERS: Final = "none-of-the-others"
LONG: Final = "long-answers-are-cut"
JUDGED: Final = "judge-decides-open-answers"

_RULES: Final = "paper, appendix C.2; upstream issue 10"
_CODE: Final = "prompt_construction.py at 35e81bb"

_CAUSES: Final = (
    KnownDifference(
        id=CONTRADICTIONS,
        what="An answer that begins with yes or no is that, and a phrase of the rules decides alone.",
        why='"No problem", "yes and no", or a phrase beside the opposite word decides nothing: undetermined.',
        source=_RULES,
    ),
    KnownDifference(
        id=STATEMENTS,
        what="An answer without a phrase of the rules and without yes or no is left open.",
        why="Strict reads plain statements too, typographic apostrophes included: tools are (not) needed.",
        source=_RULES,
    ),
    KnownDifference(
        id=DENIALS,
        what="Phrases are searched anywhere, a denial in other words before them is not seen.",
        why="Strict takes a labelled answer first, and a denied need before a stated one.",
        source=_RULES,
    ),
    KnownDifference(
        id=NONE_SAID,
        what="An answer that names no listed tool counts as None: empty, a number, an invented name, prose.",
        why="The candidate is asked to answer None; strict credits it when it is said, in words of any kind.",
        source="paper, section 3.2 and appendix C.2",
    ),
    KnownDifference(
        id=SEVERAL,
        what="Of several named tools the first is taken (the rules do not speak of two names).",
        why="At most one tool may be chosen; unless the answer leads with one, strict leaves it open.",
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id=REJECTED,
        what="Every named tool counts as chosen, also one that the answer says does not fit.",
        why="A tool that is named to be turned down is not chosen.",
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id=EVERYDAY,
        what="A tool whose name is an everyday word (search, form, Now) is named by any prose that holds it.",
        why="Strict takes such a word for a name when it is marked as one, or when nothing else is named.",
        source="plugin_des.json at 35e81bb",
    ),
    KnownDifference(
        id=SPELLING,
        what="A name counts as it is spelled.",
        why="Full-width letters and escaped underscores are the same name; only strict sees through them.",
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id=OTHERS,
        what='"None" before the first name means that no tool is chosen.',
        why='"None of the others" chooses the one that is named.',
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id=LONG,
        what="The whole answer is searched, however long it is.",
        why="Strict looks at the first 16,384 characters, five times what upstream's token limit allows.",
        source="run.py at 35e81bb",
    ),
    KnownDifference(
        id=JUDGED,
        what="Answers that the rules cannot decide were decided by hand, or left out of the denominator.",
        why="With open_answers=judge a judge decides them, each verdict under its own key; never by hand.",
        source="paper, appendix C.2 and tables 2 to 4",
    ),
)

_OF_UPSTREAM: Final = (
    KnownDifference(
        id="literal-no-is-yes",
        what='The rules make a plain "No." a yes, unless one of five phrases is in it.',
        why="The published tables cannot come from that; default reads no. The literal figure is beside it.",
        source=_RULES,
    ),
    KnownDifference(
        id="literal-parts-of-words",
        what='The rules find "no" and "not" inside know, now, another, cannot.',
        why="Default and strict look for words.",
        source=_RULES,
    ),
    KnownDifference(
        id="literal-apostrophe",
        what="The paper's rule has \"don't\" with a straight apostrophe, the script the typographic one.",
        why="The literal reading takes both for the denial that both mean.",
        source=_RULES,
    ),
    KnownDifference(
        id="literal-manual",
        what="What the rules leave to a person was decided by hand; nobody knows how.",
        why="The literal figure counts it as wrong and gives the bounds.",
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id="literal-case",
        what="Whether names are compared with their case is not stated.",
        why="The literal reading keeps the case, default does not; in one list no two names meet by that.",
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id="none-after-a-name",
        what='"X is not applicable, so None" is left to a person by the rules.',
        why="Default goes by what comes first and says that X was chosen; strict sees the rejection.",
        source="paper, appendix C.2",
    ),
    KnownDifference(
        id="denominators",
        what="Published denominators differ from model to model: unresolved answers were dropped.",
        why="Every planned item stays; an undetermined or missing answer is counted as wrong and shown.",
        source="paper, tables 3 and 4",
    ),
    KnownDifference(
        id="sizes",
        what="The files hold 199 tools, 995 and 1,040 questions; the paper speaks of 195, 975 and 1,030.",
        why="The files are what there is.",
        source="dataset/ at 35e81bb",
    ),
    KnownDifference(
        id="place-tells-the-truth",
        what="The right tool of a similar list is always number 1, of a multi-tool list numbers 7 and 8.",
        why="The best constant answer is beside every figure, and order=shuffled draws other orders.",
        source=_CODE,
    ),
    KnownDifference(
        id="older-samples",
        what="The published reliability queries of ten tools are not what today's query file gives.",
        why="The published file counts; the import report names the tools.",
        source="Task2-Subtask3.json and all_clean_data.csv at 35e81bb",
    ),
    KnownDifference(
        id="multi-tool-generator",
        what="Upstream's current generator draws from pairs and cannot make its own published file.",
        why="Lists are built by the first version's rule, which gives all 497 published ones.",
        source=_CODE,
    ),
    KnownDifference(
        id="record-index",
        what="Every record of the reliability file has the index 9.",
        why="Records are told by their line.",
        source=_CODE,
    ),
    KnownDifference(
        id="list-descriptions",
        what="Descriptions of 152 tools are shown as the Python text of a list.",
        why="Plain by default; descriptions=list shows them as upstream does.",
        source=_CODE,
    ),
    KnownDifference(
        id="stray-quotes",
        what="Action prompts are wrapped in a pair of double quotes.",
        why="Our prompts are our own words, without them.",
        source=_CODE,
    ),
    KnownDifference(
        id="few-shot-draw",
        what="The code that chose few-shot examples is in no commit.",
        why="Published examples are used where there are some; the others are drawn here by the same rule.",
        source="Task2-Subtask3.json at 35e81bb",
    ),
    KnownDifference(
        id="no-multi-tool-examples",
        what="Multi-tool questions have no few-shot form.",
        why="They are asked zero-shot under either protocol.",
        source="paper, table 4",
    ),
)

DIFFERENCES: Final[tuple[KnownDifference, ...]] = (*_CAUSES, *_OF_UPSTREAM)
