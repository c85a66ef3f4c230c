import { PassThrough, Readable } from "node:stream";
import type { StoreApi } from "../../src/api/store-api.ts";
import type { Io, Sink } from "../../src/process/io.ts";

/** A sink that keeps what it is given. */
export class MemorySink implements Sink {
  text = "";
  readonly isTerminal: boolean;
  readonly colours: boolean;
  readonly columns = 80;
  readonly broken = false;

  constructor(isTerminal = false) {
    this.isTerminal = isTerminal;
    this.colours = isTerminal;
  }

  write(text: string): void {
    this.text += text;
  }

  writeBytes(bytes: Uint8Array): Promise<void> {
    this.text += Buffer.from(bytes).toString("latin1");
    return Promise.resolve();
  }
}

/** A world for command lines inside of this process: sinks in memory, and whatever else is given. */
export function innerIo(argv: readonly string[], given: Partial<Io>): Io & { out: MemorySink; err: MemorySink } {
  return { ...memoryIo(argv), now: () => Date.now(), ...given, out: new MemorySink(), err: new MemorySink() };
}

/** A world in memory: no process, no disk. `open` is what stands for the store. */
export function memoryIo(
  argv: readonly string[],
  { open, terminal = false, env = {} }: { open?: () => Promise<StoreApi>; terminal?: boolean; env?: Io["env"] } = {},
): Io & { readonly out: MemorySink; readonly err: MemorySink } {
  return {
    argv,
    env,
    userHome: "/home/u",
    inherited: { descriptors: () => [], bytes: () => undefined },
    version: "1.2.3",
    out: new MemorySink(terminal),
    err: new MemorySink(terminal),
    stdinIsTerminal: terminal,
    readStdin: () => Promise.resolve(""),
    streams: () => ({ input: Readable.from([]), output: new PassThrough() }),
    cwd: () => "/somewhere",
    chdir: () => undefined,
    now: () => Date.parse("2026-01-01T00:00:00Z"),
    openStore: open ?? (() => Promise.reject(new Error("there is no store here"))),
    onInterrupt: () => () => undefined,
    endBy: () => undefined,
    onUncaught: () => () => undefined,
  };
}
