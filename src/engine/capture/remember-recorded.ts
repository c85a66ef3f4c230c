import { sameEntry } from "../../core/values/entry.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { signerRecordId } from "../../core/records/signer-record.ts";
import type { FileStat } from "../../disk/disk.ts";
import type { KnownPath } from "../../worktree/worktree.ts";
import { type Context, isHosted } from "../log/context.ts";
import { memoKey } from "../log/memo.ts";

/** No file has this stat: what is remembered with it is read again at the next scan. */
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

/** The event up to which the worktree knows the recorded states. */
const knownTo = memoKey<number>("seq known to the worktree");

/**
 * Lets the worktree know of paths that were recorded by others, or whose memory was lost: a scan can then tell that they
 * are gone, and goes on tracking them whatever the rules say by now. Where something else was recorded than is
 * remembered, the memory is given up: what is on disk may well look as it is remembered, and not be what is recorded.
 */
export async function rememberRecorded(context: Context): Promise<void> {
  const { worktree, index, memo } = context;
  const { seq } = await index.head();
  await forgetOtherHistory(context, seq);
  const since = memo.get(knownTo) ?? worktree.rememberedSeq ?? 0;
  if (since < seq) await tellOf(context, { since, seq });
  memo.set(knownTo, seq);
}

/** The event that last said to go on from another log than the one that was known. */
const accepted = memoKey<number>("last accepted log");

/**
 * Forgets the remembered states if a person has accepted another log, or events are gone: they may stem from events
 * that no longer exist.
 */
async function forgetOtherHistory(context: Context, seq: number): Promise<void> {
  const { worktree, memo } = context;
  if (isHosted(worktree.roots)) return;
  const at = (await context.index.record(signerRecordId(context.workspaceId)))?.seq ?? 0;
  const before = memo.get(accepted) ?? at;
  memo.set(accepted, at);
  const since = memo.get(knownTo) ?? worktree.rememberedSeq ?? 0;
  if (at === before && since <= seq) return;
  worktree.forgetAll();
  memo.delete(knownTo);
}

async function tellOf(
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

/** Takes note that what was recorded from one event to another is what the worktree has just been told. */
export function noteRemembered({ memo }: Context, { from, to }: { readonly from: number; readonly to: number }): void {
  if (memo.get(knownTo) === from) memo.set(knownTo, to);
}

/**
 * Keeps what the worktree remembers, for the next process, with the event up to which it was told: that one tells it of
 * what comes after. Who never looked at the disk has nothing to keep, and was told nothing.
 */
export async function keepRemembered({ worktree, memo }: Context): Promise<void> {
  const seq = memo.get(knownTo);
  if (seq !== undefined) await worktree.save(seq);
}

/**
 * The record of these paths is known, and their files are read again at the next look. The time with which a file was last seen is
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
