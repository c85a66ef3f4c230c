import * as z from "zod";
import { count, hash, head, name, sandboxId } from "./fields.ts";

/** Messages that begin a conversation, keep it alive and end it. */

const capabilities = z.array(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)).max(64);

/** A workspace's id or name. Default: the origin's own. */
const workspace = z.string().min(1).max(128);

export const hello = z.strictObject({
  type: z.literal("Hello"),
  /** Protocol versions that the replica speaks. */
  versions: z.array(z.int().min(1).max(65_535)).min(1).max(16),
  capabilities,
  workspace: workspace.optional(),
  sandbox_id: sandboxId,
  /** The token, if the transport has not already presented it. */
  token: z.string().min(1).max(4096).optional(),
  /** The last event of the origin that the replica holds, verified. */
  head,
  /** The last of its own entries for which the replica has an answer. */
  settled_local_seq: count,
});

export const helloAck = z.strictObject({
  type: z.literal("HelloAck"),
  version: z.int().min(1).max(65_535),
  capabilities,
  /** The workspace's id. */
  workspace,
  /** The origin's last event now. */
  head,
  /** The last entry of this replica that the origin has decided; later ones must be sent (again). */
  settled_local_seq: count,
  /**
   * The `event_hash` of that entry, if it had one. A replica with another event there, or none, was put back, or is a
   * copy.
   */
  settled_hash: hash.optional(),
  /** Each side sends something at least this often, in ms; after three times that, the other side counts as gone. */
  heartbeat_ms: z.int().min(100).max(600_000),
});

export const heartbeat = z.strictObject({
  type: z.literal("Heartbeat"),
  agent_sequence: count,
  /** The iteration of the last event that is about a path; 0 if there is none. */
  agent_iteration: count,
  /** With `folder`: since when the origin's folder is missing, by its clock (epoch milliseconds). */
  folder_away_since: count.optional(),
});

export const sandboxHeartbeat = z.strictObject({
  type: z.literal("SandboxHeartbeat"),
  sandbox_id: sandboxId,
  up_to_sequence: count,
  /** The last entry of the replica's journal, and the number of entries that wait for an answer. */
  local_seq: count,
  pending: count,
});

export const headWitness = z.strictObject({
  type: z.literal("HeadWitness"),
  workspace,
  /** The sender's view: this event has this hash, and the files after it have this Merkle root. */
  sequence: z.int().min(1),
  head_hash: hash,
  root: hash,
  /** The signed head as in docs/format.md, if the sender has one of that event. */
  signature: z.string().min(1).max(16_384).optional(),
});

export const error = z.strictObject({
  type: z.literal("Error"),
  /** A stable code of Chronicle's errors. A receiver treats an unknown one as `IO`. */
  code: z.string().regex(/^[A-Z][A-Z_]{0,63}$/),
  message: z.string().max(2048),
  hint: z.string().max(2048).optional(),
  /** True if the sender then closes the connection. */
  fatal: z.boolean(),
  /** With `UNAVAILABLE`: `starting` if the server is still opening what it serves. */
  about: name.optional(),
});

export const credit = z.strictObject({
  type: z.literal("Credit"),
  /**
   * The number of bytes of credited frames that the other side may send, counted from the beginning of the connection.
   */
  limit: count,
});
