"""Spark computes who is a copy of whom, for more documents than one machine groups."""

from es_simhash.tools.spark.grouping import Grouping, group_frame, write_links

__all__ = ["Grouping", "group_frame", "write_links"]
