import { isKeptTime } from "../../core/values/file-time.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Step } from "./apply-step.ts";
import type { RestoreWorkers, StageFile } from "./restore-workers.ts";
import type { ApplyRequest } from "../worktree.ts";

/** Steps by the content that they need. */
export type Wanted = ReadonlyMap<Hash, readonly Step[]>;

/** Larger contents have files of their own in a store, and are read piece by piece. */
const MOST_BYTES = 8 * 1024 * 1024;
/** Setuid and setgid are cleared by writing: such files are for who sets them last. */
const SET_ID = 0o6000;

/** Parts what is wanted: plain files, and all that is large, or no file, or needs care. */
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

/** Lets the crew write these files; answers what it has left. */
export async function stageByWorkers(
  crew: RestoreWorkers,
  wanted: Wanted,
  {
    request,
    onStaged,
  }: { readonly request: Pick<ApplyRequest, "keepMtime">; readonly onStaged: (files: number) => void },
): Promise<Wanted> {
  for (const [base, steps] of Map.groupBy([...wanted.values()].flat(), (step) => step.stagedIn.root)) {
    const stats = await crew.write(
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
  // Where no modes are kept some disks refuse to set one.
  const mode = root.traits.modes ? after.mode : 0o600;
  return {
    hash,
    path: staged ?? path,
    size,
    mode,
    mtimeMs: keepMtime === true && isKeptTime(mtimeMs) ? mtimeMs : undefined,
  };
}
