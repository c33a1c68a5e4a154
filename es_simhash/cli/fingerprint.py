"""``es-simhash fingerprint``: the fingerprint of a text, with no store."""

from __future__ import annotations

import click

from es_simhash.cli.options import json_option, print_json, read_text, weights_option
from es_simhash.core.fingerprint import fingerprint as take_fingerprint
from es_simhash.core.scheme import Scheme


@click.command()
@click.argument("text", required=False)
@click.option("--file", metavar="FILE", help="A file with the text; - for standard input.")
@weights_option
@json_option
def fingerprint(text: str | None, file: str | None, weights: str, as_json: bool) -> None:
    """Print the fingerprint of a text: hex, the four segments, the number of features, the digest.

    \b
    es-simhash fingerprint "市气象台今晨发布暴雨橙色预警，部分路段积水"
    es-simhash fingerprint --file article.txt --json
    """
    if (text is None) == (file is None):
        raise click.UsageError("give a TEXT or --file FILE")
    scheme = Scheme(weights=weights)
    result = take_fingerprint(read_text(file) if file is not None else text or "", scheme)
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
    too_little = f"none: fewer than {scheme.min_features} features, only exact copies can be found"
    click.echo(f"fingerprint  {result.hex or too_little}")
    click.echo(f"segments     {' '.join(result.segments)}".rstrip())
    click.echo(f"features     {result.features}")
    click.echo(f"digest       {result.digest}")
