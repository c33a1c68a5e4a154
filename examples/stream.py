"""Store the documents of a Kafka topic, each with its original. Offsets are committed after the outcomes.

    pip install kafka-python
    python examples/stream.py localhost:9092 news --store sqlite:///news.db

A message is a JSON object with an id and a text. If the program ends between a write and the commit, it gets some
messages again: their outcome is "unchanged" then, so nothing is stored twice. A message that is no document is printed
on standard error, and passed. An error of the store ends the program: the next start continues at the last commit.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from kafka import KafkaConsumer

from es_simhash import Documents, Line


def line_of(message: Any) -> Line:
    """Return a message as a document, or as the problem with it. Its place is in the reason of the outcome."""
    place = f"{message.topic}:{message.partition}:{message.offset}"
    try:
        return Line(place, json.loads(message.value))
    except (TypeError, ValueError) as error:
        return Line(place, problem=f"not JSON: {error}")


def run(consumer: KafkaConsumer, documents: Documents, idle: float) -> None:
    """Read messages until none comes for ``idle`` seconds."""
    while partitions := consumer.poll(timeout_ms=int(1000 * idle), max_records=500):
        lines = [line_of(message) for messages in partitions.values() for message in messages]
        for outcome in documents.add_many(lines):
            if outcome.outcome == "failed":  # not committed: the next start reads these messages again
                raise SystemExit(outcome.reason)
            if outcome.reason is not None:
                print(outcome.reason, file=sys.stderr)
            elif outcome.outcome != "unchanged":
                print(outcome.id, outcome.outcome, outcome.duplicate_of or "", flush=True)
        consumer.commit()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers")
    parser.add_argument("topic")
    parser.add_argument("--store", default="sqlite:///news.db")
    parser.add_argument("--idle", type=float, default=1e6, help="end after so many seconds without a message")
    arguments = parser.parse_args()
    settings = {"enable_auto_commit": False, "auto_offset_reset": "earliest", "session_timeout_ms": 10_000}
    consumer = KafkaConsumer(arguments.topic, bootstrap_servers=arguments.servers, group_id="es-simhash", **settings)
    try:
        with Documents(arguments.store) as documents:
            documents.setup()
            run(consumer, documents, arguments.idle)
    finally:
        consumer.close(autocommit=False)
