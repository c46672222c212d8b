"""An encoder as it is served: its export, tokenizer, reference vectors, and what is told of it."""
