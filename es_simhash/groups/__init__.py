"""Which documents belong together?"""
