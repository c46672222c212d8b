"""What batcher.py is made of: jobs and their order, tokenizing, computing, the cache."""
