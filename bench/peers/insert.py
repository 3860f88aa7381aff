"""Stores fragments as the program llm does: a row with a hash, each in its transaction."""

import hashlib
import itertools
import os
import sqlite3
import sys

from timed import serve

db = sqlite3.connect(os.path.join(sys.argv[1], "logs.db"))
db.execute("CREATE TABLE fragments (id INTEGER PRIMARY KEY, hash TEXT, content TEXT, datetime_utc TEXT, source TEXT)")
db.execute("CREATE UNIQUE INDEX fragments_hash ON fragments (hash)")
numbers = itertools.count()


def work():
    text = "%04096d" % next(numbers)
    row = (hashlib.sha256(text.encode()).hexdigest(), text, "2026-01-01 00:00:00.000000+00:00", None)
    with db:
        db.execute("INSERT INTO fragments (hash, content, datetime_utc, source) VALUES (?, ?, ?, ?)", row)


serve(work)
