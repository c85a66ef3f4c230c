#!/usr/bin/env python3
"""A replica of a workspace, written from docs/protocol.md and docs/format.md alone. Standard library only.

    replica.py FOLDER STATE

Follows an origin into FOLDER and writes back what is changed there; what it must not forget is in the folder STATE.
Commands come as lines of JSON on stdin, {"do": NAME, …}; each is answered by a line of JSON on stdout. Between them it
goes on following:

    connect   {"to", "token", "workspace", "capabilities"}: Hello and HelloAck
    settle    scans FOLDER, and goes on until both sides have everything of each other
    resolve   {"path", "keep": "local" | "origin"}: settles a conflict
    forge     {"name"}: proposes an empty file of that name, which need not be in FOLDER
    cut       ends the connection without a word
    close     ends it in peace
    report    what it holds
"""

import base64
import errno
import hashlib
import json
import os
import re
import select
import stat
import sys
import time
import uuid

from verify import Bytes, Problem, folder_hash, mark_of, read_line, sha, verify_base, verify_note, workspace_root
from wire import Ended, Fault, Peer, connect, demand

INLINE, PIECE, BATCH, WINDOW = 4096, 2 << 20, 20, 16
# What Windows reads as absolute. No field of a frame holds such a path.
ABSOLUTE = re.compile(rb"[A-Za-z]:[\\/]|\\")
KINDS = {"file": b"f", "symlink": b"l", "dir": b"d"}
ABSENT = {"kind": "absent", "mode": 0, "size": 0, "hash": None}


def digest(data):
    return hashlib.sha256(data).hexdigest()


def same(one, other):
    """Whether two states are equal: kind, mode and hash are what the Merkle root covers."""
    return all(one[field] == other[field] for field in ("kind", "mode", "hash"))


# --- paths: bytes, with the root's id in front where there is one ---


def write_path(key):
    root, path = key
    fields = {} if root is None else {"root": root}
    try:
        return {"filepath": path.decode("utf-8"), **fields}
    except UnicodeDecodeError:
        return {"filepath_b64": base64.b64encode(path).decode(), **fields}


def read_path(fields):
    if "filepath_b64" in fields:
        path = base64.b64decode(fields["filepath_b64"], validate=True)
    else:
        path = fields["filepath"].encode()
    check_path(path)
    return fields.get("root"), path


def check_path(path):
    good = 0 < len(path) <= 65_535 and b"\0" not in path
    demand(good and not any(part in (b"", b".", b"..") for part in path.split(b"/")), "PATH_INVALID", "no path: %r" % path)


def path_of_record(record_id):
    """The key of a `file…` record's id, or None for other records."""
    start, _, rest = record_id.partition(":")
    name, _, root = start.partition("@")
    if name not in ("file", "file64"):
        return None
    path = base64.b64decode(rest, validate=True) if name == "file64" else rest.encode()
    check_path(path)
    return root or None, path


def starts(chunk):
    """Where the pieces of a chunk begin."""
    return range(chunk["offset"], chunk["offset"] + chunk["size"], PIECE)


def show(key):
    return key[1].decode("utf-8", "backslashreplace")


def and_above(key):
    """A path and the folders above it."""
    parts = key[1].split(b"/")
    return [(key[0], b"/".join(parts[:end])) for end in range(1, len(parts) + 1)]


def mtime_ms(found):
    return max(0, found.st_mtime_ns // 1_000_000)


def order(key):
    return key[0] or "", key[1].split(b"/")


def entry_of(record, seq):
    kind = record["kind"]
    number = {name: int(record[name].text) if name in record and kind != "absent" else 0 for name in ("mode", "size")}
    return {"kind": kind, **number, "hash": record.get("hash"), "seq": seq}


def tree_hash(children):
    return folder_hash(sorted(children, key=lambda one: one[2])).hex()


# --- what is remembered ---


class Memory:
    """The replica's state: one JSON file that is replaced as a whole, the origin's lines, and contents by their hash."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(os.path.join(folder, "contents"), exist_ok=True)
        self.file = os.path.join(folder, "state.json")
        self.sandbox_id, self.workspace = uuid.uuid4().hex, None
        self.seq, self.hash = 0, ""  # the origin's last event held
        self.entries = {}  # what the origin has, by its events
        self.agreed = {}  # what FOLDER and origin last agreed on, with the origin's event
        self.journal = []  # own entries that are not answered
        self.decided, self.chain = {}, ""  # own chain: the hash of each entry
        self.local_seq, self.settled = 0, 0
        self.signer = None  # the verifier key of the origin's heads
        self.base = None  # a base that is on its way
        self.length = 0  # of the origin's lines, in bytes
        self.awaited = {}  # path → the origin's event that it becomes
        self.conflicts, self.refused = {}, {}
        if os.path.exists(self.file):
            self._load()
        self.lines = os.path.join(folder, "upstream.wal")
        with open(self.lines, "ab") as file:
            # What was added after the state was kept comes again.
            file.truncate(self.length)

    def _load(self):
        with open(self.file, encoding="utf-8") as file:
            for name, value in json.load(file).items():
                if name in MAPS:
                    value = {(root, base64.b64decode(path)): one for root, path, one in value}
                setattr(self, name, value)
        for entry in self.journal:
            entry["key"] = (entry["key"][0], base64.b64decode(entry["key"][1]))

    def save(self):
        out = {}
        for name in (*PLAIN, *MAPS):
            value = getattr(self, name)
            if name in MAPS:
                value = [(root, base64.b64encode(path).decode(), one) for (root, path), one in value.items()]
            out[name] = value
        out["journal"] = [{**one, "key": (one["key"][0], base64.b64encode(one["key"][1]).decode())} for one in self.journal]
        replace(self.file, json.dumps(out).encode())

    def content(self, name):
        return os.path.join(self.folder, "contents", name)

    def keep(self, data):
        name = digest(data)
        if not os.path.exists(self.content(name)):
            replace(self.content(name), data)
        return name

    def read(self, name):
        with open(self.content(name), "rb") as file:
            return file.read()

    def forget_lines(self):
        """The copy begins anew: what follows does not go on from the lines that are there."""
        os.truncate(self.lines, 0)
        self.length = 0

    def add_lines(self, lines):
        with open(self.lines, "ab") as file:
            self.length += file.write(b"".join(line + b"\n" for line in lines))
            file.flush()
            os.fsync(file.fileno())

    def hash_at(self, seq):
        """The hash of an event whose line is here, or None."""
        with open(self.lines, "rb") as file:
            events = (json.loads(line) for line in file)
            return next((event["hash"] for event in events if event["seq"] == seq), None)


PLAIN = (
    "sandbox_id", "workspace", "seq", "hash", "decided", "chain", "local_seq", "settled", "signer", "base", "length",
)  # fmt: skip
MAPS = ("entries", "agreed", "awaited", "conflicts", "refused")


def replace(path, data):
    beside = os.fsencode(path) + b".new"
    with open(beside, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.rename(beside, path)


# --- the folder ---


class Folder:
    def __init__(self, path, memory):
        self.path, self.memory = os.fsencode(path), memory
        os.makedirs(self.path, exist_ok=True)

    def full(self, key):
        return os.path.join(self.path, key[1])

    def state(self, key):
        """What is there now; its content is kept."""
        try:
            found = os.lstat(self.full(key))
        except (FileNotFoundError, NotADirectoryError):
            return dict(ABSENT)
        state = {"kind": "dir", "mode": stat.S_IMODE(found.st_mode), "size": 0, "hash": None}
        if stat.S_ISLNK(found.st_mode):
            target = os.readlink(self.full(key))
            state.update(kind="symlink", mtime_ms=mtime_ms(found), mode=0o777, size=len(target), hash=self.memory.keep(target))
        elif stat.S_ISREG(found.st_mode):
            with open(self.full(key), "rb") as file:
                data = file.read()
            state.update(kind="file", mtime_ms=mtime_ms(found), size=len(data), hash=self.memory.keep(data))
        return state

    def walk(self):
        found = {}
        for folder, folders, files in os.walk(self.path):
            for name in (*folders, *files):
                full = os.path.join(folder, name)
                mode = os.lstat(full).st_mode
                if stat.S_ISDIR(mode) or stat.S_ISLNK(mode) or stat.S_ISREG(mode):
                    key = (None, os.path.relpath(full, self.path))
                    found[key] = self.state(key)
        return found

    def remove(self, key):
        full = self.full(key)
        try:
            if stat.S_ISDIR(os.lstat(full).st_mode):
                os.rmdir(full)
            else:
                os.unlink(full)
        except OSError as error:
            # Gone already; or something of FOLDER's own is in it, and the next scan makes a proposal of that.
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ENOTEMPTY):
                raise

    def write(self, key, entry):
        full = self.full(key)
        if entry["kind"] == "dir":
            if not os.path.isdir(full) or os.path.islink(full):
                self.remove(key)
                os.mkdir(full)
            return
        data = self.memory.read(entry["hash"])
        if os.path.isdir(full) and not os.path.islink(full):
            os.rmdir(full)
        beside = os.path.join(os.path.dirname(full), b".replica-" + uuid.uuid4().hex.encode())
        if entry["kind"] == "symlink":
            os.symlink(data, beside)
        else:
            replace(beside, data)
            os.chmod(beside, entry["mode"])
        os.rename(beside, full)


# --- the replica ---


class Replica:
    def __init__(self, folder, state):
        self.memory = Memory(state)
        self.folder = Folder(folder, self.memory)
        # Paths that are to be put into FOLDER.
        self.dirty = {key for key, entry in self.memory.entries.items() if self.memory.agreed.get(key) != entry}
        self.peer, self.interval, self.capabilities = None, 1.0, []
        self.seen = {}  # types of messages received, and how many
        self.commit = []  # events of a commit without its end
        self.asked, self.pieces, self.gone = {}, {}, set()
        self.sending, self.sent_at = None, 0.0
        self.barrier, self.held_at_beat = None, -1
        self.resync = None
        self.witness, self.witnessed = None, 0
        self.acked = 0
        self.notes = []

    # -- the connection --

    def connect(self, to, token=None, workspace=None, capabilities=()):
        memory = self.memory
        self.peer = Peer(connect(to, token))
        self.commit, self.asked, self.pieces, self.gone, self.sending, self.barrier = [], {}, {}, set(), None, None
        self.resync, self.acked, self.held_at_beat, self.witness = None, 0, -1, None
        hello = {"type": "Hello", "versions": [2], "capabilities": list(capabilities), "sandbox_id": memory.sandbox_id}
        if workspace is not None:
            hello["workspace"] = workspace
        hello["head"] = {"sequence": memory.seq, "hash": memory.hash}
        hello["settled_local_seq"] = memory.settled
        self.peer.send(hello)
        answer = self._first()
        demand(answer["type"] == "HelloAck", "USAGE", "%s instead of HelloAck" % answer["type"])
        demand(answer["version"] == 2, "FORMAT_UNSUPPORTED", "another version")
        demand(set(answer["capabilities"]) <= set(capabilities), "USAGE", "a capability that was not offered")
        demand(memory.workspace in (None, answer["workspace"]), "INTEGRITY_VIOLATION", "another workspace")
        memory.workspace = answer["workspace"]
        self.interval, self.capabilities = answer["heartbeat_ms"] / 1000, answer["capabilities"]
        if memory.base is not None:
            self.ask(memory.base["hash"])
        settled = answer["settled_local_seq"]
        own = memory.decided.get(str(settled))
        if settled > memory.local_seq or own != answer.get("settled_hash", own):
            raise Fault("ROLLBACK_DETECTED", "the origin has answered entries that are not in this history")
        return answer

    def _first(self):
        """The first message of the origin."""
        while True:
            self.peer.wait([], 10)
            messages = self.peer.take()
            if messages:
                self.early = messages[1:]
                self.count(messages[0])
                if messages[0]["type"] == "Error":
                    self.on_error(messages[0])
                return messages[0]

    def count(self, message):
        self.seen[message["type"]] = self.seen.get(message["type"], 0) + 1

    def until(self, done, seconds=120):
        """Goes on with the conversation until `done()`."""
        end = time.monotonic() + seconds
        while not done():
            demand(time.monotonic() < end, "TIMEOUT", "nothing more after %s" % self.seen)
            self.step(min(self.interval / 2, 0.2))

    def step(self, seconds, also=()):
        messages, self.early = self.early, []
        readable = []
        if not messages:
            readable, here = self.peer.wait(also, seconds)
            messages = self.peer.take() if here else []
        for message in messages:
            self.count(message)
            handler = getattr(self, "on_" + message["type"], None)
            demand(handler is not None, "USAGE", "a message that was not expected: %s" % message["type"])
            handler(message)
        self.peer.consumed()
        self.work()
        if time.monotonic() - self.peer.last_sent > self.interval / 2:
            self.heartbeat()
        if not messages and time.monotonic() - self.peer.last_heard > 3 * self.interval:
            raise Ended("the origin is silent")
        return readable

    def heartbeat(self):
        memory = self.memory
        self.peer.send({
            "type": "SandboxHeartbeat", "sandbox_id": memory.sandbox_id, "up_to_sequence": self.acked,
            "local_seq": memory.local_seq, "pending": len(memory.journal),
        })  # fmt: skip

    # -- what the origin says --

    def on_Error(self, message):
        self.on_error(message)

    def on_error(self, message):
        if message["fatal"]:
            raise Ended("%s: %s" % (message["code"], message["message"]), message)
        self.notes.append(message)

    def is_next(self, first, last):
        """Whether events go on from what is held. Those that are held came live and as an answer; a gap is asked for, once."""
        held = self.held()
        if first > held + 1 and not self.asks_again:
            self.asks_again = True
            self.catch_up(held)
        return self.resync is None and first == held + 1 and last > held

    def held(self):
        return self.commit[-1][0]["seq_"] if self.commit else self.memory.seq

    def on_Notification(self, message):
        if not self.is_next(message["sequence"], message["sequence"]):
            return
        event = self.take_line(message["line"].encode())
        entry = entry_of(event["record"], event["seq_"])
        held = {"sequence": entry["seq"], "kind": entry["kind"], "content_hash": entry["hash"], "size": entry["size"]}
        held.update(permissions=entry["mode"], is_deletion=entry["kind"] == "absent")
        same = read_path(message) == path_of_record(event["record_id"]) and {name: message[name] for name in held} == held
        demand(same, "INTEGRITY_VIOLATION", "what stands beside the line of event %d differs" % entry["seq"])
        if "inline_content" in message:
            self.take_content(entry["hash"], message["inline_content"])

    def on_Rename(self, message):
        if self.is_next(message["sequence"], message["sequence"] + 1):
            for line in message["lines"]:
                self.take_line(line.encode())

    def on_Events(self, message):
        first, last, lines, part = (message.get(name) for name in ("first_sequence", "last_sequence", "lines", "part"))
        if not self.is_next(first, last):
            return
        if part is not None:
            if part["offset"] == 0:
                self.long = bytearray()
            demand(part["offset"] == len(self.long), "INTEGRITY_VIOLATION", "a part that does not go on")
            self.long += lines
            if len(self.long) < part["total"]:
                return
            lines, self.long = bytes(self.long), bytearray()
        demand(lines.endswith(b"\n"), "INTEGRITY_VIOLATION", "a line without its newline")
        numbers = [self.take_line(line)["seq_"] for line in lines[:-1].split(b"\n")]
        demand((numbers[0], numbers[-1]) == (first, last), "INTEGRITY_VIOLATION", "other events than were said")

    long = bytearray()
    early = ()
    asks_again = False
    over = {"ended": "not connected", "error": None}

    def take_line(self, line):
        """One line of the origin's log: verified, and applied with the end of its commit."""
        memory = self.memory
        try:
            event = read_line(line)
            mark = mark_of(event)
        except Problem as problem:
            raise Fault("INTEGRITY_VIOLATION", str(problem)) from problem
        before = self.commit[-1][0] if self.commit else {"seq_": memory.seq, "hash": memory.hash}
        goes_on = event["seq_"] == before["seq_"] + 1 and event["prev_hash"] == before["hash"]
        demand(goes_on, "INTEGRITY_VIOLATION", "event %d does not go on from %d" % (event["seq_"], before["seq_"]))
        self.asks_again = False
        self.commit.append((event, line))
        if mark is not None:
            demand(mark[0] <= self.commit[0][0]["seq_"], "INTEGRITY_VIOLATION", "the commit begins elsewhere")
            self.end_commit(mark[1])
        return event

    def end_commit(self, root):
        memory, events = self.memory, [event for event, _ in self.commit]
        memory.add_lines([line for _, line in self.commit])
        self.commit = []
        for event in events:
            key = path_of_record(event["record_id"])
            if key is not None:
                memory.entries[key] = entry_of(event["record"], event["seq_"])
                self.dirty.add(key)
            elif event["record_id"].startswith("signer:"):
                memory.signer = event["record"]["key"]
            elif event["record_id"].startswith("snapshot:") and event["record"].get("base"):
                self.memory.base = {"hash": event["record"]["base"], "root": event["record"]["root"]}
                self.ask(self.memory.base["hash"])
        memory.seq, memory.hash = events[-1]["seq_"], events[-1]["hash"]
        if root is not None and self.memory.base is None:
            demand(self.root() == root, "INTEGRITY_VIOLATION", "the files after event %d have another root" % memory.seq)

    def hashes(self):
        """The Merkle hash of each folder of what the origin has; a root is the path b"" of its id."""
        children, found = {(None, b""): []}, {}
        for (root, path), entry in sorted(self.memory.entries.items(), key=lambda one: order(one[0]), reverse=True):
            children.setdefault((root, b""), [])
            if entry["kind"] == "absent":
                continue
            value = entry["hash"]
            if entry["kind"] == "dir":
                value = found[root, path] = tree_hash(children.pop((root, path), []))
            above, _, name = path.rpartition(b"/")
            child = (KINDS[entry["kind"]], entry["mode"], name, bytes.fromhex(value))
            children.setdefault((root, above), []).append(child)
        return {**found, **{key: tree_hash(below) for key, below in children.items()}}

    def root(self):
        """The Merkle root of what the origin has."""
        tops = [(root or "", bytes.fromhex(value)) for (root, path), value in self.hashes().items() if path == b""]
        return workspace_root(tops).hex()

    def on_Heartbeat(self, message):
        held = self.held()
        # Heartbeats overtake events: it is a gap only where nothing has come since the one before.
        if message["agent_sequence"] > held == self.held_at_beat and self.resync is None:
            self.catch_up(held)
        self.held_at_beat = held

    def catch_up(self, held):
        self.peer.send({"type": "CatchupRequest", "sandbox_id": self.memory.sandbox_id, "since_sequence": held})

    def on_BarrierConfirmation(self, message):
        self.barrier = message

    def on_HeadWitness(self, message):
        demand("witness" in self.capabilities, "USAGE", "HeadWitness without the capability")
        self.witness = message

    def check_witness(self):
        """Compares with what is held, once that is as much as the head is about."""
        message, memory = self.witness, self.memory
        if message is None or message["sequence"] > memory.seq:
            return
        self.witness = None
        told = {"workspace": message["workspace"], "seq": message["sequence"]}
        told.update(hash=message["head_hash"], root=message["root"])
        if "signature" in message and memory.signer is not None:
            try:
                signed = verify_note(message["signature"], memory.signer)
            except Problem as problem:
                raise Fault("INTEGRITY_VIOLATION", str(problem)) from problem
            demand({name: signed[name] for name in told} == told, "INTEGRITY_VIOLATION", "the head was signed for something else")
        held = memory.hash_at(told["seq"])
        same_history = held in (None, told["hash"]) and told["workspace"] == memory.workspace
        demand(same_history, "INTEGRITY_VIOLATION", "the origin vouches for another history than it has sent")
        self.witnessed = told["seq"] if held is not None else 0

    def on_ContentAhead(self, message):
        demand("ahead" in self.capabilities, "USAGE", "ContentAhead without the capability")
        self.take_content(message["content_hash"], message["content"])

    # -- contents --

    def ask(self, name):
        if name in self.asked or name in self.gone or os.path.exists(self.memory.content(name)):
            return
        self.asked[name] = time.monotonic()
        self.peer.send({"type": "ContentFetchRequest", "content_hash": name})

    def take_content(self, name, data):
        demand(digest(data) == name, "INTEGRITY_VIOLATION", "a content differs from its hash %s" % name)
        self.memory.keep(data)
        self.asked.pop(name, None)

    def on_ContentFetchResponse(self, message):
        name, manifest = message["content_hash"], message.get("chunk_manifest")
        if manifest is not None:
            chunks = manifest["chunks"]
            demand(sum(one["size"] for one in chunks) == message["size"], "INTEGRITY_VIOLATION", "the chunks are not the content")
            pieces = [(at, min(PIECE, one["offset"] + one["size"] - at)) for one in chunks for at in starts(one)]
            self.pieces[name] = {"chunks": chunks, "data": bytearray(message["size"]), "todo": pieces, "left": {}}
            self.ask_pieces(name)
        elif name in self.pieces:
            self.take_piece(name, message)
        else:
            demand(len(message["content"]) == message["size"], "INTEGRITY_VIOLATION", "a content that is not whole")
            self.take_content(name, message["content"])

    def ask_pieces(self, name):
        whole = self.pieces[name]
        while whole["todo"] and len(whole["left"]) < WINDOW:
            start, length = whole["todo"].pop(0)
            whole["left"][start] = length
            self.peer.send({"type": "ContentFetchRequest", "content_hash": name, "offset": start, "length": length})

    def take_piece(self, name, message):
        whole, start = self.pieces[name], message["offset"]
        right = whole["left"].pop(start, None) == len(message["content"])
        demand(right, "INTEGRITY_VIOLATION", "a piece that was not asked for")
        whole["data"][start : start + len(message["content"])] = message["content"]
        self.ask_pieces(name)
        if whole["left"]:
            return
        for chunk in whole["chunks"]:
            part = whole["data"][chunk["offset"] : chunk["offset"] + chunk["size"]]
            demand(digest(part) == chunk["hash"], "INTEGRITY_VIOLATION", "a chunk differs from its hash")
        del self.pieces[name]
        self.take_content(name, bytes(whole["data"]))

    def on_ContentNotFound(self, message):
        self.asked.pop(message["content_hash"], None)
        self.gone.add(message["content_hash"])

    def on_ContentFetchRequest(self, message):
        name = message["content_hash"]
        named = self.sending is not None and any(one["state"]["hash"] == name for one in self.sending)
        if not named:
            self.peer.send({"type": "ContentNotFound", "content_hash": name})
            return
        data, start = self.memory.read(name), message.get("offset")
        answer = {"type": "ContentFetchResponse", "content_hash": name, "content": b"", "size": len(data), "offset": 0}
        if start is not None:
            answer["offset"] = start
            answer["content"] = data[start : start + message["length"]]
        elif len(data) <= PIECE:
            answer["content"] = data
        else:
            chunks = [(at, data[at : at + PIECE]) for at in range(0, len(data), PIECE)]
            listed = [{"hash": digest(chunk), "offset": at, "size": len(chunk)} for at, chunk in chunks]
            answer["chunk_manifest"] = {"total_size": len(data), "chunk_size": PIECE, "chunks": listed}
        self.peer.send(answer)

    # -- into the folder --

    def work(self):
        """Puts into FOLDER what can be put there, and acknowledges it."""
        if self.memory.base is not None:
            if not os.path.exists(self.memory.content(self.memory.base["hash"])):
                return
            self.load_base()
        if self.resync is not None or self.commit:
            return
        self.check_witness()
        for key in self.dirty:
            entry = self.memory.entries.get(key, ABSENT)
            if key[0] is None and entry["hash"] is not None and len(self.asked) < WINDOW:
                self.ask(entry["hash"])
        if self.asked:
            return
        before = len(self.dirty)
        self.put(self.free())
        if len(self.dirty) == before and self.acked == self.memory.seq:
            return
        self.memory.save()
        if self.acked < self.memory.seq:
            self.acked = self.memory.seq
            self.peer.send({"type": "Ack", "up_to_sequence": self.acked})

    def load_base(self):
        blob = self.memory.read(self.memory.base["hash"])
        try:
            told = verify_base(blob)["root"]
        except Problem as problem:
            raise Fault("INTEGRITY_VIOLATION", str(problem)) from problem
        demand(told == self.memory.base["root"], "INTEGRITY_VIOLATION", "the base has another root")
        for key, entry in rows_of(blob):
            # What later events say of a path stands already.
            if key not in self.memory.entries:
                self.memory.entries[key] = entry
                self.dirty.add(key)
        self.memory.base = None

    def free(self):
        """The paths that may be written: no own change of them, or of a folder above, is under way or in a conflict."""
        memory = self.memory
        for key in [key for key, seq in memory.awaited.items() if key in memory.entries and memory.entries[key]["seq"] >= seq]:
            del memory.awaited[key]
        busy = {*memory.awaited, *memory.conflicts, *memory.refused, *(one["key"] for one in memory.journal)}
        return {key for key in self.dirty & set(memory.entries) if not busy.intersection(and_above(key))}

    def put(self, keys):
        """Writes what the origin has. What was changed here since it was last agreed on stays, for the next scan to propose."""
        memory, folder = self.memory, self.folder
        todo, kinds = [], {}
        for key in sorted(keys, key=order):
            entry = memory.entries[key]
            if key[0] is None:
                now = folder.state(key)
                above = (None, os.path.dirname(key[1]))
                held = kinds.get(above) or (folder.state(above)["kind"] if above[1] else "dir")
                changed = not same(now, memory.agreed.get(key, ABSENT)) and not same(now, entry)
                if changed or (entry["kind"] != "absent" and held != "dir"):
                    continue
                if entry["hash"] in self.gone:
                    self.notes.append({"missing": show(key)})
                    continue
                kinds[key] = entry["kind"]
                todo.append((key, entry, now["kind"]))
            self.dirty.discard(key)
        for key, entry, kind in reversed(todo):
            if kind not in (entry["kind"], "absent"):
                folder.remove(key)
        for key, entry, _ in todo:
            if entry["kind"] != "absent" and not same(folder.state(key), entry):
                folder.write(key, entry)
            memory.agreed[key] = entry
        for key, entry, _ in reversed(todo):
            if entry["kind"] == "dir":
                os.chmod(folder.full(key), entry["mode"])

    # -- out of the folder --

    def scan(self):
        """Journals what differs from what was last known of each path. A folder stands before what is in it."""
        memory, found = self.memory, self.folder.walk()
        latest = {one["key"]: one["state"] for one in memory.journal}
        for key in sorted({*found, *(key for key in memory.agreed if key[0] is None)}, key=order):
            if key in memory.conflicts or key in memory.refused or key in memory.awaited:
                continue
            state = found.get(key, ABSENT)
            if ABSOLUTE.match(key[1]):
                continue
            if not same(state, latest.get(key, memory.agreed.get(key, ABSENT))):
                self.propose(key, state)
        memory.save()

    def propose(self, key, state):
        memory = self.memory
        memory.local_seq += 1
        seen = memory.agreed[key]["seq"] if key in memory.agreed else 0
        told = {"local_seq": memory.local_seq, "path": show(key), "seen": seen, **{name: state[name] for name in ABSENT}}
        memory.chain = sha(memory.chain.encode(), json.dumps(told, sort_keys=True).encode()).hex()
        memory.decided[str(memory.local_seq)] = memory.chain
        entry = {"local_seq": memory.local_seq, "key": key, "state": dict(state), "seen": seen}
        memory.journal.append({**entry, "hash": memory.chain})

    def send_batch(self):
        memory = self.memory
        self.sending, self.sent_at = memory.journal[:BATCH], time.monotonic()
        entries = [self.entry(one) for one in self.sending]
        self.peer.send({"type": "WriteBack", "sandbox_id": memory.sandbox_id, "entries": entries})

    def entry(self, one):
        state = one["state"]
        out = {"local_seq": one["local_seq"], "event_hash": one["hash"], **write_path(one["key"])}
        out.update(kind=state["kind"], content_hash=state["hash"], size=state["size"], permissions=state["mode"])
        out["is_deletion"] = state["kind"] == "absent"
        if state["hash"] is not None and state["size"] < INLINE:
            out["inline_content"] = self.memory.read(state["hash"])
        out.update(master_rowid_seen=one["seen"], mtime_ms=state.get("mtime_ms", 0), actor="unknown")
        return out

    def on_WriteBackResult(self, message):
        memory = self.memory
        answers = {one["local_seq"]: one for one in (*message["accepted"], *message["rejected"])}
        mine = {one["local_seq"]: one for one in memory.journal}
        if any(one.get("reason") == "unavailable" for one in message["rejected"]):
            self.sending = None
            return
        for number in sorted(answers):
            if number in mine:
                self.answered(mine[number], answers[number])
        settled = max(answers, default=0)
        if self.sending is not None:
            settled = max(settled, self.sending[-1]["local_seq"])
        memory.journal = [one for one in memory.journal if one["local_seq"] > settled]
        memory.settled, self.sending = max(memory.settled, settled), None
        memory.save()

    def answered(self, entry, answer):
        memory, key = self.memory, entry["key"]
        self.dirty.add(key)
        if "reason" not in answer:
            memory.agreed[key] = {**entry["state"], "seq": answer["sequence"]}
            if answer["sequence"] > memory.seq:
                memory.awaited[key] = answer["sequence"]
        elif answer["reason"] == "stale":
            memory.conflicts[key] = {"current_sequence": answer.get("current_sequence"), "kept": answer.get("kept")}
        else:
            memory.refused[key] = answer["reason"]

    def resolve(self, path, keep):
        memory = self.memory
        key = next(key for key in memory.conflicts if show(key) == path)
        wanted = memory.conflicts[key]["current_sequence"]
        self.until(lambda: memory.seq >= wanted and not self.commit)
        conflict = memory.conflicts.pop(key)
        held = memory.entries.get(key, {**ABSENT, "seq": 0})
        # On what the origin has now: what is here is a change of that, or is replaced by it.
        memory.agreed[key] = {**self.folder.state(key), "seq": held["seq"]} if keep == "origin" else held
        self.dirty.add(key)
        memory.entries.setdefault(key, held)
        memory.save()
        return conflict

    # -- full reconciliation --

    def on_FullResyncRequired(self, message):
        anchor = message.get("anchor")
        demand(message["reason"] != "diverged", "INTEGRITY_VIOLATION", "the origin's history is another one")
        demand(anchor is not None, "UNAVAILABLE", "the origin has not got the events any more: this replica cannot follow")
        roots = [(one["id"], b"") for one in anchor["record"]["roots"]]
        self.resync = {"anchor": anchor, "at": message["current_sequence"], "new": {}, "own": self.hashes(), "left": {}}
        self.resync["todo"] = [(key, None) for key in roots]
        self.commit = []
        self.ask_folders()

    def ask_folders(self):
        """Asks for the next folders, one request after the other."""
        resync = self.resync
        some, resync["todo"] = resync["todo"][:256], resync["todo"][256:]
        folders = []
        for key, after in some:
            resync["left"][key] = resync["own"].get(key)
            row = dict(write_path(key), **({} if after is None else after))
            folders.append(row if key not in resync["own"] else {**row, "hash": resync["own"][key]})
        self.peer.send({"type": "TreeRequest", "sequence": resync["at"], "since": self.memory.seq, "folders": folders})

    def on_TreeResponse(self, message):
        for folder in message["folders"]:
            root = folder.get("root")
            key = (root, base64.b64decode(folder["filepath_b64"]) if "filepath_b64" in folder else folder["filepath"].encode())
            demand(key in self.resync["left"], "USAGE", "a folder that was not asked for")
            asked = self.resync["left"].pop(key)
            if folder["hash"] is not None and folder["hash"] == asked and not folder["touched"]:
                self.take_as_held(key)
                continue
            for child in folder["children"]:
                self.take_child(key, child)
            if folder["more"]:
                last = folder["children"][-1]
                after = {"after_b64": last["name_b64"]} if "name_b64" in last else {"after": last["name"]}
                self.resync["todo"].append((key, after))
        if self.resync["left"]:
            return
        if self.resync["todo"]:
            self.ask_folders()
        else:
            self.end_resync()

    def take_child(self, folder, child):
        name = base64.b64decode(child["name_b64"]) if "name_b64" in child else child["name"].encode()
        key = (folder[0], folder[1] + b"/" + name if folder[1] else name)
        check_path(key[1])
        is_folder = child["kind"] == "dir"
        entry = {"kind": child["kind"], "mode": child["permissions"], "size": child["size"], "seq": child["sequence"]}
        self.resync["new"][key] = {**entry, "hash": None if is_folder else child["hash"]}
        if child.get("touched") or (is_folder and child["hash"] != self.resync["own"].get(key)):
            self.resync["todo"].append((key, None))
        elif is_folder:
            self.take_as_held(key)

    def take_as_held(self, folder):
        """Nothing in it has changed."""
        start = folder[1] + b"/" if folder[1] else b""
        for key, entry in self.memory.entries.items():
            if key[0] == folder[0] and key[1].startswith(start):
                self.resync["new"][key] = entry

    def end_resync(self):
        memory, anchor, former = self.memory, self.resync["anchor"], self.memory.entries
        memory.entries = self.resync["new"]
        demand(self.root() == anchor["root"], "INTEGRITY_VIOLATION", "the tree has another root than was said")
        for key in former:
            memory.entries.setdefault(key, {**ABSENT, "seq": former[key]["seq"]})
        memory.seq, memory.hash = self.resync["at"], anchor["event_hash"]
        memory.forget_lines()
        self.dirty |= set(memory.entries)
        self.resync = None
        self.catch_up(memory.seq)

    # -- the whole --

    def quiet(self):
        return not self.asked and not self.pieces and self.resync is None and self.memory.base is None and not self.commit

    def write_back(self):
        memory = self.memory
        while memory.journal:
            self.send_batch()
            self.until(lambda: self.sending is None or time.monotonic() - self.sent_at > 2 * self.interval)

    def settle(self):
        """Both sides have everything that each had when this began."""
        memory = self.memory
        while True:
            self.until(self.quiet)
            self.scan()
            self.write_back()
            self.barrier = None
            self.peer.send({"type": "BarrierRequest", "sequence": memory.seq})
            self.until(lambda: self.barrier is not None)
            wanted = self.barrier["current_sequence"]
            self.until(lambda: memory.seq >= wanted and self.acked >= wanted and self.quiet())
            self.scan()
            if not memory.journal and not memory.awaited:
                return

    def forge(self, name):
        self.propose((None, name), {"kind": "file", "mode": 0o644, "size": 0, "hash": self.memory.keep(b"")})
        try:
            self.write_back()
        finally:
            self.memory.journal = []

    def give_up(self, error):
        """The connection is over; `over` says why: the first reason counts."""
        if self.peer is not None:
            self.peer.end(error if isinstance(error, Fault) else None)
            fault = {"fault": error.code, "message": error.message} if isinstance(error, Fault) else None
            self.over = fault or {"ended": str(error), "error": error.error}
        self.peer = None

    def report(self):
        memory = self.memory
        return {
            "sandbox_id": memory.sandbox_id, "workspace": memory.workspace, "sequence": memory.seq, "hash": memory.hash,
            "root": self.root(), "witnessed": self.witnessed, "messages": self.seen,
            "capabilities": self.capabilities, "settled": memory.settled,
            "conflicts": {show(key): one for key, one in memory.conflicts.items()},
            "refused": {show(key): one for key, one in memory.refused.items()}, "notes": self.notes,
        }  # fmt: skip

    def do(self, command):
        name = command.pop("do")
        if self.peer is None and name not in ("connect", "report"):
            raise Ended("not connected")
        if name == "connect":
            return self.connect(**command)
        if name == "settle":
            self.settle()
        elif name == "resolve":
            return self.resolve(command["path"], command["keep"])
        elif name == "forge":
            self.forge(os.fsencode(command["name"]))
        elif name == "cut":
            self.peer.cut()
            self.peer = None
        elif name == "close":
            self.peer.end()
            self.peer = None
        return self.report()


def rows_of(blob):
    """(key, entry) of each entry row of a base that is verified."""
    data = Bytes(blob)
    data.take(8)
    version = data.number("I")
    data.take(32)
    entries, _ = data.number("Q"), data.number("Q")
    roots = []
    for _ in range(data.number("H")):
        roots.append(data.take(data.number("B")).decode("ascii"))
        data.take(32)
    root, names, following = None, [], iter(roots)
    rows = []
    while len(rows) < entries or data.data[data.at : data.at + 1] == b"R":
        kind = data.take(1)
        if kind == b"R":
            root, names = next(following) or None, []
            continue
        depth, length = data.number("H"), data.number("H")
        names = [*names[: depth - 1], data.take(length)]
        data.number("Q")
        entry = {**ABSENT, "seq": data.number("Q")}
        if kind != b"x":
            entry["mode"], value = data.number("H"), data.take(32).hex()
            # A protected file is a file: its class is no part of its state.
            entry["kind"] = {b"f": "file", b"p": "file", b"l": "symlink", b"d": "dir"}[kind]
            if kind != b"d":
                entry["hash"], entry["size"] = value, data.number("Q")
                data.take(8 if version == 1 else 12)
        rows.append(((root, b"/".join(names)), entry))
    return rows


def main(args):
    if len(args) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    replica, pending = Replica(*args), b""
    while True:
        # Between commands the conversation goes on.
        if replica.peer is None:
            ready, _, _ = select.select([sys.stdin], [], [])
        else:
            try:
                ready = replica.step(replica.interval / 2, [sys.stdin])
            except (Ended, Fault) as error:
                replica.give_up(error)
                continue
        if not ready:
            continue
        data = os.read(0, 1 << 16)
        if not data:
            return 0
        pending += data
        while b"\n" in pending:
            line, _, pending = pending.partition(b"\n")
            print(json.dumps(answer(replica, json.loads(line))), flush=True)


def answer(replica, command):
    try:
        return {"ok": replica.do(command)}
    except (Ended, Fault) as error:
        replica.give_up(error)
        return replica.over


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
