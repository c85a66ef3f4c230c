import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import { errnoOf } from "../core/values/errors.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { openStore, openStoreOnce } from "../open.ts";
import { ownHome, retentionDefaults } from "../process/environment.ts";
import type { HookIo } from "./hook-io.ts";

const READ_BYTES = 64 * 1024;
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

/** The time between two attempts to write into a full pipe, in milliseconds. */
const FULL_PIPE_MS = 5;

/** Blocks this thread for `ms` milliseconds. The wait ends by its timeout, because nobody else knows the buffer. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Reads and writes by file descriptor, because loading Node's streams would double the time of an answer. */
export class HookProcess implements HookIo {
  readonly version: string;
  readonly env = process.env;
  readonly userHome = ownHome(process.env);
  readonly out = { write: (text: string): void => this.#write(STDOUT, text) };
  readonly err = { write: (text: string): void => this.#write(STDERR, text) };
  readonly #disk = new NodeDisk();

  constructor(version: string) {
    this.version = version;
  }

  async readStdin(): Promise<string> {
    const pieces: Buffer[] = [];
    try {
      for (;;) {
        const piece = Buffer.allocUnsafe(READ_BYTES);
        const count = this.#disk.read(STDIN, piece, null);
        if (count === 0) break;
        pieces.push(piece.subarray(0, count));
      }
    } catch (error) {
      // If the descriptor is non-blocking, the rest is read with Node's stream, which can wait for input.
      if (errnoOf(error) !== "EAGAIN") throw error;
      for await (const piece of process.stdin) pieces.push(Buffer.from(piece));
    }
    return Buffer.concat(pieces).toString("utf8");
  }

  cwd(): string {
    return process.cwd();
  }

  now(): number {
    return Date.now();
  }

  openStore(options: StoreOptions, once = false): Promise<StoreApi> {
    const open = once ? openStoreOnce : openStore;
    return open({ retentionDefaults, ...options });
  }

  /** Waits without limit while a non-blocking pipe is full, because the agent ends a hook that takes too long. */
  #write(fd: number, text: string): void {
    let rest: Uint8Array = Buffer.from(text);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(this.#disk.write(fd, rest, null));
      } catch (error) {
        const errno = errnoOf(error);
        // The reader is gone, so nobody needs the output.
        if (errno === "EPIPE") return;
        if (errno !== "EAGAIN") throw error;
        sleep(FULL_PIPE_MS);
      }
    }
  }
}
