"""How do documents go to another index or file, with another Scheme or other keys?"""

from es_simhash.tools.copy.stores import setup_for_copy, switch_alias
from es_simhash.tools.copy.write_order import WholeDocument, whole_documents

__all__ = ["WholeDocument", "setup_for_copy", "switch_alias", "whole_documents"]
