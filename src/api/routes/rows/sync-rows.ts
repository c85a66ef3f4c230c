import * as z from "zod";
import type { SyncStart } from "../../sync-api.ts";
import * as calls from "../calls/sync-calls.ts";
import { syncRoute, type SyncRoute, withoutUndefined } from "../row.ts";
import { number, paging, path, text, word } from "../fields.ts";
import { pageOf } from "../pages.ts";
import { optional } from "../../../util/optional.ts";

// Only the server's owner may use these rows. The owner's page may use all of them but `start`.

const tag = "sync";

/**
 * The maximum number of patterns, and the maximum number of characters of one pattern. The latter is the limit of
 * `core/filter/filter-pattern.ts`.
 */
const MAX_PATTERNS = 2_000;
const MAX_PATTERN = 4_096;
/** The maximum size of a merged content, in characters of Base64. A larger content must be merged in the folder. */
const MAX_MERGED = 1_000_000;
/** The maximum timeout of a flush, and the maximum debounce time of a file, in milliseconds. */
const MAX_FLUSH_MS = 3_600_000;
const MAX_DEBOUNCE_MS = 60_000;

const patterns = (what: string) => z.array(z.string().max(MAX_PATTERN)).max(MAX_PATTERNS).describe(what);

const start = syncRoute(calls.startSync, {
  tag,
  role: "operator",
  summary: "Have a folder follow a workspace of an origin",
  description: "If the folder already has a sync, that sync is continued.",
  body: z.strictObject({
    upstream: text("`http(s)://HOST:PORT`, `ws(s)://…`, or `unix:/PATH` of a server's socket", 2_000),
    workspace: word("the origin's workspace, by id or name").optional(),
    folder: path("the folder's absolute path on the server's machine"),
    mode: z
      .enum(["two-way-safe", "two-way-resolved", "one-way-safe", "one-way-replica"])
      .describe("the directions of the sync, and what happens to conflicts (default: `two-way-safe`)")
      .optional(),
    filter_to: patterns("patterns, as in a `.gitignore`, of paths that do not come from the upstream").optional(),
    filter_from: patterns("patterns of paths that are not written back").optional(),
    policy: z.enum(["sandbox"]).describe("a named filter").optional(),
    editor_files: z
      .enum(["leave", "sync"])
      .describe(
        "files that editors make for themselves: `leave` (default): they stay on their side; `sync`: they are synced in both directions",
      )
      .optional(),
    debounce_ms: number(
      "how long a file must have been unchanged before it is sent, in ms (default 50)",
      MAX_DEBOUNCE_MS,
    ).optional(),
    with_protected: z
      .boolean()
      .describe(
        "also sync files that are secrets by their names, in both directions. Needs a person's token or the owner's socket; otherwise, the origin refuses the replica",
      )
      .optional(),
    token: text("a bearer token for an upstream on a port", 8_000).optional(),
    force: z.boolean().describe("allow a home folder or a system folder").optional(),
  }),
  answer: (on, { body: { filter_to, filter_from, editor_files, debounce_ms, with_protected, ...rest } }) => {
    const named = withoutUndefined({
      filterTo: filter_to,
      filterFrom: filter_from,
      editorFiles: editor_files,
      debounceMs: debounce_ms,
      withProtected: with_protected,
    });
    const options: SyncStart = { ...rest, ...named };
    return on.start(options);
  },
});

const list = syncRoute(calls.listSyncs, {
  tag,
  role: "reader",
  summary: "List syncs",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.list(), query, ({ id }) => id),
});

const status = syncRoute(calls.syncStatus, {
  tag,
  role: "reader",
  summary: "The state of a sync",
  answer: (on, { params: { sync = "" } }) => on.status(sync),
});

const stop = syncRoute(calls.stopSync, {
  tag,
  role: "operator",
  summary: "End a sync",
  description: "The synced files stay, and so does their history.",
  answer: (on, { params: { sync = "" } }) => on.stop(sync),
});

const pause = syncRoute(calls.pauseSync, {
  tag,
  role: "operator",
  summary: "Pause a sync: nothing goes either way until the sync is resumed",
  answer: (on, { params: { sync = "" } }) => on.pause(sync),
});

const resume = syncRoute(calls.resumeSync, {
  tag,
  role: "operator",
  summary: "Resume a sync that is paused or halted",
  body: z.strictObject({
    accept: z
      .enum(["deletions", "restore", "as-new", "rejoin"])
      .describe(
        "the decision about a halted sync. `deletions`: the many files that were deleted may be deleted on the other side, too; `restore`: put the deleted files back; `as-new`: continue as another replica, because this one was restored from a backup or is a copy; `rejoin`: the origin was restored to an earlier state, so propose the changes that it has lost",
      )
      .optional(),
  }),
  answer: (on, { params: { sync = "" }, body }) => on.resume(sync, body),
});

const flush = syncRoute(calls.flushSync, {
  tag,
  role: "agent",
  summary: "Wait until the changes of each side are on the other side",
  description:
    "In the answer, `refused` lists the first 1,000 paths whose last change the origin has refused, each with the reason and the next step. " +
    "If `refused` is absent, the origin has every change that it should have.",
  body: z.strictObject({
    timeout_ms: number("the maximum time to wait, in ms (default 60,000)", MAX_FLUSH_MS).optional(),
  }),
  answer: (on, { params: { sync = "" }, body: { timeout_ms } }) =>
    on.flush(sync, timeout_ms === undefined ? {} : { timeoutMs: timeout_ms }),
});

const conflicts = syncRoute(calls.syncConflicts, {
  tag,
  role: "reader",
  summary: "List the open conflicts of a sync",
  description:
    "In the names of a conflict's fields, `current` is the folder's side, and `undo` is the upstream's side.",
  query: z.strictObject(paging),
  answer: async (on, { params: { sync = "" }, query }) => pageOf(await on.conflicts(sync), query, ({ id }) => id),
});

const sideHash = z
  .string()
  .regex(/^([0-9a-f]{64})?$/)
  .describe("the SHA-256 of the side's content, in hex; empty if the side has no content");

const resolve = syncRoute(calls.resolveSync, {
  tag,
  role: "agent",
  summary: "Settle a conflict of a sync",
  description: "The other side stays in the history.",
  body: z.strictObject({
    path: path("the path, as the conflict names it"),
    keep: z
      .enum(["local", "upstream", "merge"])
      .describe(
        "`local`: the folder's side is kept; `upstream`: the upstream's side is kept; `merge`: both sides are merged",
      ),
    content_b64: z
      .base64()
      .max(MAX_MERGED)
      .describe(
        "for `merge`: the merged content, as Base64. Default: Chronicle merges both sides; if they do not merge, the request is refused",
      )
      .optional(),
    from: z
      .strictObject({ current_hash: sideHash, undo_hash: sideHash })
      .describe(
        "the hashes of both sides on which the decision is based, as the conflict has them. If a side has another content now, the request is refused. Default: the decision applies to the present sides",
      )
      .optional(),
  }),
  answer: (on, { params: { sync = "" }, body: { path: at, keep, content_b64, from } }) =>
    on.resolve(sync, at, {
      keep,
      ...optional({ from }),
      ...(content_b64 === undefined ? {} : { content: new Uint8Array(Buffer.from(content_b64, "base64")) }),
    }),
});

const events = syncRoute(calls.syncEvents, {
  tag,
  role: "reader",
  summary: "Follow what syncs do, as server-sent events",
  description:
    "The stream begins with the state of each sync. It leaves out what happened while the caller was not connected.",
  query: z.strictObject({ sync: path("follow only the sync with this id or folder").optional() }),
  answer: (on, { query: { sync }, signal }) => Promise.resolve({ after: 0, events: on.events(sync, signal) }),
});

export const SYNC_ROWS: readonly SyncRoute[] = [
  ...[start, list, status, stop, pause, resume, flush],
  ...[conflicts, resolve, events],
];
