"""Stop words: words that say nothing of what a text is about. Words of one character are dropped by rule.

List 1 is of our own making: function words of Chinese, the phrases with which news items name their source, and
function words of English. It is part of the Scheme's fixed rules: it is never edited, another list is a new file.
"""

from __future__ import annotations

from pathlib import Path

STOP_WORDS = frozenset(Path(__file__).with_name("stop_words_1.txt").read_text(encoding="utf-8").split())
