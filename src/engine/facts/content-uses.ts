import { decodeAside, isKeptAt } from "../../core/records/aside.ts";
import { type Hash, isHash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { Context, HistoryContext } from "../log/context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { readEvents, readUpTo } from "../log/read-events.ts";
import { decodeBase } from "../../core/log/base.ts";
import { contentsOfConflict, decodeConflict } from "../../core/records/conflict-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { pathOfRecordId } from "../../core/values/file-record.ts";
import { contentsOfVersion, decodeVersion } from "../../core/records/write-back.ts";
import { baseOf } from "../log/project.ts";

export interface ContentUse {
  readonly hash: Hash;
  /** The size in bytes. */
  size: number;
  /** Paths that have or had the content. */
  readonly paths: Set<WorkspacePath>;
  /** Paths that have the content as of the last event that was read. */
  readonly now: Set<WorkspacePath>;
  /** True if the history itself depends on the content, because the content is a base or a filter. */
  isHistorys: boolean;
}

/** A mention of contents in the log: a state of a path, or the contents that a record of another kind names. */
type Mention =
  | { readonly path: WorkspacePath; readonly hash: Hash | undefined; readonly size: number }
  | { readonly hashes: readonly Hash[]; readonly isHistorys: boolean };

/**
 * Returns the contents for which `isMeant` returns true, with their uses up to event `upTo`. `isMeant` gets a content
 * and the path that has it, or `undefined` instead of the path if the mention has no path. If `isMeant` returns true
 * for one mention of a content, all uses of that content are returned. Reads the log twice. The index is not used,
 * because a wrong index could make a person erase the wrong content.
 */
export async function contentUses(
  context: HistoryContext,
  isMeant: (hash: Hash, path: WorkspacePath | undefined) => boolean,
  upTo: number,
): Promise<ReadonlyMap<Hash, ContentUse>> {
  const uses = new Map<Hash, ContentUse>();
  const meet = (hash: Hash, path?: WorkspacePath): void => {
    if (uses.has(hash) || !isMeant(hash, path)) return;
    uses.set(hash, { hash, size: 0, paths: new Set(), now: new Set(), isHistorys: false });
  };
  for await (const mention of mentionsInLog(context, upTo)) {
    if (!("path" in mention)) for (const hash of mention.hashes) meet(hash);
    else if (mention.hash !== undefined) meet(mention.hash, mention.path);
  }
  if (uses.size === 0) return uses;
  const last = new Map<WorkspacePath, ContentUse>();
  for await (const mention of mentionsInLog(context, upTo)) {
    if ("path" in mention) noteState(uses, last, mention);
    else if (mention.isHistorys) for (const hash of mention.hashes) markAsHistorys(uses.get(hash));
  }
  for (const [path, use] of last) use.now.add(path);
  return uses;
}

function markAsHistorys(use: ContentUse | undefined): void {
  if (use !== undefined) use.isHistorys = true;
}

function noteState(
  uses: ReadonlyMap<Hash, ContentUse>,
  last: Map<WorkspacePath, ContentUse>,
  { path, hash, size }: Extract<Mention, { readonly path: WorkspacePath }>,
): void {
  const use = hash === undefined ? undefined : uses.get(hash);
  if (use === undefined) {
    last.delete(path);
    return;
  }
  last.set(path, use);
  use.paths.add(path);
  use.size = size;
}

async function* mentionsInLog(context: HistoryContext, upTo: number): AsyncGenerator<Mention, void> {
  for await (const event of readUpTo(context, upTo)) {
    const base = baseOf(event);
    if (base !== undefined) {
      yield { hashes: [base], isHistorys: true };
      yield* mentionsInBase(context, base);
    }
    yield* mentionsIn(event);
  }
}

async function* mentionsInBase(context: HistoryContext, base: Hash): AsyncGenerator<Mention, void> {
  const reader = await context.blobs.open(base);
  if (reader === undefined) return;
  for await (const { entries = [], records = [] } of decodeBase(reader.pieces())) {
    for (const { path, entry } of entries) yield { path, hash: entry?.hash, size: entry?.size ?? 0 };
    for (const record of records) yield* mentionsIn(record);
  }
}

function* mentionsIn({ recordId, record }: Pick<LogEvent, "recordId" | "record">): Generator<Mention, void> {
  const hash = hashIn(record["hash"]);
  const path = pathOfRecordId(recordId);
  if (path !== undefined) {
    const size = record["size"];
    yield { path, hash: hash[0], size: typeof size === "number" ? size : 0 };
  } else if (recordId.startsWith("outside")) yield { hashes: hash, isHistorys: false };
  else if (recordId.startsWith("snapshot:") || recordId.startsWith("coverage:"))
    yield { hashes: hashIn(record["filter"]), isHistorys: true };
  else if (Object.keys(record).length === 0) return;
  else if (recordId.startsWith("conflict:"))
    yield { hashes: contentsOfConflict(decodeConflict(record)), isHistorys: false };
  else if (recordId.startsWith("version:"))
    yield { hashes: contentsOfVersion(decodeVersion(record)), isHistorys: false };
}

function hashIn(value: unknown): Hash[] {
  return typeof value === "string" && isHash(value) ? [value] : [];
}

/** The contents that are kept aside for a path. The blob `plan` names these contents; no line of the log does. */
export interface AsideUse {
  readonly plan: Hash;
  readonly path: WorkspacePath;
  readonly hashes: readonly Hash[];
  /** The size of the largest content, in bytes. */
  readonly size: number;
  readonly until: string;
}

const KEEPERS = ["session:", "action:", "intent:"];

/**
 * Returns the kept-aside uses of the contents for which `isMeant` returns true. If `isMeant` returns true for a content
 * at one path, the uses of that content at all paths are returned.
 */
export async function asideUses(
  context: Context,
  isMeant: (hash: Hash, path: WorkspacePath) => boolean,
): Promise<AsideUse[]> {
  const all = await allAside(context);
  const meant = new Set(all.flatMap(({ path, hashes }) => hashes.filter((hash) => isMeant(hash, path))));
  return all.filter(({ hashes }) => hashes.some((hash) => meant.has(hash)));
}

async function allAside(context: Context): Promise<AsideUse[]> {
  const { index, blobs } = context;
  const erasures = await erasuresInForce(context);
  const found: AsideUse[] = [];
  for (const prefix of KEEPERS) {
    for (const { record } of await readEvents(context, await index.records(prefix))) {
      const aside = decodeAside(record);
      if (aside === undefined || !isKeptAt(aside, context.now())) continue;
      const bytes = await blobs.get(aside.plan);
      for (const { path, before, after } of bytes === undefined
        ? []
        : erasures.leftAside(aside.plan, decodePlan(bytes))) {
        const states = [before, after].filter((state) => state?.hash !== undefined);
        const hashes = states.flatMap((state) => state?.hash ?? []);
        const size = Math.max(0, greatestOf(states.map((state) => state?.size ?? 0)));
        if (hashes.length > 0) found.push({ plan: aside.plan, path, hashes, size, until: aside.until });
      }
    }
  }
  return found;
}
