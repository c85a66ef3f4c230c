"""Writes a log in the form of the original chronomemory to stdout: the vectors of chronomemory.test.ts.

Made with Python's own json module, as the original is, so that the hashes are not our own reading of the format:
numbers (1.0, 1e16, 1e-07, -0.0), keys beyond the basic plane, control characters, and both spellings of a line
(non-ASCII kept or escaped; the hash is the same).
"""

import hashlib
import json
import sys

FIELDS = ("seq", "ts", "op", "record_id", "record", "prev_hash", "recursion_depth")

RECORDS = [
    ("upsert", "FACT-001", {"text": "the sky is blue", "confidence": 0.9, "tags": ["a", "b"]}),
    ("upsert", "n", {"one": 1, "float": 1.0, "big": 1e16, "small": 1e-07, "third": 1 / 3, "neg": -0.5, "e": 1e22}),
    ("upsert", "keys", {"\U0001f600": 1, "\uffff": 2, "\ue000": 3, "z": 4, "A": 5, "a": {"b": [], "a": {}}}),
    ("upsert", "texts", {"t": "\u007f\u2028\u2029\t\n\r\b\f\u0001\"\\/", "漢字": "שלום 👩‍👩‍👧", "": ""}),
    ("upsert", "漢 👋 \"quoted\"\n", {"null": None, "yes": True, "no": False}),
    ("delete", "n", {}),
    ("upsert", "FACT-001", {"text": "the sky is grey"}),
    ("migrate", "keys", {"version": 2}),
    ("upsert", "n", {"again": 2**53 - 1}),
]


def events():
    prev = ""
    for i, (op, record_id, record) in enumerate(RECORDS):
        event = {
            "seq": i + 1,
            "ts": "2026-05-18T17:00:%02dZ" % i,
            "op": op,
            "record_id": record_id,
            "record": record,
            "prev_hash": prev,
            "recursion_depth": i % 3,
        }
        text = json.dumps(event, sort_keys=True, ensure_ascii=False)
        prev = event["hash"] = hashlib.sha256(text.encode("utf-8")).hexdigest()
        yield event


for event in events():
    line = json.dumps(event, ensure_ascii=event["seq"] % 2 == 0)
    sys.stdout.buffer.write(line.encode("utf-8") + b"\n")
