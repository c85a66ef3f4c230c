import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Coverage, coverageOf } from "../../core/records/coverage.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { VirtualClock } from "../../testing/virtual-clock.ts";
import type { WatchHandle, WatchHint } from "../../worktree/worktree.ts";
import { DirtyPaths } from "../log/dirty-paths.ts";
import { HintedCapture } from "./hinted-capture.ts";

/** A simulated folder, whose hints and scans the test controls. */
class Folder {
  readonly clock = new VirtualClock();
  readonly dirty = new DirtyPaths({
    watch: (onHint) => this.#watch(onHint),
    unchangedAmong: (paths) => paths.filter((path) => this.own.has(path)),
  });
  /** Each scan with its time, each watch, and each error that was reported. */
  readonly log: unknown[] = [];
  /** Files that Chronicle itself has just written. */
  readonly own = new Set<string>();
  /** Paths that are hinted at when the watcher is asked for past hints. */
  readonly late: string[] = [];
  /** Paths that change while they are read. */
  readonly unstable = new Set<string>();
  /** The errors of the next turns, scans and watches. */
  readonly turnErrors: unknown[] = [];
  readonly scanErrors: unknown[] = [];
  readonly watchErrors: unknown[] = [];
  /** Called when a scan reads. */
  onRead: () => void = () => undefined;
  scanMs = 0;
  turnMs = 0;
  /** The number of scans that were reported as done. */
  told = 0;
  /** The number of turns that were waited for. */
  turns = 0;
  /** True if other folders are tracked at the next scan. */
  isOther = false;
  capture: HintedCapture;
  #onHint: (hint: WatchHint) => void = () => undefined;

  constructor() {
    this.capture = this.#captured();
  }

  /** Follows hints with other options from now on. */
  async captureWith(more: { readonly mostMs: number }): Promise<void> {
    await this.capture.stop();
    this.capture = this.#captured(more);
    this.capture.start();
  }

  #captured(more: { readonly mostMs?: number } = {}): HintedCapture {
    return new HintedCapture({
      ...{ dirty: this.dirty, quietMs: 50, timers: this.clock, ...more },
      inTurn: (scan) => this.#turn(scan),
      prepare: async () => {
        const { isOther } = this;
        this.isOther = false;
        return isOther;
      },
      capture: (only) => this.#scan(only),
      onScanned: (error) => {
        if (error === undefined) this.told += 1;
        else this.log.push(error);
      },
    });
  }

  /** Starts to watch and to follow hints. Everything in the folder counts as recorded. */
  async start(): Promise<void> {
    await this.dirty.start();
    await this.dirty.take();
    this.log.length = 0;
    this.capture.start();
  }

  hint(...paths: string[]): void {
    this.#onHint({ paths: paths as WorkspacePath[] });
  }

  hintEverywhere(): void {
    this.#onHint({ paths: undefined });
  }

  /** Advances the time. */
  async until(at: number): Promise<void> {
    await this.clock.run(at);
  }

  async #turn(scan: () => Promise<void>): Promise<void> {
    this.turns += 1;
    await this.#pass(this.turnMs);
    const error = this.turnErrors.shift();
    if (error !== undefined) throw error;
    await scan();
  }

  async #pass(ms: number): Promise<void> {
    if (ms > 0) await this.clock.wait(ms);
  }

  async #watch(onHint: (hint: WatchHint) => void): Promise<WatchHandle> {
    this.log.push("watch");
    const error = this.watchErrors.shift();
    if (error !== undefined) throw error;
    this.#onHint = onHint;
    const settled = async (): Promise<boolean> => {
      if (this.late.length > 0) this.hint(...this.late.splice(0));
      return true;
    };
    return { degraded: false, settled, close: async () => void (this.#onHint = () => undefined) };
  }

  /** Scans as a capture does. A scan of everything takes the dirty paths itself. */
  async #scan(only: readonly WorkspacePath[] | undefined): Promise<{ readonly coverage: Coverage }> {
    const taken = only ?? (await this.dirty.take()) ?? "all";
    this.log.push([this.clock.now, only === undefined && taken !== "all" ? ["all of", ...taken] : taken]);
    this.onRead();
    await this.#pass(this.scanMs);
    const error = this.scanErrors.shift();
    if (error !== undefined) throw error;
    const detail = "it changed while it was read";
    const omitted = [...this.unstable].map((path) => ({
      path: path as WorkspacePath,
      reason: "unstable" as const,
      detail,
    }));
    this.unstable.clear();
    if (only === undefined) this.dirty.looked({ only: undefined, omitted });
    return { coverage: coverageOf(omitted) };
  }
}

let folder: Folder;

beforeEach(async () => {
  folder = new Folder();
  await folder.start();
});

afterEach(() => folder.capture.stop());

describe("a path that is hinted at", () => {
  it("is scanned once it was quiet, and nothing else is", async () => {
    folder.hint("a");
    await folder.until(30);
    folder.hint("a");
    await folder.until(1_000);
    expect(folder.log).toEqual([[80, ["a"]]]);
  });

  it("is not scanned while it is being written, and is not lost", async () => {
    folder.hint("a", "b");
    await folder.until(30);
    folder.hint("b");
    await folder.until(1_000);
    expect(folder.log).toEqual([
      [50, ["a"]],
      [80, ["b"]],
    ]);
  });

  it("is not scanned while it is being written, even if this is known only when the scan begins", async () => {
    folder.hint("a", "b");
    folder.late.push("b");
    await folder.until(1_000);
    expect(folder.log).toEqual([
      [50, ["a"]],
      [100, ["b"]],
    ]);
  });

  it("is scanned after five seconds even if it is still being written", async () => {
    for (let at = 0; at < 5_100; at += 20) {
      folder.hint("log");
      await folder.until(at + 20);
    }
    expect(folder.log).toEqual([[5_000, ["log"]]]);
  });

  it("is scanned after the longest wait that the caller has set, even if it is still being written", async () => {
    await folder.captureWith({ mostMs: 60 });
    for (let at = 0; at < 180; at += 20) {
      folder.hint("log");
      await folder.until(at + 20);
    }
    expect(folder.log).toEqual([
      [60, ["log"]],
      [120, ["log"]],
      [180, ["log"]],
    ]);
  });

  it("stays late until it is scanned, even if it becomes quiet and is written again", async () => {
    await folder.captureWith({ mostMs: 60 });
    folder.capture.rest(300);
    folder.hint("log");
    await folder.until(40);
    // The path is late at 60, quiet at 120, and written again at 290.
    folder.hint("log");
    await folder.until(70);
    folder.hint("log");
    await folder.until(290);
    folder.hint("log");
    await folder.until(310);
    expect(folder.log).toEqual([[300, ["log"]]]);
  });

  it("counts as everything if hints were lost", async () => {
    folder.hint("a");
    folder.hintEverywhere();
    await folder.until(1_000);
    expect(folder.log).toEqual([[50, "all"]]);
  });

  it("is not scanned, and waits for no turn, if Chronicle itself has just written it", async () => {
    folder.own.add("a");
    folder.turnMs = 10;
    folder.hint("a");
    await folder.until(1_000);
    expect(folder.turns).toBe(0);
    folder.hint("a", "b");
    await folder.until(2_000);
    expect(folder.log).toEqual([[1_060, ["b"]]]);
  });

  it("is scanned again without a hint if it changed while it was read", async () => {
    for (const hint of [() => folder.hint("a"), () => folder.hintEverywhere()]) {
      folder.unstable.add("a");
      hint();
      await folder.until(folder.clock.now + 1_000);
    }
    expect(folder.log).toEqual([
      [50, ["a"]],
      [100, ["a"]],
      [1_050, "all"],
      [1_100, ["a"]],
    ]);
  });
});

describe("a scan", () => {
  it("runs alone: what becomes quiet meanwhile is scanned after it", async () => {
    folder.turnMs = 100;
    folder.hint("a");
    await folder.until(60);
    folder.hint("b");
    await folder.until(149);
    expect(folder.log).toEqual([]);
    // The scan is due at 50, and its turn comes at 150. It takes both paths.
    await folder.until(1_000);
    expect(folder.log).toEqual([[150, ["a", "b"]]]);
    expect([folder.turns, folder.told]).toEqual([1, 1]);
    folder.onRead = () => folder.hint("c");
    folder.scanMs = 70;
    folder.hint("a");
    await folder.until(1_200);
    folder.onRead = () => undefined;
    await folder.until(3_000);
    // The scan is over at 1,220. A rest of 210 and a turn of 100 follow.
    expect(folder.log.slice(1)).toEqual([
      [1_150, ["a"]],
      [1_530, ["c"]],
    ]);
  });

  it("is followed by a rest of three times its time, and of ten seconds at most", async () => {
    folder.hint("a");
    folder.scanMs = 1_000;
    await folder.until(1_040);
    folder.hint("b");
    // The scan is over at 1,050.
    await folder.until(4_049);
    expect(folder.log).toEqual([[50, ["a"]]]);
    folder.scanMs = 60_000;
    await folder.until(4_050);
    folder.hint("c");
    folder.scanMs = 0;
    await folder.until(74_049);
    expect(folder.log.slice(1)).toEqual([[4_050, ["b"]]]);
    await folder.until(74_051);
    expect(folder.log.slice(2)).toEqual([[74_050, ["c"]]]);
  });

  it("that fails is reported, and the next hint causes a full scan", async () => {
    const error = new Error("no disk");
    folder.scanErrors.push(error);
    folder.hint("a");
    await folder.until(1_000);
    expect(folder.log).toEqual([[50, ["a"]], error]);
    folder.hint("b");
    await folder.until(2_000);
    expect(folder.log.slice(2)).toEqual([[1_050, "all"]]);
    folder.hint("b");
    await folder.until(3_000);
    expect(folder.log.slice(3)).toEqual([[2_050, ["b"]]]);
  });

  it("that fails is followed at once by a full scan if a path became quiet before that", async () => {
    const error = new Error("closed");
    folder.turnErrors.push(error);
    folder.turnMs = 100;
    folder.hint("a");
    await folder.until(60);
    folder.hint("b");
    await folder.until(1_000);
    expect(folder.log).toEqual([error, [250, "all"]]);
  });

  it("watches anew and then scans everything if other folders are tracked", async () => {
    folder.isOther = true;
    folder.hint("a");
    await folder.until(1_000);
    expect(folder.log).toEqual(["watch", [50, "all"]]);
    folder.hint("b");
    await folder.until(2_000);
    expect(folder.log.slice(2)).toEqual([[1_050, ["b"]]]);
  });

  it("is not followed by a rest if other folders are tracked, because they may be watched only then", async () => {
    folder.isOther = true;
    folder.scanMs = 1_000;
    folder.hint("a");
    await folder.until(1_040);
    folder.hintEverywhere();
    await folder.until(3_000);
    expect(folder.log).toEqual(["watch", [50, "all"], [1_100, "all"]]);
  });

  it("watches other folders with the next scan if they cannot be watched yet", async () => {
    const error = new Error("no watches left");
    folder.watchErrors.push(error);
    folder.isOther = true;
    folder.hint("a");
    await folder.until(1_000);
    expect(folder.log).toEqual(["watch", error]);
    // No hint comes, because nothing is watched.
    folder.capture.want();
    await folder.until(2_000);
    folder.hint("b");
    await folder.until(3_000);
    expect(folder.log.slice(2)).toEqual(["watch", [1_000, "all"], [2_050, ["b"]]]);
  });

  it("that is asked for takes the paths of hints from before the start", async () => {
    await folder.capture.stop();
    folder.hint("a");
    await folder.until(100);
    folder.capture.start();
    await folder.until(1_000);
    expect(folder.log).toEqual([]);
    folder.capture.want();
    await folder.until(2_000);
    expect(folder.log).toEqual([[1_000, ["a"]]]);
  });

  it("may be put off", async () => {
    folder.capture.rest(2_000);
    folder.capture.want();
    folder.hint("a");
    await folder.until(1_999);
    expect(folder.log).toEqual([]);
    await folder.until(3_000);
    expect(folder.log).toEqual([[2_000, ["a"]]]);
  });
});

describe("a scan of all", () => {
  it("takes paths that are being written at once, and is not followed by a rest", async () => {
    folder.scanMs = 100;
    folder.hint("a");
    const scanned = folder.capture.scanAll();
    await folder.until(60);
    folder.hint("b");
    await folder.until(1_000);
    await scanned;
    expect(folder.log).toEqual([
      [0, ["all of", "a"]],
      [110, ["b"]],
    ]);
  });

  it("is followed at once by a scan of the paths that became quiet meanwhile", async () => {
    folder.scanMs = 100;
    const scanned = folder.capture.scanAll();
    await folder.until(20);
    folder.hint("b");
    await folder.until(1_000);
    await scanned;
    expect(folder.log).toEqual([
      [0, ["all of"]],
      [100, ["b"]],
    ]);
  });

  it("begins after the call, and once for all callers that wait", async () => {
    folder.scanMs = 100;
    folder.hint("a");
    await folder.until(60);
    const callers = [folder.capture.scanAll(), folder.capture.scanAll()];
    await folder.until(1_000);
    await Promise.all(callers);
    expect(folder.log).toEqual([
      [50, ["a"]],
      [150, ["all of"]],
    ]);
  });

  it("serves all callers that call before its turn comes", async () => {
    folder.turnMs = 100;
    const first = folder.capture.scanAll();
    await folder.until(50);
    folder.hint("a");
    const second = folder.capture.scanAll();
    await folder.until(1_000);
    await Promise.all([first, second]);
    expect(folder.log).toEqual([[100, ["all of", "a"]]]);
  });

  it("rejects if it fails, and is repeated for another caller that waits", async () => {
    folder.scanMs = 100;
    const error = new Error("no room");
    folder.scanErrors.push(error);
    const failing = folder.capture.scanAll().catch((failed: unknown) => failed);
    const other = folder.capture.scanAll();
    await folder.until(1_000);
    expect(await failing).toBe(error);
    await other;
    expect(folder.log).toEqual([
      [0, ["all of"]],
      [100, "all"],
    ]);
  });
});

describe("once it is stopped", () => {
  it("nothing is scanned, and the hinted paths are still to be scanned", async () => {
    folder.hint("a");
    await folder.until(40);
    await folder.capture.stop();
    folder.hint("b");
    folder.capture.want();
    await folder.until(1_000);
    expect(folder.log).toEqual([]);
    expect(folder.dirty.left).toEqual(["a", "b"]);
  });

  it("the running scan ends first, and no scan follows", async () => {
    folder.scanMs = 100;
    folder.hint("a");
    await folder.until(60);
    folder.hint("b");
    await folder.until(140);
    const scanning = folder.capture.scanAll();
    let isStopped = false;
    const stopped = folder.capture.stop().then(() => (isStopped = true));
    await folder.until(149);
    expect(isStopped).toBe(false);
    await folder.until(1_000);
    await Promise.all([stopped, scanning]);
    expect(folder.log).toEqual([[50, ["a"]]]);
    expect(folder.dirty.left).toEqual(["b"]);
  });

  it("it can be started again, and hints from before the stop cause no scan", async () => {
    folder.hint("a");
    folder.capture.rest(500);
    await folder.until(70);
    folder.hint("b");
    await folder.capture.stop();
    folder.capture.start();
    await folder.until(200);
    expect(folder.log).toEqual([]);
    folder.hint("c");
    await folder.until(1_000);
    expect(folder.log).toEqual([[250, ["a", "b", "c"]]]);
  });

  it("a rest that is asked for while it is stopped has no effect after a new start", async () => {
    await folder.capture.stop();
    folder.capture.rest(500);
    folder.capture.start();
    folder.hint("a");
    await folder.until(1_000);
    expect(folder.log).toEqual([[50, ["a"]]]);
  });

  it("a path that was late before the stop is waited for anew after a new start", async () => {
    await folder.captureWith({ mostMs: 60 });
    folder.capture.rest(500);
    folder.hint("log");
    await folder.until(40);
    folder.hint("log");
    await folder.until(70);
    await folder.capture.stop();
    folder.capture.start();
    folder.hint("log");
    folder.capture.want();
    await folder.until(1_000);
    expect(folder.log).toEqual([[120, ["log"]]]);
  });

  it("an unstable path of the scan that ran at the stop causes no scan after a new start", async () => {
    folder.scanMs = 100;
    folder.unstable.add("a");
    folder.hint("a");
    await folder.until(140);
    const stopped = folder.capture.stop();
    await folder.until(151);
    await stopped;
    folder.capture.start();
    await folder.until(1_000);
    expect(folder.log).toEqual([[50, ["a"]]]);
    expect(folder.dirty.left).toEqual(["a"]);
  });
});
