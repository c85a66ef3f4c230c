import type { Progress } from "../../api/workspace-api.ts";
import { formatBytes } from "../../core/values/duration.ts";
import type { Sink } from "../../process/io.ts";

const QUIET_MS = 1000;
const EVERY_MS = 100;
const BAR = 24;

const WORDS: Readonly<Record<Progress["phase"], string>> = {
  scan: "looking",
  capture: "recording",
  restore: "restoring",
  verify: "verifying",
  rebuild: "rebuilding",
  collect: "collecting",
};

function amount(count: number, unit: Progress["unit"]): string {
  return unit === "bytes" ? formatBytes(count) : count.toLocaleString("en-US");
}

/**
 * One line on a terminal that shows the progress of a piece of work; nothing during the first second. It never touches
 * stdin, which may be a child's.
 */
export class ProgressLine {
  readonly #sink: Sink;
  readonly #now: () => number;
  #phase: Progress["phase"] | undefined;
  #started = 0;
  #phaseStarted = 0;
  #shownAt = 0;
  #visible = false;

  constructor(sink: Sink, now: () => number) {
    this.#sink = sink;
    this.#now = now;
  }

  show(progress: Progress): void {
    const now = this.#now();
    if (progress.phase !== this.#phase) {
      if (this.#phase === undefined) this.#started = now;
      this.#phase = progress.phase;
      this.#phaseStarted = now;
    }
    if (now - this.#started < QUIET_MS || now - this.#shownAt < EVERY_MS) return;
    this.#shownAt = now;
    this.#visible = true;
    this.#sink.write(`\r\u001b[2K${this.#text(progress, now).slice(0, this.#sink.columns - 1)}`);
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#visible) this.#sink.write("\r\u001b[2K");
    this.#visible = false;
    this.#phase = undefined;
  }

  #text(progress: Progress, now: number): string {
    const { done, total, unit } = progress;
    const seconds = Math.max(0.1, (now - this.#phaseStarted) / 1000);
    const rate = `${amount(Math.round(done / seconds), unit)}/s`;
    const word = WORDS[progress.phase].padEnd(10);
    const noun = unit === "bytes" ? "" : ` ${unit}`;
    if (total <= 0) return `${word} ${amount(done, unit)}${noun}  ${rate}`;
    const share = Math.min(1, done / total);
    const bar = "█".repeat(Math.round(share * BAR)).padEnd(BAR, "░");
    return `${word} ${bar} ${Math.floor(share * 100)}%  ${amount(done, unit)} of ${amount(total, unit)}${noun}  ${rate}`;
  }
}
