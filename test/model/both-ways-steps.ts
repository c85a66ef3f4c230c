import fc from "fast-check";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";

const QUEUE_FILE = "/proc/sys/fs/inotify/max_queued_events";

/** A change of a folder on the real disk, made as programs make it that do not know of a watcher. */
export type FolderStep =
  /**
   * All words have the same size, so only times tell the versions of a file apart. `late`: the file gets its earlier
   * time back.
   */
  | { readonly how: "write"; readonly path: string; readonly word: number; readonly late: boolean }
  | { readonly how: "append"; readonly path: string }
  | { readonly how: "replace"; readonly path: string; readonly word: number }
  | { readonly how: "remove" | "folder" | "touch" | "symlink"; readonly path: string }
  | { readonly how: "rename" | "link"; readonly path: string; readonly to: string }
  | { readonly how: "chmod"; readonly path: string; readonly mode: number }
  /** Renames out of the tracked folder, and back into it. */
  | { readonly how: "away" | "back"; readonly path: string; readonly place: number }
  /**
   * Writes a tracked file through its other name outside of the tracked folders. Some files of the first state have
   * such a name.
   */
  | { readonly how: "outside"; readonly place: number; readonly word: number }
  /** Makes another name for a file, and writes through it. */
  | { readonly how: "linkAndWrite"; readonly path: string; readonly to: string; readonly word: number }
  /** Writes a rule into a `.gitignore`, or into git's own file of rules in a repository. */
  | { readonly how: "rule" | "exclude"; readonly path: string; readonly name: string }
  /** Makes many files, and removes half of them. */
  | { readonly how: "burst"; readonly path: string; readonly files: number }
  /** Causes more events than the kernel queues for a watcher, so that the events of the next steps are dropped. */
  | { readonly how: "flood"; readonly path: string };

/** A call of one of the two workspaces. */
export interface AskStep {
  readonly how: "ask";
  readonly what: "status" | "snapshot" | "undo" | "redo" | "restore" | "write";
  readonly by: "follower" | "direct";
}

/**
 * A pause. It is so long that afterwards the times of files written before it prove that they have not changed since.
 */
export interface RestStep {
  readonly how: "rest";
}

export type BothWaysStep = FolderStep | AskStep | RestStep;

/** The number of events that the kernel queues for a watcher, 100,000 at most. 0 if the kernel is not Linux. */
const QUEUE = existsSync(QUEUE_FILE) ? Math.min(Number(readFileSync(QUEUE_FILE, "utf8")), 100_000) : 0;

const NAMES = ["a", "b", "d"];
const PLACES = 3;
const FOLDERS = ["project", "project", "two"];
const SINGLE = "single/file";

/** The tracked roots, relative to the base of the test: two folders, and a file. */
export const TRACKED = ["project", "two", SINGLE];

/** Files of the first state that have another name outside, at `outside/0` and so on. */
const LINKED_OUTSIDE = ["project/a", "project/d/a", "two/d/d/b"];

/** The other files of the first state. */
const FILES = ["project/b", "two/a", SINGLE];

const path = fc.oneof(
  { weight: 2, arbitrary: fc.constantFrom(...FILES, ...LINKED_OUTSIDE) },
  {
    weight: 5,
    arbitrary: fc
      .tuple(fc.constantFrom(...FOLDERS), fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }))
      .map(([root, names]) => [root, ...names].join("/")),
  },
);
const word = fc.nat(9);
const place = fc.nat(PLACES - 1);

const changes: fc.Arbitrary<FolderStep> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ how: fc.constant("write"), path, word, late: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ how: fc.constant("append"), path }) },
  { weight: 2, arbitrary: fc.record({ how: fc.constant("replace"), path, word }) },
  { weight: 3, arbitrary: fc.record({ how: fc.constantFrom("remove", "folder", "touch", "symlink"), path }) },
  { weight: 4, arbitrary: fc.record({ how: fc.constantFrom("rename", "link"), path, to: path }) },
  { weight: 2, arbitrary: fc.record({ how: fc.constant("chmod"), path, mode: fc.constantFrom(0o600, 0o644, 0o755) }) },
  { weight: 2, arbitrary: fc.record({ how: fc.constantFrom("away", "back"), path, place }) },
  { weight: 2, arbitrary: fc.record({ how: fc.constant("outside"), place, word }) },
  { weight: 2, arbitrary: fc.record({ how: fc.constant("linkAndWrite"), path, to: path, word }) },
  {
    weight: 2,
    arbitrary: fc.record({
      how: fc.constantFrom("rule", "exclude", "exclude"),
      path,
      name: fc.constantFrom(...NAMES, "d/", "!a"),
    }),
  },
  { weight: 1, arbitrary: fc.record({ how: fc.constant("burst"), path, files: fc.integer({ min: 10, max: 60 }) }) },
  { weight: 1, arbitrary: fc.record({ how: fc.constant("flood"), path }) },
);

const ask: fc.Arbitrary<AskStep> = fc.record({
  how: fc.constant("ask"),
  what: fc.constantFrom("status", "status", "status", "snapshot", "undo", "redo", "restore", "write"),
  by: fc.constantFrom("follower", "direct"),
});

export const bothWaysHistories = fc.array(fc.oneof({ weight: 3, arbitrary: changes }, { weight: 1, arbitrary: ask }), {
  minLength: 4,
  maxLength: 24,
});

/** Makes the first state in `base`, and the other names outside of the tracked roots. */
export function beginFolders(base: string): void {
  for (const folder of [
    "outside",
    "single",
    "project/d/d",
    "project/.git/info",
    "project/.git/objects",
    "project/.git/refs",
    "two/d/d",
    "two/b/b",
  ])
    mkdirSync(join(base, folder), { recursive: true });
  writeFileSync(join(base, "project/.git/HEAD"), "ref: refs/heads/main\n");
  for (const [at, name] of LINKED_OUTSIDE.entries()) {
    writeFileSync(join(base, name), textOf(at));
    linkSync(join(base, name), join(base, "outside", `${at}`));
  }
  for (const name of [...FILES, "single/not-tracked"]) writeFileSync(join(base, name), textOf(9));
}

/**
 * True if a step may remove one of several names of a file. A write through that name is not reported for the other
 * names, so the follower must have looked at the file before.
 */
export function takesLink(base: string, step: FolderStep): boolean {
  if (step.how === "rename") return [step.path, step.to].some((path) => holdsLink(join(base, path)));
  const isTaken = step.how === "replace" || step.how === "remove" || step.how === "away" || step.how === "back";
  return isTaken && holdsLink(join(base, step.path));
}

function holdsLink(at: string): boolean {
  try {
    const stat = lstatSync(at);
    return stat.isDirectory() ? readdirSync(at).some((name) => holdsLink(join(at, name))) : stat.nlink > 1;
  } catch (error) {
    if (isOfSystem(error)) return false;
    throw error;
  }
}

function isOfSystem(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string";
}

/** Performs a step. Does nothing if the file system refuses it. */
export function change(base: string, step: FolderStep): void {
  try {
    changeOrThrow(base, step);
  } catch (error) {
    if (!isOfSystem(error)) throw error;
  }
}

function changeOrThrow(base: string, step: FolderStep): void {
  const outside = (name: string): string => join(base, "outside", name);
  if (step.how === "outside") return writeFileSync(outside(`${step.place}`), textOf(step.word));
  const at = join(base, step.path);
  switch (step.how) {
    case "write":
      return write(at, textOf(step.word), step.late);
    case "append":
      return appendFileSync(at, "more\n");
    case "replace":
      writeFileSync(`${at}.new`, textOf(step.word));
      return renameSync(`${at}.new`, at);
    case "remove":
      return rmSync(at, { recursive: true });
    case "folder":
      return void mkdirSync(at, { recursive: true });
    case "touch":
      return utimesSync(at, 1_700_000_000, 1_700_000_000);
    case "symlink":
      return symlinkSync("a", at);
    case "rename":
      return renameSync(at, join(base, step.to));
    case "link":
      return linkSync(at, join(base, step.to));
    case "chmod":
      return chmodSync(at, lstatSync(at).isDirectory() ? step.mode | 0o700 : step.mode);
    case "away":
      return renameSync(at, outside(`away-${step.place}`));
    case "back":
      return renameSync(outside(`away-${step.place}`), at);
    case "linkAndWrite":
      linkSync(at, join(base, step.to));
      return writeFileSync(join(base, step.to), textOf(step.word));
    case "exclude":
      return writeFileSync(join(base, "project/.git/info/exclude"), `${step.name}\n`);
    case "rule":
      return writeFileSync(join(at, ".gitignore"), `${step.name}\n`);
    case "burst":
      return burst(at, step.files);
    case "flood":
      return flood(at);
  }
}

const textOf = (word: number): string => `word ${word}\n`;

function write(at: string, text: string, late: boolean): void {
  const before = late ? lstatSync(at) : undefined;
  mkdirSync(dirname(at), { recursive: true });
  writeFileSync(at, text);
  if (before !== undefined) utimesSync(at, before.atime, before.mtime);
}

function burst(at: string, files: number): void {
  for (let i = 0; i < files; i += 1) writeFileSync(join(at, `f${i}`), textOf(i));
  for (let i = 0; i < files; i += 2) rmSync(join(at, `f${i}`));
}

/** Writes two files in turn, because the kernel drops an event that equals the one before. */
function flood(at: string): void {
  const files = ["flood-a", "flood-b"].map((name) => openSync(join(at, name), "w"));
  for (let i = 0; i <= QUEUE; i += 1) for (const file of files) writeSync(file, "x");
  for (const file of files) closeSync(file);
}
