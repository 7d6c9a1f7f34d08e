"""Rows of the published ACEBench leaderboard, in percent: what the aggregation is held against.

Numbers only, as the site printed them (docs/script.js of 2025-07-21). Three further rows, of one model that
was added later, are not at hand.
"""

from __future__ import annotations

from typing import Final, NamedTuple

__all__ = ["PUBLISHED", "Row"]


class Row(NamedTuple):
    """One model in one table: `en`, `zh`, or their mean."""

    table: str
    model: str
    atom: float
    single: float
    multi: float
    similar: float
    preference: float
    normal: float
    special: float
    agent: float
    overall: float


_TABLE: Final = """
combined|GPT-4o|93.4 84.5 77.0 85.0 83.0 87.6 93.0 63.8 85.4
combined|Gemini-2.5-Pro-05-06|87.5 78.2 70.0 78.0 69.0 80.7 90.0 63.8 80.6
combined|Qwen-Max|91.2 80.5 68.0 83.0 83.0 84.2 74.0 64.3 78.4
combined|GPT-4o-Mini|86.5 76.0 66.5 77.0 78.0 79.9 79.0 33.3 72.5
combined|Gemini-1.5-Pro|84.5 76.8 64.5 80.0 78.0 79.0 78.7 25.5 70.7
combined|Claude-3-5-Sonnet|76.9 72.5 62.5 71.0 72.0 72.9 77.4 39.5 68.9
combined|Doubao-Pro-32K|79.8 55.5 58.0 76.0 66.0 70.7 55.0 25.0 59.4
combined|Kimi-k2-0711|89.2 83.0 72.5 75.0 80.0 83.4 84.0 74.2 82.2
combined|Qwen2.5-Coder-32B|90.2 81.0 71.0 83.0 81.0 84.1 80.7 60.8 79.6
combined|DeepSeekV3|91.5 84.0 77.0 83.0 83.0 86.5 73.0 34.5 74.8
combined|Qwen2.5-72B|86.8 80.3 69.5 83.0 81.0 82.1 75.7 45.0 74.7
combined|Llama-3.1-70B|82.5 68.3 63.5 79.0 68.0 75.5 38.3 42.3 60.4
combined|Qwen2.5-7B|76.0 60.3 58.5 72.0 67.0 69.4 47.0 13.8 54.8
combined|DeepSeek-Coder-V2-Lite|75.2 57.8 46.5 72.0 65.0 66.4 40.3 2.0 49.5
combined|Qwen2.5-Coder-7B|76.0 63.8 57.5 74.0 68.0 70.1 22.3 15.5 48.9
combined|Watt-Tool-8B|85.7 69.3 55.5 79.0 64.0 75.6 6.0 2.8 45.7
combined|Hammer2.1-7B|73.7 57.5 40.0 62.0 55.0 62.8 14.7 16.8 42.9
combined|Llama-3.1-8B|51.9 39.8 28.0 66.0 46.0 46.6 21.0 5.3 33.4
combined|Phi-3-Mini|57.2 39.3 23.0 58.0 32.0 46.5 18.7 0.8 32.0
combined|xLAM-7b-r|43.5 22.0 19.0 61.0 0.0 33.7 2.7 8.8 21.6
combined|Llama-3.2-3B|38.7 15.3 9.0 42.0 32.0 29.6 9.4 0.0 19.6
combined|Hammer2.1-3B|22.4 11.5 3.5 40.0 20.0 18.7 1.0 1.5 11.3
zh|GPT-4o|96.7 91.0 86.0 90.0 88.0 92.7 93.3 71.5 89.6
zh|Gemini-2.5-Pro-05-06|91.3 83.0 79.0 84.0 80.0 86.3 89.3 75.0 85.4
zh|Qwen-Max|94.3 86.0 75.0 92.0 84.0 88.7 74.0 68.5 81.7
zh|GPT-4o-Mini|88.7 78.5 74.0 80.0 84.0 83.4 81.3 39.0 76.0
zh|Claude-3-5-Sonnet|87.0 81.0 79.0 84.0 76.0 83.5 82.0 35.0 75.6
zh|Gemini-1.5-Pro|86.7 80.5 68.0 86.0 84.0 82.2 80.0 25.0 72.8
zh|Doubao-Pro-32K|84.3 53.0 64.0 82.0 78.0 75.0 59.3 23.5 62.8
zh|Kimi-k2-0711|91.3 87.5 83.0 80.0 86.0 87.9 86.7 83.4 86.9
zh|Qwen2.5-Coder-32B|94.3 88.5 83.0 90.0 90.0 90.8 81.3 71.5 85.3
zh|Qwen2.5-72B|92.3 86.0 75.0 90.0 82.0 87.3 77.3 52.5 79.3
zh|DeepSeekV3|95.0 90.5 91.0 90.0 88.0 92.6 73.3 35.0 78.5
zh|Llama-3.1-70B|81.3 65.0 66.0 84.0 70.0 75.3 47.3 43.5 62.9
zh|Qwen2.5-7B|81.7 63.5 68.0 82.0 76.0 75.9 44.7 12.5 57.8
zh|DeepSeek-Coder-V2-Lite|78.7 57.5 43.0 82.0 70.0 68.8 41.3 1.5 51.1
zh|Qwen2.5-Coder-7B|78.7 64.0 63.0 78.0 78.0 73.5 19.3 12.5 49.6
zh|Watt-Tool-8B|87.0 67.0 54.0 88.0 66.0 76.3 10.0 4.0 47.4
zh|Hammer2.1-7B|76.0 62.5 37.0 60.0 58.0 62.7 26.0 18.5 46.1
zh|Llama-3.1-8B|52.7 30.0 28.0 72.0 36.0 45.0 26.7 4.0 33.8
zh|Phi-3-Mini|48.0 29.5 15.0 58.0 32.0 38.9 25.3 1.5 29.5
zh|Llama-3.2-3B|45.7 9.0 9.0 50.0 32.0 32.7 10.0 0.0 21.6
zh|xLAM-7B-r|25.3 2.0 6.0 56.0 0.0 18.7 1.3 7.5 12.3
zh|Hammer2.1-3B|12.0 9.0 0.0 44.0 8.0 11.8 1.3 1.5 7.4
en|GPT-4o|90.0 78.0 68.0 80.0 78.0 82.5 92.7 56.0 81.1
en|Gemini-2.5-Pro-05-06|83.7 73.5 61.0 72.0 58.0 75.1 90.7 52.5 75.8
en|Qwen-Max|88.0 75.0 61.0 74.0 82.0 79.7 74.0 60.0 75.1
en|GPT-4o-Mini|84.3 73.5 59.0 74.0 72.0 76.4 76.7 27.5 68.9
en|Gemini-1.5-Pro|82.3 73.0 61.0 74.0 72.0 75.7 77.3 26.0 68.5
en|Claude-3-5-Sonnet|66.7 64.0 46.0 58.0 68.0 62.2 72.7 44.0 62.2
en|Doubao-Pro-32K|75.3 58.0 52.0 70.0 54.0 66.3 50.7 26.5 56.0
en|Kimi-k2-0711|87.0 78.5 62.0 70.0 74.0 78.9 81.3 65.0 77.4
en|Qwen2.5-Coder-32B|86.0 73.5 59.0 76.0 72.0 77.4 80.0 50.0 73.9
en|DeepSeekV3|88.0 77.5 63.0 76.0 78.0 80.3 72.7 34.0 71.1
en|Qwen2.5-72B|81.3 74.5 64.0 76.0 80.0 76.8 74.0 37.5 70.0
en|Llama-3.1-70B|83.7 71.5 61.0 74.0 66.0 75.6 29.3 41.0 57.9
en|Qwen2.5-7B|70.3 57.0 49.0 62.0 58.0 62.8 49.3 15.0 51.8
en|Qwen2.5-Coder-7B|73.3 63.5 52.0 70.0 58.0 66.6 25.3 18.5 48.1
en|DeepSeek-Coder-V2-Lite|71.7 58.0 50.0 62.0 60.0 64.0 39.3 2.5 47.9
en|Watt-Tool-8B|84.7 71.5 57.0 70.0 62.0 74.8 2.0 1.5 44.0
en|Hammer2.1-7B|71.3 62.5 43.0 64.0 52.0 62.9 3.3 15.0 39.6
en|Phi-3-Mini|66.3 49.0 31.0 58.0 32.0 54.0 12.0 0.0 34.4
en|Llama-3.1-8B|51.0 49.5 28.0 60.0 56.0 48.1 15.3 6.5 32.9
en|xLAM-7B-r|61.7 42.0 32.0 66.0 0.0 48.7 4.0 10.0 30.8
en|Llama-3.2-3B|31.7 21.5 9.0 34.0 32.0 26.4 8.7 0.0 17.6
en|Hammer2.1-3B|32.7 14.0 7.0 36.0 32.0 25.5 0.7 1.5 15.2
"""


def _row(line: str) -> Row:
    table, model, figures = line.split("|")
    return Row(table, model, *map(float, figures.split()))


PUBLISHED: Final = tuple(_row(line) for line in _TABLE.split("\n") if line)
"""All rows at hand."""
