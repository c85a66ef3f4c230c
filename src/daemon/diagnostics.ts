import { join } from "node:path";
import { errnoOf } from "../core/values/errors.ts";
import type { Disk } from "../disk/disk.ts";
import { readFully, writeFully } from "../disk/write-fully.ts";
import { readSmall } from "./run-folder.ts";

/**
 * The size in bytes above which the file is renamed to `.1` and a new file is begun, so that only recent lines are
 * kept.
 */
const MOST_BYTES = 256 * 1024;

const NEWLINE = 0x0a;

const OF_HOOK = "hook ";
/** The prefix of lines about reports and lost connections of replicas. */
export const OF_REPLICA = "replica: ";

/** The prefix of lines about calls that were refused because the caller had no right to them. */
export const OF_CALLER = "refused: ";

type Source = "hook" | "replica" | "caller" | "process";

/** Returns the path of the file with the diagnostics of hooks and of the long-lived process. */
export function diagnosticsFile(folder: string): string {
  return join(folder, "diagnostics.log");
}

/**
 * Adds a line with the present time to the diagnostics. If the line cannot be written, returns false and does not
 * throw, because a failure of diagnostics must not stop anything.
 */
export function addDiagnostic(disk: Disk, folder: string, line: string): boolean {
  const path = diagnosticsFile(folder);
  try {
    if (isFull(disk, path)) beginAnew(disk, path);
    const text = `${new Date().toISOString()} ${line.replaceAll(/\s+/g, " ")}\n`;
    // An interrupted write may have left a line without its end. The new text must then begin on a line of its own.
    append(disk, path, endsWithLine(disk, path) ? text : `\n${text}`);
    return true;
  } catch {
    // The error is ignored. The caller may still write the line to stderr.
    return false;
  }
}

function isFull(disk: Disk, path: string): boolean {
  return (disk.lstat(path)?.size ?? 0) > MOST_BYTES;
}

/**
 * Renames the full file to `.1`. Another process may rename the file at the same moment. Therefore, this process first
 * moves the file to a name of its own, and examines it there. If the moved file is not full, the other process has
 * begun it after its own rename. This process then puts the file back.
 */
function beginAnew(disk: Disk, path: string): void {
  const taken = `${path}.${process.pid}`;
  try {
    disk.rename(path, taken);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  if (isFull(disk, taken)) disk.rename(taken, `${path}.1`);
  else putBack(disk, taken, path);
}

function putBack(disk: Disk, taken: string, path: string): void {
  try {
    disk.link(taken, path);
  } catch (error) {
    if (errnoOf(error) === undefined) throw error;
    // A third process has begun a file since the rename, or the file system has no hard links. Append the lines to the
    // file that now has this path.
    append(disk, path, readSmall(disk, taken) ?? "");
  }
  disk.unlink(taken);
}

function endsWithLine(disk: Disk, path: string): boolean {
  const { size } = disk.lstat(path) ?? { size: 0 };
  if (size === 0) return true;
  const fd = disk.open(path, "read");
  try {
    const last = Buffer.alloc(1);
    return readFully(disk, fd, last, size - 1) === 0 || last[0] === NEWLINE;
  } finally {
    disk.close(fd);
  }
}

function append(disk: Disk, path: string, text: string): void {
  const fd = disk.open(path, "append");
  try {
    writeFully(disk, fd, Buffer.from(text), null);
  } finally {
    disk.close(fd);
  }
}

/** Returns the lines of the present file that were written since a moment, grouped by their source, oldest first. */
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

/** The length of the time at the start of each line, such as `2026-01-02T03:04:05.678Z`. */
const STAMP = 24;

function sourceOf(text: string): Source {
  if (text.startsWith(OF_HOOK)) return "hook";
  if (text.startsWith(OF_CALLER)) return "caller";
  return text.startsWith(OF_REPLICA) ? "replica" : "process";
}

/** The maximum number of lines that are kept in memory while the disk cannot be written. */
const MOST_KEPT = 200;
/** The time after which a recurring error is reported again, in milliseconds. */
const AGAIN_MS = 60_000;

interface ServerDiagnosticsOptions {
  readonly disk: Disk;
  /** The folder of the diagnostics: `<store>/run`. */
  readonly folder: string;
  /** Called with a line that cannot be written to the disk. */
  readonly say?: (line: string) => void;
}

/**
 * Adds lines to the diagnostics of the long-lived process. A line that cannot be written to the disk is passed to `say`
 * at once, and is written to the file later. While `MOST_KEPT` lines wait, further lines are only passed to `say`.
 */
export class ServerDiagnostics {
  readonly #options: ServerDiagnosticsOptions;
  readonly #told = new Map<string, number>();
  #kept: string[] = [];
  #count = 0;

  constructor(options: ServerDiagnosticsOptions) {
    this.#options = options;
  }

  /** The number of lines added by `add` and `addOnce`. */
  get count(): number {
    return this.#count;
  }

  add(line: string): void {
    this.#count += 1;
    this.note(line);
  }

  /** Adds a line that is not about an error of this process. The line is not counted. */
  note(line: string): void {
    this.writeKept();
    if (this.#kept.length === 0 && this.#write(line)) return;
    this.#options.say?.(line);
    if (this.#kept.length < MOST_KEPT) this.#kept.push(`${line} (at ${new Date().toISOString()})`);
  }

  /** Adds a line, unless this method added the same line less than `AGAIN_MS` ago. */
  addOnce(line: string): void {
    const now = performance.now();
    if (now - (this.#told.get(line) ?? -Infinity) < AGAIN_MS) return;
    if (this.#told.size > MOST_KEPT) this.#told.clear();
    this.#told.set(line, now);
    this.add(line);
  }

  /** Writes the waiting lines to the file, as far as the disk takes them. */
  writeKept(): void {
    while (this.#kept.length > 0 && this.#write(this.#kept[0] ?? "")) this.#kept = this.#kept.slice(1);
  }

  #write(line: string): boolean {
    return addDiagnostic(this.#options.disk, this.#options.folder, line);
  }
}
