import type { Disk } from "../disk/disk.ts";
import { addDiagnostic } from "./diagnostics.ts";

/** Number of lines kept in memory while the disk takes none. */
const MOST_KEPT = 200;
/** An error that a timer meets repeatedly is reported again after this time, in milliseconds. */
const AGAIN_MS = 60_000;

export interface ServerDiagnosticsOptions {
  readonly disk: Disk;
  /** `<store>/run`. */
  readonly folder: string;
  /** Takes a line that could not be written to the disk. */
  readonly say?: (line: string) => void;
}

/**
 * The diagnostics of a long-lived process. A line that the disk does not take goes to stderr at once, and to the file
 * once the disk takes it.
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

  /** Like `add`, for an error that recurs: reported once a minute. */
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
