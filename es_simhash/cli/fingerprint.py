"""``es-simhash fingerprint``: print the fingerprint of a text. No store is needed."""

from __future__ import annotations

from typing import Any

import click

from es_simhash.console.help import Command
from es_simhash.console.input import read_text
from es_simhash.console.options import json_option
from es_simhash.console.output import echo, print_json
from es_simhash.console.scheme import make_fingerprinter, plain_scheme_options
from es_simhash.fingerprinting.weights import MIN_FEATURES


@click.command(cls=Command)
@click.argument("text", required=False)
@click.option("--file", metavar="FILE", help="Read the text from this file; - is standard input.")
@json_option
@plain_scheme_options
def fingerprint(text: str | None, file: str | None, as_json: bool, **choices: Any) -> None:
    """Print the fingerprint of a text. No store is needed.

    The output is the fingerprint in hex, its segments of 16 bits, the number of features, and the digest of the
    normalised text.

    \b
    es-simhash fingerprint "市气象台发布暴雨橙色预警，部分路段积水"
    es-simhash fingerprint --file article.txt --json
    es-simhash fingerprint --file article.txt --weights tf_idf --idf idf.txt
    """
    if (text is None) == (file is None):
        raise click.UsageError("give a TEXT or --file FILE")
    fingerprinter = make_fingerprinter(**choices)
    scheme = fingerprinter.scheme
    result = fingerprinter.fingerprint(read_text(file) if file is not None else text or "")
    if as_json:
        print_json(
            {
                "fingerprint": result.hex,
                "segments": list(result.segments),
                "features": result.features,
                "digest": result.digest,
                "scheme": scheme.version,
            }
        )
        return
    too_short = f"none: fewer than {MIN_FEATURES} features (text too short), only exact duplicates can be found"
    echo(f"fingerprint  {result.hex or too_short}")
    echo(f"segments     {' '.join(result.segments)}".rstrip())
    echo(f"features     {result.features}")
    echo(f"digest       {result.digest}")
