"""How does a file become lines? Compression, encodings and formats, and the rows of tables in memory."""

from es_simhash.input.files import FORMATS, checked_encoding, lines_of, read_file
from es_simhash.input.tables import rows_of

__all__ = ["FORMATS", "checked_encoding", "lines_of", "read_file", "rows_of"]
