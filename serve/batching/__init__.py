"""From requests' texts to embeddings: who may wait, tokenizing, batches on threads."""
