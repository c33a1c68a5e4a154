"""How does a text become a fingerprint?"""
