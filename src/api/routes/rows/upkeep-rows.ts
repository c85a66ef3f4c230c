import * as z from "zod";
import * as calls from "../calls/upkeep-calls.ts";
import { workspaceRoute, type WorkspaceRoute, needsWholeStore, withoutUndefined } from "../row.ts";
import { bool, flag, number, paging, path, text, word } from "../fields.ts";
import { pageOf } from "../pages.ts";
import { stepsOf } from "../steps.ts";
import { mayDo } from "../role.ts";

const tag = "upkeep";

const verifyQuery = z.strictObject({
  quick: flag(
    "do not read the contents; check only the log, the index, the roots, the heads, and that the store has all needed contents",
  ).optional(),
  expect: z
    .string()
    .max(4_000)
    .describe(
      "an earlier output of `head`; if the log was truncated or replaced since then, that is reported as a problem",
    )
    .optional(),
});

const verify = workspaceRoute(calls.verify, {
  tag,
  role: "reader",
  heavy: "history",
  namesFolders: true,
  summary: "Recompute everything, and list problems",
  query: verifyQuery,
  answer: (on, { query }) => on.verify(query),
});

const followVerify = workspaceRoute(calls.followVerify, {
  tag,
  role: "reader",
  heavy: "history",
  namesFolders: true,
  summary: "Recompute everything, list problems, and say how far it is",
  description:
    "The answer is a stream of server-sent events: at most ten in a second say how much of the log and of the contents was read, and the last one " +
    "has the result. The verification ends early if the caller closes the connection. An event of the type `problem` says why it failed.",
  query: verifyQuery,
  answer: (on, { query, signal }) =>
    Promise.resolve({
      after: 0,
      events: stepsOf((reporting) => on.verify({ ...query, ...reporting }), signal),
    }),
});

const verifyIntegrity = workspaceRoute(calls.verifyIntegrity, {
  tag,
  role: "reader",
  heavy: "history",
  summary: "Verify the history without reading its contents; if there is any problem, the answer is an error",
  answer: async (on) => {
    await on.verifyIntegrity();
    return { ok: true };
  },
});

const rebuild = workspaceRoute(calls.rebuild, {
  tag,
  role: "operator",
  summary: "Rebuild the index from the log",
  answer: (on) => on.rebuild(),
});

const compact = workspaceRoute(calls.compact, {
  tag,
  role: "operator",
  summary: "Move the log into the archive, and continue in a new log",
  body: z.strictObject({ drop_archive: bool("remove the archived events for good").optional() }),
  answer: (on, { body: { drop_archive } }) => on.compact(withoutUndefined({ dropArchive: drop_archive })),
});

const most = 1_000_000;

const prune = workspaceRoute(calls.prune, {
  tag,
  role: "operator",
  summary: "Give up the old contents that no rule keeps",
  description:
    "A snapshot or action is kept if at least one rule keeps it. If no rule is given, the configured limits apply.",
  body: z.strictObject({
    keep_last: number("the number of newest snapshots and actions that are kept", most).optional(),
    keep_hourly: number(
      "the number of latest hours (in UTC) of which the newest snapshot or action is kept; hours without any are not counted",
      most,
    ).optional(),
    keep_daily: number(
      "the number of latest days (in UTC) of which the newest snapshot or action is kept; days without any are not counted",
      most,
    ).optional(),
    keep_weekly: number(
      "the number of latest weeks (in UTC) of which the newest snapshot or action is kept; weeks without any are not counted",
      most,
    ).optional(),
    keep_monthly: number(
      "the number of latest months (in UTC) of which the newest snapshot or action is kept; months without any are not counted",
      most,
    ).optional(),
    keep_yearly: number(
      "the number of latest years (in UTC) of which the newest snapshot or action is kept; years without any are not counted",
      most,
    ).optional(),
    keep_within_ms: number("an age in milliseconds; all younger snapshots and actions are kept").optional(),
    keep_pinned: bool("keep pinned snapshots and actions (default: yes)").optional(),
    dry_run: bool("show what would be given up, and change nothing").optional(),
  }),
  answer: (on, { body }) =>
    on.prune(
      withoutUndefined({
        keepLast: body.keep_last,
        keepHourly: body.keep_hourly,
        keepDaily: body.keep_daily,
        keepWeekly: body.keep_weekly,
        keepMonthly: body.keep_monthly,
        keepYearly: body.keep_yearly,
        keepWithinMs: body.keep_within_ms,
        keepPinned: body.keep_pinned,
        dryRun: body.dry_run,
      }),
    ),
});

const prunings = workspaceRoute(calls.prunings, {
  tag,
  role: "reader",
  heavy: "answer",
  summary: "What was pruned, by whom, and until when it can be brought back",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.prunings(), query, ({ event }) => String(event)),
});

const replicas = workspaceRoute(calls.replicas, {
  tag,
  role: "reader",
  summary: "The replicas that have followed the workspace, each with the last event that it has acknowledged",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.replicas(), query, ({ id }) => id),
});

const refusals = workspaceRoute(calls.refusals, {
  tag,
  role: "reader",
  heavy: "answer",
  summary: "Refused attempts: operations that only a person may do, and tool calls that were denied",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.refusals(), query, ({ event }) => String(event)),
});

const erase = workspaceRoute(calls.erase, {
  tag,
  role: "operator",
  summary: "Take contents out of the history",
  description:
    "The contents can no longer be read. For 24 hours, `unerase` brings them back. After that, the next `gc` frees their bytes. " +
    "A content that a path has now is not erased, with one exception: the request names the path, and the rules now leave the path out. " +
    "Give exactly one of `what` and `match`.",
  body: z.strictObject({
    what: path("a path (with everything beneath it), or the SHA-256 of a content").optional(),
    match: path("a pattern as in a .gitignore").optional(),
    reason: text("the reason, which the log keeps for ever", 2_000).optional(),
    dry_run: bool("show what would be erased, and change nothing").optional(),
  }),
  answer: async (on, { body: { what, match, reason, dry_run }, me }) => {
    const done = await on.erase(withoutUndefined({ what, match, reason, dryRun: dry_run }));
    // A caller who may see only some workspaces must not learn whether other workspaces have a certain content.
    return me.workspaces === null ? done : { ...done, elsewhere: [] };
  },
});

const erasures = workspaceRoute(calls.erasures, {
  tag,
  role: "reader",
  summary: "What was erased, by whom and why",
  query: z.strictObject(paging),
  answer: async (on, { query }) => pageOf(await on.erasures(), query, ({ id }) => id),
});

const unerase = workspaceRoute(calls.unerase, {
  tag,
  role: "operator",
  summary: "Take an erasure back, which is possible for 24 hours",
  body: z.strictObject({ id: word("the id of the erasure, or a unique beginning of the id") }),
  answer: (on, { body: { id } }) => on.unerase(id),
});

const pin = workspaceRoute(calls.pin, {
  tag,
  role: "operator",
  summary: "Pin an action or a snapshot, so that it is not pruned, or unpin it",
  body: z.strictObject({
    id: word("the id of an action, or the number, the name or the id of a snapshot"),
    pinned: bool("true: pin (default); false: unpin").optional(),
  }),
  answer: (on, { body: { id, pinned } }) => on.pin(id, pinned),
});

const collect = workspaceRoute(calls.collect, {
  tag,
  role: "operator",
  summary: "Free contents that no workspace of the store needs",
  answer: (on, { me }) => {
    needsWholeStore(me);
    return on.gc();
  },
});

const diskUse = workspaceRoute(calls.diskUsage, {
  tag,
  role: "reader",
  summary: "The disk usage of the store; with `by`, also that of this workspace's contents, by session, path or age",
  query: z.strictObject({ by: z.enum(["session", "path", "age"]).optional() }),
  answer: async (on, { query, me }) => {
    // The size of the whole store would reveal to the caller whether other workspaces have a certain content.
    needsWholeStore(me);
    const usage = await on.du(query);
    return mayDo(me.role, "operator") ? usage : { ...usage, store: "" };
  },
});

const config = workspaceRoute(calls.getConfig, {
  tag,
  role: "reader",
  summary: "The rules for what is tracked",
  answer: (on) => on.config(),
});

const patterns = (what: string) => z.array(path("a pattern")).max(10_000).describe(what).optional();

const configure = workspaceRoute(calls.configure, {
  tag,
  role: "operator",
  summary: "Change the rules for what is tracked; fields that are not given stay as they are",
  body: z.strictObject({
    useGitignore: bool("leave out what git ignores").optional(),
    excludePatterns: patterns("patterns of names that are left out"),
    excludeGlobs: patterns("globs that are left out"),
    forceInclude: patterns("patterns of paths that are tracked although other rules leave them out"),
    maxEntries: number("the maximum number of paths; 0: no limit").optional(),
    maxBytes: number("the maximum number of bytes in all; 0: no limit").optional(),
    maxFileSize: number("the maximum number of bytes in one file; 0: no limit").optional(),
    keepAside: bool("before a run, keep aside small files that git ignores").optional(),
    recordPrompts: bool("keep what a person asks an agent, for thirty days").optional(),
    protectedNames: patterns("names of files that are secrets; a name after `!` is no secret"),
  }),
  answer: (on, { body }) => on.configure(body),
});

const retention = workspaceRoute(calls.retention, {
  tag,
  role: "reader",
  namesFolders: true,
  summary: "The limits on the history that is kept, each with its source",
  answer: (on) => on.retention(),
});

export const UPKEEP_ROWS: readonly WorkspaceRoute[] = [
  verify,
  followVerify,
  verifyIntegrity,
  rebuild,
  compact,
  prune,
  prunings,
  replicas,
  refusals,
  erase,
  erasures,
  unerase,
  pin,
  collect,
  diskUse,
  config,
  configure,
  retention,
];
