"""Which settings are right for my documents?"""
