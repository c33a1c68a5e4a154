PRAGMA application_id = 1399418217;
BEGIN TRANSACTION;
CREATE TABLE about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
INSERT INTO "about" VALUES('done','{"counts": {"total": 0, "new": 0, "updated": 0, "unchanged": 0, "exact_duplicate": 0, "near_duplicate": 0, "rejected": 0, "failed": 0, "without_fingerprint": 0}, "note": null, "last_stored": ["3", "4"]}');
INSERT INTO "about" VALUES('format','1');
INSERT INTO "about" VALUES('run','{"store": "memory", "scheme": "1:64:sqrt_tf:murmur3:md5:jieba:1:words:simplified:none", "id_field": "id", "text_field": ["text"], "max_distance": 3, "on_duplicate": "index", "filter": null, "max_text": 10000000, "rule": "fingerprint"}');
CREATE TABLE batches (
        number INTEGER PRIMARY KEY,
        documents INTEGER NOT NULL,
        mark TEXT NOT NULL,
        claims TEXT NOT NULL,
        decisions TEXT
    );
INSERT INTO "batches" VALUES(1,3,'ce896d04f0720b2b','[["0", "document 1"], ["1", "document 2"], ["2", "document 3"]]',NULL);
INSERT INTO "batches" VALUES(2,3,'11267529b9377fd1','[["3", "document 4"], ["4", "document 5"]]',NULL);
INSERT INTO "batches" VALUES(3,3,'fe205cdd9ec45054','[["6", "document 7"], ["7", "document 8"], ["8", "document 9"]]','{"6": {"outcome": {"id": "6", "outcome": "new", "duplicate_of": null, "distance": null, "stored": true, "fingerprinted": false, "place": "document 7"}, "group": "6", "duplicate_of": null, "written": 1795266290176447}, "7": {"outcome": {"id": "7", "outcome": "new", "duplicate_of": null, "distance": null, "stored": true, "fingerprinted": false, "place": "document 8"}, "group": "7", "duplicate_of": null, "written": 1795266290176462}, "8": {"outcome": {"id": "8", "outcome": "near_duplicate", "duplicate_of": "0", "distance": 2, "stored": true, "fingerprinted": true, "place": "document 9"}, "group": "0", "duplicate_of": "0", "written": 1795266290176475}}');
COMMIT;
