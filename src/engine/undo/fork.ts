import { ChronicleError } from "../../core/values/errors.ts";
import type { Entry } from "../../core/values/entry.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { LoggedErasure } from "../../core/records/erasures.ts";
import { EVERYTHING } from "../../core/filter/filter.ts";
import { manifestRoot } from "../../core/tree/merkle.ts";
import { comparePaths } from "../../core/values/path.ts";
import type { ForkOrigin, RootRecord } from "../../core/records/workspace-record.ts";
import { capture } from "../capture/capture.ts";
import { erasedAmong } from "../facts/contents-of-history.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { tellStale } from "../facts/stale-states.ts";
import { resolveMoment } from "../read/moments.ts";
import { workspaceRecord } from "../log/own-record.ts";
import { provedEntries } from "../state/proved-rows.ts";
import { missingContent } from "../facts/pruning.ts";
import { answer } from "../log/answer.ts";
import { shownPath } from "../log/shape.ts";

export interface ForkSource {
  readonly origin: ForkOrigin;
  /** The entries, in path order. Their contents are in the store, except erased ones. */
  readonly entries: readonly Entry[];
  /** The erasures in force, each limited to the contents of these entries. */
  readonly erasures: readonly LoggedErasure[];
  /** The tracked roots of the workspace, without their folders and without rules that leave files out. */
  readonly roots: readonly RootRecord[];
  /**
   * The names of secrets that a person added. The fork gets these names, so that it shows no more than the original
   * workspace.
   */
  readonly protectedNames: readonly string[] | undefined;
  /** The name of the moment, for people. */
  readonly label: string;
}

const BATCH = 10_000;

/**
 * Returns the files of a workspace at a moment. The default moment is the last recorded state. For `now`, the files are
 * captured first. The caller must hold a lease on the contents until the fork is durable. Erased contents stay erased
 * in the fork. Throws the errors of `resolveMoment`, such as `NOT_FOUND` and `PRUNED`. Also throws `BLOB_MISSING` or
 * `PRUNED` if a content is missing.
 */
export async function readForkSource(context: Context, moment: string | undefined): Promise<ForkSource> {
  if (moment === "now") await capture(context, { cause: "capture" });
  return answer(context, async ({ head, damage }) => {
    if (damage !== undefined) throw damage;
    const { seq, label } = await resolveMoment(context, moment ?? `seq:${head.seq}`);
    if (moment !== undefined) await tellStale(context, seq);
    const entries = await entriesAt(context, seq);
    const erasures = await erasuresOf(context, entries);
    await refuseMissing(context, entries, new Set(erasures.flatMap(({ contents }) => contents)));
    const { roots, protectedNames } = await workspaceRecord(context);
    const { root } = manifestRoot(
      entries,
      roots.flatMap(({ id }) => id ?? []),
    );
    const hash = await hashOf(context, seq);
    const origin = { workspace: context.workspaceId, seq, hash, root };
    return { origin, entries, erasures, roots: roots.map(hosted), protectedNames, label };
  });
}

function hosted({ id, limits }: RootRecord): RootRecord {
  return { id, folder: "", filter: EVERYTHING, limits };
}

async function entriesAt(context: Context, seq: number): Promise<Entry[]> {
  const entries = await provedEntries(context, seq);
  return entries.sort((a, b) => comparePaths(a.path, b.path));
}

async function erasuresOf(context: Context, entries: readonly Entry[]): Promise<LoggedErasure[]> {
  const erased = await erasedAmong(context, new Set(entries.flatMap(({ hash }) => hash ?? [])));
  if (erased.size === 0) return [];
  const erasures = await erasuresInForce(context);
  const isIts = (one: LoggedErasure) => (hash: Hash) => erased.has(hash) && erasures.of(hash) === one;
  return erasures.all
    .map((one) => ({ ...one, contents: one.contents.filter(isIts(one)), aside: [], untracked: [] }))
    .filter(({ contents }) => contents.length > 0);
}

/** Throws `BLOB_MISSING` or `PRUNED` if a content that was not erased is not in the store. */
async function refuseMissing(context: Context, entries: readonly Entry[], erased: ReadonlySet<Hash>): Promise<void> {
  for (let at = 0; at < entries.length; at += BATCH) {
    const batch = entries.slice(at, at + BATCH);
    const stored = await context.blobs.has(batch.flatMap(({ hash }) => hash ?? []));
    for (const { path, hash } of batch) {
      if (hash === undefined || stored.has(hash) || erased.has(hash)) continue;
      throw await missingContent(context, { path, hash, what: `the content of ${shownPath(path)}` });
    }
  }
}

async function hashOf({ index }: Context, seq: number): Promise<Hash> {
  const row = await index.locate(seq);
  if (row !== undefined) return row.hash;
  throw new ChronicleError("INTEGRITY_VIOLATION", `the index does not know event ${seq}`);
}
