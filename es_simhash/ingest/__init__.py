"""How do lines become stored documents?"""
