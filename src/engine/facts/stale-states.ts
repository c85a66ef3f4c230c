import type { OmissionReason, OmittedPath } from "../../core/records/coverage.ts";
import { comparePaths, isRoot, parentOf, type WorkspacePath } from "../../core/values/path.ts";
import { type Context, isHosted } from "../log/context.ts";
import { shownPath } from "../log/shape.ts";
import { coveragesAt, STALE, type StatedCoverage } from "./recorded-coverage.ts";

/**
 * A recorded state is stale at a moment if no capture could take the state on disk at that moment, for example because
 * the file was too large or unreadable. The history has only an earlier state of the path. The state at that moment is
 * not known.
 */

export class StaleStates {
  readonly #context: Context;
  readonly #seq: number;
  readonly #omitted: readonly Omitted[];

  private constructor(context: Context, seq: number, omitted: readonly Omitted[]) {
    this.#context = context;
    this.#seq = seq;
    this.#omitted = omitted;
  }

  /** Returns the stale states after event `seq`, according to the coverages of that moment (`stated`). */
  static by(context: Context, seq: number, stated: readonly (StatedCoverage | undefined)[]): StaleStates {
    const omitted = stated.flatMap((one) => (one === undefined ? [] : [omittedBy(one)]));
    return new StaleStates(context, seq, omitted);
  }

  /** Reads the coverage of the state after event `seq`. In a hosted workspace, nothing is stale. */
  static async at(context: Context, seq: number): Promise<StaleStates> {
    return StaleStates.by(context, seq, isHosted(context.worktree.roots) ? [] : await coveragesAt(context, seq));
  }

  /** Returns the stale states after another event `seq`. That moment must have the same coverages as this one. */
  after(seq: number): StaleStates {
    return new StaleStates(this.#context, seq, this.#omitted);
  }

  /**
   * Returns why the recorded state of a path is stale; `undefined` if that state is not stale. A path that is recorded
   * as absent can be stale, too: it may have existed without being recorded.
   */
  async reasonOf(path: WorkspacePath): Promise<OmissionReason | undefined> {
    for (const { seq, reasons } of this.#omitted) {
      const reason = reasonAbove(reasons, path);
      if (reason === undefined) continue;
      const row = await this.#context.index.iterationAt(path, this.#seq);
      // An iteration after the coverage event is not stale. A capture of only some paths, which states no coverage,
      // took the iteration.
      if (row === undefined || row.seq <= seq) return reason;
    }
    return undefined;
  }

  /**
   * Returns the paths whose recorded state is stale and not absent, in path order. A folder stands for everything
   * beneath it.
   */
  async all(): Promise<OmittedPath[]> {
    const found = new Map<WorkspacePath, OmittedPath>();
    for (const { seq, reasons } of this.#omitted) {
      const paths = [...reasons.keys()];
      const rows = await this.#context.index.iterationsAt(paths, this.#seq);
      for (const [i, [path, reason]] of [...reasons].entries()) {
        const row = rows[i];
        if (row?.entry !== undefined && row.seq <= seq) found.set(path, { path, reason });
      }
    }
    return [...found.values()].sort((a, b) => comparePaths(a.path, b.path));
  }
}

interface Omitted extends Pick<StatedCoverage, "seq"> {
  readonly reasons: ReadonlyMap<WorkspacePath, OmissionReason>;
}

function omittedBy({ seq, omitted }: StatedCoverage): Omitted {
  const stale = omitted.filter(({ reason }) => STALE.has(reason));
  return { seq, reasons: new Map(stale.map(({ path, reason }) => [path, reason])) };
}

const MOST_PATHS = 5;

/** Tells people for which paths the last recorded state is used, because the state after event `seq` is not known. */
export async function tellStale(
  context: Context,
  seq: number,
  isMeant: (path: WorkspacePath) => boolean = () => true,
): Promise<void> {
  if (context.tell === undefined) return;
  const stale = (await (await StaleStates.at(context, seq)).all()).filter(({ path }) => isMeant(path));
  if (stale.length === 0) return;
  const shown = stale.slice(0, MOST_PATHS).map(({ path, reason }) => `${shownPath(path)} (${reason})`);
  const more = stale.length > shown.length ? ` and ${stale.length - shown.length} more` : "";
  context.tell(
    `the states of these paths at that moment could not be recorded, so their last recorded states are used: ${shown.join(", ")}${more}`,
  );
}

/**
 * Returns the reason why the path, or the nearest omitted folder above it, was omitted; `undefined` if neither was
 * omitted.
 */
export function reasonAbove(
  omitted: ReadonlyMap<WorkspacePath, OmissionReason>,
  path: WorkspacePath,
): OmissionReason | undefined {
  if (omitted.size === 0) return undefined;
  for (let at = path; ; at = parentOf(at)) {
    const reason = omitted.get(at);
    if (reason !== undefined || isRoot(at)) return reason;
  }
}
