import { sameEntry, type Entry } from "../../../core/values/entry.ts";
import { withBreaths } from "../../../util/yield-to-event-loop.ts";
import type { Context } from "../../../engine/log/context.ts";
import type { FileHistory } from "./read-cycle.ts";
import type { ReplicatedPaths } from "../ground/replicated-paths.ts";

export interface SampleGround {
  readonly context: Pick<Context, "worktree">;
  readonly mirror: Pick<FileHistory, "entriesAt">;
  readonly rules: ReplicatedPaths;
  /** The seq of the origin's event up to which the folder was reconciled. */
  readonly applied: number;
}

/** The number of sampled files (`looked`), and how many of them are unchanged (`same`). */
export interface Sample {
  readonly looked: number;
  readonly same: number;
}

/** The maximum number of files to read. */
const MOST_LOOKED_AT = 16;
/**
 * The minimum number of candidates from which the files to read are chosen. If the folder has fewer files, all files
 * are candidates.
 */
const CHOSEN_FROM = 64;
/** The maximum sum, in bytes, of the recorded sizes of the files to read. The first file is read in any case. */
const MOST_BYTES = 64 * 1024 ** 2;

/**
 * Samples the folder's files, to find out whether the folder is the folder that the sync knows. Chooses files from the
 * whole folder, and compares the shortest files with the state on which both sides last agreed. Later recorded states
 * may be states of another folder in the place of the known folder, so they are not used.
 */
export async function sampleContents(ground: SampleGround): Promise<Sample> {
  const { worktree } = ground.context;
  const chosen = (await choose(ground)).toSorted((a, b) => a.size - b.size).slice(0, MOST_LOOKED_AT);
  let [looked, same, bytes] = [0, 0, 0];
  for (const entry of chosen) {
    bytes += entry.size;
    if (looked > 0 && bytes > MOST_BYTES) break;
    looked += 1;
    const [stat] = await worktree.stats([entry.path]);
    // A file that has grown has changed, and need not be read.
    if (typeof stat === "object" && stat.kind === "file" && stat.size > entry.size) continue;
    const now = await worktree.inspect(entry.path);
    if (now !== undefined && sameEntry({ ...now, mode: entry.mode }, entry)) same += 1;
  }
  return { looked, same };
}

/**
 * True if the sample shows that a folder with the same inode number on another device is the folder that the sync
 * knows. `isBorn` is true if the birth times of both folders are known and equal, to the nanosecond. One unchanged
 * file, or an empty sample, is then enough. Otherwise, at least half of the sampled files, and at least one, must be
 * unchanged.
 */
export function isRecognised({ looked, same }: Sample, isBorn: boolean): boolean {
  if (isBorn) return same > 0 || looked === 0;
  return same > 0 && same * 2 >= looked;
}

/**
 * Chooses files from the whole folder. Empty files are chosen only if all files are empty, because all empty files are
 * alike.
 */
async function choose({ mirror, rules, applied }: SampleGround): Promise<readonly Entry[]> {
  const [filled, empty] = [new EvenChoice(), new EvenChoice()];
  for await (const rows of withBreaths(mirror.entriesAt(applied))) {
    for (const { path, entry } of rows) {
      if (entry?.kind !== "file" || !rules.isShared(path, false)) continue;
      if (entry.size > 0) filled.offer(entry);
      else empty.offer(entry);
    }
  }
  return filled.chosen.length > 0 ? filled.chosen : empty.chosen;
}

/** Chooses evenly from all offered entries. Holds fewer than twice `CHOSEN_FROM` entries. */
class EvenChoice {
  #chosen: Entry[] = [];
  #step = 1;
  #count = 0;

  get chosen(): readonly Entry[] {
    return this.#chosen;
  }

  offer(entry: Entry): void {
    if (this.#count % this.#step === 0) this.#chosen.push(entry);
    this.#count += 1;
    if (this.#chosen.length < CHOSEN_FROM * 2) return;
    this.#chosen = this.#chosen.filter((_, i) => i % 2 === 0);
    this.#step *= 2;
  }
}
