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

/** What happens to a folder on the real disk, as programs that know nothing of a watcher do it. */
export type FolderStep =
  /** Words of the same size, so that only times tell the versions apart. `late`: the file keeps its earlier time. */
  | { readonly how: "write"; readonly path: string; readonly word: number; readonly late: boolean }
  | { readonly how: "append"; readonly path: string }
  | { readonly how: "replace"; readonly path: string; readonly word: number }
  | { readonly how: "remove" | "folder" | "touch" | "symlink"; readonly path: string }
  | { readonly how: "rename" | "link"; readonly path: string; readonly to: string }
  | { readonly how: "chmod"; readonly path: string; readonly mode: number }
  /** Out of the tracked folder, and into it. */
  | { readonly how: "away" | "back"; readonly path: string; readonly place: number }
  /** Through a name that a file of the first state has outside of the tracked folders. */
  | { readonly how: "outside"; readonly place: number; readonly word: number }
  /** Through another name that is made for it. */
  | { readonly how: "linkAndWrite"; readonly path: string; readonly to: string; readonly word: number }
  /** In a `.gitignore`, or in git's own file of a repository. */
  | { readonly how: "rule" | "exclude"; readonly path: string; readonly name: string }
  /** Many files made, and half of them removed. */
  | { readonly how: "burst"; readonly path: string; readonly files: number }
  /** More events than the kernel keeps for a watcher, so that those of the next steps are dropped. */
  | { readonly how: "flood"; readonly path: string };

/** What is asked or done by one of the two. */
export interface AskStep {
  readonly how: "ask";
  readonly what: "status" | "snapshot" | "undo" | "redo" | "restore" | "write";
  readonly by: "follower" | "direct";
}

/** So long a time that the times of files which were written before prove that they have not changed since. */
export interface RestStep {
  readonly how: "rest";
}

export type BothWaysStep = FolderStep | AskStep | RestStep;

/** The number of events that the kernel keeps for a watcher; 0 if the kernel is another one. */
const QUEUE = existsSync(QUEUE_FILE) ? Math.min(Number(readFileSync(QUEUE_FILE, "utf8")), 100_000) : 0;

const NAMES = ["a", "b", "d"];
const PLACES = 3;
const FOLDERS = ["project", "project", "two"];
const SINGLE = "single/file";

/** What is tracked, relative to the base of the test: two folders, and a file. */
export const TRACKED = ["project", "two", SINGLE];

/** The files that have another name outside, at `outside/0` and so on. */
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

/** Makes the first state beneath `base`, and the names outside of what is tracked. */
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
 * True if a step may take a name away from a file with several names. A write through that name is not reported by the
 * others, so it must have been looked at before.
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

/** Does a step; what the file system refuses is not done. */
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

/** Two files in turn, because the kernel keeps one of two equal events. */
function flood(at: string): void {
  const files = ["flood-a", "flood-b"].map((name) => openSync(join(at, name), "w"));
  for (let i = 0; i <= QUEUE; i += 1) for (const file of files) writeSync(file, "x");
  for (const file of files) closeSync(file);
}
