"""What does a person do with the documents beside the core commands? Each tool uses the library as a program does."""
