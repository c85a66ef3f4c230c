import { isKeptTime } from "../../core/values/file-time.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Step } from "./apply-step.ts";
import type { RestoreWorkers, StageFile } from "./restore-workers.ts";
import type { ApplyRequest } from "../worktree.ts";

/** Steps by the content that they need. */
export type Wanted = ReadonlyMap<Hash, readonly Step[]>;

/** Larger contents have files of their own in a store, and are read in pieces. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Writing clears setuid and setgid, so files with these bits are not for the workers. */
const SET_ID = 0o6000;

/** Splits the contents: plain files are for the workers; anything large, not a file, or in need of care is not. */
export function splitForWorkers(wanted: Wanted): { readonly forWorkers: Wanted; readonly others: Wanted } {
  return { forWorkers: those(wanted, isPlainFile), others: those(wanted, (step) => !isPlainFile(step)) };
}

function those(wanted: Wanted, is: (step: Step) => boolean): Wanted {
  const found = new Map<Hash, readonly Step[]>();
  for (const [hash, steps] of wanted) {
    const kept = steps.filter(is);
    if (kept.length > 0) found.set(hash, kept);
  }
  return found;
}

function isPlainFile({ after, staged }: Step): boolean {
  if (after?.kind !== "file" || staged === undefined) return false;
  return after.size <= MOST_BYTES && (after.mode & SET_ID) === 0;
}

/** Lets the workers write these files; returns those that they have left. */
export async function stageByWorkers(
  workers: RestoreWorkers,
  wanted: Wanted,
  {
    request,
    onStaged,
  }: { readonly request: Pick<ApplyRequest, "keepMtime">; readonly onStaged: (files: number) => void },
): Promise<Wanted> {
  for (const [base, steps] of Map.groupBy([...wanted.values()].flat(), (step) => step.stagedIn.root)) {
    const stats = await workers.write(
      base,
      steps.map((step) => fileOf(step, request)),
      onStaged,
    );
    for (const [i, step] of steps.entries()) step.stat = stats[i];
  }
  return those(wanted, ({ stat }) => stat === undefined);
}

function fileOf({ root, path, staged, after }: Step, { keepMtime }: Pick<ApplyRequest, "keepMtime">): StageFile {
  if (after?.hash === undefined) throw new TypeError(`${path} holds no content`);
  const { hash, size, mtimeMs } = after;
  // Some disks that keep no modes refuse to set one.
  const mode = root.traits.modes ? after.mode : 0o600;
  return {
    hash,
    path: staged ?? path,
    size,
    mode,
    mtimeMs: keepMtime === true && isKeptTime(mtimeMs) ? mtimeMs : undefined,
  };
}
