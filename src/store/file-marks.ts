import type { MarkChanges, MarkShape, MarksShape } from "../api/store-api.ts";
import { errnoOf } from "../core/values/errors.ts";
import { sha256 } from "../core/values/hash.ts";
import type { Disk } from "../disk/disk.ts";
import { readDiskFile } from "../disk/read-disk-file.ts";
import { writeFileDurably } from "../disk/write-fully.ts";
import { makeFolders } from "./file-head-keeper.ts";

/** The maximum number of marks of one person in one workspace. */
const MOST_MARKS = 5_000;

/** The maximum size, in bytes, of a file of marks. */
const MOST_BYTES = 1024 * 1024;

/** The maximum number of people whose marks are kept in one workspace. */
const MOST_PEOPLE = 256;

const PROBLEM = "the kept marks cannot be read, so nothing is marked; the next mark begins anew";

const SUFFIX = ".json";
const HASH = /^(?:[0-9a-f]{64})?$/;

/**
 * The marks of one person in one workspace, in one small file. The marks are no part of the history. A file that cannot
 * be decoded counts as empty, and the next change replaces the file. If a person has too many marks, the oldest marks
 * are dropped. If too many people have marks, the files that were not changed for the longest time are removed.
 */
export class FileMarks {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #path: string;

  /** `folder` holds the marks of all people in the workspace. `person` is any text. */
  constructor(disk: Disk, folder: string, person: string) {
    this.#disk = disk;
    this.#folder = folder;
    this.#path = `${folder}/${sha256(person)}${SUFFIX}`;
  }

  read(): MarksShape {
    if (this.#disk.lstat(this.#path) === undefined) return { marks: [] };
    const text = readDiskFile(this.#disk, this.#path)?.toString("utf8");
    if (text === undefined) return { marks: [] };
    const marks = decode(text);
    return marks === undefined ? { marks: [], problem: PROBLEM } : { marks };
  }

  /** Adds and removes marks, and makes the result durable. The caller must hold a lock against other processes. */
  change(changes: MarkChanges): void {
    const before = this.read();
    const marks = changed(before.marks, changes);
    if (before.problem === undefined && sameKeys(marks, before.marks)) return;
    if (this.#disk.lstat(this.#path) === undefined) this.#makeRoom();
    writeFileDurably(this.#disk, this.#path, encode(marks));
  }

  #makeRoom(): void {
    makeFolders(this.#disk, this.#folder);
    const names = this.#disk.list(this.#folder).map(({ name }) => name.toString());
    const files = names
      .filter((name) => name.endsWith(SUFFIX))
      .map((name) => ({ path: `${this.#folder}/${name}`, time: this.#disk.lstat(`${this.#folder}/${name}`)?.mtimeNs }))
      .sort((a, b) => ((a.time ?? 0n) < (b.time ?? 0n) ? -1 : 1));
    for (const { path } of files.slice(0, Math.max(0, files.length - MOST_PEOPLE + 1))) this.#remove(path);
  }

  #remove(path: string): void {
    try {
      this.#disk.unlink(path);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
  }
}

/** Equal keys stand for equal marks. */
function keyOf({ path, before_hash: before, after_hash: after, after_permissions: permissions }: MarkShape): string {
  return JSON.stringify([path, before, after, ...(permissions === undefined ? [] : [permissions])]);
}

function changed(marks: readonly MarkShape[], { add = [], remove = [] }: MarkChanges): MarkShape[] {
  const byKey = new Map(marks.map((mark) => [keyOf(mark), mark]));
  for (const mark of remove) byKey.delete(keyOf(mark));
  for (const mark of add) {
    const key = keyOf(mark);
    byKey.delete(key);
    byKey.set(key, mark);
  }
  return [...byKey.values()].slice(-MOST_MARKS);
}

function sameKeys(some: readonly MarkShape[], others: readonly MarkShape[]): boolean {
  return some.length === others.length && some.every((mark, at) => keyOf(mark) === keyOf(others[at] as MarkShape));
}

/** Encodes the newest marks that fit into `MOST_BYTES`, each on a line of its own. */
function encode(marks: readonly MarkShape[]): Buffer {
  const lines: string[] = [];
  let bytes = 0;
  for (const mark of marks.toReversed()) {
    const line = keyOf(mark);
    bytes += Buffer.byteLength(line) + 2;
    if (bytes > MOST_BYTES) break;
    lines.push(line);
  }
  return Buffer.from(`{"format":1,"marks":[\n${lines.toReversed().join(",\n")}\n]}\n`);
}

/** Returns the marks of a file; `undefined` if the file is damaged or has another format. */
function decode(text: string): MarkShape[] | undefined {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof file !== "object" || file === null) return undefined;
  const { format, marks } = file as { format?: unknown; marks?: unknown };
  if (format !== 1 || !Array.isArray(marks) || marks.length > MOST_MARKS) return undefined;
  const decoded = marks.map(decodeMark);
  return decoded.every((mark) => mark !== undefined) ? decoded : undefined;
}

function decodeMark(one: unknown): MarkShape | undefined {
  if (!Array.isArray(one) || one.length < 3 || one.length > 4) return undefined;
  const [path, before, after, permissions] = one as unknown[];
  if (typeof path !== "string" || !isHash(before) || !isHash(after)) return undefined;
  if (permissions !== undefined && !Number.isSafeInteger(permissions)) return undefined;
  const own = permissions === undefined ? {} : { after_permissions: permissions as number };
  return { path, before_hash: before, after_hash: after, ...own };
}

function isHash(value: unknown): value is string {
  return typeof value === "string" && HASH.test(value);
}
