import { EMPTY_HEAD, type Head, type SealedEvent } from "../core/values/event.ts";
import { encodeFile } from "../core/values/file-record.ts";
import { sha256 } from "../core/values/hash.ts";
import type { WorkspacePath } from "../core/values/path.ts";
import { fileRecordId } from "../core/values/file-record.ts";
import type { Message } from "../replication/protocol/messages.ts";
import { sealCommit } from "./seal-commit.ts";

const TS = "2026-01-31T09:30:00.000Z";

/** Makes the event of a file with this content (`undefined`: its deletion), after `head`. */
export function fileEvent(head: Head, path: string, content: string | undefined): SealedEvent {
  const at = path as WorkspacePath;
  const size = Buffer.byteLength(content ?? "");
  const entry =
    content === undefined
      ? undefined
      : ({ path: at, kind: "file", mode: 0o644, size, mtimeMs: 1, hash: sha256(content) } as const);
  const record = encodeFile({ entry, iteration: head.seq + 1, cause: "write", actor: "test" });
  const [event] = sealCommit(head, [{ op: "upsert", recordId: fileRecordId(at), record }], TS);
  if (event === undefined) throw new Error("no event was made");
  return event;
}

/** Makes an event of another record, with this many characters. */
export function userEvent(head: Head, characters: number): SealedEvent {
  const [event] = sealCommit(
    head,
    [{ op: "upsert", recordId: "test:1", record: { text: "x".repeat(characters) } }],
    TS,
  );
  if (event === undefined) throw new Error("no event was made");
  return event;
}

const HASH = sha256("content");
const CONTENT = Buffer.from("content");
const STATE = {
  filepath: "src/main.ts",
  kind: "file",
  content_hash: HASH,
  size: 7,
  permissions: 0o644,
  is_deletion: false,
} as const;
const GONE = { kind: "absent", content_hash: null, size: 0, permissions: 0, is_deletion: true } as const;
const EVENT = fileEvent(EMPTY_HEAD, "src/main.ts", "content");
const ENTRY = { ...STATE, mtime_ms: 5, master_rowid_seen: 3, actor: "agent", session: "s1", turn: "t1", action: "a1" };

/** At least one message of each type, with and without its optional fields. */
export const PROTOCOL_SAMPLES: readonly Message[] = [
  { type: "ContentAhead", filepath: "src/main.ts", content_hash: HASH, content: CONTENT },
  { type: "Notification", sequence: 1, ...STATE, line: EVENT.line, inline_content: CONTENT },
  { type: "Notification", sequence: 1, ...STATE, line: EVENT.line },
  {
    type: "Notification",
    sequence: 2,
    filepath_b64: Buffer.from([0x61, 0xff]).toString("base64"),
    root: "r1",
    ...GONE,
    line: "{}",
  },
  {
    type: "Notification",
    sequence: 3,
    ...STATE,
    content_hash: sha256(""),
    size: 0,
    line: "{}",
    inline_content: Buffer.alloc(0),
  },
  { type: "Heartbeat", agent_sequence: 12, agent_iteration: 3, folder_away_since: 1_700_000_000_000 },
  {
    type: "WriteBack",
    sandbox_id: "sandbox-1",
    entries: [
      { local_seq: 1, ...ENTRY, mtime_ns: 123_456, inline_content: CONTENT },
      { local_seq: 2, ...ENTRY, ...GONE },
      { local_seq: 5, ...ENTRY, filepath: "link", kind: "symlink", permissions: 0o777, inline_content: CONTENT },
      {
        local_seq: 6,
        ...STATE,
        kind: "dir",
        content_hash: null,
        size: 0,
        mtime_ms: 0,
        master_rowid_seen: 0,
        actor: "human",
      },
    ],
  },
  {
    type: "WriteBackResult",
    accepted: [{ local_seq: 1, master_iteration: 4, sequence: 17 }],
    rejected: [
      {
        local_seq: 2,
        reason: "stale",
        current_sequence: 9,
        kept: { content_hash: HASH, iteration: 5, copy: { filepath: "copy" } },
      },
      { local_seq: 5, reason: "unavailable" },
    ],
  },
  { type: "BarrierRequest", sequence: 8 },
  { type: "BarrierConfirmation", sequence: 8, satisfied: true, current_sequence: 9 },
  { type: "Ack", up_to_sequence: 9 },
  { type: "ContentFetchRequest", content_hash: HASH },
  { type: "ContentFetchRequest", content_hash: HASH, offset: 1_048_576, length: 1_048_576 },
  { type: "ContentFetchResponse", content_hash: HASH, content: CONTENT, size: 7, offset: 0 },
  {
    type: "ContentFetchResponse",
    content_hash: HASH,
    content: Buffer.alloc(0),
    size: 10,
    offset: 0,
    chunk_manifest: {
      total_size: 10,
      chunk_size: 6,
      chunks: [
        { hash: HASH, offset: 0, size: 6 },
        { hash: HASH, offset: 6, size: 4 },
      ],
    },
  },
  { type: "ContentNotFound", content_hash: HASH },
  { type: "CatchupRequest", sandbox_id: "sandbox-1", since_sequence: 4 },
  {
    type: "FullResyncRequired",
    reason: "compacted",
    current_sequence: 900,
    anchor: {
      event_hash: HASH,
      root: HASH,
      frontier: [HASH],
      record: {},
      sequence: 1,
      ts: "2030-01-01T00:00:00.000Z",
    },
  },
  { type: "FullResyncRequired", reason: "diverged", current_sequence: 900 },
  {
    type: "Hello",
    versions: [2],
    capabilities: ["rename", "tree"],
    workspace: "01J0",
    sandbox_id: "sandbox-1",
    token: "secret",
    head: { sequence: 3, hash: HASH },
    settled_local_seq: 2,
  },
  {
    type: "Hello",
    versions: [1, 2],
    capabilities: [],
    sandbox_id: "s",
    head: { sequence: 0, hash: "" },
    settled_local_seq: 0,
  },
  {
    type: "HelloAck",
    version: 2,
    capabilities: ["rename"],
    workspace: "01J0",
    head: { sequence: 12, hash: HASH },
    settled_local_seq: 2,
    heartbeat_ms: 5000,
  },
  { type: "SandboxHeartbeat", sandbox_id: "sandbox-1", up_to_sequence: 9, local_seq: 4, pending: 2 },
  {
    type: "Rename",
    sequence: 4,
    from: { filepath: "old" },
    to: { filepath: "new" },
    kind: "file",
    content_hash: HASH,
    size: 7,
    permissions: 0o644,
    lines: ["{}", "{}"],
  },
  { type: "Events", first_sequence: 1, last_sequence: 1, lines: Buffer.from(`${EVENT.line}\n`) },
  {
    type: "Events",
    first_sequence: 7,
    last_sequence: 7,
    lines: Buffer.from("part"),
    part: { offset: 4, total: 3_000_000 },
  },
  {
    type: "HeadWitness",
    workspace: "01J0",
    sequence: 4,
    head_hash: HASH,
    root: HASH,
    signature: "chronicle/01J0\n4\n",
  },
  { type: "Error", code: "PATH_INVALID", message: "no", hint: "do", fatal: true },
  { type: "Credit", limit: 4_194_304 },
  {
    type: "TreeRequest",
    sequence: 4,
    since: 2,
    folders: [
      { filepath: "", hash: HASH },
      { filepath: "src", after: "a.ts" },
    ],
  },
  {
    type: "TreeResponse",
    sequence: 4,
    folders: [
      {
        filepath: "",
        hash: HASH,
        touched: true,
        children: [
          {
            name: "src",
            kind: "dir",
            permissions: 0o755,
            size: 0,
            mtime_ms: 0,
            hash: HASH,
            sequence: 2,
            iteration: 1,
            touched: false,
          },
          { name: "was", kind: "absent", permissions: 0, size: 0, mtime_ms: 0, hash: null, sequence: 4, iteration: 2 },
        ],
        more: false,
      },
      { filepath: "gone", hash: null, touched: true, children: [], more: false },
    ],
  },
  { type: "ErasuresRequest", sequence: 4, offset: 0 },
  { type: "ErasuresResponse", sequence: 4, offset: 0, total: 9, rows: Buffer.from("nine bytes".slice(1)) },
  { type: "ErasuresResponse", sequence: 4, offset: 9, total: 9, rows: Buffer.alloc(0) },
  { type: "BlocksRequest", hashes: Buffer.from(`${HASH}${sha256("")}`, "hex") },
  { type: "BlocksResponse", blocks: Buffer.from("CBLK"), absent: [HASH], apart: [] },
  { type: "BlocksResponse", blocks: Buffer.alloc(0), absent: [], apart: [HASH] },
];
