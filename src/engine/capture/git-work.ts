import { type Aside, ASIDE_MS } from "../../core/records/aside.ts";
import {
  blobsOfStates,
  branchesElsewhere,
  composeGit,
  decodeGitChanges,
  decodeGitRecord,
  encodeGitChanges,
  encodeGitRecord,
  GIT,
  GIT_FILE,
  gitHeadOf,
  gitItems,
  parsePackedRefs,
  sameGitValue,
  type GitChange,
  type GitItem,
  type GitRecord,
  type GitState,
} from "../../core/records/git-record.ts";
import { ChronicleError, errnoOf } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { childOf, type WorkspacePath } from "../../core/values/path.ts";
import { withBatch, type BlobBatch } from "../../storage/blob-store.ts";
import type { EventRow } from "../../storage/index-store.ts";
import type { GitReading, KeepBudget, KeepContent } from "../../worktree/git-states.ts";
import { addAll } from "../../util/long-lists.ts";
import { openActions } from "../facts/actions.ts";
import { erasedContents } from "../facts/contents-of-history.ts";
import { openSessions } from "../facts/brackets.ts";
import { privatesGivenUp } from "../facts/pruning.ts";
import { answer } from "../log/answer.ts";
import type { Context } from "../log/context.ts";
import { gitStatesIn, putGitStates } from "../log/git-plans.ts";
import { workspaceRecord } from "../log/own-record.ts";
import { privateRoom, refuseBeyondPrivateRoom } from "../log/private-room.ts";
import { readEvents } from "../log/read-events.ts";
import { shownPath } from "../log/shape.ts";
import { mayKeep } from "./keep-aside.ts";

/**
 * The state of git repositories (HEAD, refs, index and so on) is no part of the recorded files. A run or an action that
 * changes this state gets a record `git:<id>` with the changes. Trouble with git never stops the work: a note says what
 * could not be read, and the work continues.
 */

/** The state of the repositories when some work begins. */
export interface GitBefore {
  /** The blob with the states, which the record of the work names. `undefined` if no state was kept. */
  readonly git: Aside | undefined;
  readonly notes: readonly string[];
  /** The folders within the tracked folders in which captures had already found repositories. */
  readonly nested: readonly WorkspacePath[];
}

const NO_GIT: GitBefore = { git: undefined, notes: [], nested: [] };

/**
 * Reads and keeps the state of the repositories. Keeps nothing if the workspace keeps no files aside, or while work off
 * the record is running. The contents are durable when the promise resolves. Until the record that names the states is
 * durable, the caller must hold a lease of the blob store, which protects new contents from the collector.
 */
export async function keepGit(context: Context): Promise<GitBefore> {
  const nested = context.git.nested();
  const none = { ...NO_GIT, nested };
  if (!(await mayKeep(context))) {
    if ((await workspaceRecord(context)).keepsAside === false) await context.git.giveUpFolders(() => isIdle(context));
    return none;
  }
  return orNote(
    () =>
      withBatch(context.blobs, async (batch) => {
        let bytes = 0;
        const keep = (content: Uint8Array) => {
          bytes += content.length;
          refuseBeyondPrivateRoom(context, bytes);
          return batch.put(content);
        };
        const { states, notes } = await readStates(context, keep, true);
        if (states.length === 0) return { ...none, notes };
        const plan = await putGitStates(context, batch, states);
        return { git: { plan, until: untilOf(context) }, notes, nested };
      }),
    (note) => ({ ...none, notes: [note] }),
  );
}

/**
 * Returns `kept`. If captures have found further repositories since `kept` was read, reads and keeps the state of all
 * repositories again, and returns the new state. The state is read again only in this case, because the caller may hold
 * the lock of the log.
 */
export async function withNewRepositories(context: Context, kept: GitBefore): Promise<GitBefore> {
  const known = new Set(kept.nested);
  return context.git.nested().every((folder) => known.has(folder)) ? kept : keepGit(context);
}

/**
 * Reads the states of all repositories. Reads everything again if the store no longer has a content that an earlier
 * reading stored. `withFolders`: true if the git folders are kept, too, so that an undo can restore them.
 */
async function readStates(context: Context, keep: KeepContent, withFolders = false): Promise<GitReading> {
  const { git, blobs } = context;
  const put = new Set<Hash>();
  const noting: KeepContent = async (content) => {
    const hash = await keep(content);
    put.add(hash);
    return hash;
  };
  const folders = withFolders ? { isIdle: () => isIdle(context), erased: await erasedContents(context) } : undefined;
  const first = await git.read(noting, folders);
  const wanted = blobsOfStates(first.states).filter((hash) => !put.has(hash));
  const there = await blobs.has(wanted);
  if (wanted.every((hash) => there.has(hash))) return first;
  git.forget();
  return git.read(noting, folders);
}

/**
 * Returns true if no run and no action is open, so that no work needs an earlier state of git. Work that nobody will
 * finish counts as open, because the git folders that it removed are stored when it is closed.
 */
async function isIdle(context: Context): Promise<boolean> {
  const sessions = await openSessions(context);
  return (await openActions(context)).length === 0 && !sessions.some(({ record }) => record.kind === "run");
}

/**
 * Frees the contents that are kept of git folders and that no repository has any more. Frees nothing while work is open
 * that may need such contents. Returns the number of freed bytes.
 */
export function freeGitFolders(context: Context): Promise<number> {
  return context.git.collectFolders(() => answer(context, () => isIdle(context)));
}

async function orNote<T>(work: () => Promise<T>, failed: (note: string) => T): Promise<T> {
  try {
    return await work();
  } catch (error) {
    return failed(`the state of git is not recorded: ${gitTrouble(error)}`);
  }
}

/**
 * Returns the message of an error, for a note that the state of git is left alone. Throws any error again that is
 * neither a `ChronicleError` nor an error of the disk.
 */
export function gitTrouble(error: unknown): string {
  const isTrouble = error instanceof ChronicleError || (error instanceof Error && errnoOf(error) !== undefined);
  if (!isTrouble) throw error;
  return error.message.toWellFormed();
}

/**
 * The note on work whose end was not observed. No changes of git are recorded for such work, because changes after the
 * end of the work would count as changes of the work.
 */
const END_UNKNOWN = "the state of git at the end of this work is not known, so an undo leaves git alone";

/**
 * Returns the notes on git for work whose end was not observed; an empty list if no state of git was kept for this
 * work.
 */
export function gitNotesOfUnseenEnd({ git }: { readonly git?: Aside }): readonly string[] {
  return git === undefined ? [] : [END_UNKNOWN];
}

function untilOf(context: Context): string {
  return new Date(context.now() + ASIDE_MS).toISOString();
}

/** The changes that some work has made to the state of the repositories. */
export interface GitWork {
  readonly changes: readonly GitChange[];
  /**
   * The event that records the changes. The caller appends this event together with the end of the work. Empty if
   * nothing changed.
   */
  readonly drafts: readonly EventDraft[];
  readonly notes: readonly string[];
}

const NOTHING: GitWork = { changes: [], drafts: [], notes: [] };

/** The run or action whose changes of git are recorded. */
export interface GitOwner {
  readonly id: string;
  /** The seq at which the work began. */
  readonly fromSeq: number;
  /** The blob with the states at the beginning of the work. `undefined` if no state was kept. */
  readonly git?: Aside;
}

/**
 * Compares the repositories with their states at the beginning of some work. Leaves out changes that records `git:…` of
 * other work have listed since then. Keeps the git objects that only the earlier states need. As for `keepGit`, the
 * contents are durable when the promise resolves, and the caller must hold a lease of the blob store.
 */
export async function gitChangesOf(context: Context, owner: GitOwner): Promise<GitWork> {
  const { git } = owner;
  if (git === undefined) return NOTHING;
  return orNote(
    () =>
      withBatch(context.blobs, async (batch) => {
        const begun = await gitStatesIn(context, git.plan);
        if (begun === undefined) return NOTHING;
        const kept = new Contents(context, batch);
        const { states, notes } = await readStates(context, kept.put);
        const others = await recordedSince(context, owner);
        const found: GitChange[] = [];
        const told = [...notes];
        const branches: LeftBranch[] = [];
        const budget = keepBudgetOf(context);
        addAll(told, notesOfNew(begun, states));
        for (const before of begun) {
          const after = states.find(({ path }) => path === before.path);
          const {
            change,
            notes: ofChange,
            left = [],
          } = after === undefined
            ? await changeOfGone(context, kept, before, others)
            : await changeOf(kept, { before, after }, others);
          addAll(told, ofChange);
          addAll(branches, left);
          if (change === undefined) continue;
          const safe = await withObjects(context, { contents: kept, budget }, change);
          found.push(safe.change);
          addAll(told, safe.notes);
        }
        // The other working tree may belong to the workspace, too. Its own repository then has the change in `found`,
        // and no note is needed.
        const recorded = new Set(found.flatMap(({ items }) => items.map(({ name }) => name)));
        addAll(told, [...new Set(branches.filter(({ name }) => !recorded.has(name)).map(({ note }) => note))]);
        return { changes: found, drafts: await draftsOf(context, batch, owner.id, found), notes: [...new Set(told)] };
      }),
    (note) => ({ ...NOTHING, notes: [note] }),
  );
}

/**
 * Stores the contents of states in a batch. `get` returns contents of this batch, and contents that the store already
 * has.
 */
class Contents {
  readonly #context: Context;
  readonly #batch: BlobBatch;
  readonly #new = new Map<Hash, Buffer>();

  constructor(context: Context, batch: BlobBatch) {
    this.#context = context;
    this.#batch = batch;
  }

  readonly put: KeepContent = async (content) => {
    const hash = await this.#batch.put(content);
    this.#new.set(hash, content);
    return hash;
  };

  readonly get = async (hash: Hash): Promise<Buffer | undefined> =>
    this.#new.get(hash) ?? this.#context.blobs.get(hash);
}

interface FoundChange {
  readonly change: GitChange | undefined;
  readonly notes: readonly string[];
  /** The changed branches that another working tree has checked out. An undo leaves these branches alone. */
  readonly left?: readonly LeftBranch[];
}

interface LeftBranch {
  readonly name: string;
  readonly note: string;
}

const NO_CHANGE: FoundChange = { change: undefined, notes: [] };

/** Returns a note on each repository that was made during the work. An undo leaves such a repository alone. */
function notesOfNew(before: readonly GitState[], after: readonly GitState[]): string[] {
  const known = new Set(before.map(({ path }) => path));
  const made = after.filter(({ path }) => !known.has(path));
  return made.map(({ path }) => noteOfNew(path));
}

function noteOfNew(path: WorkspacePath): string {
  return `a git repository was made at ${shownPath(path)}, and an undo leaves it there`;
}

/**
 * Returns a note on each repository within the tracked folders that captures have found since `known` was read.
 * `known`: the folders with the repositories that were found before.
 */
export function notesOfFound({ git }: Context, known: readonly WorkspacePath[]): readonly string[] {
  const before = new Set(known);
  return git.nested().flatMap((folder) => (before.has(folder) ? [] : noteOfNew(childOf(folder, GIT_FILE))));
}

/**
 * Returns the change of a repository that is no longer found. If its `.git` was a file that names the git folder, an
 * undo can put this file back. If its `.git` was the git folder itself, returns no change. The removal of the folder is
 * then reported among the changes of omitted paths.
 */
async function changeOfGone(
  { git }: Context,
  contents: Contents,
  before: GitState,
  others: readonly GitChange[],
): Promise<FoundChange> {
  const { path } = before;
  const file = before.values.get(GIT_FILE);
  const recorded = others.find((one) => one.path === path)?.items.find(({ name }) => name === GIT_FILE);
  if (recorded !== undefined) return NO_CHANGE;
  const what = "the HEAD, index and refs of its repository";
  if ((await git.valuesOf(path, [GIT_FILE]))?.has(GIT_FILE) === true) {
    const note = `${shownPath(path)} is no longer looked at, so an undo leaves what was changed in ${what}`;
    return { change: undefined, notes: [note] };
  }
  if (file === undefined) return NO_CHANGE;
  const content = await contents.get(file as Hash);
  const isWhole = content === undefined || git.leads(path, content);
  const head = gitHeadOf(before, new Map());
  return {
    change: { path, before: head, after: head, items: [{ name: GIT_FILE, before: file, after: undefined }], packs: [] },
    notes: [
      `${shownPath(path)} was removed${isWhole ? `. An undo puts it back; what else was changed in ${what} is not known` : TOGETHER}`,
    ],
  };
}

/**
 * The end of the note on a removed `.git` file whose git folder is gone, too. If the git folder was kept aside, the
 * same undo may restore it.
 */
const TOGETHER = " together with its git folder. An undo puts it back only if that folder exists again";

async function changeOf(
  contents: Contents,
  { before, after }: { readonly before: GitState; readonly after: GitState },
  others: readonly GitChange[],
): Promise<FoundChange> {
  const isSame = before.packed === after.packed && isSameMap(before.values, after.values);
  const recorded = others.find(({ path }) => path === before.path)?.items ?? [];
  const ofTrees = notesOfWorktrees(before, after);
  if (isSame && recorded.length === 0) return { ...NO_CHANGE, notes: ofTrees };
  const packed = { before: await packedIn(contents, before), after: await packedIn(contents, after) };
  const all = gitItems(before, after, packed);
  const valueNow = (name: string): string | undefined => after.values.get(name) ?? packed.after.get(name);
  const elsewhere = branchesElsewhere(before, after);
  const moved = withoutOthers(all, recorded, valueNow);
  const items = moved.filter(({ name }) => !elsewhere.has(name) && name !== GIT_FILE);
  const left = moved.flatMap(({ name }) => leftBranch(name, elsewhere.get(name)));
  if (items.length === 0) return { change: undefined, notes: ofTrees, left };
  const [was, is] = [gitHeadOf(before, packed.before), gitHeadOf(after, packed.after)];
  return { change: { path: before.path, before: was, after: is, items, packs: [] }, notes: ofTrees, left };
}

/**
 * Returns a note on each working tree of git that was added or removed. An undo neither removes nor restores a working
 * tree.
 */
function notesOfWorktrees(before: GitState, after: GitState): string[] {
  const [was, is] = [before, after].map(({ worktrees }) => new Set(worktrees.map(({ name }) => name)));
  const of = (names: ReadonlySet<string> = new Set(), without: ReadonlySet<string> = new Set()): string[] =>
    [...names].filter((name) => !without.has(name));
  return [
    ...of(is, was).map((name) => `the working tree ${name} of git was added meanwhile, and an undo leaves it`),
    ...of(was, is).map((name) => `the working tree ${name} of git was removed meanwhile, and no undo brings it back`),
  ];
}

/**
 * Returns the branch with a note, if another working tree has the branch checked out. Otherwise returns an empty list.
 * `worktree`: the name of that working tree; empty for the main working tree.
 */
function leftBranch(name: string, worktree: string | undefined): LeftBranch[] {
  if (worktree === undefined) return [];
  const where = worktree === "" ? "the main working tree" : `the working tree ${worktree}`;
  const branch = name.replace("refs/heads/", "");
  const note = `branch ${branch} of git has changed meanwhile; ${where} has it checked out, so an undo leaves it`;
  return [{ name, note }];
}

function isSameMap(a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): boolean {
  if (a.size !== b.size) return false;
  for (const [name, value] of a) if (b.get(name) !== value) return false;
  return true;
}

/**
 * Returns the packed refs of a state, by name. Throws `BLOB_MISSING` if the store no longer has the packed refs,
 * because each of these refs would then look new.
 */
async function packedIn(contents: Contents, { packed }: GitState): Promise<ReadonlyMap<string, string>> {
  if (packed === undefined) return new Map();
  const bytes = await contents.get(packed);
  if (bytes === undefined)
    throw new ChronicleError("BLOB_MISSING", "the packed refs of a repository are no longer in the store");
  return parsePackedRefs(bytes.toString("utf8"));
}

/**
 * Leaves out the changes that other work has recorded since this work began. The `before` value of an item that other
 * work changed becomes the value that the other work left.
 */
function withoutOthers(
  all: readonly GitItem[],
  recorded: readonly GitItem[],
  valueNow: (name: string) => string | undefined,
): readonly GitItem[] {
  if (recorded.length === 0) return all;
  const found = new Map(all.map((item) => [item.name, item]));
  for (const { name, after } of recorded) found.set(name, { name, before: after, after: valueNow(name) });
  return [...found.values()].filter(({ name, before, after }) => !sameGitValue(name, before, after));
}

/**
 * Returns the budget for the git objects that are kept for one command. This budget is at most the budget for all
 * private contents.
 */
function keepBudgetOf(context: Context): KeepBudget {
  const budget = context.git.keepBudget();
  budget.leftBytes = Math.min(budget.leftBytes, privateRoom(context));
  return budget;
}

/**
 * Keeps the git objects that only the state before a change needs. Returns the change with the packs of these objects.
 */
async function withObjects(
  { git }: Context,
  { contents, budget }: { readonly contents: Contents; readonly budget: KeepBudget },
  change: GitChange,
): Promise<{ readonly change: GitChange; readonly notes: readonly string[] }> {
  const objects = await git.objectsOf(change.items, contents.get);
  const { pack, lacking, problem } = await git.pack(change.path, objects, budget);
  const notes =
    problem === undefined ? [] : [`objects of git that may be lost are not kept: ${problem.toWellFormed()}`];
  const packs = pack === undefined ? [] : [await contents.put(pack)];
  return { change: { ...change, packs, ...(lacking === 0 ? {} : { lacking }) }, notes };
}

async function draftsOf(
  context: Context,
  batch: BlobBatch,
  id: string,
  changes: readonly GitChange[],
): Promise<EventDraft[]> {
  if (changes.length === 0) return [];
  const plan = await batch.put(encodeGitChanges(changes));
  const record = encodeGitRecord({ git: { plan, until: untilOf(context) } });
  return [{ op: "upsert", recordId: `${GIT}${id}`, record }];
}

/** Returns the changes of git that other work has recorded since this work began, combined into one list. */
async function recordedSince(context: Context, { id, fromSeq }: GitOwner): Promise<readonly GitChange[]> {
  const all = await loggedGit(context, (row) => row.seq > fromSeq && row.recordId !== `${GIT}${id}`);
  return all.reduce<readonly GitChange[]>((sum, { changes }) => composeGit(sum, changes), []);
}

/** The changes of git that some work has recorded. */
export interface LoggedGit {
  /** The id of the run, action or operation. */
  readonly id: string;
  readonly seq: number;
  readonly changes: readonly GitChange[];
  /** A text for people that says why the changes are not known. Absent if the changes are known. */
  readonly problem?: string;
}

/** Returns the recorded changes of git, in the order of the log. Reads only the records that `isMeant` accepts. */
export async function loggedGit(context: Context, isMeant: (row: EventRow) => boolean): Promise<readonly LoggedGit[]> {
  const rows = (await context.index.records(GIT)).filter(isMeant);
  const found: LoggedGit[] = [];
  for (const { recordId, record, seq } of await readEvents(context, rows)) {
    found.push({ id: idOfGit({ recordId }), seq, ...(await storedChanges(context, decodeGitRecord(record), seq)) });
  }
  return found.sort((a, b) => a.seq - b.seq);
}

/** Returns the id of the work that a record `git:<id>` is about. */
export function idOfGit({ recordId }: Pick<EventRow, "recordId">): string {
  return recordId.slice(GIT.length);
}

async function storedChanges(
  context: Context,
  { git: { plan } }: GitRecord,
  seq: number,
): Promise<Pick<LoggedGit, "changes" | "problem">> {
  try {
    const bytes = await context.blobs.get(plan);
    if (bytes !== undefined) return { changes: decodeGitChanges(bytes) };
    const why = (await privatesGivenUp(context, seq)) ?? "freed after seven days";
    return { changes: [], problem: `what was kept of git's state was ${why}` };
  } catch (error) {
    return { changes: [], problem: `what was kept of git's state cannot be used: ${gitTrouble(error)}` };
  }
}

/**
 * Keeps the git objects that the changes have made unreachable, and returns the changes with the event that records
 * them.
 */
export async function recordGit(context: Context, id: string, changes: readonly GitChange[]): Promise<GitWork> {
  return orNote(
    () =>
      withBatch(context.blobs, async (batch) => {
        const contents = new Contents(context, batch);
        const budget = keepBudgetOf(context);
        const found: GitChange[] = [];
        const notes: string[] = [];
        for (const one of changes) {
          const safe = await withObjects(context, { contents, budget }, one);
          found.push(safe.change);
          addAll(notes, safe.notes);
        }
        return { changes: found, drafts: await draftsOf(context, batch, id, found), notes: [...new Set(notes)] };
      }),
    (note) => ({ ...NOTHING, notes: [note] }),
  );
}
