import crypto from "node:crypto";
import { EventEmitter } from "node:events";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";

/**
 * Makes the runs of a program repeatable. Fixes the clock, the random numbers, the keys, the pid, and the times that
 * the kernel gives to files. It is loaded before the program, by `NODE_OPTIONS=--import`, so that the program needs no
 * change.
 */

/**
 * The fixed values of a process. The player changes its own values between steps. The processes that it starts get
 * their values from the environment (`REPLAY_…`).
 */
export interface Pinned {
  /** Returns the time, in milliseconds since 1970. The time changes only when the play sets it. */
  now: () => number;
  /** Starts another sequence of random numbers, which depends only on the text. */
  seed: (text: string) => void;
  readonly pid: number;
}

declare global {
  var replayPinned: Pinned | undefined;
}

const { REPLAY_SEED = "", REPLAY_CLOCK = "", REPLAY_PID = "", REPLAY_STAT = "", REPLAY_STORE = "" } = process.env;

/** The files that a history changes have times after this one. Earlier times were given by the kernel. */
const FIRST_NS = BigInt(Date.parse("2029-01-01T00:00:00Z")) * 1_000_000n;
/**
 * The time that replaces every time given by the kernel. It is long ago, so that no such file counts as just changed.
 * It is not a whole second, so that the disk does not look like one with coarse times.
 */
const KERNEL_NS = 1_000_000_123_456_789n * 1_000n;

const real = {
  hash: crypto.createHash,
  keys: crypto.generateKeyPairSync,
  privateKey: crypto.createPrivateKey,
  publicKey: crypto.createPublicKey,
  lstat: fs.lstatSync,
  fstat: fs.fstatSync,
  stat: fs.statSync,
  open: fs.openSync,
  read: fs.readFileSync,
  watch: fs.watch,
  kill: process.kill.bind(process),
};

let seed = REPLAY_SEED;
/**
 * Kind of random numbers → how many were drawn. Each kind has a sequence of its own, so that an additional number of
 * one kind does not change the numbers of the others.
 */
const drawn = new Map<string, number>();

function bytesOf(kind: string, size: number): Buffer {
  const pieces: Buffer[] = [];
  for (let left = size; left > 0; left -= 32) {
    const count = drawn.get(kind) ?? 0;
    drawn.set(kind, count + 1);
    pieces.push(real.hash("sha256").update(`${seed} ${kind} ${count}`).digest());
  }
  return Buffer.concat(pieces).subarray(0, size);
}

function pinRandomness(): void {
  const fill = <T extends ArrayBufferView>(view: T): T => {
    const { buffer, byteOffset, byteLength } = view;
    new Uint8Array(buffer, byteOffset, byteLength).set(bytesOf("values", byteLength));
    return view;
  };
  const uuid = (): string => {
    const hex = bytesOf("uuid", 16).toString("hex");
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`;
  };
  // Names of packs (16 bytes), tokens and nonces have different sizes, so each of these has a sequence of its own.
  const bytes = (size: number): Buffer => bytesOf(`bytes ${size}`, size);
  const keys = (type: string, options: unknown): unknown => {
    if (type !== "ed25519") return Reflect.apply(real.keys, crypto, [type, options]);
    const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), bytesOf("key", 32)]);
    const privateKey = real.privateKey({ key: der, format: "der", type: "pkcs8" });
    return { privateKey, publicKey: real.publicKey(privateKey) };
  };
  Object.assign(crypto, { randomBytes: bytes, randomUUID: uuid, generateKeyPairSync: keys });
  Object.assign(globalThis.crypto, { getRandomValues: fill, randomUUID: uuid });
  Math.random = () => bytesOf("number", 4).readUInt32LE() / 2 ** 32;
}

/** Returns a clock. `text`: a time that does not change, or the path of a file in which the play writes the time. */
function clockOf(text: string): () => number {
  return text.startsWith("/") ? () => Number(real.read(text, "latin1")) : () => Number(text);
}

function pinClock(): void {
  const RealDate = Date;
  globalThis.Date = new Proxy(RealDate, {
    apply: () => String(new Date()),
    construct: (target, words: unknown[], asked): object =>
      Reflect.construct(target, words.length === 0 ? [pinned.now()] : words, asked === Date ? target : asked) as object,
    get: (target, key): unknown => (key === "now" ? () => pinned.now() : Reflect.get(target, key)),
  });
}

/**
 * Replaces the times of a stat that the kernel has given. `ctime` stays, because it is not in the log. It is only in
 * caches, which need the real value to detect changes.
 */
function pinTimes(stats: unknown): unknown {
  if (typeof stats !== "object" || stats === null || !("mtimeNs" in stats)) return stats;
  if (typeof stats.mtimeNs === "bigint" && stats.mtimeNs < FIRST_NS)
    Object.assign(stats, { mtimeNs: KERNEL_NS, mtimeMs: KERNEL_NS / 1_000_000n });
  // The log contains the birth time of each root.
  if ("birthtimeNs" in stats) Object.assign(stats, { birthtimeNs: KERNEL_NS });
  return stats;
}

function pinFiles(): void {
  const own = [`/proc/${process.pid}/stat`, `/proc/${process.ppid}/stat`];
  Object.assign(fs, {
    lstatSync: (...words: unknown[]) => pinTimes(Reflect.apply(real.lstat, fs, words)),
    fstatSync: (...words: unknown[]) => pinTimes(Reflect.apply(real.fstat, fs, words)),
    statSync: (...words: unknown[]) => pinTimes(Reflect.apply(real.stat, fs, words)),
    openSync: (path: unknown, ...words: unknown[]): unknown =>
      Reflect.apply(real.open, fs, [own.includes(String(path)) ? REPLAY_STAT : path, ...words]),
    // A watcher reports events at times that vary. So only folders of the store are watched. The play itself reports
    // what it has changed elsewhere.
    watch: (path: unknown, ...words: unknown[]): unknown =>
      String(path).startsWith(REPLAY_STORE) && REPLAY_STORE !== ""
        ? Reflect.apply(real.watch, fs, [path, ...words])
        : Object.assign(new EventEmitter(), { close: () => undefined, unref: () => undefined, ref: () => undefined }),
  });
}

/** Gives this process and its parent pids that no real process has. The parent counts as running. */
function pinProcess(pid: number): void {
  const parent = pid - (pid % 100_000) - 1;
  Object.defineProperty(process, "pid", { value: pid, configurable: true });
  Object.defineProperty(process, "ppid", { value: parent, configurable: true });
  process.kill = (other, signal) => (other === parent && signal === 0 ? true : real.kill(other, signal));
}

const pinned: Pinned = {
  now: clockOf(REPLAY_CLOCK),
  seed: (text) => {
    seed = text;
    drawn.clear();
  },
  pid: Number(REPLAY_PID),
};

globalThis.replayPinned = pinned;
pinProcess(pinned.pid);
pinRandomness();
pinFiles();
pinClock();
syncBuiltinESMExports();
