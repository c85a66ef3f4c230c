import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import { errnoOf } from "../core/values/errors.ts";
import { NodeDisk } from "../disk/node-disk.ts";
import { openStore, openStoreOnce } from "../open.ts";
import { ownHome, retentionDefaults } from "../process/environment.ts";
import { writeOut } from "../process/write-out.ts";
import type { HookIo } from "./hook-io.ts";

const READ_BYTES = 64 * 1024;
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;

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

  #write(fd: number, text: string): void {
    writeOut(this.#disk, fd, Buffer.from(text));
  }
}
