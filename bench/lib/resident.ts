import { readFileSync } from "node:fs";

const EVERY_MS = 250;

/** Resident memory of processes over time. Linux only. */
export class Resident implements Disposable {
  readonly #samples: number[][];
  readonly #timer: NodeJS.Timeout;

  constructor(pids: readonly number[]) {
    this.#samples = pids.map(() => []);
    this.#timer = setInterval(() => pids.forEach((pid, i) => this.#samples[i]?.push(residentBytes(pid))), EVERY_MS);
  }

  /** The most that a process had within a part of the time, in bytes: from 0 (the beginning) to 1 (now). */
  most(process: number, from: number, to: number): number {
    const samples = this.#samples[process] ?? [];
    return Math.max(...samples.slice(Math.floor(from * samples.length), Math.ceil(to * samples.length)));
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function residentBytes(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return 1024 * Number(kib);
}
