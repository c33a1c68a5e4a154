"""Which stored documents can be near a fingerprint?"""
