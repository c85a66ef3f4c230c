import type { RecordShape } from "../../api/shapes.ts";
import { capture, type Capture, type CaptureOptions } from "./capture.ts";
import { type Context, refuseHosted } from "../log/context.ts";
import { parseGivenPath } from "../log/known-paths.ts";
import { changeShape, coverageShape } from "../log/shape.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { IterationCause } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { DirtyPaths } from "../log/dirty-paths.ts";
import { followSettings } from "../log/follow-settings.ts";
import { optional } from "../../util/optional.ts";
import { LASTING_TIMERS, NODE_TIMERS } from "../../util/timers.ts";
import { HintedCapture } from "./hinted-capture.ts";

/**
 * The delay, in milliseconds, between a hint of the watcher and the capture of the hinted paths. A delay is needed
 * because editors and tools write in bursts. A file that is written continuously is captured at this interval, because
 * its intermediate states are wanted. The final capture records the last state of the file.
 */
const SETTLE_MS = 60;

/**
 * The ratio that decides how `stop` scans. If the recording took at least this many times as long as a full scan,
 * `stop` scans everything. After a shorter recording, `stop` scans only the hinted paths again.
 */
const MANY_LOOKS = 4;

/** The longest interval that a timer of Node.js accepts, in milliseconds. */
const LONGEST_INTERVAL_MS = 2 ** 31 - 1;

interface RecorderOptions {
  readonly cause: IterationCause;
  /** Runs the given scan once no other change of the workspace is under way. Default: runs the scan at once. */
  readonly inTurn?: (scan: () => Promise<void>) => Promise<void>;
  readonly onCapture?: (changes: number) => void;
  readonly ends?: Pick<CaptureOptions, "absentRoot">;
  /** Called once a full capture has applied a change that another process made to the tracked folders. */
  readonly onSettings?: () => void;
}

interface Recorded {
  /** The Merkle root after each capture that found something. */
  readonly roots: readonly Hash[];
  readonly last: Capture;
}

/**
 * Captures changes as they happen. The hints of a watcher say where to scan. At the end, everything that may have
 * changed is scanned once more.
 */
export class Recorder {
  readonly #context: Context;
  readonly #options: RecorderOptions;
  readonly #roots: Hash[] = [];
  /**
   * The dirty paths (those that may have changed) of this recorder. The dirty paths of the context are left to the last
   * scan.
   */
  readonly #dirty: DirtyPaths;
  readonly #hinted: HintedCapture;
  /** The paths that were hinted at. */
  readonly #seen = new Set<WorkspacePath>();
  #listening: Disposable | undefined;
  readonly #timers = NODE_TIMERS;
  #startedAt = 0;
  #failure: unknown;
  /**
   * The timer that keeps the process alive. A watcher alone does not keep the process alive, and its first hint may
   * come only after days.
   */
  #alive: NodeJS.Timeout | undefined;
  /** True from a change of the settings until a full capture has applied this change. */
  #areSettingsNew = false;

  constructor(context: Context, options: RecorderOptions) {
    this.#context = context;
    this.#options = options;
    // If the workspace is already watched, the recorder uses the same watcher.
    this.#dirty = new DirtyPaths(context.live.started ? context.live : context.worktree);
    this.#hinted = new HintedCapture({
      dirty: this.#dirty,
      ...{ quietMs: SETTLE_MS, mostMs: SETTLE_MS, timers: LASTING_TIMERS },
      inTurn: options.inTurn ?? ((scan) => scan()),
      prepare: () => this.#prepare(),
      capture: (only) => this.#captureHinted(only),
      onScanned: (error) => {
        if (error !== undefined) this.#failure = error;
      },
    });
  }

  /** Starts to watch. The caller must have captured what is on disk. */
  async start(): Promise<void> {
    this.#startedAt = this.#timers.now;
    await this.#dirty.take();
    this.#hinted.start();
    this.#listening = this.#dirty.hinted.listen((paths) => this.#note(paths));
    await this.#dirty.start();
    this.#alive ??= setInterval(() => undefined, LONGEST_INTERVAL_MS);
  }

  /**
   * Stops watching, and captures once more what may have changed. The last error of a hinted capture is in `failure`.
   */
  async stop(): Promise<Recorded> {
    await this.giveUp();
    await followSettings(this.#context);
    const { live } = this.#context;
    const ranMs = this.#timers.now - this.#startedAt;
    // No watcher reports a write to a file that is mapped into memory, or a write through a link that was made during
    // the recording. Therefore everything is scanned if a full scan takes little time compared with the recording.
    // Otherwise, the paths with hints are scanned again.
    live.giveBack(ranMs >= live.fullLookMs * MANY_LOOKS ? undefined : [...this.#seen]);
    const last = await this.#capture(undefined, this.#options.ends);
    return { roots: this.#roots, last };
  }

  /** Stops watching, and captures nothing more. */
  async giveUp(): Promise<void> {
    clearInterval(this.#alive);
    this.#alive = undefined;
    this.#listening?.[Symbol.dispose]();
    await this.#hinted.stop();
    await this.#dirty.stop();
  }

  /** Records these paths, even those that the rules leave out. Must be called after `stop`. */
  take(paths: readonly WorkspacePath[]): Promise<Capture> {
    return this.#capture(paths, { named: true });
  }

  /**
   * The error of the last capture that failed; `undefined` if none has failed. The final capture records what a failed
   * capture has missed.
   */
  get failure(): unknown {
    return this.#failure;
  }

  #note(paths: readonly WorkspacePath[] = []): void {
    for (const path of paths) this.#seen.add(path);
  }

  async #prepare(): Promise<boolean> {
    const isChanged = await followSettings(this.#context);
    this.#areSettingsNew ||= isChanged;
    return isChanged;
  }

  async #captureHinted(only: readonly WorkspacePath[] | undefined): Promise<Capture> {
    if (only !== undefined) return this.#capture(only);
    await this.#dirty.take();
    const captured = await this.#capture(undefined);
    this.#dirty.looked({ only: undefined, omitted: captured.coverage.omitted });
    if (this.#areSettingsNew) this.#options.onSettings?.();
    this.#areSettingsNew = false;
    return captured;
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

/** Captures these paths and everything beneath them, and scans nothing else. Throws if a text is not a path. */
export async function record(context: Context, given: readonly string[]): Promise<RecordShape> {
  refuseHosted(context, "record what is on disk");
  const captured = await capture(context, { cause: "capture", only: given.map(parseGivenPath) });
  return {
    seq: captured.seq,
    changes: captured.changes.map(changeShape),
    coverage: coverageShape(captured.coverage),
  };
}
