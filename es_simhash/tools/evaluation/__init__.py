"""Which rule is right for my documents?"""

from es_simhash.tools.evaluation.figures import Figures, LabelledPair, evaluate
from es_simhash.tools.evaluation.sample import SampledPair, sample_pairs

__all__ = ["Figures", "LabelledPair", "SampledPair", "evaluate", "sample_pairs"]
