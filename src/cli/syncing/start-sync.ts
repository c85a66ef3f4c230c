import { resolve } from "node:path";
import { EXIT } from "../../api/problems.ts";
import type { SyncApi, SyncShape, SyncStart } from "../../api/sync-api.ts";
import type { CommandContext } from "../context.ts";
import { syncLines } from "../render/syncs.ts";
import { usageError } from "../usage-error.ts";
import { followOptions, upstreamToken } from "./follow-options.ts";
import { showSyncs } from "./live-syncs.ts";
import { reached } from "./reached.ts";
import { backgroundDesk } from "./sync-desk.ts";
import { parseUpstream, type UpstreamAddress } from "./upstream-address.ts";

const USAGE = "usage: chronicle sync start URL#WORKSPACE FOLDER";

/** `sync start`. */
export async function startSync(context: CommandContext, args: readonly string[]): Promise<number> {
  const [url, folder, ...more] = args;
  if (url === undefined || folder === undefined || more.length > 0)
    throw usageError("sync start takes an origin and a folder", USAGE);
  const options = startOptions(context, parseUpstream(url, context.io.cwd()), folder);
  if (context.input.flag("foreground")) return runSync(context, options);
  await using desk = await backgroundDesk(context);
  const sync = await firstSync(context, desk.syncs, await desk.syncs.start(options));
  if (context.json) context.printJson(sync);
  else for (const line of syncLines([sync], context.paint)) context.print(line);
  if (sync.hint !== undefined && !context.json) context.print(context.paint("dim", context.worded(sync.hint)));
  return sync.state === "halted" ? EXIT.failed : EXIT.done;
}

/** What `start` is asked for. Throws `USAGE`. */
export function startOptions(context: CommandContext, { url, workspace }: UpstreamAddress, folder: string): SyncStart {
  return {
    upstream: url,
    ...(workspace === undefined ? {} : { workspace }),
    folder: resolve(context.io.cwd(), folder),
    ...followOptions(context),
    ...upstreamToken(context, url),
  };
}

/**
 * A person who waits at a terminal sees how the first sync goes, and Ctrl-C ends the waiting, not the sync. A program is told
 * whether the origin can be reached.
 */
async function firstSync(context: CommandContext, syncs: SyncApi, begun: SyncShape): Promise<SyncShape> {
  if (context.json || !context.io.err.isTerminal) return reached(syncs, begun);
  const waiting = new AbortController();
  const endInterrupt = context.io.onInterrupt(() => waiting.abort());
  try {
    const until = ({ state }: SyncShape): boolean => !isBusy(state);
    if (isBusy(begun.state)) await showSyncs(context, syncs, { id: begun.id, signal: waiting.signal, until });
    return await syncs.status(begun.id);
  } finally {
    endInterrupt();
  }
}

function isBusy(state: SyncShape["state"]): boolean {
  return state === "connecting" || state === "syncing";
}

/** Runs a sync in this process until Ctrl-C, which ends it; what was synced stays. */
export async function runSync(context: CommandContext, options: SyncStart): Promise<number> {
  const { openSyncs } = await import("../../open.ts");
  const runner = openSyncs(await context.store(), (error) => context.say(`note: ${String(error)}`));
  const ended = new AbortController();
  const endInterrupt = context.io.onInterrupt(() => {
    if (ended.signal.aborted) process.exit(130);
    ended.abort();
  });
  try {
    const { id } = await runner.start(options);
    await showSyncs(context, runner, { id, signal: ended.signal });
    const last = await runner.stop(id);
    if (context.json) context.print(JSON.stringify(last));
    else context.say(`ended; go on with the same command`);
    return EXIT.done;
  } finally {
    endInterrupt();
    await runner.close();
  }
}
