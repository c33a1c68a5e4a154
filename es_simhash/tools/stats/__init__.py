"""What does a store hold? Figures of documents, duplicates, groups and filters of users."""

from es_simhash.tools.stats.figures import DocumentFigures, Stats, stats
from es_simhash.tools.stats.seen_figures import SeenFigures

__all__ = ["DocumentFigures", "SeenFigures", "Stats", "stats"]
