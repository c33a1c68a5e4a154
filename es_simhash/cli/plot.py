"""An Evaluation as a picture, by matplotlib, which the extra ``plot`` brings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from es_simhash.cli.options import display
from es_simhash.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from es_simhash.evaluation.evaluate import Evaluation

SUFFIXES = (".png", ".svg")
WIDTH, HEIGHT, DPI = 12, 5, 100
"""Inches, and pixels of a PNG for each of them."""


def check_plot(file: str) -> None:
    """Make sure, before the work is done, that :func:`plot` can write this file.

    :raises InputError: for another kind of file, or without matplotlib.
    """
    if Path(file).suffix.lower() not in SUFFIXES:
        raise InputError(f"{display(file)} is no picture that can be made: name a {' or '.join(SUFFIXES)} file")
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise InputError("a plot needs matplotlib: pip install 'es-simhash[plot]'") from error


def plot(made: Evaluation, file: str) -> None:
    """Draw precision over recall, and the distances of duplicates and of different pairs; the same file each time.

    :raises InputError: if the file can't be written.
    """
    # Loading it takes a second that no other command should wait for.
    import matplotlib as mpl
    from matplotlib.figure import Figure

    kind = Path(file).suffix.lower()[1:]
    with mpl.rc_context({"svg.hashsalt": "es-simhash"}):
        figure = Figure(figsize=(WIDTH, HEIGHT), dpi=DPI, layout="constrained")
        curve, distances = figure.subplots(1, 2)
        _draw_curve(made, curve)
        _draw_distances(made, distances)
        try:
            figure.savefig(file, format=kind, metadata={"Date": None} if kind == "svg" else {})
        except OSError as error:
            raise InputError(f"{display(file)} can't be written: {error.strerror}") from error


def _draw_curve(made: Evaluation, axes: Axes) -> None:
    places: dict[tuple[float, float], list[int]] = {}
    for point in made.points:
        if point.precision is not None:
            places.setdefault((point.recall, point.precision), []).append(point.max_distance)
    chosen = made.chosen
    axes.plot([x for x, _ in places], [y for _, y in places], marker="o", color="C0")
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
        axes.legend(loc="lower left")
    for (recall, precision), several in places.items():
        name = str(several[0]) if len(several) == 1 else f"{several[0]}\u2013{several[-1]}"
        axes.annotate(name, (recall, precision), xytext=(5, 7), textcoords="offset points")
    axes.margins(0.1)  # what is good lies close together: the axes show what there is, and not all from 0 to 1
    axes.set(xlabel="recall", ylabel="precision")
    axes.set_title("Precision and recall at each max_distance k")


def _draw_distances(made: Evaluation, axes: Axes) -> None:
    farthest = max(
        bits for bits, pairs in enumerate(zip(made.duplicates, made.different, strict=True)) if any(pairs) or not bits
    )
    bits = range(farthest + 1)
    for name, counts, side in (("duplicates", made.duplicates, -0.21), ("different", made.different, 0.21)):
        total = sum(counts)
        shares = [100 * counts[at] / total if total else 0.0 for at in bits]
        axes.bar([at + side for at in bits], shares, width=0.42, label=f"{name}: {total:,} pairs")
    axes.axvline(made.chosen.max_distance + 0.5, color="C3", linestyle="--", label=f"k = {made.chosen.max_distance}")
    axes.set(xlabel="distance in bits", ylabel="% of the pairs of a kind")
    axes.set_title("Distances")
    axes.legend(loc="upper right")
