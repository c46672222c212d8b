"""What batcher.py is made of: jobs and their order, tokenising, computing, the cache."""
