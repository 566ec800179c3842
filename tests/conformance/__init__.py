"""The official JSON-Schema-Test-Suite, run over masks; its baseline only ratchets up.

    python -m tests.conformance              # run, print counts, compare with the baseline
    python -m tests.conformance --update     # write baseline.json and docs/keywords.md; refuses to lower
    python -m tests.conformance --fetch      # get the suite where ../shared has none
"""
