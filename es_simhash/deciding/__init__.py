"""What does each verb do? Generators that yield requests to a store; no I/O."""
