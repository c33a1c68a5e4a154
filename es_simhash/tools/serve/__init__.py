"""How does a program in another language call this? An HTTP server over the methods of Documents and SeenItems."""
