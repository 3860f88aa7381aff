"""The llm tool's step for a fragment that its store knows: hash it, look for it in SQLite."""

import hashlib
import sqlite3

from timed import serve

db = sqlite3.connect(":memory:")
db.execute("create table fragments (id integer primary key, hash text, content text, datetime_utc text, source text)")
db.execute("create unique index idx_fragments_hash on fragments (hash)")
CONTENTS = [str(i).rjust(8) + "x" * 1016 for i in range(1000)]


def ensure(content):
    digest = hashlib.sha256(content.encode("utf-8")).hexdigest()
    row = db.execute("select id from fragments where hash = ?", [digest]).fetchone()
    if row:
        return row[0]
    with db:
        return db.execute("insert into fragments (hash, content, datetime_utc, source) values (?, ?, datetime('now'), '')", [digest, content]).lastrowid


def all_known():
    for content in CONTENTS:
        ensure(content)


all_known()
serve(all_known)
