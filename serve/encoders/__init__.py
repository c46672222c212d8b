"""An encoder as it is served: its export, tokenizer, golden vectors, and what is told of it."""
