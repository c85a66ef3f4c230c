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


def read_section(data, rows_left):
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
        mode, digest = 0, None
        if kind != b"x":
            mode, digest = data.number("H"), data.take(32)
            demand(mode <= 0o7777 and (kind != b"l" or mode == 0o777), "bad mode")
        if kind in (b"f", b"l"):
            data.number("Q"), data.number("q")
        rows.append((depth, kind, name, iteration, seq))
        open_rows.append([name, kind, mode, digest, [], None])
    close(1)
    return rows, folder_hash(top[4])


def verify_base(blob):
    data = Bytes(blob)
    demand(data.take(8) == b"CHRBASE\n", "not a base")
    demand(data.number("I") == 1, "unknown version")
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
        rows, digest = read_section(data, entries - found)
        demand(digest == stored, "the folder hash of the root %r is not that of its rows" % name)
        found += len(rows)
    demand(found == entries, "%d entries, not %d" % (found, entries))
    demand(workspace_root(roots) == root, "the root is not that of its folders")
    last, ids = 0, set()
    for _ in range(records):
        demand(data.take(1) == b"r", "not a record row")
        record = parse_canonical(data.take(data.number("I")).decode("utf-8"))
        demand(sorted(record) == ["op", "record", "record_id", "seq", "ts"], "not the five fields")
        seq = count(record["seq"], 1, "bad seq")
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


# --- the examples ---


def expect(actual, wanted, name):
    demand(actual == wanted, "%s: got %r, wanted %r" % (name, actual, wanted))


def refuses(check, name):
    try:
        check()
    except (Problem, ValueError):
        return
    raise Problem("%s was accepted" % name)


KIND = {"file": b"f", "symlink": b"l", "dir": b"d"}


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


CHECKS = {
    "canonical-json.json": check_canonical,
    "event.json": check_events,
    "commit.json": check_commits,
    "erase.json": check_erasures,
    "folder.json": check_folders,
    "log-tree.json": check_log_tree,
    "base.json": check_base,
    "signed-head.json": check_signed_head,
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
