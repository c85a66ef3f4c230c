"""The frames of the replication protocol and the two ways that carry them, written from docs/protocol.md alone.

Standard library only. `Peer` is one connection: it checks what it receives, keeps the accounts of credit, and sends. The
fields of messages are those of the page's tables, which are read from it: nothing else is sent, and nothing else is taken.
"""

import base64
import json
import os
import re
import select
import socket
import struct
import time
import urllib.parse
import zlib

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "protocol.md")

VERSION = 2
HEADER = struct.Struct(">3sBB3sIIQI")
CONTROL, CONTENT = 1, 2
MAX_FRAME, MAX_HEAD, MAX_DEPTH, MAX_PARTS = 4 << 20, 1 << 20, 64, 100_000
FIRST_CREDIT = 1 << 20
CREDITED = {
    "Notification", "Rename", "Events", "ContentFetchResponse", "ContentAhead", "BlocksResponse", "WriteBack", "TreeResponse",
}  # fmt: skip
SAFE = 2**53 - 1


class Fault(Exception):
    """What this side ends the connection with."""

    def __init__(self, code, message):
        super().__init__("%s: %s" % (code, message))
        self.code, self.message = code, message


class Ended(Exception):
    """The connection is over. `error`: the fatal `Error` that the other side sent, or None."""

    def __init__(self, reason, error=None):
        super().__init__(reason)
        self.error = error


def demand(condition, code, message):
    if not condition:
        raise Fault(code, message)


# --- the fields, as the page's tables have them ---


def tables(text):
    """Yields the rows of the tables under "Fields": (title of a shared table or None, cells)."""
    title = None
    for line in text[text.index("\n### Fields\n") : text.index("\n### What they hold\n")].splitlines():
        if line.endswith(":") and not line.startswith("|"):
            title = line[:-1].lower()
        if line.startswith("| ") and not line.startswith(("| message ", "| field ")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield (title if title in SHARED else None), cells


SHARED = ("a path", "a state")


def add_field(spec, path, kind, presence):
    """Adds the field `a.b[].c`, with its type and what is said of its absence."""
    *above, name = path.replace("[]", "").split(".")
    for one in above:
        spec = spec[one]["fields"]
    spec[name] = {"type": kind, "presence": presence, "fields": {}}


def read_fields(text):
    """Type of message → its fields, nested."""
    shared, messages = {title: [] for title in SHARED}, {}
    for title, cells in tables(text):
        message = None if title else cells.pop(0).strip("`")
        field, kind, presence = cells[0].removeprefix("+ "), cells[1], cells[2]
        include = next((one for one in SHARED if field.endswith(one)), None)
        start = field.replace("`", "").removesuffix(include or "").strip()
        rows = [(start + name, *rest) for name, *rest in shared[include]] if include else [(start, kind, presence)]
        for row in rows:
            if title:
                shared[title].append(row)
            else:
                add_field(messages.setdefault(message, {}), *row)
    return messages


with open(PAGE, encoding="utf-8") as page:
    FIELDS = read_fields(page.read())

TYPES = {
    "text": lambda value: isinstance(value, str),
    "integer": lambda value: type(value) is int and 0 <= value <= SAFE,
    "signed integer": lambda value: type(value) is int and abs(value) <= SAFE,
    "true or false": lambda value: isinstance(value, bool),
    "hash": lambda value: isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None,
    "bytes": lambda value: isinstance(value, bytes),
    "object": lambda value: isinstance(value, dict),
}


LISTED = {"list of integers": "integer", "list of texts": "text", "list of hashes": "hash", "list of objects": "object"}


def check_value(value, field, at):
    kind = field["type"]
    if kind.startswith("list of "):
        demand(isinstance(value, list), "USAGE", "%s is no list" % at)
        for one in value:
            check_value(one, {"type": LISTED[kind], "fields": field["fields"]}, at)
        return
    demand(TYPES[kind](value) or (at.endswith(".head.hash") and value == ""), "USAGE", "%s is no %s" % (at, kind))
    if kind == "object" and field["fields"]:
        check_fields(value, field["fields"], at)


def check_fields(value, fields, at):
    """Demands the fields of the page, and no others."""
    for name, one in fields.items():
        here = "%s.%s" % (at, name)
        if name not in value:
            demand(one["presence"] == "may be absent", "USAGE", "%s is not there" % here)
        elif value[name] is None:
            demand(one["presence"] == "may be null", "USAGE", "%s is null" % here)
        else:
            check_value(value[name], one, here)
    unknown = set(value) - set(fields)
    demand(not unknown, "USAGE", "%s has fields that are not on the page: %s" % (at, sorted(unknown)))


def check_message(message):
    fields = {name: value for name, value in message.items() if name != "type"}
    demand(message["type"] in FIELDS, "USAGE", "%s is not on the page" % message["type"])
    check_fields(fields, FIELDS[message["type"]], message["type"])


# --- frames ---


def split_bytes(value, body):
    """The message with lengths in place of its bytes; these are appended to `body`, in the head's order."""
    if isinstance(value, dict):
        return {key: split_bytes(one, body) for key, one in value.items()}
    if isinstance(value, list):
        return [split_bytes(one, body) for one in value]
    if isinstance(value, bytes):
        body.append(value)
        return len(value)
    return value


def join_bytes(value, fields, body):
    """The reverse of `split_bytes`, by the fields' types. `body` is [bytes, offset]."""
    if isinstance(value, list):
        return [join_bytes(one, fields, body) for one in value]
    if not isinstance(value, dict):
        return value
    return {key: join_field(one, fields.get(key, {"type": "", "fields": {}}), body) for key, one in value.items()}


def join_field(value, field, body):
    if field["type"] != "bytes":
        return join_bytes(value, field["fields"], body)
    start = body[1]
    fits = type(value) is int and 0 <= value <= len(body[0]) - start
    demand(fits, "INTEGRITY_VIOLATION", "the body is shorter than its fields")
    body[1] = start + value
    return body[0][start : start + value]


def encode(message, credited_before):
    """(frame, bytes of credited frames with it)."""
    check_message(message)
    parts = []
    head = json.dumps(split_bytes(message, parts), ensure_ascii=False, separators=(",", ":")).encode()
    body = b"".join(parts)
    length = HEADER.size + len(head) + len(body)
    credited = credited_before + (length if message["type"] in CREDITED else 0)
    kind = CONTENT if parts else CONTROL
    start = HEADER.pack(b"CHR", VERSION, kind, b"\0\0\0", len(head), len(body), credited, 0)[:24]
    return start + struct.pack(">I", zlib.crc32(body, zlib.crc32(head, zlib.crc32(start)))) + head + body, credited


def check_shape(head):
    """The nesting and the number of parts of a JSON text, before anything of it is built."""
    depth = parts = 0
    inside = escaped = False
    for byte in head:
        if inside:
            if escaped:
                escaped = False
            elif byte == 0x5C:
                escaped = True
            elif byte == 0x22:
                inside = False
        elif byte == 0x22:
            inside = True
        elif byte in b"{[":
            depth += 1
            demand(depth <= MAX_DEPTH, "LIMIT_EXCEEDED", "nested too deep")
        elif byte in b"}]":
            depth -= 1
        elif byte in b",:":
            parts += 1
            demand(parts <= MAX_PARTS, "LIMIT_EXCEEDED", "too many parts")


def decode(buffer):
    """(message, length of its frame, its count of credit), or None where more bytes are needed."""
    if len(buffer) < HEADER.size:
        return None
    magic, version, kind, zero, head_length, body_length, credited, crc = HEADER.unpack_from(buffer)
    demand(magic == b"CHR" and zero == b"\0\0\0" and kind in (CONTROL, CONTENT), "INTEGRITY_VIOLATION", "no frame")
    length = HEADER.size + head_length + body_length
    demand(length <= MAX_FRAME and head_length <= MAX_HEAD, "LIMIT_EXCEEDED", "a frame of %d bytes" % length)
    demand(kind == CONTENT or body_length == 0, "INTEGRITY_VIOLATION", "a control frame with a body")
    if len(buffer) < length:
        return None
    head = bytes(buffer[HEADER.size : HEADER.size + head_length])
    body = bytes(buffer[HEADER.size + head_length : length])
    found = zlib.crc32(body, zlib.crc32(head, zlib.crc32(bytes(buffer[:24]))))
    demand(found == crc, "INTEGRITY_VIOLATION", "a wrong checksum")
    demand(version == VERSION, "FORMAT_UNSUPPORTED", "version %d of the protocol" % version)
    check_shape(head)
    try:
        value = json.loads(head.decode("utf-8"))
    except ValueError as error:
        raise Fault("INTEGRITY_VIOLATION", "the head is no JSON") from error
    demand(isinstance(value, dict) and isinstance(value.get("type"), str), "USAGE", "the head is no message")
    rest = [body, 0]
    message = join_bytes(value, FIELDS.get(value["type"], {}), rest)
    demand(rest[1] == len(body), "INTEGRITY_VIOLATION", "the body is longer than its fields")
    check_message(message)
    return message, length, credited


# --- the two ways ---


class UnixSocket:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)

    def send(self, data):
        self.socket.sendall(data)

    def receive(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise Ended("the other side closed the socket")
        return data

    def close(self, _code):
        self.socket.close()


class WebSocket:
    """RFC 6455, as much of it as a client needs. Nothing is compressed: no extension is offered."""

    def __init__(self, url, token):
        where = urllib.parse.urlsplit(url)
        self.socket = socket.create_connection((where.hostname, where.port))
        self.buffer, self.closed = bytearray(), False
        lines = [
            "GET %s?%s HTTP/1.1" % (where.path, where.query) if where.query else "GET %s HTTP/1.1" % where.path,
            "Host: %s" % where.netloc,
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: %s" % base64.b64encode(os.urandom(16)).decode(),
        ]
        if token is not None:
            lines.append("Authorization: Bearer %s" % token)
        self.socket.sendall(("\r\n".join(lines) + "\r\n\r\n").encode())
        while b"\r\n\r\n" not in self.buffer:
            data = self.socket.recv(1 << 16)
            if not data:
                raise Ended("no answer to the request for a WebSocket")
            self.buffer += data
        answer, _, rest = bytes(self.buffer).partition(b"\r\n\r\n")
        status = answer.split(b"\r\n")[0].decode()
        if status.split(" ")[1] != "101":
            raise Ended(status)
        self.buffer = bytearray(rest)

    def _write(self, opcode, data):
        mask = os.urandom(4)
        size = len(data)
        if size < 126:
            head = struct.pack(">BB", 0x80 | opcode, 0x80 | size)
        elif size < 65536:
            head = struct.pack(">BBH", 0x80 | opcode, 0xFE, size)
        else:
            head = struct.pack(">BBQ", 0x80 | opcode, 0xFF, size)
        repeated = (mask * (size // 4 + 1))[:size]
        masked = (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(size, "big")
        self.socket.sendall(head + mask + masked)

    def send(self, data):
        self._write(2, data)

    def _take(self):
        """The next whole WebSocket frame as (opcode, payload), or None."""
        if len(self.buffer) < 2:
            return None
        opcode, size, start = self.buffer[0] & 15, self.buffer[1] & 127, 2
        if size > 125:
            form = ">H" if size == 126 else ">Q"
            start += struct.calcsize(form)
            if len(self.buffer) < start:
                return None
            (size,) = struct.unpack_from(form, self.buffer, 2)
        if len(self.buffer) < start + size:
            return None
        payload = bytes(self.buffer[start : start + size])
        del self.buffer[: start + size]
        return opcode, payload

    def receive(self):
        data = self.socket.recv(1 << 18)
        if not data:
            raise Ended("the other side closed the connection")
        self.buffer += data
        out = bytearray()
        while (frame := self._take()) is not None:
            opcode, payload = frame
            if opcode in (0, 2):
                out += payload
            elif opcode == 9:
                self._write(10, payload)
            elif opcode == 8:
                self.closed = True
        if self.closed and not out:
            raise Ended("the other side closed the WebSocket")
        return bytes(out)

    def close(self, code):
        if code is not None and not self.closed:
            self._write(8, struct.pack(">H", code))
        self.socket.close()


def connect(where, token=None):
    """`where`: the path of a Unix socket, or a ws: address."""
    return WebSocket(where, token) if where.startswith("ws:") else UnixSocket(where)


CLOSE_CODES = {
    "USAGE": 1002, "FORMAT_UNSUPPORTED": 1002, "INTEGRITY_VIOLATION": 1007, "PATH_INVALID": 1008, "REFUSED": 1008,
    "LIMIT_EXCEEDED": 1009, "UNAVAILABLE": 1013, "LOCKED": 1013,
}  # fmt: skip


class Peer:
    """One connection: messages in, messages out, and the credit of both directions."""

    def __init__(self, transport):
        self.transport = transport
        self.buffer, self.ready = bytearray(), []
        self.sent, self.limit, self.waiting = 0, FIRST_CREDIT, []
        self.received, self.granted = 0, FIRST_CREDIT
        self.last_sent = self.last_heard = time.monotonic()

    def fileno(self):
        return self.transport.socket.fileno()

    def send(self, message):
        if message["type"] in CREDITED:
            self.waiting.append(message)
            self._flush()
        else:
            self._write(message)

    def _write(self, message):
        frame, self.sent = encode(message, self.sent)
        demand(len(frame) <= MAX_FRAME, "LIMIT_EXCEEDED", "a frame that is too long")
        try:
            self.transport.send(frame)
        except OSError as error:
            raise Ended(str(error)) from error
        self.last_sent = time.monotonic()

    def _flush(self):
        while self.waiting and self.sent < self.limit:
            self._write(self.waiting.pop(0))

    def wait(self, also, seconds):
        """Waits for something to read, here or in `also`. Returns what of `also` can be read."""
        readable, _, _ = select.select([self, *also], [], [], seconds)
        return [one for one in readable if one is not self], self in readable

    def take(self):
        """Reads once, and returns the messages that are whole by then."""
        try:
            data = self.transport.receive()
        except OSError as error:
            raise Ended(str(error)) from error
        self.buffer += data
        self.last_heard = time.monotonic()
        messages = []
        while (found := decode(self.buffer)) is not None:
            message, length, credited = found
            del self.buffer[:length]
            if message["type"] in CREDITED:
                self.received += length
            demand(credited == self.received, "INTEGRITY_VIOLATION", "the count of credited bytes does not go on")
            if message["type"] == "Credit":
                self.limit = max(self.limit, message["limit"])
                self._flush()
            else:
                messages.append(message)
        return messages

    def consumed(self):
        """Everything received so far has been dealt with: there is room again."""
        if self.received + FIRST_CREDIT - self.granted >= FIRST_CREDIT // 2:
            self.granted = self.received + FIRST_CREDIT
            self.send({"type": "Credit", "limit": self.granted})

    def end(self, fault=None):
        """In peace, or with a fatal `Error` first. The other side may have closed it already."""
        try:
            if fault is not None:
                self._write({"type": "Error", "code": fault.code, "message": fault.message, "fatal": True})
            self.transport.close(1000 if fault is None else CLOSE_CODES.get(fault.code, 1011))
        except (Ended, OSError):
            self.cut()

    def cut(self):
        self.transport.socket.close()
