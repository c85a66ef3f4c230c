import { join } from "node:path";
import type { Disk } from "../disk/disk.ts";
import { writeFully } from "../disk/write-fully.ts";
import { readSmall } from "./run-folder.ts";

/** The size, in bytes, above which the file is moved aside and a new file is begun: only the latest trouble is kept. */
const MOST_BYTES = 256 * 1024;

const OF_HOOK = "hook ";
/** Prefix of lines about what a replica reported of itself or its origin, and about connections it lost. */
export const OF_REPLICA = "replica: ";

/** Prefix of lines about calls that were refused for lack of rights. */
export const OF_CALLER = "refused: ";

type Source = "hook" | "replica" | "caller" | "process";

/** Returns the path of the file with the diagnostics of hooks and of the long-lived process. */
export function diagnosticsFile(folder: string): string {
  return join(folder, "diagnostics.log");
}

/** Adds a line. Returns false if it cannot be written: diagnostics must not stop anything. */
export function addDiagnostic(disk: Disk, folder: string, line: string): boolean {
  const path = diagnosticsFile(folder);
  try {
    if ((disk.lstat(path)?.size ?? 0) > MOST_BYTES) disk.rename(path, `${path}.1`);
    const fd = disk.open(path, "append");
    try {
      writeFully(disk, fd, Buffer.from(`${new Date().toISOString()} ${line.replaceAll(/\s+/g, " ")}\n`), null);
    } finally {
      disk.close(fd);
    }
    return true;
  } catch {
    // If the file cannot be written, only the message on stderr is left.
    return false;
  }
}

/** Returns the lines of the present file since a moment, oldest first, by source. */
export function diagnosticsSince(disk: Disk, folder: string, since: Date): Readonly<Record<Source, readonly string[]>> {
  const lines = (readSmall(disk, diagnosticsFile(folder)) ?? "").split("\n");
  const recent = lines.filter((line) => line !== "" && line.slice(0, STAMP) >= since.toISOString());
  const {
    hook = [],
    replica = [],
    caller = [],
    process = [],
  } = Object.groupBy(recent, (line) => sourceOf(line.slice(STAMP + 1)));
  return { hook, replica, caller, process };
}

/** The length of `2026-01-02T03:04:05.678Z`. */
const STAMP = 24;

function sourceOf(text: string): Source {
  if (text.startsWith(OF_HOOK)) return "hook";
  if (text.startsWith(OF_CALLER)) return "caller";
  return text.startsWith(OF_REPLICA) ? "replica" : "process";
}

/** The most lines that are kept in memory while the disk takes none. */
const MOST_KEPT = 200;
/** An error that a timer meets repeatedly is reported again after this time, in milliseconds. */
const AGAIN_MS = 60_000;

interface ServerDiagnosticsOptions {
  readonly disk: Disk;
  /** `<store>/run`. */
  readonly folder: string;
  /** Takes a line that could not be written to the disk. */
  readonly say?: (line: string) => void;
}

/**
 * The diagnostics of a long-lived process. A line that the disk does not take goes to `say` at once, and to the file
 * once the disk takes it. At most `MOST_KEPT` lines wait for that.
 */
export class ServerDiagnostics {
  readonly #options: ServerDiagnosticsOptions;
  readonly #told = new Map<string, number>();
  #kept: string[] = [];
  #count = 0;

  constructor(options: ServerDiagnosticsOptions) {
    this.#options = options;
  }

  /** Number of trouble lines so far. */
  get count(): number {
    return this.#count;
  }

  add(line: string): void {
    this.#count += 1;
    this.note(line);
  }

  /** Like `add`, for lines that are no trouble of this process. */
  note(line: string): void {
    this.writeKept();
    if (this.#kept.length === 0 && this.#write(line)) return;
    this.#options.say?.(line);
    if (this.#kept.length < MOST_KEPT) this.#kept.push(`${line} (at ${new Date().toISOString()})`);
  }

  /** Like `add`, for an error that recurs: reported at most once a minute. */
  addOnce(line: string): void {
    const now = performance.now();
    if (now - (this.#told.get(line) ?? -Infinity) < AGAIN_MS) return;
    if (this.#told.size > MOST_KEPT) this.#told.clear();
    this.#told.set(line, now);
    this.add(line);
  }

  /** Writes the lines that the disk did not take before. */
  writeKept(): void {
    while (this.#kept.length > 0 && this.#write(this.#kept[0] ?? "")) this.#kept = this.#kept.slice(1);
  }

  #write(line: string): boolean {
    return addDiagnostic(this.#options.disk, this.#options.folder, line);
  }
}
