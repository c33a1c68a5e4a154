"""What may be near, in memory? Two indexes of arrays, and the rows of documents over them."""
