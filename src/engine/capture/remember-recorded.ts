import { sameEntry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { decodeSigner, signerRecordId } from "../../core/records/signer-record.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { KnownPath } from "../../worktree/worktree.ts";
import { type Context, isHosted } from "../log/context.ts";
import { memoKey } from "../log/memo.ts";
import { readEvent } from "../log/read-events.ts";
import type { EventRow } from "../../storage/index-store.ts";

/** The stat that no file has. If a path is remembered with this stat, the next scan reads the path again. */
const UNKNOWN: Omit<FileStat, "kind"> = {
  mode: 0,
  size: -1,
  mtimeNs: 0n,
  ctimeNs: 0n,
  ino: 0n,
  dev: 0n,
  nlink: 0,
  uid: 0,
};

/** The seq up to which the worktree knows the recorded states. */
const knownTo = memoKey<number>("seq known to the worktree");

/**
 * Tells the worktree about paths that other processes have recorded, or that the worktree no longer remembers. The next
 * scan then notices if such a path is gone. The next scan also keeps tracking these paths if the rules leave them out
 * now. If the recorded state of a path differs from the remembered state, the remembered stat is dropped. With this
 * stat, the next scan would wrongly take an unchanged file for a file in the recorded state.
 */
export async function rememberRecorded(context: Context): Promise<void> {
  const { worktree, index, memo } = context;
  const { seq } = await index.head();
  await forgetOtherHistory(context, seq);
  const since = memo.get(knownTo) ?? worktree.rememberedSeq ?? 0;
  if (since < seq) await tellWorktree(context, { since, seq });
  memo.set(knownTo, seq);
}

/**
 * The seq of the event that named the signer when this process last looked. The seq changes when a person accepts
 * another log.
 */
const signer = memoKey<number>("last seen signer");

/**
 * Makes the worktree forget all states if a person has accepted another log, or if events are gone. In both cases, the
 * states may stem from events that no longer exist.
 */
async function forgetOtherHistory(context: Context, seq: number): Promise<void> {
  const { worktree, memo } = context;
  if (isHosted(worktree.roots)) return;
  const row = await signerRow(context);
  const isOther = await isOtherLog(context, row);
  memo.set(signer, row?.seq ?? 0);
  const since = memo.get(knownTo) ?? worktree.rememberedSeq ?? 0;
  if (!isOther && since <= seq) return;
  worktree.forgetAll();
  memo.delete(knownTo);
}

/**
 * True if a person has accepted another log since this process last saw the signer. False if this process has not seen
 * the signer yet.
 */
async function isOtherLog(context: Context, row: EventRow | undefined): Promise<boolean> {
  const before = context.memo.get(signer);
  if (before === undefined || before === (row?.seq ?? 0)) return false;
  // A new history has no signer before its first commit. An event that names the first signer (`begun`) is therefore no
  // sign of another log.
  return before !== 0 || row === undefined || decodeSigner((await readEvent(context, row)).record).why !== "begun";
}

function signerRow({ index, workspaceId }: Context): Promise<EventRow | undefined> {
  return index.record(signerRecordId(workspaceId));
}

async function tellWorktree(
  { worktree, index }: Context,
  { since, seq }: { readonly since: number; readonly seq: number },
): Promise<void> {
  const touched = await index.touched(since, seq);
  const known: KnownPath[] = [];
  const absent: WorkspacePath[] = [];
  const rows = await index.iterationsAt(touched, seq);
  for (const [i, path] of touched.entries()) {
    const entry = rows[i]?.entry;
    const remembered = worktree.recall(path)?.entry;
    if (sameEntry(entry, remembered)) continue;
    if (entry === undefined) absent.push(path);
    else known.push({ entry, stat: { ...UNKNOWN, kind: entry.kind } });
  }
  worktree.forget(absent);
  worktree.remember(known);
}

/**
 * Notes that the worktree knows the recorded states up to `to`. Does nothing unless the worktree knew exactly the
 * states up to `from`.
 */
export function noteRemembered({ memo }: Context, { from, to }: { readonly from: number; readonly to: number }): void {
  if (memo.get(knownTo) === from) memo.set(knownTo, to);
}

/**
 * Saves what the worktree remembers, and the seq up to which it knows the recorded states. Saves nothing before the
 * first scan. Also saves nothing if a person has accepted another log since the last scan, because the states may stem
 * from events that no longer exist.
 */
export async function keepRemembered(context: Context): Promise<void> {
  const { worktree, memo } = context;
  const seq = memo.get(knownTo);
  if (seq === undefined) return;
  if (!(await isOtherLog(context, await signerRow(context)))) await worktree.save(seq);
}

/**
 * Makes the next scan read the files at these paths again. The modification time with which a file was last seen is
 * kept.
 */
export async function doubtRecorded({ worktree, index }: Context, paths: readonly WorkspacePath[]): Promise<void> {
  const { seq } = await index.head();
  const rows = await index.iterationsAt(paths, seq);
  worktree.forget(paths.filter((_path, i) => rows[i]?.entry === undefined));
  worktree.remember(
    rows.flatMap((row) => {
      if (row?.entry === undefined) return [];
      const { path, kind } = row.entry;
      const mtimeNs = worktree.recall(path)?.stat.mtimeNs ?? UNKNOWN.mtimeNs;
      return [{ entry: row.entry, stat: { ...UNKNOWN, kind, mtimeNs } }];
    }),
  );
}
