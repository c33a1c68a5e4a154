"""How are the documents of many machines grouped? With Spark: the groups of ``es-simhash group``, computed as joins.

``python -m es_simhash.tools.spark`` is the command, :func:`es_simhash.tools.spark.group.group_frame` the function on
DataFrames. They need the extra ``spark``. PySpark is imported where it is used, so that the rest of the library works
without it.
"""
