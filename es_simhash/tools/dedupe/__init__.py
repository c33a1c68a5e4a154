"""``es-simhash dedupe``: the documents of files that are no copies of each other."""
