"""The records of ``curves.py`` as one picture: a row a curve, a column a cost. Needs matplotlib.

python bench/curves_plot.py docs/curves.svg bench/record/*-curve-*.json
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

#: Cost, title, unit's size. Of steps the 99th percentile is drawn: first visits, then all hits.
COSTS = (
    ("ttfm", "first mask, ms", 1e6),
    ("cold_p99", "step p99, first visits, µs", 1e3),
    ("warm_p50", "step p50, again, µs", 1e3),
    ("ahead", "ahead of time, ms", 1e6),
    ("artifact", "artifact, kB", 1e3),
)
ALONG = {
    "vocabulary": "ids",
    "depth": "levels",
    "properties": "properties",
    "enum": "values",
    "counts": "count",
    "branches": "branches",
    "bytes": "bytes of schema",
    "pattern": "n",
}


def plot(results: dict[str, dict[str, list[dict[str, Any]]]], path: Path) -> None:
    """Curve -> family -> points, drawn into `path`; points without a cost are left out."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.fonttype"] = "none"  # letters, not their outlines
    matplotlib.rcParams["svg.hashsalt"] = "tokfsm"  # the same figures, the same bytes
    from matplotlib import pyplot

    curves = [curve for curve in ALONG if curve in results]
    n = len(COSTS)
    figure, axes = pyplot.subplots(
        len(curves), n + 1, figsize=(3.0 * n + 2.6, 2.4 * len(curves)), squeeze=False, layout="constrained"
    )
    for row, curve in zip(axes, curves):
        for axis, (what, title, scale) in zip(row, COSTS):
            for number, (name, points) in enumerate(results[curve].items()):
                known = [(p["n"], p[what] / scale) for p in points if what in p and "error" not in p]
                look = {"color": f"C{number % 10}", "linestyle": "-" if number < 10 else "--", "linewidth": 1.2}
                axis.plot(*zip(*known), label=name, marker="" if len(known) > 1 else ".", **look)
            axis.set(xscale="log", yscale="log", xlabel=ALONG[curve])
            low, high = axis.get_ylim()
            axis.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
            axis.minorticks_off()
            axis.set_title(title, fontsize="small")
            axis.tick_params(labelsize="x-small")
            axis.grid(alpha=0.3)
        handles, labels = row[0].get_legend_handles_labels()
        row[n].axis("off")
        # The names contain what mathematics would be made of.
        row[n].legend(
            handles,
            [label.replace("$", r"\$") for label in labels],
            fontsize=6.5,
            loc="center left",
            title=curve,
            frameon=False,
        )
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def main(arguments: list[str]) -> int:
    if len(arguments) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    records = [json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments[1:]]
    plot({record["curve"]: record["families"] for record in records}, Path(arguments[0]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
