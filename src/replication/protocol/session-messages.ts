import * as z from "zod";
import { count, hash, head, name, sandboxId } from "./fields.ts";

/** How a conversation begins, is kept alive and ends. */

const capabilities = z.array(z.string().regex(/^[a-z][a-z0-9-]{0,63}$/)).max(64);

/** A workspace's id or name; the origin's own, where it is left out. */
const workspace = z.string().min(1).max(128);

export const hello = z.strictObject({
  type: z.literal("Hello"),
  /** Versions of the protocol that the replica speaks. */
  versions: z.array(z.int().min(1).max(65_535)).min(1).max(16),
  capabilities,
  workspace: workspace.optional(),
  sandbox_id: sandboxId,
  /** Where the transport has not asked for it already. */
  token: z.string().min(1).max(4096).optional(),
  /** The last event of the origin that the replica holds, verified. */
  head,
  /** The last of its own entries that the replica has got an answer to. */
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
  /** The last entry of this replica that the origin has decided about: what is later is to be sent (again). */
  settled_local_seq: count,
  /** Its `event_hash`, where it had one. A replica that has another event there, or none, was put back, or is a copy. */
  settled_hash: hash.optional(),
  /** Each side says something at least so often, in milliseconds; after three times that, the other one is gone. */
  heartbeat_ms: z.int().min(100).max(600_000),
});

export const heartbeat = z.strictObject({
  type: z.literal("Heartbeat"),
  agent_sequence: count,
  /** The iteration of the last event that is one of a path; 0: there is none. */
  agent_iteration: count,
  /** With `folder`: the origin's folder is not there since then, by its clock (epoch milliseconds). */
  folder_away_since: count.optional(),
});

export const sandboxHeartbeat = z.strictObject({
  type: z.literal("SandboxHeartbeat"),
  sandbox_id: sandboxId,
  up_to_sequence: count,
  /** The last entry of the replica's journal, and how many of them wait for an answer. */
  local_seq: count,
  pending: count,
});

export const headWitness = z.strictObject({
  type: z.literal("HeadWitness"),
  workspace,
  /** What the sender holds for true: this event has this hash, and the files after it this Merkle root. */
  sequence: z.int().min(1),
  head_hash: hash,
  root: hash,
  /** The signed head as docs/format.md has it, where the sender has one of that event. */
  signature: z.string().min(1).max(16_384).optional(),
});

export const error = z.strictObject({
  type: z.literal("Error"),
  /** A stable code of Chronicle's errors. A receiver takes one that it does not know for `IO`. */
  code: z.string().regex(/^[A-Z][A-Z_]{0,63}$/),
  message: z.string().max(2048),
  hint: z.string().max(2048).optional(),
  /** The sender closes the connection after it. */
  fatal: z.boolean(),
  /** With `UNAVAILABLE`: `starting`, the server still opens what it serves. */
  about: name.optional(),
});

export const credit = z.strictObject({
  type: z.literal("Credit"),
  /** How many bytes of credited frames the other side may send, counted from the beginning of the connection. */
  limit: count,
});
