import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { withBreaths } from "../../../util/yield-to-event-loop.ts";
import type { Context } from "../../../engine/log/context.ts";
import type { FileHistory } from "./read-cycle.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

export interface SampleGround {
  readonly context: Pick<Context, "worktree">;
  readonly mirror: Pick<FileHistory, "entriesAt">;
  readonly rules: ReplicatedPaths;
  /** The origin's event up to which the folder was reconciled. */
  readonly applied: number;
}

export interface Sample {
  readonly looked: number;
  readonly same: number;
}

/** The maximum number of files to read. */
const MOST_LOOKED_AT = 16;
/** The files to read are the shortest of at least this many files, if the folder has as many. */
const CHOSEN_FROM = 64;
/** The maximum number of bytes to read. The first file is read whatever its size. */
const MOST_BYTES = 64 * 1024 ** 2;

/**
 * Reads some files from all over the folder, the shortest first, and compares them with the state that both sides had.
 * Later recordings are not used, because they may be of another folder.
 */
export async function sampleContents(ground: SampleGround): Promise<Sample> {
  const chosen = (await choose(ground)).toSorted((a, b) => a.size - b.size).slice(0, MOST_LOOKED_AT);
  let [looked, same, bytes] = [0, 0, 0];
  for (const entry of chosen) {
    bytes += entry.size;
    if (looked > 0 && bytes > MOST_BYTES) break;
    const now = await ground.context.worktree.inspect(entry.path);
    looked += 1;
    if (now !== undefined && sameEntry({ ...now, mode: entry.mode }, entry)) same += 1;
  }
  return { looked, same };
}

/**
 * True if a folder with the same inode on another device is the known one. If both birth times are known and equal to
 * the nanosecond (`isBorn`), one unchanged file is enough, or none if no file was sampled. Otherwise, at least half of
 * the files must be unchanged.
 */
export function isRecognised({ looked, same }: Sample, isBorn: boolean): boolean {
  if (isBorn) return same > 0 || looked === 0;
  return same > 0 && same * 2 >= looked;
}

/** Chooses evenly from all files. Holds at most twice `CHOSEN_FROM` entries. */
async function choose({ mirror, rules, applied }: SampleGround): Promise<Entry[]> {
  let chosen: Entry[] = [];
  let [step, count] = [1, 0];
  for await (const rows of withBreaths(mirror.entriesAt(applied))) {
    for (const { path, entry } of rows) {
      if (entry?.kind !== "file" || !rules.isShared(path, false)) continue;
      if (count % step === 0) chosen.push(entry);
      count += 1;
      if (chosen.length < CHOSEN_FROM * 2) continue;
      chosen = chosen.filter((_, i) => i % 2 === 0);
      step *= 2;
    }
  }
  return chosen;
}
