import type { ProtectedShape } from "../../api/shapes.ts";
import type { ChronicleError } from "../../core/values/errors.ts";
import type { EventDraft } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { Entry } from "../../core/values/entry.ts";
import { pathOfRecordId } from "../../core/values/file-record.ts";
import { ProtectedNames } from "../../core/filter/protected-names.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { decodeReplica, replicaRecordId } from "../../core/records/replica-record.ts";
import type { WorkspaceRecord } from "../../core/records/workspace-record.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { workspaceRecord } from "../log/own-record.ts";
import type { HistoryContext } from "../log/context.ts";
import { IndexDisagrees } from "../log/index-disagrees.ts";
import { readEvent } from "../log/read-events.ts";
import { baseSays, linesSay } from "./row-line.ts";
import { shownPath } from "../log/shape.ts";
import { memoKey } from "../log/memo.ts";

// Secrets are recognised by the names of their files. `classedDrafts` writes the class `protected` into the records of
// such files in a commit. Bases have the class, too. Code that reads a content for an answer asks `isProtected` whether
// only people may see the content. If so, `agentView` refuses the bytes to agents and readers. When an agent fills
// another folder with files of the history, secrets are left out.

const known = new WeakMap<WorkspaceRecord, ProtectedNames>();

/**
 * Returns the protected names in force. The names come from the history, from the origin that the workspace follows or
 * followed, and from `context.secretNames`.
 */
export async function protectedNames(context: HistoryContext): Promise<ProtectedNames> {
  const record = await workspaceRecord(context);
  const elsewhere = [...(await originNames(context)), ...(context.secretNames ?? [])];
  return elsewhere.length === 0 ? namesOf(record) : new ProtectedNames(record.protectedNames, elsewhere);
}

/** Returns the names that persons added in this history and at its origin, as one list for `ProtectedNames`. */
export async function addedNames(context: HistoryContext): Promise<readonly string[]> {
  const { protectedNames: own = [] } = await workspaceRecord(context);
  // The origin's negations (names that begin with `!`) are left out. The last match decides, so such a negation would
  // cancel names that this history added.
  return [...own, ...(await originNames(context)).filter((name) => !name.startsWith("!"))];
}

/** Returns the protected names of the history itself, without those of an origin. */
export function namesOf(record: WorkspaceRecord): ProtectedNames {
  const names = known.get(record) ?? new ProtectedNames(record.protectedNames);
  known.set(record, names);
  return names;
}

const fromOrigins = memoKey<{ readonly hash: Hash; readonly names: readonly string[] }>("the origin's secret names");

/** Returns the names that the origin had added when this workspace last learned them; `[]` without an origin. */
async function originNames(context: HistoryContext): Promise<readonly string[]> {
  const row = (await context.index.records(replicaRecordId(""))).at(-1);
  if (row === undefined) return [];
  const read = context.memo.get(fromOrigins);
  if (read?.hash === row.hash) return read.names;
  const { originNames: names = [] } = decodeReplica((await readEvent(context, row)).record);
  context.memo.set(fromOrigins, { hash: row.hash, names });
  return names;
}

/** Returns the drafts of a commit, each with the class of its file. The names in force decide the class. */
export async function classedDrafts(
  context: HistoryContext,
  drafts: readonly EventDraft[],
): Promise<readonly EventDraft[]> {
  if (!drafts.some(isOfFile)) return drafts;
  const names = await protectedNames(context);
  return drafts.map((draft) => {
    const path = isOfFile(draft) ? pathOfRecordId(draft.recordId) : undefined;
    if (path === undefined) return draft;
    const wanted = names.holds(path) ? "protected" : undefined;
    if (draft.record["class"] === wanted) return draft;
    const { class: _, ...record } = draft.record;
    return { ...draft, record: wanted === undefined ? record : { ...record, class: wanted } };
  });
}

function isOfFile({ recordId, record }: EventDraft): boolean {
  return recordId.startsWith("file") && record["kind"] === "file";
}

/**
 * True if only people may see the content of this iteration. If a person has decided about the name, this decision
 * counts, and not the recorded class. The index may say that a file with the name of a secret was recorded as an
 * ordinary file. The log must then confirm this class, or `IndexDisagrees` is thrown.
 */
export async function isProtected(context: HistoryContext, row: IterationRow): Promise<boolean> {
  if (row.entry?.kind !== "file") return false;
  const names = await protectedNames(context);
  const added = names.added(row.path);
  if (added !== undefined) return added;
  if (row.entry.class === "protected") return true;
  if (!names.holds(row.path)) return false;
  const [said] = await linesSay(context, [row]);
  const isTrue = said === "same" || (said === "in-base" && (await baseSays(context, row)));
  if (!isTrue) throw new IndexDisagrees(`the class of ${shownPath(row.path)}`, { seq: row.seq });
  return false;
}

/**
 * True if a content is a secret at every path at which it was recorded. A content that was also recorded at an ordinary
 * path is no secret. `last` is the last iteration with the content. Throws `IndexDisagrees` as `isProtected` does.
 */
export async function isSecretContent(context: HistoryContext, last: IterationRow, hash: Hash): Promise<boolean> {
  if (!(await isProtected(context, last))) return false;
  const ordinary = await context.index.withContent(hash, { ordinary: true });
  return ordinary === undefined || (await isProtected(context, ordinary));
}

/**
 * Returns the paths of the entries whose bytes only people may see. The entries are those of the state after event
 * `seq`. Leaves out empty files, because they have no bytes. Throws `IndexDisagrees` as `isProtected` does.
 */
export async function secretsAmong(
  context: HistoryContext,
  entries: readonly Entry[],
  seq: number,
): Promise<WorkspacePath[]> {
  const names = await protectedNames(context);
  const secret = new Set(entries.filter((entry) => isSecretEntry(names, entry)).map(({ path }) => path));
  const named = entries.filter(({ path }) => !secret.has(path) && names.holds(path)).map(({ path }) => path);
  for (const row of await context.index.iterationsAt(named, seq))
    if (row !== undefined && (await isProtected(context, row))) secret.add(row.path);
  return entries.filter(({ path, size }) => size > 0 && secret.has(path)).map(({ path }) => path);
}

/**
 * True for a file that is a secret. If a person has decided about the file's name, this decision counts. Otherwise, the
 * recorded class counts.
 */
export function isSecretEntry(names: ProtectedNames, { path, kind, class: recorded }: Entry): boolean {
  return kind === "file" && (names.added(path) ?? recorded === "protected");
}

/** The maximum number of paths that `protectedFiles` names. */
const MOST_TOLD = 3;

/** Returns the number of protected files that exist now, and the first paths among them. */
export async function protectedFiles(context: HistoryContext): Promise<ProtectedShape> {
  const names = await protectedNames(context);
  const { seq } = await context.index.head();
  const paths = names.hasAdded ? await everyHeld(context, { names, seq }) : await context.index.protectedPaths();
  const rows = await context.index.iterationsAt(paths, seq);
  const held = rows.filter((row) => row?.entry?.kind === "file" && (names.added(row.path) ?? isClassed(row)));
  return { files: held.length, first: held.slice(0, MOST_TOLD).flatMap((row) => (row ? [shownPath(row.path)] : [])) };
}

/**
 * Returns the same as `protectedFiles`, except for a damaged log. For a damaged log, reports no file, because the names
 * in force cannot be read.
 */
export async function toldProtectedFiles(
  context: HistoryContext,
  damage: ChronicleError | undefined,
): Promise<ProtectedShape> {
  return damage === undefined ? protectedFiles(context) : { files: 0, first: [] };
}

function isClassed({ entry }: IterationRow): boolean {
  return entry?.class === "protected";
}

/**
 * Returns the paths that are protected after event `seq`. Reads all entries, because names that a person adds also
 * apply to files that were recorded earlier.
 */
async function everyHeld(
  { index }: HistoryContext,
  { names, seq }: { readonly names: ProtectedNames; readonly seq: number },
): Promise<WorkspacePath[]> {
  const paths: WorkspacePath[] = [];
  for await (const rows of index.entriesAt(seq))
    for (const row of rows) if (names.added(row.path) ?? isClassed(row)) paths.push(row.path);
  return paths;
}
