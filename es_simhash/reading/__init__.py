"""The way in: lines or dicts become checked and fingerprinted Documents, in batches, in worker processes if wanted.

What can't become a Document becomes a rejected Outcome that names the place and the fix; it never stops the others.
Memory doesn't grow with the input: lines and texts have a limit, batches are bounded by count and by size, and the ids
of a run are kept in a temporary file.
"""
