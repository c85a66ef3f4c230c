import type { CommandContext } from "../../support/context.ts";
import { runSync, startOptions, startSync, reached } from "../../syncing/start-sync.ts";
import { originUrl, socketUrl } from "../../syncing/upstream-address.ts";
import { usageError } from "../../../process/usage-error.ts";
import { EXIT } from "../../../api/problems.ts";
import type { SyncApi, SyncShape } from "../../../api/sync-api.ts";
import { printable } from "../../../process/printable.ts";
import { keptLines, syncLines, troubleLines } from "../../render/syncs.ts";
import { showSyncs } from "../../syncing/live-syncs.ts";
import { listConflicts, settleConflict } from "../../syncing/settle-sync.ts";
import { backgroundClient, namingSync, onSync, readingClient, targetOf } from "../../syncing/sync-client.ts";
import { decidesHaltedSync } from "../../support/agents-command.ts";

/** A subcommand of `sync`. `typed`: the argument after the subcommand, if there is one. Resolves to the exit code. */
type Verb = (context: CommandContext, syncs: SyncApi, typed: string | undefined) => Promise<number>;

/**
 * The maximum number of paths that are shown for each reason why paths are not synced. `sync conflicts` and `sync
 * flush` show all paths that the state of the sync names.
 */
const MOST_REFUSED = 3;

const VERBS: Readonly<Record<string, Verb>> = {
  stop: standing((syncs, { id }) => syncs.stop(id)),
  pause: standing((syncs, { id }) => syncs.pause(id)),
  resume: standing(resume),
  "adopt-as-new": standing((syncs, { id }) => syncs.resume(id, { accept: "as-new" })),
  rejoin: standing((syncs, { id }) => syncs.resume(id, { accept: "rejoin" })),
  flush,
  monitor,
  conflicts: listConflicts,
  resolve: settleConflict,
};

export async function sync(context: CommandContext): Promise<number> {
  const [what = "", ...rest] = context.input.args;
  if (what === "start") return startSync(context, rest);
  const verb = Object.hasOwn(VERBS, what) ? VERBS[what] : undefined;
  if (verb === undefined && what !== "status") {
    throw usageError(
      `chronicle sync does not know '${printable(what)}'`,
      `one of: start, status, ${Object.keys(VERBS).join(", ")}`,
    );
  }
  const [typed, ...more] = rest;
  if (more.length > 0) {
    const hint =
      what === "resolve" ? "give a path; -w names the sync, by its folder or its id" : "see: chronicle sync -h";
    throw usageError(`sync ${what} takes one argument`, hint);
  }
  if (verb === undefined) return status(context, typed);
  if (decidesHaltedSync(context.input))
    await context.refuseAgent(`sync ${what}, which decides how a halted sync goes on`);
  await using client = await backgroundClient(context);
  return await verb(context, client.syncs, typed);
}

/**
 * Prints the state of all syncs, or of the sync that `typed` names. Starts a server if none is running and the store
 * has syncs.
 */
async function status(context: CommandContext, typed: string | undefined): Promise<number> {
  await using client = await readingClient(context);
  const all = (await client?.syncs.list()) ?? [];
  const asked = client === undefined || typed === undefined ? all : [await targetOf(context, client.syncs, typed)];
  if (context.json) {
    context.printJson(asked);
    return EXIT.done;
  }
  const sorted = asked.toSorted((a, b) => Number(a.state === "stopped") - Number(b.state === "stopped"));
  tell(context, sorted, { all });
  if (asked.length === 0) context.say(context.worded("no syncs yet: chronicle sync start URL#WORKSPACE FOLDER"));
  return EXIT.done;
}

function againText(at: string, { io }: CommandContext): string {
  const seconds = Math.max(0, Math.ceil((Date.parse(at) - io.now()) / 1000));
  return `the next try is in ${seconds} s; to try at once: chronicle sync flush`;
}

interface Telling {
  readonly all: readonly SyncShape[];
  readonly most?: number;
}

function tell(context: CommandContext, shown: readonly SyncShape[], { all, most = MOST_REFUSED }: Telling): void {
  const { paint } = context;
  for (const [index, line] of syncLines(shown, paint).entries()) {
    context.print(line);
    const one = shown[index];
    if (one === undefined) continue;
    const naming = namingSync(context, all, one);
    const worded = (text: string): string => context.worded(naming(text));
    const { hint, degraded, conflicts, retry_at: again, trouble } = one;
    const [what, next] = troubleLines(one, worded);
    if (what !== undefined && one.reason !== trouble?.message) context.print(paint("yellow", `  ${what}`));
    if (next !== undefined) context.print(paint("dim", `  ${next}`));
    if (degraded !== undefined && !(trouble !== undefined && degraded.includes(trouble.message)))
      context.print(paint("yellow", `  note: ${printable(degraded)}`));
    if (again !== undefined) context.print(paint("dim", `  ${worded(againText(again, context))}`));
    const style = { paint, shown: printable, worded, most };
    for (const text of keptLines(one, style)) context.print(text);
    if (hint !== undefined && trouble === undefined) context.print(paint("dim", `  ${worded(hint)}`));
    if (conflicts > 0) context.print(paint("dim", `  ${worded("see: chronicle sync conflicts")}`));
  }
}

function standing(change: (syncs: SyncApi, sync: SyncShape, context: CommandContext) => Promise<SyncShape>): Verb {
  return async (context, syncs, typed) => {
    const sync = await targetOf(context, syncs, typed);
    const after = await onSync(context, { syncs, sync }, async () =>
      reached(syncs, await change(syncs, sync, context)),
    );
    if (context.json) context.printJson(after);
    else tell(context, [after], { all: await syncs.list() });
    return after.state === "halted" ? EXIT.failed : EXIT.done;
  };
}

function resume(syncs: SyncApi, { id }: SyncShape, { input }: CommandContext): Promise<SyncShape> {
  const [deletions, restore] = [input.flag("acceptDeletions"), input.flag("restoreFiles")];
  if (deletions && restore)
    throw usageError("--accept-deletions and --restore-files cannot be given together", "give one of them");
  if (deletions) return syncs.resume(id, { accept: "deletions" });
  return restore ? syncs.resume(id, { accept: "restore" }) : syncs.resume(id);
}

/**
 * Flushes a sync, and prints the sync's state with all known paths that are not synced. Returns the exit code `failed`
 * if the sides may differ: the sync is halted, a conflict is open, or the origin has refused paths.
 */
async function flush(context: CommandContext, syncs: SyncApi, typed: string | undefined): Promise<number> {
  const sync = await targetOf(context, syncs, typed);
  const after = await onSync(context, { syncs, sync }, () => flushed(syncs, sync, context));
  if (context.json) context.printJson(after);
  else tell(context, [after], { all: await syncs.list(), most: Infinity });
  const isEqual = after.state !== "halted" && after.refused === undefined && after.conflicts === 0;
  return isEqual ? EXIT.done : EXIT.failed;
}

/**
 * Waits until the earlier changes of both sides are settled, and returns the sync (see `SyncApi.flush`). Ctrl-C ends
 * the waiting.
 */
async function flushed(syncs: SyncApi, { id }: SyncShape, { input, io }: CommandContext): Promise<SyncShape> {
  const seconds = input.number("timeout");
  const waiting = new AbortController();
  const endInterrupt = io.onInterrupt(() => waiting.abort());
  try {
    const timeout = seconds === undefined ? {} : { timeoutMs: seconds * 1000 };
    return await syncs.flush(id, { ...timeout, signal: waiting.signal });
  } finally {
    endInterrupt();
  }
}

async function monitor(context: CommandContext, syncs: SyncApi, typed: string | undefined): Promise<number> {
  const ended = new AbortController();
  const endInterrupt = context.io.onInterrupt(() => ended.abort());
  try {
    const only = typed === undefined ? {} : { id: (await targetOf(context, syncs, typed)).id };
    await showSyncs(context, syncs, { ...only, all: await syncs.list(), signal: ended.signal });
    return EXIT.done;
  } finally {
    endInterrupt();
  }
}

const WAYS = "--connect SOCKET, or --ws-connect URL";

export async function replicate(context: CommandContext): Promise<number> {
  const { input, io } = context;
  const [socket, url] = [input.text("connect"), input.text("wsConnect")];
  if (socket !== undefined && url !== undefined) throw usageError("give only one address of the origin", WAYS);
  if (socket === undefined && url === undefined) throw usageError("the origin's address is missing", WAYS);
  const address = url === undefined ? socketUrl(socket ?? "", io.cwd()) : originUrl(url, io.cwd());
  const from = { url: address, workspace: input.text("workspace") };
  const options = await startOptions(context, from, input.args[0] ?? ".");
  return runSync(context, options);
}
