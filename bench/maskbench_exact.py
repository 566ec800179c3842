"""MaskBench (`../shared/maskbench/dev.jsonl.gz`), judged exactly: see `exact.py`.

    python bench/maskbench_exact.py [--tokenizer FILE] [--limit N] [--list] [--record]
"""

import sys

import corpus
import exact

if __name__ == "__main__":
    sys.exit(exact.main("maskbench", corpus.SHARED / "maskbench" / "dev.jsonl.gz", sys.argv[1:]))
