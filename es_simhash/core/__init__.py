"""The rules, pure: what a fingerprint is, which ones are near, what a Bloom filter holds. No I/O, no clock."""
