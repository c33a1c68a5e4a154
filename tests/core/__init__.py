from hypothesis import settings

# A test's first example loads a dictionary: no law here is about time.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")
