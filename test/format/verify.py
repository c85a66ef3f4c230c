#!/usr/bin/env python3
"""A verifier for Chronicle's formats, written from docs/format.md alone. Standard library only.

    verify.py log FILE...       the chain and the log root; several files: the archive's in order, then events.wal
    verify.py base FILE         the form of a base, its folder hashes and its root
    verify.py note FILE VKEY    a signed head
    verify.py vectors FOLDER    every example in test/format/vectors

Prints what it computed as one JSON object; the first problem goes to stderr and the exit code is 1 (2: cannot read).
"""

import base64
import hashlib
import json
import math
import os
import re
import struct
import sys

MAX_LINE = 64 * 1024 * 1024
MAX_DEPTH = 256
SAFE = 2**53 - 1


class Problem(Exception):
    pass


def sha(*parts):
    h = hashlib.sha256()
    for part in parts:
        h.update(part)
    return h.digest()


def demand(condition, reason):
    if not condition:
        raise Problem(reason)


# --- canonical JSON (RFC 8785) ---


class Number:
    """A number with the text that it was written as."""

    def __init__(self, text):
        self.text = text
        self.value = float(text)

    def is_safe_integer(self):
        return re.fullmatch(r"-?\d+", self.text) is not None and abs(int(self.text)) <= SAFE


def es_number(value):
    """Number::toString of ECMAScript, from the shortest digits that give the double back."""
    demand(math.isfinite(value), "a number that no double holds")
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, exponent = ("%s" % repr(abs(value)), 0)
    if "e" in mantissa:
        mantissa, power = mantissa.split("e")
        exponent = int(power)
    whole, _, fraction = mantissa.partition(".")
    digits = whole + ("" if fraction == "0" else fraction)
    point = len(whole) + exponent
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    digits = stripped.rstrip("0") or "0"
    k = len(digits)
    if k <= point <= 21:
        return sign + digits + "0" * (point - k)
    if 0 < point <= 21:
        return sign + digits[:point] + "." + digits[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + digits
    e = point - 1
    return sign + digits[0] + ("." + digits[1:] if k > 1 else "") + "e" + ("+" if e > 0 else "-") + str(abs(e))


def pairs_without_duplicates(pairs):
    result = dict(pairs)
    demand(len(result) == len(pairs), "duplicate key")
    return result


def no_constant(text):
    raise Problem("%s is not JSON" % text)


def write(value, depth=0):
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Number):
        return es_number(value.value)
    if isinstance(value, str):
        demand(not any(0xD800 <= ord(c) <= 0xDFFF for c in value), "lone surrogate")
        return json.dumps(value, ensure_ascii=False)
    demand(depth < MAX_DEPTH, "nested too deeply")
    if isinstance(value, list):
        return "[" + ",".join(write(item, depth + 1) for item in value) + "]"
    keys = sorted(value, key=lambda key: key.encode("utf-16-be", "surrogatepass"))
    return "{" + ",".join(write(key) + ":" + write(value[key], depth + 1) for key in keys) + "}"


def parse_canonical(text):
    try:
        value = json.loads(
            text, object_pairs_hook=pairs_without_duplicates, parse_int=Number, parse_float=Number, parse_constant=no_constant
        )
    except (ValueError, RecursionError) as error:
        raise Problem("not JSON: %s" % error) from error
    demand(write(value) == text, "not canonical")
    return value


def only_integers(value):
    if isinstance(value, Number):
        return value.is_safe_integer()
    if isinstance(value, list):
        return all(only_integers(item) for item in value)
    if isinstance(value, dict):
        return all(only_integers(item) for item in value.values())
    return True


# --- the log ---

FIELDS = ["hash", "op", "prev_hash", "record", "record_id", "recursion_depth", "seq", "ts"]
HEX = re.compile(r"[0-9a-f]{64}")
TS = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{3}Z", re.ASCII)


def is_hash(value):
    return isinstance(value, str) and HEX.fullmatch(value) is not None


def count(value, least, name):
    demand(isinstance(value, Number) and value.is_safe_integer() and int(value.text) >= least, name)
    return int(value.text)


def read_line(line):
    demand(len(line) <= MAX_LINE, "the line is too long")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem("not UTF-8") from error
    event = parse_canonical(text)
    demand(isinstance(event, dict) and sorted(event) == FIELDS, "not the eight fields")
    demand(event["op"] in ("upsert", "delete", "compact", "migrate"), "bad op")
    demand(isinstance(event["record"], dict), "record is not an object")
    demand(event["op"] != "delete" or event["record"] == {}, "a delete with a record")
    demand(isinstance(event["record_id"], str) and event["record_id"] != "", "bad record_id")
    event["recursion_depth_"] = count(event["recursion_depth"], 0, "bad recursion_depth")
    seq = event["seq_"] = count(event["seq"], 1, "bad seq")
    demand(isinstance(event["ts"], str) and TS.fullmatch(event["ts"]), "bad ts")
    demand(is_hash(event["hash"]), "bad hash field")
    demand(event["prev_hash"] == "" if seq == 1 else is_hash(event["prev_hash"]), "bad prev_hash field")
    if not event["record_id"].startswith("user:"):
        demand(only_integers(event["record"]), "a number that is no integer in Chronicle's own record")
    payload = {key: event[key] for key in ("op", "record", "record_id", "recursion_depth", "seq", "ts")}
    computed = sha(event["prev_hash"].encode(), write(payload).encode()).hex()
    demand(computed == event["hash"], "wrong hash: the content gives " + computed)
    return event


def inner(left, right):
    return sha(b"\x01", left, right)


class Tree:
    """RFC 6962, leaf by leaf."""

    def __init__(self, frontier=(), size=0):
        demand(len(frontier) == bin(size).count("1"), "the frontier does not fit the size")
        self.frontier, self.size = list(frontier), size

    def add(self, leaf):
        places = self.size
        while places % 2 == 1:
            leaf = inner(self.frontier.pop(), leaf)
            places //= 2
        self.frontier.append(leaf)
        self.size += 1

    def root(self):
        if not self.frontier:
            return sha()
        root = self.frontier[-1]
        for left in reversed(self.frontier[:-1]):
            root = inner(left, root)
        return root


def start_of_compacted(event):
    record = event["record"]
    demand(event["op"] == "compact", "the log begins at seq %d without a sentinel" % event["seq_"])
    demand(record.get("head") == event["prev_hash"], "the sentinel's head is not its prev_hash")
    demand(count(record.get("size"), 1, "bad size") == event["seq_"] - 1, "the sentinel's size is not its seq - 1")
    frontier = record.get("frontier")
    demand(isinstance(frontier, list) and all(is_hash(one) for one in frontier), "bad frontier")
    return Tree([bytes.fromhex(one) for one in frontier], event["seq_"] - 1)


def mark_of(event):
    """The `commit` of an event that ends one: (first, root or None); None: it ends none."""
    record = event["record"]
    if event["op"] == "delete" or event["record_id"].startswith("user:") or "commit" not in record:
        return None
    mark = record["commit"]
    demand(isinstance(mark, dict) and set(mark) in ({"first"}, {"first", "root"}), "commit is not {first, root?}")
    demand("root" not in mark or is_hash(mark["root"]), "bad commit.root")
    return count(mark["first"], 1, "bad commit.first"), mark.get("root")


def erased_by(record):
    """What an `erase:` record licenses to be gone, of all that events before its own name."""
    contents = record.get("contents")
    demand(isinstance(contents, list) and all(is_hash(one) for one in contents), "contents are no hashes")
    demand(all(one < other for one, other in zip(contents, contents[1:])), "contents are not ascending")
    demand(record.get("state") in ("erased", "withdrawn"), "bad state")
    demand(isinstance(record.get("until"), str) and TS.fullmatch(record["until"]), "bad until")
    return set(contents) if record["state"] == "erased" else set()


def verify_log(paths):
    tree, head, first = None, "", 1
    for path in paths:
        with open(path, "rb") as file:
            for number, line in enumerate(file, 1):
                try:
                    demand(line.endswith(b"\n"), "torn: no newline at its end")
                    event = read_line(line[:-1])
                    if tree is None:
                        tree = Tree() if event["seq_"] == 1 else start_of_compacted(event)
                        head, first = event["prev_hash"], event["seq_"]
                    demand(event["seq_"] == tree.size + 1, "seq is %d, expected %d" % (event["seq_"], tree.size + 1))
                    demand(event["prev_hash"] == head, "prev_hash is not the hash of the event before")
                    mark = mark_of(event)
                    demand(mark is None or mark[0] == first, "it does not end the commit that began at event %d" % first)
                    first = first if mark is None else event["seq_"] + 1
                except Problem as problem:
                    raise Problem("%s, line %d: %s" % (path, number, problem)) from problem
                head = event["hash"]
                tree.add(sha(b"\x00", bytes.fromhex(head)))
    tree = tree or Tree()
    demand(first == tree.size + 1, "torn: the commit that begins at event %d has no end" % first)
    return {"seq": tree.size, "hash": head, "log_root": tree.root().hex(), "frontier": [one.hex() for one in tree.frontier]}


# --- folders ---

KIND = {"file": b"f", "symlink": b"l", "dir": b"d"}


def leaf(kind, mode, name, digest):
    return sha(b"\x00", kind, struct.pack(">II", mode, len(name)), name, digest)


def folder_hash(children):
    """children: (kind byte, mode, name bytes, 32-byte hash), in order of names."""
    tree = Tree()
    for before, after in zip(children, children[1:]):
        demand(before[2] < after[2], "names out of order")
    for child in children:
        tree.add(leaf(*child))
    return tree.root()


def workspace_root(roots):
    """roots: (id, folder hash); the first root has the empty id."""
    if len(roots) == 1:
        return roots[0][1]
    return folder_hash([(b"d", 0, name.encode(), digest) for name, digest in sorted(roots)])


# --- bases ---


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, length):
        demand(self.at + length <= len(self.data), "the base is cut off")
        self.at += length
        return self.data[self.at - length : self.at]

    def number(self, form):
        value = struct.unpack(">" + form, self.take(struct.calcsize(">" + form)))[0]
        demand(abs(value) <= SAFE, "a number over 2^53-1")
        return value


def check_name(name):
    demand(name not in (b"", b".", b"..") and b"/" not in name and b"\0" not in name, "not a name: %r" % name)


def read_section(data, rows_left, version):
    """Entry rows up to the next section: (rows, folder hash computed)."""
    # Open rows by depth: [name, kind, mode, stored hash, live children, last name, has it any row beneath]
    top = [b"", b"d", 0, None, [], None]
    open_rows, rows = [top], []

    def close(depth):
        while len(open_rows) > depth:
            name, kind, mode, stored, children, _ = open_rows.pop()
            if kind == b"x":
                continue
            digest = stored
            if kind == b"d":
                digest = folder_hash(children)
                demand(digest == stored, "the folder hash of %r is not that of its rows" % name)
            open_rows[-1][4].append((kind, mode, name, digest))

    while rows_left > len(rows) and data.data[data.at : data.at + 1] != b"R":
        kind = data.take(1)
        demand(kind in (b"f", b"p", b"l", b"d", b"x"), "unknown kind %r" % kind)
        # A protected file: in the tree a file like any other.
        kind = b"f" if kind == b"p" else kind
        depth, length = data.number("H"), data.number("H")
        name = data.take(length)
        check_name(name)
        demand(1 <= depth <= len(open_rows), "a row without its folder")
        close(depth)
        folder = open_rows[depth - 1]
        demand(folder[5] is None or folder[5] < name, "names out of order")
        folder[5] = name
        demand(kind == b"x" or folder[1] == b"d", "a live row in no live folder")
        iteration, seq = data.number("Q"), data.number("Q")
        demand(iteration >= 1 and seq >= 1, "an iteration or a seq is 0")
        mode, digest = 0, None
        if kind != b"x":
            mode, digest = data.number("H"), data.take(32)
            demand(mode <= 0o7777 and (kind != b"l" or mode == 0o777), "bad mode")
        if kind in (b"f", b"l"):
            data.number("Q"), data.number("q")
            demand(version == 1 or data.number("I") <= 999999, "bad time")
        rows.append((depth, kind, name, iteration, seq))
        open_rows.append([name, kind, mode, digest, [], None])
    close(1)
    return rows, folder_hash(top[4])


def verify_base(blob):
    data = Bytes(blob)
    demand(data.take(8) == b"CHRBASE\n", "not a base")
    version = data.number("I")
    demand(version in (1, 2), "unknown version")
    root, entries, records = data.take(32), data.number("Q"), data.number("Q")
    roots = []
    for _ in range(data.number("H")):
        name = data.take(data.number("B")).decode("ascii")
        roots.append((name, data.take(32)))
    names = [name for name, _ in roots]
    demand(names and names[-1] == "" and names[:-1] == sorted(set(names[:-1])), "roots out of order")
    demand(all(re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", name) for name in names[:-1]), "not a root id")
    found = 0
    for name, stored in roots:
        demand(data.take(1) == b"R", "no section for the root %r" % name)
        rows, digest = read_section(data, entries - found, version)
        demand(digest == stored, "the folder hash of the root %r is not that of its rows" % name)
        found += len(rows)
    demand(found == entries, "%d entries, not %d" % (found, entries))
    demand(workspace_root(roots) == root, "the root is not that of its folders")
    last, ids = 0, set()
    for _ in range(records):
        demand(data.take(1) == b"r", "not a record row")
        record = parse_canonical(data.take(data.number("I")).decode("utf-8"))
        if "recursion_depth" in record:
            count(record["recursion_depth"], 1, "bad depth")
        known = [name for name in sorted(record) if name != "recursion_depth"]
        demand(known == ["op", "record", "record_id", "seq", "ts"], "not the fields of a record")
        seq = count(record["seq"], 1, "bad seq")
        demand(record["op"] in ("upsert", "migrate"), "a deleted record, or a compaction")
        demand(not re.match("(file(64)?[@:]|compact:)", record["record_id"]), "it has no place in a base")
        demand(record["record_id"].startswith("user:") or only_integers(record["record"]), "a number that is no integer")
        demand(seq > last and record["record_id"] not in ids, "records out of order")
        last = seq
        ids.add(record["record_id"])
    demand(data.at == len(blob), "bytes follow the last row")
    return {"sha256": sha(blob).hex(), "root": root.hex(), "entries": entries, "records": records}


# --- signed heads: Ed25519 as in RFC 8032, slow and simple ---

P = 2**255 - 19
Q = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
GY = 4 * pow(5, P - 2, P) % P


def recover_x(y, sign):
    demand(y < P, "bad point")
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P != 0:
        x = x * pow(2, (P - 1) // 4, P) % P
    demand((x * x - square) % P == 0, "bad point")
    return P - x if x % 2 != sign else x


def add(a, b):
    s, t = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    u, v = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = t - s, v - u, v + u, t + s
    return e * f % P, g * h % P, f * g % P, e * h % P


def multiply(scalar, point):
    result = (0, 1, 1, 0)
    while scalar > 0:
        if scalar & 1:
            result = add(result, point)
        point = add(point, point)
        scalar >>= 1
    return result


def decode_point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & ((1 << 255) - 1)
    x = recover_x(y, sign)
    return x, y, 1, x * y % P


def ed25519_verify(public, message, signature):
    a, r = decode_point(public), decode_point(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    demand(s < Q, "bad signature")
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % Q
    gx = recover_x(GY, 0)
    left, right = multiply(s, (gx, GY, 1, gx * GY % P)), add(r, multiply(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % P == 0 and (left[1] * right[2] - right[1] * left[2]) % P == 0


def b64(text, length):
    data = base64.b64decode(text, validate=True)
    demand(base64.b64encode(data).decode() == text and len(data) == length, "bad Base64")
    return data


def verify_note(note, vkey):
    name, key_id, typed = vkey.split("+", 2)
    typed = b64(typed, 33)
    demand(typed[0] == 1 and sha(name.encode(), b"\n", typed)[:4].hex() == key_id, "bad verifier key")
    demand(not any(c < " " and c != "\n" for c in note), "a control character")
    text, _, tail = note.rpartition("\n\n")
    text += "\n"
    lines = text[:-1].split("\n")
    demand(len(lines) >= 5 and "" not in lines and lines[0].startswith("chronicle/"), "not a signed head")
    demand(re.fullmatch(r"[1-9]\d{0,15}", lines[1], re.ASCII), "bad size")
    demand(lines[3].startswith("head ") and lines[4].startswith("root "), "no head or no root")
    demand(is_hash(lines[3][5:]) and is_hash(lines[4][5:]), "bad head or root")
    demand(tail.endswith("\n"), "no newline at the end")
    own = 0
    for line in tail[:-1].split("\n"):
        mark, signer, signature = line.split(" ")
        demand(mark == "\u2014", "not a signature line")
        data = base64.b64decode(signature, validate=True)
        if signer != name or data[:4].hex() != key_id:
            continue
        demand(len(data) == 68 and ed25519_verify(typed[1:], text.encode(), data[4:]), "wrong signature")
        own += 1
    demand(own > 0, "not signed by this key")
    return {
        "workspace": lines[0][len("chronicle/") :],
        "seq": int(lines[1]),
        "log_root": b64(lines[2], 32).hex(),
        "hash": lines[3][5:],
        "root": lines[4][5:],
    }


# --- records: what each of them must hold ---


def text_(value):
    return isinstance(value, str)


def whole(value):
    return isinstance(value, Number) and value.is_safe_integer()


def flag(value):
    return isinstance(value, bool)


def at_least(least):
    return lambda value: whole(value) and int(value.text) >= least


def one_of(*words):
    return lambda value: isinstance(value, str) and value in words


def or_null(check):
    return lambda value: value is None or check(value)


def list_of(check, least=0):
    return lambda value: isinstance(value, list) and len(value) >= least and all(check(item) for item in value)


def fields(**checks):
    """An object with these fields; one whose name ends in `_` may be missing."""

    def check(value):
        if not isinstance(value, dict):
            return False
        for name, field in checks.items():
            key, optional = (name[:-1], True) if name.endswith("_") else (name, False)
            if key not in value:
                if optional:
                    continue
                return False
            if not field(value[key]):
                return False
        return True

    return check


def time(value):
    return isinstance(value, str) and TS.fullmatch(value) is not None


def json_text(value):
    try:
        json.loads(value)
        return True
    except (TypeError, ValueError):
        return False


def is_path(text):
    parts = text.encode("utf-8").split(b"/")
    return len(text.encode("utf-8")) <= 65535 and not any(part in (b"", b".", b"..") or b"\0" in part for part in parts)


def odd_bytes(encoded):
    """The bytes in canonical Base64, which are not UTF-8; None: it is something else."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except ValueError:
        return None
    if base64.b64encode(data).decode() != encoded:
        return None
    try:
        data.decode("utf-8")
        return None
    except UnicodeDecodeError:
        return data


def path_in(value):
    if not isinstance(value, dict) or ("path" in value) == ("path_b64" in value):
        return False
    if "path" in value:
        return text_(value["path"]) and is_path(value["path"])
    return text_(value["path_b64"]) and odd_bytes(value["path_b64"]) is not None


def state(value):
    """A state as in plans, or what a file's record says of one that is there."""
    if not isinstance(value, dict) or value.get("kind") not in ("file", "symlink", "dir"):
        return False
    if not fields(mode=at_least(0), size=at_least(0), mtime_ms=whole)(value) or int(value["mode"].text) > 0o7777:
        return False
    kind = value["kind"]
    rest = "mtime_ns" not in value or (kind != "dir" and at_least(1)(value["mtime_ns"]) and int(value["mtime_ns"].text) <= 999999)
    if not rest:
        return False
    if kind == "symlink" and int(value["mode"].text) != 0o777:
        return False
    return ("hash" not in value) if kind == "dir" else is_hash(value.get("hash"))


CAUSES = "baseline capture run watch action transaction write restore undo redo resolve replica merge erase".split()


def file_record(value):
    if not fields(kind=text_, iteration=at_least(1), cause=one_of(*CAUSES), actor=text_)(value):
        return False
    there = {"class", "hash", "mode", "mtime_ms", "mtime_ns", "size"} & set(value)
    if value["kind"] == "absent":
        return not there
    is_secret = "class" not in value or (value["class"] == "protected" and value["kind"] == "file")
    return state(value) and is_secret and value["cause"] != "erase"


def omission(value):
    return path_in(value) and text_(value.get("reason"))


def counted(value):
    return fields(count=at_least(0), omitted=list_of(omission))(value) and int(value["count"].text) >= len(value["omitted"])


def omitted_change(value):
    checks = fields(type=one_of("created", "modified", "deleted"), reason=text_, kept=flag, lost=flag)
    return path_in(value) and checks(value)


def ranges(value):
    last = 0
    if not isinstance(value, list):
        return False
    for item in value:
        if not list_of(at_least(1))(item) or len(item) != 2:
            return False
        first, end = int(item[0].text), int(item[1].text)
        if first <= last or end < first:
            return False
        last = end
    return True


def conflict(value):
    reasons = "content binary mode kind deleted edited created folder".split()
    is_sync = isinstance(value, dict) and value.get("cause") == "sync"
    checks = fields(
        state=one_of("open", "settled"),
        settled_=one_of("current", "undo", "merged", "withdrawn"),
        reason=one_of(*(reasons + ["blocked", "collision"] if is_sync else reasons)),
        met=text_,
        base=or_null(state),
        current=or_null(state),
        wanted=or_null(state),
    )
    sync = fields(origin=text_, base_seq=whole, upstream_seq=whole)
    return path_in(value) and checks(value) and (sync(value) if is_sync else text_(value.get("undo")))


def erase(value):
    erased_by(value)
    asked = value.get("asked")
    given = [key for key in ("path", "content", "match") if key in asked] if isinstance(asked, dict) else []
    checks = fields(reason=or_null(text_), actor=text_, at=text_, untracked_=ranges)
    return len(given) == 1 and checks(value)


def seqs_below(floor):
    def check(value):
        if not list_of(at_least(0))(value):
            return False
        numbers = [int(one.text) for one in value]
        return all(one < floor for one in numbers) and all(a < b for a, b in zip(numbers, numbers[1:]))

    return check


def prune(value):
    if not fields(floor_seq=at_least(0))(value):
        return False
    below = seqs_below(int(value["floor_seq"].text))
    return fields(kept=below, kept_actions=below, cause=one_of("limits", "asked", "brought-back"), now_=flag, actor=text_)(value)


def workspace_record(value):
    root = fields(id=or_null(text_), folder=text_)
    if not fields(format=whole, created=text_, roots=list_of(root, 1), device=text_, inode=text_)(value):
        return False
    ids = [one["id"] for one in value["roots"]]
    further = ids[1:]
    is_id = lambda one: one is not None and re.fullmatch("[a-z0-9][a-z0-9-]{0,62}", one, re.ASCII) is not None
    return value["format"].text == "2" and ids[0] is None and all(map(is_id, further)) and len(set(further)) == len(further)


def recovery(value):
    checks = fields(cut_from_seq=whole, cut_from_byte=whole, reason=text_, kept_as=text_)
    kept = fields(bytes=whole, sha256=is_hash)
    return checks(value) and ("bytes" not in value and "sha256" not in value or kept(value))


def imported(value):
    checks = fields(
        source=text_, file_sha256=is_hash, head_seq=whole, head_hash=text_, events=whole, rounded=whole, seqs=list_of(whole), times=list_of(text_)
    )
    taken = fields(file_sha256=is_hash, seq=whole, records=whole)
    torn = fields(line=whole, byte=whole, bytes=whole, lines=whole, reason=text_)
    left = value.get("unverified", {})
    known = isinstance(left, dict) and ("checkpoint" not in left or taken(left["checkpoint"])) and ("tear" not in left or torn(left["tear"]))
    return known and checks(value) and len(value["seqs"]) == len(value["times"]) == int(value["events"].text)


def triple(value):
    return list_of(whole)(value) and len(value) == 3


def undone_part(value):
    return path_in(value) and fields(took=ranges)(value)


HEAD = fields(seq=whole, hash=is_hash)

RECORDS = {
    "workspace": workspace_record,
    "snapshot": fields(
        number=whole, cause=text_, root=is_hash, parent=or_null(whole), pinned=flag, actor=text_, coverage=counted, filter=is_hash, base_=is_hash
    ),
    "coverage": lambda value: counted(value) and fields(filter=is_hash, from_seq=whole)(value),
    "session": fields(
        kind=one_of("run", "watch", "agent"),
        state=one_of("running", "ended", "abandoned"),
        command=list_of(text_),
        from_seq=whole,
        merkle_roots=list_of(is_hash),
        network_events=list_of(json_text),
        actor=text_,
        omitted_changes_=list_of(omitted_change),
    ),
    "action": fields(
        state=one_of("open", "done", "failed", "denied", "abandoned"),
        type=text_,
        scope=one_of("paths", "workspace"),
        paths=list_of(path_in),
        previous=lambda value: value == "" or is_hash(value),
        begun_=fields(seq=whole, hash=is_hash, ts=text_, depth=whole),
        from_seq=whole,
        omitted=list_of(omission),
        omitted_changes_=list_of(omitted_change),
    ),
    "intent": fields(
        kind=one_of("write", "restore", "undo", "redo", "resolve", "replica"),
        state=one_of("open", "done", "abandoned"),
        actor=text_,
        plan_=is_hash,
        from_seq=whole,
        took_=ranges,
        met_=ranges,
        parts_=list_of(undone_part),
    ),
    "conflict": conflict,
    "transaction": fields(
        status=one_of("active", "committed", "rolled_back"), scope_=one_of("actions"), on_owner_death=one_of("rollback", "keep"), from_seq=whole
    ),
    "erase": erase,
    "prune": prune,
    "pin": fields(pinned=flag, actor=text_),
    "git": fields(git=fields(**{"class": one_of("private"), "plan": is_hash, "until": text_})),
    "turn": fields(
        session=text_,
        turn=text_,
        actor=text_,
        started=text_,
        prompt_=fields(**{"class": one_of("private")}, content=is_hash, until=text_),
    ),
    "refused": fields(what=text_, actor=text_, at=text_, detail=text_),
    "replica": fields(
        origin=text_,
        sandbox_id=text_,
        url=text_,
        mode=one_of("two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"),
        filter_to=list_of(text_),
        filter_from=list_of(text_),
        applied=whole,
        settled=whole,
    ),
    "proposal": fields(iteration=whole),
    "writeback": fields(settled=whole, accepted=list_of(triple)),
    "version": lambda value: path_in(value) and fields(replica=text_, local_seq=whole, state=or_null(state), seen=whole, against=whole, actor=text_)(value),
    "recovery": recovery,
    "import": imported,
    "commit": lambda value: set(value) == {"commit"},
    "signer": fields(
        key=text_,
        since=whole,
        why=one_of("begun", "changed", "accepted"),
        actor=text_,
        accepted_=fields(log=HEAD, head=or_null(HEAD), kept_as=or_null(text_), reason=text_),
    ),
}


def verifier_key(text):
    parts = text.split("+", 2)
    demand(len(parts) == 3, "not a verifier key")
    typed = b64(parts[2], 33)
    demand(typed[0] == 1 and sha(parts[0].encode(), b"\n", typed)[:4].hex() == parts[1], "not a verifier key")


def file_path(record_id):
    """(root or None, path bytes) of a file's record."""
    match = re.fullmatch(r"(file|file64)(?:@([a-z0-9][a-z0-9-]{0,62}))?:(.+)", record_id, re.DOTALL)
    demand(match is not None, "it names no path")
    form, root, shown = match.groups()
    if form == "file64":
        data = odd_bytes(shown)
        demand(data is not None, "not the Base64 of a path that is not UTF-8")
        return root, data
    demand(is_path(shown), "not a path")
    return root, shown.encode("utf-8")


def outside_path(record_id):
    if record_id.startswith("outside64:"):
        data = odd_bytes(record_id[len("outside64:") :])
        demand(data is not None and data[:1] == b"/", "not how that path is named")
        return
    demand(record_id.startswith("outside:/") and is_path(record_id[len("outside:/") :]), "no path outside")


def check_by_itself(event, workspace):
    record_id, record, op = event["record_id"], event["record"], event["op"]
    kind, colon, rest = record_id.partition(":")
    demand(event["seq_"] != 1 or record_id == "workspace:" + workspace, "the log does not begin with its workspace")
    if kind in ("workspace", "signer", "coverage", "prune", "commit", "compact"):
        demand(rest == workspace, "it is about another workspace")
    demand((op == "compact") == (kind == "compact"), "only a compaction has such a record")
    if op == "delete":
        demand(kind in ("user", "version"), "it cannot be deleted")
        return
    if op == "compact":
        return
    if kind == "user":
        demand(1 <= len(rest.encode("utf-8")) <= 1024, "the user's id is empty or too long")
        return
    if kind.startswith("file"):
        file_path(record_id)
        demand(file_record(record), "not what a path's record is")
        return
    if kind.startswith("outside"):
        outside_path(record_id)
        checks = fields(state=or_null(state), iteration=at_least(1), phase=one_of("before", "after"), action=text_, actor=text_)
        demand(checks(record), "not what a record of a path outside is")
        there = record["state"]
        demand(record.get("hash") == (there or {}).get("hash"), "hash is not that of the state")
        return
    demand(kind in RECORDS and (rest != "" or record_id == "replica:"), "no kind of record")
    demand(RECORDS[kind](record), "not what a record of its kind is")
    if kind == "replica":
        demand(record["origin"] == rest, "it is about another origin")
    if kind == "proposal":
        file_path(rest)
    if kind == "version":
        demand(rest == "%s:%s" % (record["replica"], record["local_seq"].text), "it is about another entry")
    if kind == "turn":
        demand(rest == "%s:%s" % (record["session"], record["turn"]), "it is about another turn")
    if kind == "signer":
        verifier_key(record["key"])
        demand(int(record["since"].text) == event["seq_"], "it signs since another event")
        demand((record["why"] == "begun") == (event["seq_"] == 2), "only the first signer has begun")
        demand((record["why"] == "accepted") == ("accepted" in record), "what was accepted is missing")
        if "accepted" in record:
            log = record["accepted"]["log"]
            before = (int(log["seq"].text), log["hash"])
            demand(before == (event["seq_"] - 1, event["prev_hash"]), "what was accepted is not the event before")


# --- a whole history ---


def kept_by_either(one, other):
    floor = min(one[0], other[0])
    return (floor, sorted({n for n in one[1] + other[1] if n < floor}))


def keeps(pruning, n):
    return n >= pruning[0] or n in pruning[1]


class History:
    """Follows the lines of a log, with the contents beside them."""

    def __init__(self, workspace, contents):
        self.workspace, self.contents = workspace, contents
        self.entries, self.iterations, self.outside = {}, {}, {}
        self.roots, self.record = [], None
        self.actions, self.previous = {}, ""
        self.prunings, self.settled = [(0, [])], None
        self.plans, self.filters, self.accepted = {}, set(), False
        self.commit, self.last_root, self.start = [], 0, 0
        self.beginning = True

    def follow(self, event):
        self.commit.append(event)
        check_by_itself(event, self.workspace)
        op, (kind, _, rest), record = event["op"], event["record_id"].partition(":"), event["record"]
        if op == "compact":
            self.sentinel(event)
        elif op != "delete":
            if kind.startswith("file"):
                self.file(event)
            elif kind.startswith("outside"):
                number = int(record["iteration"].text)
                demand(number == self.outside.get(event["record_id"], 0) + 1, "an iteration out of order")
                self.outside[event["record_id"]] = number
            elif kind == "workspace":
                self.take_workspace(record)
            elif kind == "action":
                self.action(event)
            elif kind == "snapshot":
                self.snapshot(event)
            elif kind == "prune":
                self.prune(event)
            elif kind == "replica":
                self.settled = None if record.get("stopped") is True else int(record["settled"].text)
            elif kind == "proposal":
                demand(int(record["iteration"].text) == self.iterations.get(file_path(rest), 0), "not the path's iteration")
            elif kind == "signer":
                self.accepted = self.accepted or record["why"] == "accepted"
            if kind in ("snapshot", "coverage"):
                self.filters.add(record["filter"])
            if kind == "intent":
                self.plans.pop(rest, None)
                if record["state"] == "open" and "plan" in record:
                    self.plans[rest] = record["plan"]
        mark = mark_of(event)
        if mark is not None:
            self.end_commit(event, mark)

    def take_workspace(self, record):
        self.record = {key: value for key, value in record.items() if key != "commit"}
        self.roots = [one["id"] for one in record["roots"]]

    def file(self, event):
        root, path = file_path(event["record_id"])
        demand(root in self.roots, "the workspace has no such root")
        number = int(event["record"]["iteration"].text)
        demand(number == self.iterations.get((root, path), 0) + 1, "an iteration out of order")
        self.iterations[(root, path)] = number
        self.set(root, path, event["record"])

    def set(self, root, path, record):
        if record["kind"] == "absent":
            self.entries.pop((root, path), None)
        else:
            digest = bytes.fromhex(record["hash"]) if "hash" in record else None
            self.entries[(root, path)] = (KIND[record["kind"]], int(record["mode"].text), digest)

    def action(self, event):
        record = event["record"]
        known = self.actions.get(event["record_id"])
        if "begun" in record:
            begun = record["begun"]
            named = (int(begun["seq"].text), begun["hash"], begun["ts"], int(begun["depth"].text))
            demand(known == named, "begun is not its first event")
            return
        demand(known is None and record["state"] == "open", "it does not begin, and does not name its first event")
        demand(int(record["from_seq"].text) == event["seq_"] - 1, "from_seq is not the event before")
        demand(self.previous is None or record["previous"] == self.previous, "previous is not the action begun before")
        self.actions[event["record_id"]] = (event["seq_"], event["hash"], event["ts"], event["recursion_depth_"])
        self.previous = event["hash"]

    def snapshot(self, event):
        record = event["record"]
        if "base" not in record:
            demand(record["root"] == self.root().hex(), "the snapshot's root is not that of the files")
            return
        demand(self.beginning, "only the first snapshot names a base")
        for root, path, row in self.base_rows(record["base"], record["root"])[0]:
            demand((row["iteration"], row["seq"]) == (1, event["seq_"]), "a row that is no first iteration")
            self.take_row(root, path, row)

    def base_rows(self, digest, root):
        demand(digest in self.contents, "the base is not there")
        report = verify_base(self.contents[digest])
        demand(report["root"] == root, "the base has another root")
        return read_base(self.contents[digest])

    def take_row(self, root, path, row):
        self.iterations[(root, path)] = row["iteration"]
        if row["kind"] != b"x":
            self.entries[(root, path)] = (row["kind"], row["mode"], None if row["kind"] == b"d" else row["hash"])

    def prune(self, event):
        record = event["record"]
        kept = [int(one.text) for key in ("kept", "kept_actions") for one in record[key]]
        one, before = (int(record["floor_seq"].text), sorted(set(kept))), self.prunings[-1]
        demand(one[0] < event["seq_"], "the floor is behind it")
        if record["cause"] == "brought-back":
            if self.start == 0:
                demand(any(one == kept_by_either(n, before) for n in self.prunings), "that was never kept")
            else:
                demand(len(self.prunings) == 1 or kept_by_either(one, before) == one, "it gives up what was kept")
        else:
            demand(one[0] >= before[0], "the floor falls")
            demand(all(keeps(before, n) for n in one[1]), "a state becomes kept again")
            demand(self.settled is None or one[0] <= max(self.settled, before[0]), "an origin has not answered that far")
        self.prunings.append(one)

    def sentinel(self, event):
        record, seq = event["record"], event["seq_"]
        demand(record["range"][1].text == record["size"].text, "the range does not end before it")
        if self.record is None:
            demand(record["drops_archive"] is True, "the archive is missing")
            rows, records = self.base_rows(record["base"], record["root"])
            for root, path, row in rows:
                demand(row["seq"] < seq, "a row of a later event")
                self.take_row(root, path, row)
            for one in records:
                demand(int(one["seq"].text) < seq, "a record of a later event")
                self.take_held(one)
            self.start = self.last_root = seq - 1
            self.beginning = False
        demand(self.record == record["workspace"] or write(self.record) == write(record["workspace"]), "another workspace's record")
        demand(record["root"] == self.root().hex(), "the sentinel's root is not that of the files")

    def take_held(self, one):
        kind, _, rest = one["record_id"].partition(":")
        record = one["record"]
        if kind == "user":
            return
        demand(kind not in ("file", "file64", "compact"), "it has no place in a base")
        demand(kind in RECORDS and RECORDS[kind](record), "not what a record of its kind is")
        if kind == "workspace":
            self.take_workspace(record)

    def end_commit(self, event, mark):
        events, self.commit = self.commit, []
        self.beginning = False
        first, root = mark
        for one in events:
            if one["record_id"].startswith("file") and one["op"] != "delete":
                self.check_place(*file_path(one["record_id"]))
        if first == 1 and not self.accepted:
            kinds = [one["record_id"].partition(":")[0] for one in events]
            demand(kinds in (["workspace", "signer", "snapshot"], ["workspace", "snapshot"]), "not how a history begins")
            record = event["record"]
            demand(record["number"].text == "0" and "base" in record, "its first snapshot is not number 0 with a base")
        if root is not None:
            demand(root == self.root().hex(), "the commit's root is not that of the files")
            self.last_root = event["seq_"]
            return
        last = event["seq_"] - (1 if event["record_id"].startswith("commit:") else 0)
        due = last - self.last_root >= 1000 and not all(one["record_id"].startswith("recovery:") for one in events)
        demand(not due and not any(must_state_root(one) for one in events), "its commit does not state the root")

    def check_place(self, root, path):
        entry = self.entries.get((root, path))
        folder, _, _ = path.rpartition(b"/")
        if entry is not None and folder != b"":
            demand(self.entries.get((root, folder), (None,))[0] == b"d", "its folder is not there")
        if entry is None or entry[0] != b"d":
            beneath = any(one == root and other.startswith(path + b"/") for one, other in self.entries)
            demand(not beneath, "something beneath it is there")

    def root(self):
        def digest(root, folder):
            prefix = folder + b"/" if folder else b""
            children = []
            for (one, path), (kind, mode, content) in self.entries.items():
                name = path[len(prefix) :]
                if one == root and path.startswith(prefix) and b"/" not in name:
                    children.append((kind, mode, name, digest(root, path) if kind == b"d" else content))
            return folder_hash(sorted(children, key=lambda child: child[2]))

        return workspace_root([(one or "", digest(one, b"")) for one in self.roots])

    def finish(self):
        for digest in self.filters:
            value = parse_canonical(self.contents[digest].decode("utf-8"))
            demand(isinstance(value, list) and len(value) == len(self.roots), "a filter is not one object for each root")
        for digest in self.plans.values():
            plan = parse_canonical(self.contents[digest].decode("utf-8"))
            demand(list_of(path_in)(plan), "not a plan")
            paths = [(one.get("root", ""), plan_bytes(one).split(b"/")) for one in plan]
            demand(all(a < b for a, b in zip(paths, paths[1:])), "the paths of a plan are not in order")
        named = {entry[2].hex() for entry in self.entries.values() if entry[2] is not None}
        demand(all(one in self.contents for one in named), "a content is not there")


def plan_bytes(one):
    return one["path"].encode("utf-8") if "path" in one else base64.b64decode(one["path_b64"])


def must_state_root(event):
    kind = event["record_id"].partition(":")[0]
    if event["op"] == "compact" or kind == "snapshot":
        return True
    if kind == "intent":
        return event["record"]["state"] != "open"
    return kind == "session" and event["record"]["state"] != "running"


def read_base(blob):
    """The rows of a base that is known to be one: [(root, path, columns)], and its records."""
    data = Bytes(blob)
    data.take(8)
    version = data.number("I")
    data.take(32)
    entries, records = data.number("Q"), data.number("Q")
    roots = []
    for _ in range(data.number("H")):
        roots.append(data.take(data.number("B")).decode("ascii") or None)
        data.take(32)
    rows, root, way = [], None, []
    order = iter(roots)
    while len(rows) < entries or data.data[data.at : data.at + 1] == b"R":
        kind = data.take(1)
        if kind == b"R":
            root, way = next(order), []
            continue
        depth, length = data.number("H"), data.number("H")
        way = way[: depth - 1] + [data.take(length)]
        row = {"kind": b"f" if kind == b"p" else kind, "iteration": data.number("Q"), "seq": data.number("Q")}
        if kind != b"x":
            row["mode"], row["hash"] = data.number("H"), data.take(32)
        if kind in (b"f", b"p", b"l"):
            data.take(16 if version == 1 else 20)
        rows.append((root, b"/".join(way), row))
    held = []
    for _ in range(records):
        data.take(1)
        held.append(parse_canonical(data.take(data.number("I")).decode("utf-8")))
    return rows, held


def verify_history(lines, workspace, contents):
    history, tree, head, first = History(workspace, contents), None, "", 1
    for number, line in enumerate(lines, 1):
        try:
            event = read_line(line.encode("utf-8"))
            if tree is None:
                tree = Tree() if event["seq_"] == 1 else start_of_compacted(event)
                head, first = event["prev_hash"], event["seq_"]
            demand(event["seq_"] == tree.size + 1, "seq is %d, expected %d" % (event["seq_"], tree.size + 1))
            demand(event["prev_hash"] == head, "prev_hash is not the hash of the event before")
            mark = mark_of(event)
            demand(mark is None or mark[0] == first, "it does not end its commit")
            first = first if mark is None else event["seq_"] + 1
            history.follow(event)
        except (Problem, KeyError, TypeError) as problem:
            raise Problem("line %d: %s" % (number, problem)) from problem
        head = event["hash"]
        tree.add(sha(b"\x00", bytes.fromhex(head)))
    history.finish()


# --- the examples ---


def expect(actual, wanted, name):
    demand(actual == wanted, "%s: got %r, wanted %r" % (name, actual, wanted))


def refuses(check, name):
    try:
        check()
    except (Problem, ValueError):
        return
    raise Problem("%s was accepted" % name)


def name_of(one):
    return bytes.fromhex(one["name_hex"]) if "name_hex" in one else one["name"].encode()


def check_canonical(vectors):
    for case in vectors["accepted"]:
        value = json.loads(case["source"], parse_int=Number, parse_float=Number)
        expect(write(value), case["canonical"], case["name"])
        parse_canonical(case["canonical"])
    for case in vectors["rejected"]:
        refuses(lambda text=case["text"]: parse_canonical(text), case["name"])


def check_events(vectors):
    head, tree = "", Tree()
    for line in vectors["lines"]:
        event = read_line(line.encode())
        expect((event["seq_"], event["prev_hash"]), (tree.size + 1, head), "chain")
        head = event["hash"]
        tree.add(sha(b"\x00", bytes.fromhex(head)))
    expect(head, vectors["head"], "head")
    expect(tree.root().hex(), vectors["log_root"], "log root")
    for case in vectors["rejected"]:
        refuses(lambda line=case["line"]: read_line(line.encode("utf-8", "surrogatepass")), case["name"])


def check_commits(vectors):
    for case in vectors["marks"]:
        mark = mark_of(read_line(case["line"].encode()))
        expect(None if mark is None else {"first": mark[0], "root": mark[1]}, case["mark"], case["name"])
    for case in vectors["rejected"]:
        refuses(lambda line=case["line"]: mark_of(read_line(line.encode())), case["name"])


def check_erasures(vectors):
    for case in vectors["licensed"]:
        erasures, tail = {}, ""
        for line in vectors["lines"][: case["after"]]:
            event = read_line(line.encode())
            expect(event["prev_hash"], tail, "chain")
            tail = event["hash"]
            if event["record_id"].startswith("erase:"):
                erasures[event["record_id"]] = (event["seq_"], erased_by(event["record"]))
        found = [one["seq"] for one in vectors["named"] if one["seq"] <= case["after"] and is_licensed(erasures, one)]
        expect(found, case["seqs"], case["name"])
    for case in vectors["rejected"]:
        refuses(lambda line=case["line"]: erased_by(read_line(line.encode())["record"]), case["name"])


def is_licensed(erasures, named):
    return any(seq > named["seq"] and named["hash"] in contents for seq, contents in erasures.values())


def check_folders(vectors):
    for case in vectors["leaves"]:
        computed = leaf(KIND[case["kind"]], case["mode"], name_of(case), bytes.fromhex(case["hash"]))
        expect(computed.hex(), case["leaf"], "leaf")
    for case in vectors["folders"]:
        children = [(KIND[c["kind"]], c["mode"], name_of(c), bytes.fromhex(c["hash"])) for c in case["children"]]
        expect(folder_hash(children).hex(), case["folder"], case["name"])
    for case in vectors["roots"]:
        roots = [(one["id"], bytes.fromhex(one["folder"])) for one in case["roots"]]
        expect(workspace_root(roots).hex(), case["root"], case["name"])


def check_log_tree(vectors):
    tree = Tree()
    expect(tree.root().hex(), vectors["sizes"][0]["root"], "empty log tree")
    for event, after in zip(vectors["events"], vectors["sizes"][1:]):
        tree.add(sha(b"\x00", bytes.fromhex(event)))
        expect([one.hex() for one in tree.frontier], after["frontier"], "frontier")
        expect(tree.root().hex(), after["root"], "log root")


def check_base(vectors):
    for case in vectors["bases"]:
        report = verify_base(bytes.fromhex(case["bytes"]))
        expect(report["sha256"], case["sha256"], case["name"])
        expect(report["root"], case["root"], case["name"])
    for case in vectors["rejected"]:
        refuses(lambda data=case["bytes"]: verify_base(bytes.fromhex(data)), case["name"])


def check_signed_head(vectors):
    expect(verify_note(vectors["note"], vectors["verifier_key"]), vectors["content"], "signed head")
    for case in vectors["rejected"]:
        refuses(lambda note=case["note"]: verify_note(note, vectors["verifier_key"]), case["name"])


def check_history(vectors):
    workspace = vectors["workspace"]
    contents = {digest: base64.b64decode(data) for digest, data in vectors["contents"].items()}
    for digest, data in contents.items():
        expect(sha(data).hex(), digest, "a content")
    verify_history(vectors["earlier"], workspace, contents)
    for case in vectors["cases"]:
        before = vectors["lines"][: case["after"]]
        try:
            verify_history(before + case["good"], workspace, contents)
        except Problem as problem:
            raise Problem("%s: the one that keeps it: %s" % (case["rule"], problem)) from problem
        refuses(lambda lines=before + case["bad"]: verify_history(lines, workspace, contents), case["rule"])


CHECKS = {
    "canonical-json.json": check_canonical,
    "event.json": check_events,
    "commit.json": check_commits,
    "erase.json": check_erasures,
    "folder.json": check_folders,
    "log-tree.json": check_log_tree,
    "base.json": check_base,
    "signed-head.json": check_signed_head,
    "history.json": check_history,
}


def verify_vectors(folder):
    for name, check in CHECKS.items():
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            try:
                check(json.load(file))
            except Problem as problem:
                raise Problem("%s: %s" % (name, problem)) from problem
    return {"files": len(CHECKS)}


def read_bytes(path):
    with open(path, "rb") as file:
        return file.read()


COMMANDS = {
    "log": lambda *paths: verify_log(paths),
    "base": lambda path: verify_base(read_bytes(path)),
    "note": lambda path, vkey: verify_note(read_bytes(path).decode("utf-8"), vkey),
    "vectors": verify_vectors,
}


def main(args):
    if len(args) < 2 or args[0] not in COMMANDS:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        print(json.dumps(COMMANDS[args[0]](*args[1:])))
        return 0
    except (Problem, ValueError) as problem:
        print("verify.py: %s" % problem, file=sys.stderr)
        return 1
    except OSError as error:
        print("verify.py: %s" % error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
