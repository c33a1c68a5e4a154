"""Which settings are right for my documents?"""

from es_simhash.tools.evaluation.precision import Evaluation, LabelledPair, Point, Undecided, evaluate, labelled
from es_simhash.tools.evaluation.sample import SampledPair, sample_pairs

__all__ = ["Evaluation", "LabelledPair", "Point", "SampledPair", "Undecided", "evaluate", "labelled", "sample_pairs"]
