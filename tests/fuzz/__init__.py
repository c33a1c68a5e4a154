"""Fuzzers: random and damaged input for every reader of bytes from outside."""
