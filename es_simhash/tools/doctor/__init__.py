"""Is everything there that a load needs, and what does the store hold? Nothing is written."""

from es_simhash.tools.doctor.checks import Check
from es_simhash.tools.doctor.diagnosis import Diagnosis, doctor

__all__ = ["Check", "Diagnosis", "doctor"]
