"""What `benchmarks/serve.py` and `benchmarks/soak.py` start, send and print.

The peers of our service (another server, a plain BentoML service, sentence-transformers in
process), the texts that all of them get, and the reports. Not here: the load (loadgen.py).
"""
