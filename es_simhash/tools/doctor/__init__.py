"""Is everything there that a load needs? It is looked at before the load, and nothing is written."""

from es_simhash.tools.doctor.diagnosis import Diagnosis, doctor

__all__ = ["Diagnosis", "doctor"]
