"""How similar are two texts, and when are they duplicates?"""
