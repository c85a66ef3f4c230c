import { SYMLINK_MODE, type Entry } from "../../core/values/entry.ts";
import type { WriteBackAnswer, WriteBackEntry } from "../../core/records/write-back.ts";
import { pathFromFields, pathToFields, plainNameOf } from "./message-fields.ts";
import type { MessageOf } from "./messages.ts";
import { optional } from "../../util/optional.ts";

type WireEntry = MessageOf<"WriteBack">["entries"][number];

/** `isExact` is true if the capability `times` was agreed on. */
interface WireForm {
  readonly isExact: boolean;
}

/**
 * Converts an entry to its form in a message. Throws `PATH_INVALID` for a path that is absolute on Windows, because
 * peers refuse such paths.
 */
export function entryToWire(
  { localSeq, eventHash, path, entry, seen, actor, session, turn, action }: WriteBackEntry,
  inline: Uint8Array | undefined,
  { isExact }: WireForm,
): WireEntry {
  const fields = pathToFields(path);
  pathFromFields(fields);
  return {
    local_seq: localSeq,
    ...optional({ event_hash: eventHash }),
    ...fields,
    kind: entry?.kind ?? "absent",
    content_hash: entry?.hash ?? null,
    size: entry?.size ?? 0,
    permissions: entry?.mode ?? 0,
    is_deletion: entry === undefined,
    ...optional({ inline_content: inline }),
    ...timeToWire(entry, isExact),
    master_rowid_seen: seen,
    actor: plainNameOf(actor) ?? "unknown",
    ...workOf({ session: plainNameOf(session), turn: plainNameOf(turn), action: plainNameOf(action) }),
  };
}

/** Returns the time of an entry as fields of a message. A time before 1970 is sent as 0. */
function timeToWire(entry: Entry | undefined, isExact: boolean): Pick<WireEntry, "mtime_ms" | "mtime_ns"> {
  const { mtimeMs = 0, mtimeRestNs = 0 } = entry ?? {};
  if (!isExact || mtimeMs < 0 || mtimeRestNs === 0) return { mtime_ms: Math.max(0, mtimeMs) };
  return { mtime_ms: mtimeMs, mtime_ns: mtimeRestNs };
}

/** Returns the entry in a message. Throws `PATH_INVALID` for a refused path. */
export function entryFromWire(wire: WireEntry): WriteBackEntry {
  const path = pathFromFields(wire);
  const { kind, content_hash, size, permissions, mtime_ms, mtime_ns } = wire;
  const entry: Entry | undefined =
    kind === "absent"
      ? undefined
      : {
          path,
          kind,
          mode: kind === "symlink" ? SYMLINK_MODE : permissions,
          size,
          mtimeMs: kind === "dir" ? 0 : mtime_ms,
          mtimeRestNs: kind === "dir" ? undefined : mtime_ns,
          hash: content_hash ?? undefined,
        };
  const { local_seq: localSeq, event_hash: eventHash, master_rowid_seen: seen, actor } = wire;
  return { localSeq, ...optional({ eventHash }), path, entry, seen, actor, ...workOf(wire) };
}

interface Work {
  readonly session?: string | undefined;
  readonly turn?: string | undefined;
  readonly action?: string | undefined;
}

function workOf({ session, turn, action }: Work): Pick<WriteBackEntry, "session" | "turn" | "action"> {
  return {
    ...optional({ session, turn, action }),
  };
}

export function answerToWire({ accepted, rejected }: WriteBackAnswer): MessageOf<"WriteBackResult"> {
  return {
    type: "WriteBackResult",
    accepted: accepted.map(({ localSeq, iteration, sequence }) => ({
      local_seq: localSeq,
      master_iteration: iteration,
      sequence,
    })),
    rejected: rejected.map(({ localSeq, reason, currentSequence, kept }) => ({
      local_seq: localSeq,
      reason,
      ...optional({ current_sequence: currentSequence }),
      ...(kept === undefined ? {} : { kept: { content_hash: kept.contentHash } }),
    })),
  };
}

export function answerFromWire({ accepted, rejected }: MessageOf<"WriteBackResult">): WriteBackAnswer {
  return {
    accepted: accepted.map(({ local_seq: localSeq, master_iteration: iteration, sequence }) => ({
      localSeq,
      iteration,
      sequence,
    })),
    rejected: rejected.map(({ local_seq: localSeq, reason, current_sequence, kept }) => ({
      localSeq,
      reason,
      ...optional({ currentSequence: current_sequence }),
      ...(kept === undefined ? {} : { kept: { contentHash: kept.content_hash } }),
    })),
  };
}
