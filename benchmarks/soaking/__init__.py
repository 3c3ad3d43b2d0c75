"""Parts of `benchmarks/soak.py`: bisections that are killed and disturbed until they end, and what is asked of them."""
