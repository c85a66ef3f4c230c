import { readFileSync } from "node:fs";

const EVERY_MS = 250;

/** Samples the resident memory of processes until it is disposed of. Linux only. */
export class Resident implements Disposable {
  readonly #samples: number[][];
  readonly #timer: NodeJS.Timeout;

  constructor(pids: readonly number[]) {
    this.#samples = pids.map(() => []);
    this.#timer = setInterval(() => pids.forEach((pid, i) => this.#samples[i]?.push(residentBytes(pid))), EVERY_MS);
  }

  /**
   * Returns the maximum of the resident memory of a process, in bytes. `process`: its index in `pids`. `from`, `to`:
   * the part of the time to look at; 0 is the beginning, 1 is the present.
   */
  most(process: number, from: number, to: number): number {
    const samples = this.#samples[process] ?? [];
    return Math.max(...samples.slice(Math.floor(from * samples.length), Math.ceil(to * samples.length)));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Returns the resident memory of a process, in bytes. Linux only. */
export function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return 1024 * Number(kib);
}
