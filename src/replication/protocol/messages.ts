import {
  bytes,
  hash,
  count,
  namesPath,
  pathFields,
  head,
  name,
  sandboxId,
  isState,
  plainName,
  stateFields,
  restOfTime,
} from "./message-fields.ts";
import {
  MAX_ASKED,
  MAX_BLOCKS_BYTES,
  MAX_NOT_IN_BLOCKS,
  MAX_ERASURES_BYTES,
  MAX_PIECE_BYTES,
  INLINE_BELOW_BYTES,
  MAX_CHUNK_BYTES,
  MAX_CHUNKS,
  MAX_ENTRIES,
  MAX_LINES_BYTES,
  MAX_NOTIFIED_LINE,
} from "./limits.ts";
import { MAX_LINE_BYTES } from "../../core/log/chain.ts";
import type { RecordBody } from "../../core/values/event.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { treeRequest, treeResponse } from "./tree-messages.ts";
import * as z from "zod";

const HASH_BYTES = 32;

const hashes = z.array(hash).max(MAX_NOT_IN_BLOCKS);

/** Requests many contents at once, as blocks of a pack (docs/format.md). Requires the capability `blocks`. */
const blocksRequest = z.strictObject({
  type: z.literal("BlocksRequest"),
  /** The hashes of the requested contents, 32 bytes each, concatenated. */
  hashes: bytes(MAX_ASKED * HASH_BYTES).refine(
    ({ length }) => length > 0 && length % HASH_BYTES === 0,
    "must be one hash or more",
  ),
});

const blocksResponse = z.strictObject({
  type: z.literal("BlocksResponse"),
  /** Whole blocks, concatenated. The blocks contain only requested contents. */
  blocks: bytes(MAX_BLOCKS_BYTES),
  /** The requested contents that the origin does not have. */
  absent: hashes,
  /**
   * The requested contents that the origin does not send in blocks. They must be requested by `ContentFetchRequest`.
   */
  apart: hashes,
});

/**
 * Requests the erasures of the state at which a full reconciliation ends. In a full reconciliation, a replica that can
 * no longer follow the origin's events takes over the origin's state. Requires the capability `erasures`.
 */
const erasuresRequest = z.strictObject({
  type: z.literal("ErasuresRequest"),
  /** The `current_sequence` of `FullResyncRequired`. */
  sequence: count,
  /** The offset of the requested piece, in bytes. */
  offset: count,
});

const erasuresResponse = z
  .strictObject({
    type: z.literal("ErasuresResponse"),
    sequence: count,
    offset: count,
    /** The length of all rows, in bytes. */
    total: z.int().min(0).max(MAX_ERASURES_BYTES),
    /** Record rows of a base (docs/format.md), or a piece of them. */
    rows: bytes(MAX_PIECE_BYTES),
  })
  .refine(
    ({ offset, total, rows }) => rows.length === Math.min(MAX_PIECE_BYTES, total - offset),
    "the piece is shorter or longer than what is left",
  );

const length = z.int().min(1).max(MAX_PIECE_BYTES);

/**
 * Requests a content. The origin also sends this message, because the origin can lack a content that a replica writes
 * back.
 */
const contentFetchRequest = z.strictObject({
  type: z.literal("ContentFetchRequest"),
  content_hash: hash,
  /**
   * The offset of the requested piece, in bytes. If omitted, the whole content is requested. If the content is then
   * longer than one piece, the answer has only the chunk manifest.
   */
  offset: count.optional(),
  length: length.optional(),
});

const chunk = z.strictObject({ hash, offset: count, size: z.int().min(1).max(MAX_CHUNK_BYTES) });

/** The chunks that make up a content, in order. All chunks but the last one have the same size. */
const chunkManifest = z
  .strictObject({
    total_size: z.int().min(1),
    chunk_size: z.int().min(1).max(MAX_CHUNK_BYTES),
    chunks: z.array(chunk).min(1).max(MAX_CHUNKS),
  })
  .refine(({ total_size, chunk_size, chunks }) => {
    if (chunks.length !== Math.ceil(total_size / chunk_size)) return false;
    return chunks.every(
      ({ offset, size }, i) => offset === i * chunk_size && size === Math.min(chunk_size, total_size - offset),
    );
  }, "the chunks do not make up the content");

const contentFetchResponse = z
  .strictObject({
    type: z.literal("ContentFetchResponse"),
    content_hash: hash,
    content: bytes(MAX_PIECE_BYTES),
    /** The size of the whole content, in bytes. */
    size: z.int().min(0),
    /** The offset of the piece, in bytes. */
    offset: count,
    chunk_manifest: chunkManifest.optional(),
  })
  .refine(({ content, size, offset, chunk_manifest }) => {
    if (offset + content.length > size) return false;
    if (chunk_manifest !== undefined) return chunk_manifest.total_size === size;
    return content.length > 0 || size === 0;
  }, "the piece does not lie in the content");

const contentNotFound = z.strictObject({ type: z.literal("ContentNotFound"), content_hash: hash });

/**
 * A small content that an event of this path is about to name. The receiver may store the content before the event
 * arrives.
 */
const contentAhead = z
  .strictObject({
    type: z.literal("ContentAhead"),
    ...pathFields,
    content_hash: hash,
    content: bytes(INLINE_BELOW_BYTES - 1),
  })
  .refine(namesPath, "is the root");

const capabilities = z.array(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)).max(64);

/** The id of a workspace. `Hello` may have the workspace's name instead. */
const workspace = z.string().min(1).max(128);

const hello = z.strictObject({
  type: z.literal("Hello"),
  versions: z.array(z.int().min(1).max(65_535)).min(1).max(16),
  capabilities,
  /**
   * If omitted, the server takes the first of these that exists:
   * - the workspace in the address;
   * - the workspace of the folder in which the server was started;
   * - the only workspace that the caller may see and that is not archived.
   */
  workspace: workspace.optional(),
  sandbox_id: sandboxId,
  /** The caller's token, if the transport has not already presented it. */
  token: z.string().min(1).max(4096).optional(),
  /** The last event of the origin that the replica has verified and holds. */
  head,
  /** The last answered entry of the replica's journal; 0 for none. */
  settled_local_seq: count,
});

const helloAck = z.strictObject({
  type: z.literal("HelloAck"),
  version: z.int().min(1).max(65_535),
  capabilities,
  workspace,
  head,
  /**
   * The last entry of this replica that the origin has decided about. After `HelloAck`, the replica sends all later
   * entries, even if it has already sent some of them.
   */
  settled_local_seq: count,
  /**
   * The `event_hash` of entry `settled_local_seq`, if the entry has an `event_hash`. If the replica lacks this entry,
   * or has another hash for the entry, the replica was put back to an earlier state or is a copy.
   */
  settled_hash: hash.optional(),
  /**
   * The interval of heartbeats, in milliseconds. Each side sends something at least once in each interval. After three
   * silent intervals, the other side counts as gone.
   */
  heartbeat_ms: z.int().min(100).max(600_000),
});

const heartbeat = z.strictObject({
  type: z.literal("Heartbeat"),
  agent_sequence: count,
  /** The iteration in the last file event that was sent to this replica; 0 if no file event was sent. */
  agent_iteration: count,
  /**
   * The time since which the origin's folder is missing, by the origin's clock (epoch milliseconds). Requires the
   * capability `folder`.
   */
  folder_away_since: count.optional(),
});

const sandboxHeartbeat = z.strictObject({
  type: z.literal("SandboxHeartbeat"),
  sandbox_id: sandboxId,
  up_to_sequence: count,
  /** The last entry of the replica's journal; 0 for none. */
  local_seq: count,
  /** The number of entries that wait for an answer. */
  pending: count,
});

const headWitness = z.strictObject({
  type: z.literal("HeadWitness"),
  workspace,
  sequence: z.int().min(1),
  /** The hash of event `sequence` in the sender's log. */
  head_hash: hash,
  /** The Merkle root of the files after event `sequence`. */
  root: hash,
  /** The signed head of event `sequence` (docs/format.md), if the sender has one. */
  signature: z.string().min(1).max(16_384).optional(),
});

const error = z.strictObject({
  type: z.literal("Error"),
  /** A receiver treats an unknown code as `IO`. */
  code: z.string().regex(/^[A-Z][A-Z_]{0,63}$/),
  message: z.string().max(2048),
  hint: z.string().max(2048).optional(),
  /** True if the sender closes the connection after this message. */
  fatal: z.boolean(),
  /** With `UNAVAILABLE`: `starting` if the server is still opening the workspace. */
  about: name.optional(),
});

const credit = z.strictObject({
  type: z.literal("Credit"),
  /**
   * The number of bytes of credited frames that the other side may send, counted from the beginning of the connection.
   */
  limit: count,
});

/** A change that a replica writes back. The replica's id and `local_seq` together identify the change. */
const entry = z
  .strictObject({
    local_seq: z.int().min(1),
    /** The hash of the entry's event in the replica's own log. */
    event_hash: hash.optional(),
    ...stateFields,
    mtime_ms: count,
    mtime_ns: restOfTime.optional(),
    /**
     * The origin's event on which the change is based. This is the last event of this path that the replica had
     * applied; 0 for none.
     */
    master_rowid_seen: count,
    actor: plainName,
    session: plainName.optional(),
    turn: plainName.optional(),
    action: plainName.optional(),
  })
  .refine(isState, "the fields of the state do not agree");

/** The reason why an entry was not accepted. The replica sends the entry again only after `unavailable`. */
const reason = z.enum([
  /** The origin has a later state of this path. */
  "stale",
  /** The entry claims to be based on an event that does not exist or is not about this path. */
  "causal-lie",
  "hash-mismatch",
  "path",
  "filtered",
  "read-only",
  "too-large",
  "content-missing",
  "erased",
  /** The origin cannot accept anything at present. The origin has decided about no entry of the batch. */
  "unavailable",
]);

const writeBack = z
  .strictObject({
    type: z.literal("WriteBack"),
    sandbox_id: sandboxId,
    entries: z.array(entry).min(1).max(MAX_ENTRIES),
  })
  .refine(
    ({ entries }) => entries.every(({ local_seq }, i) => i === 0 || local_seq > (entries[i - 1]?.local_seq ?? 0)),
    "the entries do not ascend by local_seq",
  );

/** The place where the origin keeps the state of a rejected entry. */
const kept = z.strictObject({
  content_hash: hash.nullable(),
  /** The iteration under which the state is kept. */
  iteration: z.int().min(1).optional(),
  conflict_id: name.optional(),
  copy: z.strictObject(pathFields).optional(),
});

const writeBackResult = z.strictObject({
  type: z.literal("WriteBackResult"),
  accepted: z
    .array(
      z.strictObject({
        local_seq: z.int().min(1),
        /**
         * The iteration that event `sequence` recorded. Both numbers are 0 for the deletion of a path that never
         * existed.
         */
        master_iteration: count,
        /** The event that records the entry, or an earlier event that had already made the same change. */
        sequence: count,
      }),
    )
    .max(MAX_ENTRIES),
  rejected: z
    .array(
      z.strictObject({
        local_seq: z.int().min(1),
        reason,
        /** The last event of this path, if the entry was refused because of that event. */
        current_sequence: count.optional(),
        kept: kept.optional(),
      }),
    )
    .max(MAX_ENTRIES),
});

/** An event's line exactly as in the log, without the newline. */
const line = z.string().min(1).max(MAX_NOTIFIED_LINE);

/**
 * An event of a path, with the state of the path after the event. Lines are sent in the order of the log, each in a
 * `Notification`, a `Rename` or an `Events`.
 */
const notification = z
  .strictObject({ type: z.literal("Notification"), sequence: z.int().min(1), ...stateFields, line })
  .refine(isState, "the fields of the state do not agree");

/** The deletion of a path and the creation of another path in the next event. The receiver applies both together. */
const rename = z
  .strictObject({
    type: z.literal("Rename"),
    /** The sequence of the deletion. The creation is the next event. */
    sequence: z.int().min(1),
    from: z.strictObject(pathFields).refine(namesPath, "is the root"),
    to: z.strictObject(pathFields).refine(namesPath, "is the root"),
    kind: z.enum(["file", "symlink"]),
    content_hash: hash,
    size: z.int().min(0),
    permissions: z.int().min(0).max(0o7777),
    lines: z.tuple([line, line]),
  })
  .refine(
    ({ from, to }) => from.filepath !== to.filepath || from.filepath_b64 !== to.filepath_b64 || from.root !== to.root,
    "both paths are the same",
  );

const events = z
  .strictObject({
    type: z.literal("Events"),
    first_sequence: z.int().min(1),
    last_sequence: z.int().min(1),
    /** Whole lines with their newlines. If `part` is set, bytes of one line with its newline. */
    lines: z.custom<Uint8Array>(
      (value) => value instanceof Uint8Array && value.length > 0 && value.length <= MAX_LINES_BYTES,
      `is 1 to ${MAX_LINES_BYTES} bytes`,
    ),
    part: z
      .strictObject({
        offset: count,
        total: z
          .int()
          .min(1)
          .max(MAX_LINE_BYTES + 1),
      })
      .optional(),
  })
  .refine(({ first_sequence, last_sequence, lines, part }) => {
    if (part !== undefined) return first_sequence === last_sequence && part.offset + lines.length <= part.total;
    // A line has at least two bytes, including its newline.
    const most = lines.length / 2;
    return last_sequence >= first_sequence && last_sequence - first_sequence < most && lines.at(-1) === 0x0a;
  }, "the sequences and the lines do not agree");

const ack = z.strictObject({ type: z.literal("Ack"), up_to_sequence: count });

const barrierRequest = z.strictObject({ type: z.literal("BarrierRequest"), sequence: count });

const barrierConfirmation = z.strictObject({
  type: z.literal("BarrierConfirmation"),
  sequence: count,
  satisfied: z.boolean(),
  current_sequence: count,
});

const catchupRequest = z.strictObject({
  type: z.literal("CatchupRequest"),
  sandbox_id: sandboxId,
  since_sequence: count,
});

/** A JSON object, whose fields are validated by the code that reads it. */
const body = z.custom<RecordBody>((value) => value !== null && typeof value === "object" && !Array.isArray(value));

/** The state at which a full reconciliation ends: the state after event `current_sequence` of `FullResyncRequired`. */
const anchor = z.strictObject({
  /** The hash of event `current_sequence`. */
  event_hash: hash,
  /** The Merkle root of the files after event `current_sequence`. */
  root: hash,
  /** The frontier of the log tree after event `current_sequence`: the roots of its perfect subtrees. */
  frontier: z.array(hash).max(53),
  /** The workspace record in force after event `current_sequence`. */
  record: body,
  /** The event that recorded `record`. */
  sequence: z.int().min(1),
  ts: z.string().max(64),
});

const fullResyncRequired = z.strictObject({
  type: z.literal("FullResyncRequired"),
  /**
   * - `compacted`: the lines after the replica's head are no longer in the log or its archive.
   * - `too-far`: the replica lacks more events than the origin's limit.
   * - `diverged`: the replica's head is not in the origin's chain.
   */
  reason: z.enum(["compacted", "too-far", "diverged"]),
  current_sequence: count,
  /** Requires the capability `tree`. */
  anchor: anchor.optional(),
});

/**
 * All messages; docs/protocol.md has a table of them. A message is a plain object with the fields of its JSON, but each
 * byte field has the bytes themselves instead of their number.
 */
export const MESSAGE = z.discriminatedUnion("type", [
  notification,
  heartbeat,
  writeBack,
  writeBackResult,
  barrierRequest,
  barrierConfirmation,
  ack,
  contentFetchRequest,
  contentFetchResponse,
  contentNotFound,
  catchupRequest,
  fullResyncRequired,
  hello,
  helloAck,
  sandboxHeartbeat,
  rename,
  events,
  headWitness,
  error,
  credit,
  treeRequest,
  treeResponse,
  blocksRequest,
  blocksResponse,
  contentAhead,
  erasuresRequest,
  erasuresResponse,
]);

export type Message = z.output<typeof MESSAGE>;

export type MessageType = Message["type"];

export type MessageOf<Type extends MessageType> = Extract<Message, { readonly type: Type }>;

/**
 * The messages that carry lines, contents or listings, and wait for credit. All other messages are small and do not
 * wait.
 */
const CREDITED: ReadonlySet<MessageType> = new Set<MessageType>([
  "Notification",
  "Rename",
  "Events",
  "ContentFetchResponse",
  "WriteBack",
  "TreeResponse",
  "BlocksResponse",
  "ContentAhead",
  "ErasuresResponse",
]);

export function isCredited(type: MessageType): boolean {
  return CREDITED.has(type);
}

/**
 * Returns the name of the byte field of messages of a type; `undefined` if there is none. For `WriteBack`, returns the
 * name of the byte field of its entries.
 */
export function bytesFieldOf(type: unknown): string | undefined {
  if (type === "Notification" || type === "WriteBack") return "inline_content";
  if (type === "ContentFetchResponse" || type === "ContentAhead") return "content";
  if (type === "BlocksRequest") return "hashes";
  if (type === "BlocksResponse") return "blocks";
  if (type === "ErasuresResponse") return "rows";
  return type === "Events" ? "lines" : undefined;
}

/** The maximum length of the text about an invalid message, and of the name of the invalid field, in characters. */
const MOST_COMPLAINT = 300;

/** Checks a message. Throws `USAGE` with the name of the invalid field, or `PATH_INVALID` for a refused path. */
export function checkMessage(given: unknown): Message {
  const parsed = MESSAGE.safeParse(given);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  const what = `${field === "" ? "the message" : field}: ${issue?.message ?? "does not fit"}`;
  throw new ChronicleError("USAGE", what.slice(0, MOST_COMPLAINT), { data: { field: field.slice(0, MOST_COMPLAINT) } });
}
