"""How many servers does it take?"""
