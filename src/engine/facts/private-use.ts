import { ASIDE_MS } from "../../core/records/aside.ts";
import { PROMPT_MS, turnsPrefix } from "../../core/records/turn-record.ts";
import { keepsState, type KeptStates } from "../../core/tree/kept-states.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { EventRow, PrivateBound } from "../../storage/index-store.ts";
import { formatBytes } from "../../core/values/duration.ts";
import type { Context, HistoryContext } from "../log/context.ts";
import { blobsNamedByGit } from "../log/git-plans.ts";
import { privateRoom } from "../log/private-room.ts";
import { HistoryNeeds, privateContents, PRIVATE_PREFIXES } from "../log/history-needs.ts";
import { readEvents } from "../log/read-events.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { privatesInForce } from "./pruning.ts";

/**
 * The private contents that the last event of a record names: a prompt, files kept aside, or states and objects of git.
 */
export interface PrivateItem {
  /** The seq of this last event. */
  readonly seq: number;
  /** True if the record is of work that is still open. */
  readonly isOpen: boolean;
  /** The contents, as indexes of `PrivateUse.sizes`. Several records can name the same content. */
  readonly contents: readonly number[];
}

/**
 * The private contents that a workspace keeps. A content that a file of the history also has or had is not counted.
 * Lists of omitted paths are not counted, because they are never given up.
 */
export interface PrivateUse {
  /** The event up to which all records were read. Some later records may have been read, too. */
  readonly seq: number;
  readonly bytes: number;
  /** The size of each content in the store, in bytes; 0 for a content that is not counted. */
  readonly sizes: readonly number[];
  /** The items, in the order of their events. */
  readonly items: readonly PrivateItem[];
}

/** Reads all records whose private contents may still be kept, and the sizes of these contents. */
export async function privateUse(context: HistoryContext): Promise<PrivateUse> {
  const { index } = context;
  const { seq } = await index.head();
  const rows = await recentRows(context);
  const { ids, named } = await contentsOf(context, rows, await privatesInForce(context));
  const open = new Set(rows.filter((row) => row.open).map((row) => row.seq));
  const ofFiles = await index.withContents([...ids.keys()]);
  const sizes = [...ids].map(() => 0);
  for (const { hash, storedBytes } of await context.blobs.infos(ids.keys()))
    if (!ofFiles.has(hash)) sizes[ids.get(hash) ?? 0] = storedBytes;
  const items = [...named]
    .sort(([a], [b]) => a - b)
    .map(([at, contents]) => ({ seq: at, isOpen: open.has(at), contents }));
  return { seq, bytes: Math.ceil(sizes.reduce((sum, size) => sum + size, 0)), sizes, items };
}

/** The share of the budget that must be in use before `budgetNotes` returns a note. */
export const NEARLY_FULL = 0.95;

/** Returns a note for people if the budget for private contents is nearly full; otherwise, an empty list. */
export async function budgetNotes(context: Context): Promise<string[]> {
  const room = privateRoom(context);
  const isNear = (bytes: number): boolean => bytes >= room * NEARLY_FULL;
  // `takes` and `privateBound` are cheap, and never too low. Only `privateUse`, which reads all records, is exact.
  if (room === Number.POSITIVE_INFINITY || !isNear(context.store.takes())) return [];
  if (!isNear((await privateBound(context))?.bytes ?? room)) return [];
  const { bytes } = await privateUse(context);
  return isNear(bytes) ? [nearlyFullNote(bytes, room)] : [];
}

/** Returns a note for people that says how much of the budget is used, and what happens next. */
export function nearlyFullNote(used: number, budget: number): string {
  return (
    `prompts, git's objects and files kept aside take ${formatBytes(used)} of the ${formatBytes(budget)} of ` +
    "max_private_bytes: the oldest are given up first, so that an undo of older work may not bring them back"
  );
}

/**
 * The maximum number of new events that `privateBound` reads. With more new events, reading all records again is
 * cheaper.
 */
const MOST_EVENTS = 10_000;

/**
 * Returns an upper bound of `PrivateUse.bytes`, and the event up to which the bound holds. The result is the last noted
 * bound plus the sizes of the contents that later events name. Returns `undefined` if no bound was noted, or if more
 * than `MOST_EVENTS` events have followed.
 */
export async function privateBound(context: HistoryContext): Promise<PrivateBound | undefined> {
  const { index, blobs } = context;
  const [bound, { seq }] = [await index.privateBound(), await index.head()];
  if (bound === undefined || bound.seq > seq || seq - bound.seq > MOST_EVENTS) return undefined;
  if (bound.seq === seq) return bound;
  const rows = (await index.events({ from: bound.seq + 1, to: seq })).filter(isOfPrivates);
  const { ids } = await contentsOf(context, rows);
  const infos = await blobs.infos(ids.keys());
  return { seq, bytes: Math.ceil(infos.reduce((sum, { storedBytes }) => sum + storedBytes, bound.bytes)) };
}

function isOfPrivates({ recordId }: EventRow): boolean {
  return PRIVATE_PREFIXES.some((prefix) => recordId.startsWith(prefix));
}

/** Returns the last events of the records whose private contents may still be kept. */
async function recentRows({ index, now }: HistoryContext): Promise<EventRow[]> {
  const rows: EventRow[] = [];
  for (const prefix of PRIVATE_PREFIXES) {
    const since = now() - (prefix === turnsPrefix() ? PROMPT_MS : ASIDE_MS);
    const all = await index.records(prefix);
    for (const row of all) if (row.open || Date.parse(row.ts) >= since) rows.push(row);
  }
  return rows;
}

interface NamedContents {
  /** Maps each content to its number. The numbers begin with 0, in the order of the map. */
  readonly ids: ReadonlyMap<Hash, number>;
  /**
   * Maps the seq of an event to the numbers of the contents that the event names. An event without contents is left
   * out.
   */
  readonly named: ReadonlyMap<number, readonly number[]>;
}

/** Returns the private contents that these events name, without those that were given up (`givenUp`). */
async function contentsOf(
  context: HistoryContext,
  rows: readonly EventRow[],
  givenUp?: KeptStates,
): Promise<NamedContents> {
  const settings = await context.index.record(`workspace:${context.workspaceId}`);
  const left = rows.filter(({ seq }) => keepsState(givenUp, seq));
  const all = [...left, ...(settings === undefined ? [] : [settings])].sort((a, b) => a.seq - b.seq);
  const needs = new HistoryNeeds({ erasures: await erasuresInForce(context) }, () => undefined);
  for (const event of await readEvents(context, all)) needs.event(event, "");
  needs.finish();
  const ids = new Map<Hash, number>();
  const named = new Map<number, Set<number>>();
  const blobs = {
    get: (hash: Hash) => context.blobs.get(hash),
    namedByGit: (plan: Hash) => blobsNamedByGit(context, plan),
  };
  for await (const { hash, seq, isList } of privateContents(blobs, needs, context.now())) {
    if (isList === true) continue;
    const id = ids.get(hash) ?? ids.size;
    ids.set(hash, id);
    named.set(seq, (named.get(seq) ?? new Set()).add(id));
  }
  return { ids, named: new Map([...named].map(([seq, contents]) => [seq, [...contents]])) };
}
