"""SchemaStore (`../shared/schemastore/dev.jsonl.gz`), judged exactly: see `exact.py`.

Real configuration files under the schemas that people wrote for them; every schema that is not
right is listed with its reason.

    python bench/schemastore_exact.py [--tokenizer FILE] [--limit N] [--record]
"""

import sys

import corpus
import exact

if __name__ == "__main__":
    sys.exit(exact.main("schemastore", corpus.SHARED / "schemastore" / "dev.jsonl.gz", ["--list", *sys.argv[1:]]))
