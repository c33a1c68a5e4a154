"""What does each verb do? Functions and classes that take the store first."""
