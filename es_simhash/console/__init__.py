"""How does a command read its options and its input, and how does it print? ``cli`` and ``tools`` share it."""
