import type { WorkspacePath } from "../../../core/values/path.ts";
import type { Timers } from "../../../util/timers.ts";
import type { FolderJournal } from "./folder-journal.ts";

export interface RefusalProbeOptions {
  readonly journal: Pick<FolderJournal, "refused" | "retry" | "isUndecided">;
  readonly timers: Timers;
  /** Returns true if journal entries can be sent to the origin now. */
  readonly mayAsk: () => boolean;
  /** Starts the next step of the sync (one comparison of the folder with its origin). */
  readonly wake: () => void;
}

const FIRST_WAIT_MS = 5_000;
const LONGEST_WAIT_MS = 900_000;

/**
 * Detects when an origin that was read-only (an archived workspace, a folder without permission) can be written again.
 * After waits of growing length, the probe proposes one of the paths that were refused as `read-only`. Each attempt
 * adds lines to the log, so the other refused paths are sent only once the origin has accepted the proposed path.
 */
export class RefusalProbe implements Disposable {
  readonly #options: RefusalProbeOptions;
  #asked: WorkspacePath | undefined;
  #tries = 0;
  #timer: Disposable | undefined;

  constructor(options: RefusalProbeOptions) {
    this.#options = options;
  }

  /**
   * Must be called when the origin has accepted or refused journal entries. Does nothing while the proposed path is
   * undecided. Once the origin has accepted the proposed path, sends all other paths that were refused as `read-only`.
   * Otherwise, schedules the next proposal.
   */
  look(): void {
    const { journal, wake } = this.#options;
    const isRefused = this.#asked !== undefined && journal.refused.has(this.#asked);
    if (this.#asked !== undefined && !isRefused && journal.isUndecided(this.#asked)) return;
    const isTaken = this.#asked !== undefined && !isRefused;
    this.#asked = undefined;
    if (isTaken) {
      this.#tries = 0;
      journal.retry("read-only");
      return wake();
    }
    if (this.#timer !== undefined || this.#paths().length === 0) return;
    const wait = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(this.#tries, 10));
    this.#timer = this.#options.timers.after(wait, () => this.#ask());
  }

  /** Cancels the next proposal. The next call of `look` schedules another proposal, after the shortest wait. */
  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#asked = undefined;
    this.#tries = 0;
  }

  #ask(): void {
    this.#timer = undefined;
    const { journal, mayAsk, wake } = this.#options;
    const paths = this.#paths();
    this.#tries += 1;
    const path = paths[this.#tries % paths.length];
    if (path === undefined || !mayAsk()) return this.look();
    this.#asked = path;
    journal.retry("read-only", path);
    wake();
  }

  #paths(): WorkspacePath[] {
    const refused = [...this.#options.journal.refused];
    return refused.filter(([, { reason }]) => reason === "read-only").map(([path]) => path);
  }
}
