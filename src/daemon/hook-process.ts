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

/** Blocks this thread: nobody changes what it waits on. */
function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/**
 * The surroundings of a process that answers one hook and ends. Reads and writes by descriptor: loading Node's streams
 * takes as long as all the rest of an answer.
 */
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
      // The descriptor was made non-blocking; the stream can handle that.
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

  /**
   * Writes all of a text. A pipe that is full and does not block is waited for, as one that blocks would be: the agent
   * ends a hook that takes too long.
   */
  #write(fd: number, text: string): void {
    let rest: Uint8Array = Buffer.from(text);
    while (rest.length > 0) {
      try {
        rest = rest.subarray(this.#disk.write(fd, rest, null));
      } catch (error) {
        const errno = errnoOf(error);
        // The reader is gone, so the output is not missed.
        if (errno === "EPIPE") return;
        if (errno !== "EAGAIN") throw error;
        sleep(FULL_PIPE_MS);
      }
    }
  }
}
