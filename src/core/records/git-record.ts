import { canonicalJson, parseCanonical } from "../values/canonical-json.ts";
import type { EntryKind } from "../values/entry.ts";
import { ChronicleError } from "../values/errors.ts";
import type { Json, RecordBody } from "../values/event.ts";
import { decodePath, encodePath } from "../values/file-record.ts";
import { type Hash, isHash, parseHash } from "../values/hash.ts";
import { comparePaths, type WorkspacePath } from "../values/path.ts";
import { damaged, hashOf, list, object, orNull, text, texts, whole } from "../values/record-fields.ts";
import { optional } from "../../util/optional.ts";
import { type Aside, decodeAside, encodeAside } from "./aside.ts";

/**
 * The state of git repositories. This state is recorded beside the files of the workspace, not among them. The state of
 * a repository maps names to values. A name is a path in the repository's git folder:
 *
 * - `HEAD` and `refs/…`: the value is the hash of a git object, or `ref: ` and the name of another ref.
 * - `index`: the value is the text that `indexValue` returns.
 * - `.git`: the value is the SHA-256 of a blob. The blob is the content of the file `.git` in the working tree, which
 *   leads to the git folder. If `.git` is the git folder itself, this name has no value.
 * - Every other name (`MERGE_HEAD`, `rebase-merge/done`, `logs/refs/stash`): the value is the SHA-256 of a blob. The
 *   blob is the content of the file with this name.
 */

/**
 * The prefix of the ids of git records. The prefix is followed by the id of the run, action or operation that changed
 * the state of git.
 */
export const GIT = "git:";

/** The name of the file that leads from a linked working tree or a submodule to its git folder. */
export const GIT_FILE = ".git";

/** The state of one repository. */
export interface GitState {
  /** The path of the repository's `.git`. */
  readonly path: WorkspacePath;
  /** Maps the names to their values. Refs that are only in `packed-refs` are not in this map. */
  readonly values: ReadonlyMap<string, string>;
  /** The hash of a blob with the content of `packed-refs`; absent if there is no such file. */
  readonly packed?: Hash;
  /** The other working trees of the repository, sorted by name. */
  readonly worktrees: readonly GitWorktree[];
  /**
   * The rest of the git folder, from which an undo can restore the folder if it was deleted. Absent if the git folder
   * is not the `.git` at `path`, or if the git folder was not kept.
   */
  readonly folder?: GitFolder;
}

/**
 * A git folder that is the `.git` of a working tree. Its objects, and the files that `GitState.values` describes, are
 * left out.
 */
export interface GitFolder {
  /**
   * A text that identifies the folder of the objects. If the text is a different one later, the folder may have been
   * replaced. Empty if the text is not known.
   */
  readonly objects: string;
  /**
   * The names of some packs and some loose objects. The names show later whether objects are missing. Absent in states
   * of earlier versions.
   */
  readonly sample?: readonly string[];
  /** The mode of the files that `GitState.values` describes. */
  readonly mode: number;
  /** The folders and small files, each folder before its contents. */
  readonly items: readonly GitFolderItem[];
  /** A text for messages that says why an undo cannot restore the folder; absent if an undo can restore it. */
  readonly problem?: string;
}

/** A folder, file or link in a git folder. */
export interface GitFolderItem {
  readonly name: string;
  readonly kind: EntryKind;
  readonly mode: number;
  /** The size in bytes; 0 for a folder. */
  readonly size: number;
  readonly mtimeNs: bigint;
  /** The hash of a blob with the content; absent for a folder. */
  readonly blob?: Hash;
}

/** A working tree of a repository. */
export interface GitWorktree {
  /** The name of the working tree in the folder `worktrees`; empty for the main working tree. */
  readonly name: string;
  /** The full names of the branches that the working tree has checked out or is rebasing. */
  readonly branches: readonly string[];
}

/**
 * The change of one value of a repository. `before` or `after` is `undefined` if the ref or file did not exist at that
 * time.
 */
export interface GitItem {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

/**
 * The branch that is checked out, and its commit. If `branch` is absent, HEAD is detached. If `commit` is absent, the
 * branch has no commit yet.
 */
export interface GitHead {
  readonly branch?: string;
  readonly commit?: string;
}

/** The changes of one repository. */
export interface GitChange {
  readonly path: WorkspacePath;
  readonly before: GitHead;
  readonly after: GitHead;
  readonly items: readonly GitItem[];
  /**
   * The hashes of blobs, which are packs in git's format. The packs have the objects that the state before the change
   * needs, and that nothing in the repository reaches after the change.
   */
  readonly packs: readonly Hash[];
  /** The number of objects that `packs` should contain, but that the repository lacked. Default: 0. */
  readonly lacking?: number;
}

/** `git:<id>`: the changes that a run, an action or an operation made to the state of git repositories. */
export interface GitRecord {
  /**
   * The reference to a blob of the class `private`. The blob with the hash `plan` has the changes in the form that
   * `encodeGitChanges` returns.
   */
  readonly git: Aside;
}

export function encodeGitRecord({ git }: GitRecord): RecordBody {
  return { git: encodeAside(git) };
}

/** Decodes a record of git changes. Throws `LOG_DAMAGED` if it is invalid. */
export function decodeGitRecord(body: RecordBody): GitRecord {
  return { git: decodeAside(body, "git") ?? damaged("it names no changes of git") };
}

/**
 * The parts of the value of an index.
 * - `facts`: a digest of everything that the index says about its paths, without the stats of files.
 * - `blob`: the hash of a blob with the bytes of the index.
 * - `mtimeNs`: the modification time of the index. Git decides by this time which of the stats it can trust.
 */
export interface IndexValue {
  readonly facts: string;
  readonly blob: Hash;
  readonly mtimeNs: bigint;
}

export function indexValue({ facts, blob, mtimeNs }: IndexValue): string {
  return `${facts} ${blob} ${mtimeNs}`;
}

/** Parses the value of an index. Throws `LOG_DAMAGED` if it is invalid. */
export function parseIndexValue(value: string): IndexValue {
  const [facts = "", blob = "", time = "", ...more] = value.split(" ");
  if (!isHash(facts) || !isHash(blob) || !/^-?\d{1,19}$/.test(time) || more.length > 0) {
    return damaged("the value of an index is invalid");
  }
  return { facts, blob, mtimeNs: BigInt(time) };
}

/** Returns true for `HEAD` and for the names of refs. The values of these names are not contents of files. */
export function isGitRef(name: string): boolean {
  return name === "HEAD" || name.startsWith("refs/");
}

/**
 * Returns true if two values of a name mean the same. Two indexes mean the same if they differ only in the stats of
 * files.
 */
export function sameGitValue(name: string, a: string | undefined, b: string | undefined): boolean {
  if (a === b || name !== "index" || a === undefined || b === undefined) return a === b;
  return parseIndexValue(a).facts === parseIndexValue(b).facts;
}

/** Returns the hash of the blob that a value needs; `undefined` for refs. Throws `LOG_DAMAGED` for an invalid value. */
function blobOfGitValue(name: string, value: string): Hash | undefined {
  if (isGitRef(name)) return undefined;
  if (name === "index") return parseIndexValue(value).blob;
  return isHash(value) ? value : damaged("the value of a git file is not a hash");
}

/**
 * Matches a line of `packed-refs` with a ref, and captures the hash and the name. Matches neither the header nor the
 * lines with the targets of annotated tags (`^…`).
 */
const PACKED = /^([0-9a-f]{40}(?:[0-9a-f]{24})?) (refs\/.+)$/;

/**
 * Parses `packed-refs` (`git help pack-refs`). Returns a map from the names of refs to hashes. Leaves out lines without
 * a ref, and names that `isGitName` refuses.
 */
export function parsePackedRefs(text: string): ReadonlyMap<string, string> {
  const refs = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [, hash, name] = PACKED.exec(line) ?? [];
    if (hash !== undefined && name !== undefined && isGitName(name)) refs.set(name, hash);
  }
  return refs;
}

/** The refs in `packed-refs` before and after some work, as maps from names to hashes. */
interface PackedRefs {
  readonly before: ReadonlyMap<string, string>;
  readonly after: ReadonlyMap<string, string>;
}

/**
 * Returns the changes of the values that differ between two states, sorted by name. A loose ref takes precedence over
 * the packed ref with the same name.
 */
export function gitItems(before: GitState, after: GitState, packed: PackedRefs): readonly GitItem[] {
  const isPackedSame = before.packed === after.packed;
  const names = new Set([...before.values.keys(), ...after.values.keys()]);
  if (!isPackedSame) for (const refs of [packed.before, packed.after]) for (const name of refs.keys()) names.add(name);
  const items: GitItem[] = [];
  for (const name of [...names].sort()) {
    const was = before.values.get(name) ?? packed.before.get(name);
    const is = after.values.get(name) ?? packed.after.get(name);
    if (!sameGitValue(name, was, is)) items.push({ name, before: was, after: is });
  }
  return items;
}

/** Returns the branch and commit of a state. `packed`: the refs in the `packed-refs` of the state. */
export function gitHeadOf({ values }: GitState, packed: ReadonlyMap<string, string>): GitHead {
  const head = values.get("HEAD");
  if (head === undefined) return {};
  if (!head.startsWith(REF)) return { commit: head };
  const name = head.slice(REF.length);
  const commit = values.get(name) ?? packed.get(name);
  return { branch: name.replace(/^refs\/heads\//, ""), ...optional({ commit }) };
}

/** The prefix of the value of a symbolic ref. */
export const REF = "ref: ";

/** Files that git overwrites in many operations. A later change of such a file does not prevent an undo. */
export const SOFT_GIT_FILES: ReadonlySet<string> = new Set(["ORIG_HEAD", "AUTO_MERGE", "MERGE_RR"]);

/**
 * Returns a text for messages that says that a value was changed after some work. `left`: the value after this work.
 * `now`: the present value, or the value that later work found.
 */
export function gitMovedSince(name: string, left: string | undefined, now: string | undefined): string {
  if (name === "index") return "the index was changed since (something was staged or unstaged)";
  if (!isGitRef(name)) return `${name} was changed since`;
  const branch = name.replace(/^refs\/heads\//, "");
  const what = name === "HEAD" ? "HEAD" : branch === name ? name : `branch ${branch}`;
  return `${what} was moved since: it is at ${shownGitValue(now)}, and the work had left it at ${shownGitValue(left)}`;
}

function shownGitValue(value: string | undefined): string {
  if (value === undefined) return "nothing";
  return value.startsWith(REF) ? value.slice(REF.length).replace(/^refs\/heads\//, "") : value.slice(0, 7);
}

/** Maps each branch that another working tree uses to the name of this working tree. */
export type BranchesElsewhere = ReadonlyMap<string, string>;

/**
 * Returns the branches that belong to other working trees. A change of such a branch does not belong to the work
 * between the two states. Leaves out the branches of a working tree that no longer exists after the work.
 */
export function branchesElsewhere(before: GitState, after: GitState): BranchesElsewhere {
  const left = new Set(after.worktrees.map(({ name }) => name));
  const all = [...before.worktrees.filter(({ name }) => left.has(name)), ...after.worktrees];
  return new Map(all.flatMap(({ name, branches }) => branches.map((branch): [string, string] => [branch, name])));
}

export function invertGit(changes: readonly GitChange[]): GitChange[] {
  return changes.map(({ path, before, after, items, packs }) => ({
    path,
    before: after,
    after: before,
    packs,
    items: items.map((item) => ({ name: item.name, before: item.after, after: item.before })),
  }));
}

/**
 * Combines two lists of changes. The changes in `second` come after those in `first`. Leaves out each value that has
 * the same state before `first` and after `second`.
 */
export function composeGit(first: readonly GitChange[], second: readonly GitChange[]): GitChange[] {
  const all = new Map<WorkspacePath, GitChange>(first.map((change) => [change.path, change]));
  for (const change of second) {
    const earlier = all.get(change.path);
    if (earlier === undefined) all.set(change.path, change);
    else
      all.set(change.path, {
        ...change,
        before: earlier.before,
        packs: [...earlier.packs, ...change.packs],
        items: composeItems(earlier.items, change.items),
      });
  }
  return [...all.values()].filter(({ items }) => items.length > 0).sort((a, b) => comparePaths(a.path, b.path));
}

/**
 * Splits a change into the change of the `.git` file and the changes of all other values. Returns the two parts in the
 * order in which they can be carried out. The repository can be changed only while its `.git` file exists. Does not
 * split a change that has only one of these parts.
 */
export function splitGitFile(change: GitChange): readonly GitChange[] {
  const [file, rest] = [true, false].map((isFile) => change.items.filter(({ name }) => (name === GIT_FILE) === isFile));
  if (file === undefined || rest === undefined || file.length === 0 || rest.length === 0) return [change];
  const parts = [
    { ...change, items: file, packs: [] },
    { ...change, items: rest },
  ];
  return file.some(({ after }) => after === undefined) ? parts.toReversed() : parts;
}

function composeItems(first: readonly GitItem[], second: readonly GitItem[]): GitItem[] {
  const all = new Map(first.map((item) => [item.name, item]));
  for (const item of second) {
    const before = all.has(item.name) ? all.get(item.name)?.before : item.before;
    if (sameGitValue(item.name, before, item.after)) all.delete(item.name);
    else all.set(item.name, { ...item, before });
  }
  return [...all.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/**
 * Returns true for a name in a git folder that is safe to use as a path. Such a name has no `.` or `..`, no empty
 * component and no control character, and is not too long.
 */
export function isGitName(name: string): boolean {
  if (!name.isWellFormed() || name.length > MOST_NAME || CONTROL.test(name)) return false;
  return !UNSAFE_PART.test(name);
}

/** Matches a name with an empty component, `.` or `..`. */
const UNSAFE_PART = /(?:^|\/)\.{0,2}(?:\/|$)/;
const MOST_NAME = 1_000;
const CONTROL = /[\x00-\x1f\x7f]/;

const VERSION = 1;

/**
 * Encodes the states of repositories as canonical JSON, for a blob. The keys are written in the order of canonical JSON,
 * because sorting the keys of a hundred repositories would take most of the time.
 */
export function encodeGitStates(states: readonly GitState[]): Buffer {
  const repositories = states.map(({ path, values, packed, worktrees, folder }) => ({
    ...(folder === undefined ? {} : { folder: encodeFolder(folder) }),
    ...optional({ packed }),
    ...encodePath(path),
    values: Object.fromEntries([...values].sort(([a], [b]) => (a < b ? -1 : 1))),
    ...(worktrees.length === 0 ? {} : { worktrees: worktrees.map(({ name, branches }) => ({ branches, name })) }),
  }));
  return Buffer.from(canonicalJson({ format: VERSION, repositories }));
}

/** Decodes the states of repositories. Throws `LOG_DAMAGED` or `INTEGRITY_VIOLATION` if the bytes are invalid. */
export function decodeGitStates(bytes: Uint8Array): GitState[] {
  return repositoriesIn(bytes).map((body) => {
    const values = new Map<string, string>();
    for (const [name, value] of Object.entries(object(body["values"], "values of git"))) {
      values.set(nameIn(name), checkedValue(name, value));
    }
    const packed = body["packed"] === undefined ? undefined : hashOf(body, "packed");
    const worktrees = body["worktrees"] === undefined ? [] : list(body, "worktrees").map(worktreeIn);
    const folder = body["folder"] === undefined ? undefined : folderIn(body["folder"]);
    return { path: decodePath(body), values, worktrees, ...optional({ packed, folder }) };
  });
}

function encodeFolder({ objects, sample, mode, items, problem }: GitFolder): Json {
  const all = items.map(({ name, kind, mode, size, mtimeNs, blob }) => {
    return { ...optional({ blob }), kind, mode, mtime_ns: `${mtimeNs}`, name, size };
  });
  return {
    items: all,
    mode,
    objects,
    ...optional({ problem }),
    ...(sample === undefined ? {} : { sample: [...sample] }),
  };
}

function folderIn(value: Json): GitFolder {
  const body = object(value, "a git folder");
  const items = list(body, "items").map((one): GitFolderItem => {
    const item = object(one, "a file of a git folder");
    const [kind, time] = [text(item, "kind"), text(item, "mtime_ns")];
    if ((kind !== "file" && kind !== "dir" && kind !== "symlink") || !/^-?\d{1,19}$/.test(time)) {
      return damaged("a file of a git folder is invalid");
    }
    const blob = kind === "dir" ? undefined : hashOf(item, "blob");
    const [mode, size] = [whole(item, "mode"), whole(item, "size")];
    return { name: nameIn(text(item, "name")), kind, mode, size, mtimeNs: BigInt(time), ...optional({ blob }) };
  });
  const problem = body["problem"] === undefined ? undefined : text(body, "problem");
  const sample = body["sample"] === undefined ? undefined : texts(body, "sample").map(nameIn);
  return { objects: text(body, "objects"), mode: whole(body, "mode"), items, ...optional({ sample, problem }) };
}

/** Encodes changes of repositories as canonical JSON, for a blob. */
export function encodeGitChanges(changes: readonly GitChange[]): Buffer {
  const repositories = changes.map(({ path, before, after, items, packs, lacking }) => ({
    ...encodePath(path),
    head_before: { ...before },
    head_after: { ...after },
    ...optional({ lacking }),
    packs,
    items: items.map((item) => ({ name: item.name, before: item.before ?? null, after: item.after ?? null })),
  }));
  return Buffer.from(canonicalJson({ format: VERSION, repositories }));
}

/** Decodes changes of repositories. Throws `LOG_DAMAGED` or `INTEGRITY_VIOLATION` if the bytes are invalid. */
export function decodeGitChanges(bytes: Uint8Array): GitChange[] {
  return repositoriesIn(bytes).map((body) => ({
    path: decodePath(body),
    before: headIn(body["head_before"]),
    after: headIn(body["head_after"]),
    items: list(body, "items").map(itemIn),
    packs: texts(body, "packs").map(parseHash),
    ...(body["lacking"] === undefined ? {} : { lacking: whole(body, "lacking") }),
  }));
}

function repositoriesIn(bytes: Uint8Array): RecordBody[] {
  const body = object(parseCanonical(Buffer.from(bytes).toString("utf8")), "a state of git");
  if (whole(body, "format") !== VERSION) {
    throw new ChronicleError(
      "FORMAT_UNSUPPORTED",
      "the state of git is in a format that this version of Chronicle cannot read",
    );
  }
  return list(body, "repositories").map((one) => object(one, "a repository"));
}

function headIn(value: Json | undefined): GitHead {
  const body = object(value, "a HEAD");
  return {
    ...(body["branch"] === undefined ? {} : { branch: text(body, "branch") }),
    ...(body["commit"] === undefined ? {} : { commit: text(body, "commit") }),
  };
}

function worktreeIn(value: Json): GitWorktree {
  const body = object(value, "a working tree");
  return { name: text(body, "name"), branches: texts(body, "branches") };
}

function itemIn(value: Json): GitItem {
  const body = object(value, "a change of git");
  const name = nameIn(text(body, "name"));
  const at = (key: "before" | "after"): string | undefined => {
    const found = orNull(body, key, text);
    return found === null ? undefined : checkedValue(name, found);
  };
  return { name, before: at("before"), after: at("after") };
}

function nameIn(name: string): string {
  return isGitName(name) ? name : damaged("a name of git is invalid");
}

const OBJECT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

/** Returns true for the hash of a git object (SHA-1 or SHA-256). */
export function isGitHash(value: string): boolean {
  return OBJECT.test(value);
}

/** Returns true for a value that HEAD or a ref can have. */
export function isRefValue(value: string): boolean {
  return isGitHash(value) || (value.startsWith(`${REF}refs/`) && isGitName(value.slice(REF.length)));
}

function checkedValue(name: string, value: Json): string {
  if (typeof value !== "string") return damaged("a value of git is not text");
  if (isGitRef(name)) return isRefValue(value) ? value : damaged("the value of a ref is invalid");
  blobOfGitValue(name, value);
  return value;
}

/** Returns the hashes of the blobs that encoded states or encoded changes name. */
export function blobsOfGit(bytes: Uint8Array): Hash[] {
  const isStates = repositoriesIn(bytes).some((body) => body["values"] !== undefined);
  return isStates ? blobsOfStates(decodeGitStates(bytes)) : blobsOfChanges(decodeGitChanges(bytes));
}

/** Returns the hashes of the blobs that states name, each once. Repositories share many, such as git's example hooks. */
export function blobsOfStates(states: readonly GitState[]): Hash[] {
  const blobs = new Set<Hash>();
  for (const { values, packed, folder } of states) {
    if (packed !== undefined) blobs.add(packed);
    for (const { blob } of folder?.items ?? []) if (blob !== undefined) blobs.add(blob);
    for (const [name, value] of values) {
      const blob = blobOfGitValue(name, value);
      if (blob !== undefined) blobs.add(blob);
    }
  }
  return [...blobs];
}

/** Returns the hashes of the blobs that changes name. */
function blobsOfChanges(changes: readonly GitChange[]): Hash[] {
  return changes.flatMap(({ items, packs }) => [
    ...packs,
    ...items.flatMap(({ name, before, after }) =>
      [before, after].flatMap((value) => (value === undefined ? [] : (blobOfGitValue(name, value) ?? []))),
    ),
  ]);
}
