"""Draw an Evaluation with matplotlib, which the extra ``plot`` installs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.console.output import display
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from es_simhash.tools.evaluation.precision import Evaluation

SUFFIXES = (".png", ".svg")
WIDTH, HEIGHT, DPI = 12, 5, 100
"""Width and height in inches; resolution of a PNG in pixels per inch."""


def check_plot(file: str) -> None:
    """Check that :func:`plot` can write this kind of file. Call it before the work starts.

    :raises InputError: if the file is not a PNG or SVG, or matplotlib is not installed.
    """
    if Path(file).suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot draw {display(file)}: name a {' or '.join(SUFFIXES)} file")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("a plot needs matplotlib: pip install 'es-simhash[plot]'") from error


def plot(evaluation: Evaluation, file: str) -> None:
    """Draw two charts: precision over recall, and the distances of duplicates and of different pairs.

    The same evaluation gives the same bytes.

    :raises InputError: if the file cannot be written.
    """
    # Loading matplotlib takes a second. Other commands must not wait for it.
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = Path(file).suffix.lower()[1:]
    with mpl.rc_context({"svg.hashsalt": "es-simhash"}):
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        curve, distances = figure.subplots(1, 2)
        _draw_curve(evaluation, curve)
        _draw_distances(evaluation, distances)
        try:
            figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {})
        except OSError as error:
            raise InputError(f"cannot write {display(file)}: {error.strerror}") from error


def _draw_curve(evaluation: Evaluation, axes: Axes) -> None:
    distances_at: dict[tuple[float, float], list[int]] = {}
    for point in evaluation.points:
        if point.precision is not None and point.max_distance is not None:
            distances_at.setdefault((point.recall, point.precision), []).append(point.max_distance)
    chosen = evaluation.chosen
    axes.plot([x for x, _ in distances_at], [y for _, y in distances_at], marker="o", color="C0")
    if chosen.precision is not None:
        label = f"chosen: k = {chosen.max_distance}, F1 {chosen.f1:.3f}"
        axes.plot(
            [chosen.recall],
            [chosen.precision],
            marker="o",
            markersize=12,
            fillstyle="none",
            color="C3",
            ls="",
            label=label,
        )
    for number, (name, point) in enumerate(evaluation.rules.items()):
        if point.precision is not None:
            label = f"{name}: F1 {point.f1:.3f}"
            axes.plot(
                [point.recall], [point.precision], marker="s", markersize=8, color=f"C{number + 4}", ls="", label=label
            )
    if axes.get_legend_handles_labels()[0]:
        axes.legend(loc="lower left")
    for (recall, precision), distances in distances_at.items():
        name = str(distances[0]) if len(distances) == 1 else f"{distances[0]}\u2013{distances[-1]}"
        axes.annotate(name, (recall, precision), xytext=(5, 7), textcoords="offset points")
    axes.margins(0.1)  # good points lie close together, so the axes do not run from 0 to 1
    axes.set(xlabel="recall", ylabel="precision")
    axes.set_title("Precision and recall of each rule, and of fingerprints at each k")


def _draw_distances(evaluation: Evaluation, axes: Axes) -> None:
    farthest = max(
        bits
        for bits, pairs in enumerate(zip(evaluation.duplicates, evaluation.different, strict=True))
        if any(pairs) or not bits
    )
    bits = range(farthest + 1)
    for name, counts, side in (("duplicates", evaluation.duplicates, -0.21), ("different", evaluation.different, 0.21)):
        total = sum(counts)
        shares = [100 * counts[distance] / total if total else 0.0 for distance in bits]
        axes.bar([distance + side for distance in bits], shares, width=0.42, label=f"{name}: {total:,} pairs")
    axes.axvline(
        (evaluation.chosen.max_distance or 0) + 0.5,
        color="C3",
        linestyle="--",
        label=f"k = {evaluation.chosen.max_distance}",
    )
    axes.set(xlabel="distance in bits", ylabel="% of the pairs with this label")
    axes.set_title("Distances")
    axes.legend(loc="upper right")
