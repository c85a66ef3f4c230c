import type { RecordShape } from "../../api/shapes.ts";
import { capture, type Capture, type CaptureOptions } from "./capture.ts";
import { type Context, refuseHosted } from "../log/context.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { changeShape, coverageShape } from "../log/shape.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { IterationCause } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { WatchHandle, WatchHint } from "../../worktree/worktree.ts";
import { followSettings } from "../log/follow-settings.ts";
import { optional } from "../../util/optional.ts";

/** The delay between a hint and its capture, in milliseconds: editors and tools write in bursts. */
const SETTLE_MS = 60;

/**
 * The wait between two captures is at least this many times the time of one: a busy folder is not read all the time.
 */
const BUSY_FACTOR = 3;

/** The interval of full scans while hints may be missed, in milliseconds. */
const BLIND_SCAN_MS = 2_000;

interface RecorderOptions {
  readonly cause: IterationCause;
  readonly onCapture?: (changes: number) => void;
  /** Options of the final capture. */
  readonly ends?: Pick<CaptureOptions, "absentRoot">;
  /** Called when another process has changed what is tracked; the change applies here from now on. */
  readonly onSettings?: () => void;
}

/** The captures that a recorder has made. */
interface Recorded {
  /** Merkle root after each capture that found something. */
  readonly roots: readonly Hash[];
  readonly last: Capture;
}

/** Captures changes as they happen: a watcher's hints say where to scan, and the last scan is a full one. */
export class Recorder {
  readonly #context: Context;
  readonly #options: RecorderOptions;
  readonly #roots: Hash[] = [];
  #watch: WatchHandle | undefined;
  #pending: Set<WorkspacePath> | "all" | undefined;
  #working: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;
  #blindTimer: NodeJS.Timeout | undefined;
  #failure: unknown;
  #stopping = false;

  constructor(context: Context, options: RecorderOptions) {
    this.#context = context;
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#begin();
    this.#blindTimer = setInterval(() => {
      if (this.#watch?.degraded === true) this.#onHint({ paths: undefined });
    }, BLIND_SCAN_MS);
  }

  async #begin(): Promise<void> {
    this.#watch = await this.#context.worktree.watch((hint) => this.#onHint(hint));
  }

  /** Stops watching, and captures everything once more. Errors of earlier captures are in `failure`. */
  async stop(): Promise<Recorded> {
    clearInterval(this.#blindTimer);
    clearTimeout(this.#timer);
    this.#stopping = true;
    await this.#watch?.close();
    await this.#working;
    // `#working` may have begun another watch.
    await this.#watch?.close();
    await followSettings(this.#context);
    const last = await this.#capture(undefined, this.#options.ends);
    return { roots: this.#roots, last };
  }

  /** Records these paths whatever the rules say. Call it after `stop`. */
  take(paths: readonly WorkspacePath[]): Promise<Capture> {
    return this.#capture(paths, { named: true });
  }

  /** The last error of a capture before the final one, if any; the final capture makes up for it. */
  get failure(): unknown {
    return this.#failure;
  }

  #onHint({ paths }: WatchHint): void {
    if (paths === undefined) this.#pending = "all";
    else if (this.#pending !== "all") {
      this.#pending ??= new Set();
      for (const path of paths) this.#pending.add(path);
    }
    this.#plan(SETTLE_MS);
  }

  #plan(delay: number): void {
    // The last scan is a full one.
    if (this.#stopping || this.#timer !== undefined || this.#working !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#working = this.#work();
    }, delay);
  }

  async #work(): Promise<void> {
    const began = performance.now();
    const pending = this.#pending;
    this.#pending = undefined;
    try {
      if (pending !== undefined) await this.#follow(pending === "all" ? undefined : [...pending]);
    } catch (error) {
      this.#failure = error;
    }
    this.#working = undefined;
    if (this.#pending !== undefined) this.#plan(Math.max(SETTLE_MS, (performance.now() - began) * BUSY_FACTOR));
  }

  /**
   * Captures these paths. If the settings have changed, captures everything, and watches the folders that are tracked
   * now.
   */
  async #follow(only: readonly WorkspacePath[] | undefined): Promise<void> {
    const isChanged = await followSettings(this.#context);
    await this.#capture(isChanged ? undefined : only);
    if (!isChanged || this.#stopping) return;
    this.#options.onSettings?.();
    await this.#watch?.close();
    await this.#begin();
    // Captures what was changed while nothing was watched.
    this.#onHint({ paths: undefined });
  }

  async #capture(
    only: readonly WorkspacePath[] | undefined,
    how: RecorderOptions["ends"] & { readonly named?: true } = {},
  ): Promise<Capture> {
    const { cause, onCapture } = this.#options;
    const captured = await capture(this.#context, { ...how, cause, root: true, ...optional({ only }) });
    if (captured.root !== undefined) this.#roots.push(captured.root);
    if (captured.changes.length > 0) onCapture?.(captured.changes.length);
    return captured;
  }
}

/** Captures these paths and what is beneath them, and scans nothing else. Throws for a text that is no path. */
export async function record(context: Context, given: readonly string[]): Promise<RecordShape> {
  refuseHosted(context, "record what is on disk");
  const captured = await capture(context, { cause: "capture", only: given.map(parseGivenPath) });
  return {
    seq: captured.seq,
    changes: captured.changes.map(changeShape),
    coverage: coverageShape(captured.coverage),
  };
}
