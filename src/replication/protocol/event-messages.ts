import { checkLine } from "../../core/log/chain.ts";
import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Head, LogEvent, SealedEvent } from "../../core/values/event.ts";
import { changesOf } from "../../core/values/file-record.ts";
import type { AnnouncedContent } from "../../core/records/announced-content.ts";
import { sha256, type Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { isRefusedPath } from "../../core/values/record-fields.ts";
import { pathFromFields, pathToFields, type PathFields, type StateFields } from "./message-fields.ts";
import { INLINE_BELOW_BYTES, MAX_LINES_BYTES, MAX_NOTIFIED_LINE } from "./limits.ts";
import type { MessageOf } from "./messages.ts";
import { optional } from "../../util/optional.ts";

interface FileState {
  readonly path: WorkspacePath;
  readonly entry: Entry | undefined;
}

function stateOf(event: LogEvent): FileState | undefined {
  const [change] = event.op === "upsert" ? changesOf(event) : [];
  return change === undefined ? undefined : { path: change.path, entry: change.file.entry };
}

/**
 * Returns the fields of a message that describe the state of a path. The receiver also computes these fields from the
 * event's line, and refuses a message whose fields differ.
 */
export function stateToFields(path: WorkspacePath, entry: Entry | undefined): Omit<StateFields, "inline_content"> {
  return {
    ...pathToFields(path),
    kind: entry?.kind ?? "absent",
    content_hash: entry?.hash ?? null,
    size: entry?.size ?? 0,
    permissions: entry?.mode ?? 0,
    is_deletion: entry === undefined,
  };
}

/** Returns the path and the state that the fields of a message name. Throws `PATH_INVALID` for a refused path. */
export function stateFromFields(fields: StateFields & { readonly mtime_ms: number }): {
  readonly path: WorkspacePath;
  readonly entry: Entry | undefined;
} {
  const path = pathFromFields(fields);
  const { kind, content_hash, size, permissions, mtime_ms } = fields;
  if (kind === "absent") return { path, entry: undefined };
  const hash = content_hash ?? undefined;
  return { path, entry: { path, kind, mode: permissions, size, mtimeMs: kind === "dir" ? 0 : mtime_ms, hash } };
}

function goesInline(size: number): boolean {
  return size < INLINE_BELOW_BYTES;
}

/**
 * Returns the notification of an event. Returns `undefined` if the event is not about a file, if its line is too long,
 * or if the protocol refuses its path. The caller then sends the line in `Events` instead. If `content` is small, the
 * notification has it inline. The caller must omit `content` if the replica is not allowed to have it.
 */
export function notificationOf(event: SealedEvent, content?: Uint8Array): MessageOf<"Notification"> | undefined {
  const state = event.line.length > MAX_NOTIFIED_LINE ? undefined : stateOf(event);
  if (state === undefined || !isAcceptable(state.path)) return undefined;
  const { seq: sequence, line } = event;
  const inline = content !== undefined && goesInline(content.length) ? { inline_content: content } : {};
  return { type: "Notification", sequence, ...stateToFields(state.path, state.entry), line, ...inline };
}

/**
 * Returns the message that sends a content before its event. Returns `undefined` if the event's notification would not
 * have the content inline.
 */
export function contentAheadOf({ path, hash, bytes }: AnnouncedContent): MessageOf<"ContentAhead"> | undefined {
  if (!goesInline(bytes.length) || !isAcceptable(path)) return undefined;
  return { type: "ContentAhead", ...pathToFields(path), content_hash: hash, content: bytes };
}

function isAcceptable(path: WorkspacePath): boolean {
  try {
    return pathFromFields(pathToFields(path)) === path;
  } catch (error) {
    if (error instanceof ChronicleError && error.code === "PATH_INVALID") return false;
    throw error;
  }
}

/**
 * Returns one message for two consecutive events: the deletion of a path (`gone`), and the creation of another path
 * (`made`). Returns `undefined` if the two events cannot be sent as a rename.
 */
export function renameOf(gone: SealedEvent, made: SealedEvent): MessageOf<"Rename"> | undefined {
  const [from, to] = [notificationOf(gone), notificationOf(made)];
  if (from === undefined || to === undefined || made.seq !== gone.seq + 1 || !from.is_deletion) return undefined;
  const { kind, content_hash, size, permissions } = to;
  if ((kind !== "file" && kind !== "symlink") || content_hash === null || samePath(from, to)) return undefined;
  return {
    type: "Rename",
    sequence: gone.seq,
    from: pathOnly(from),
    to: pathOnly(to),
    kind,
    content_hash,
    size,
    permissions,
    lines: [gone.line, made.line],
  };
}

function pathOnly({ filepath, filepath_b64, root }: PathFields): PathFields {
  return {
    ...optional({ filepath, filepath_b64, root }),
  };
}

function samePath(a: PathFields, b: PathFields): boolean {
  return pathFromFields(a) === pathFromFields(b);
}

/**
 * Packs consecutive events into as few messages as `MAX_LINES_BYTES` allows. A line that exceeds this limit is sent in
 * parts.
 */
export function* eventsOf(events: Iterable<SealedEvent>): Generator<MessageOf<"Events">> {
  let held: Buffer[] = [];
  let bytes = 0;
  let last = 0;
  const flush = (): MessageOf<"Events"> => {
    const lines = Buffer.concat(held);
    const first = last - held.length + 1;
    held = [];
    bytes = 0;
    return { type: "Events", first_sequence: first, last_sequence: last, lines };
  };
  for (const { seq, line } of events) {
    const whole = Buffer.from(`${line}\n`);
    if (held.length > 0 && bytes + whole.length > MAX_LINES_BYTES) yield flush();
    if (whole.length > MAX_LINES_BYTES) {
      yield* partsOf(seq, whole);
      continue;
    }
    held.push(whole);
    bytes += whole.length;
    last = seq;
  }
  if (held.length > 0) yield flush();
}

function* partsOf(seq: number, line: Buffer): Generator<MessageOf<"Events">> {
  for (let offset = 0; offset < line.length; offset += MAX_LINES_BYTES) {
    const lines = line.subarray(offset, offset + MAX_LINES_BYTES);
    const part = { offset, total: line.length };
    yield { type: "Events", first_sequence: seq, last_sequence: seq, lines, part };
  }
}

/**
 * Returns the event of a notification. Throws `INTEGRITY_VIOLATION` if the line does not follow `prev`, if the line
 * disagrees with the other fields, or if the inline content does not match its hash. Throws `PATH_INVALID` for a
 * refused path.
 */
export function openNotification(message: MessageOf<"Notification">, prev: Head): LogEvent {
  const { event, state } = openLine(Buffer.from(message.line), prev);
  if (state === undefined) return violated(`event ${event.seq} is not about a file`);
  const says = stateToFields(state.path, state.entry);
  const isSame =
    message.sequence === event.seq &&
    pathFromFields(message) === state.path &&
    (["kind", "content_hash", "size", "permissions", "is_deletion"] as const).every(
      (key) => message[key] === says[key],
    );
  if (!isSame) return violated(`the notification of event ${event.seq} disagrees with its line`);
  checkInline(message);
  return event;
}

/** Returns the two events of a rename. Throws as `openNotification` does. */
export function openRename(message: MessageOf<"Rename">, prev: Head): readonly [LogEvent, LogEvent] {
  const [first, second] = message.lines;
  const { event: gone, state: from } = openLine(Buffer.from(first), prev);
  const { event: made, state: to } = openLine(Buffer.from(second), gone);
  const isSame =
    message.sequence === gone.seq &&
    from?.entry === undefined &&
    from?.path === pathFromFields(message.from) &&
    to?.path === pathFromFields(message.to) &&
    to.entry?.kind === message.kind &&
    to.entry.hash === message.content_hash &&
    to.entry.size === message.size &&
    to.entry.mode === message.permissions;
  return isSame ? [gone, made] : violated(`the rename at event ${gone.seq} disagrees with its lines`);
}

/** Returns the events of a message with whole lines (no `part`). Throws as `openNotification` does. */
export function openEvents({ first_sequence, last_sequence, lines }: MessageOf<"Events">, prev: Head): LogEvent[] {
  const bytes = Buffer.from(lines.buffer, lines.byteOffset, lines.byteLength);
  const events: LogEvent[] = [];
  let head = prev;
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(0x0a, at);
    if (end < 0) violated("the last line of Events has no end");
    const { event } = openLine(bytes.subarray(at, end), head);
    events.push(event);
    head = event;
    at = end + 1;
  }
  if (events[0]?.seq !== first_sequence || head.seq !== last_sequence)
    violated("the sequences of Events are not those of its lines");
  return events;
}

/** Throws `INTEGRITY_VIOLATION` if the inline content does not match its hash. */
export function checkInline(fields: {
  readonly content_hash: Hash | null;
  readonly inline_content?: Uint8Array | undefined;
}): void {
  const { content_hash, inline_content } = fields;
  if (inline_content === undefined || sha256(inline_content) === content_hash) return;
  violated(`the content that was sent is not ${content_hash ?? "nothing"}`);
}

interface OpenedLine {
  readonly event: LogEvent;
  /** `undefined` if the event is not about a file. */
  readonly state: FileState | undefined;
}

function openLine(line: Uint8Array, prev: Head): OpenedLine {
  const checked = checkLine(line, prev);
  if ("event" in checked) return { event: checked.event, state: soundState(checked.event) };
  const { kind, detail } = checked.fault;
  throw new ChronicleError("INTEGRITY_VIOLATION", `a line that was sent is refused: ${detail}`, { data: { kind } });
}

/**
 * Decodes the state of an event that a peer has sent. Throws `PATH_INVALID` for a refused path, and
 * `INTEGRITY_VIOLATION` for an invalid state.
 */
function soundState(event: LogEvent): FileState | undefined {
  try {
    return stateOf(event);
  } catch (cause) {
    if (!(cause instanceof ChronicleError)) throw cause;
    const code = isRefusedPath(cause) ? "PATH_INVALID" : "INTEGRITY_VIOLATION";
    throw new ChronicleError(code, `event ${event.seq} is refused: ${cause.message}`, { cause });
  }
}

function violated(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}
