import type { VerifyProblemShape as Problem } from "../../api/shapes.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { addAll } from "../../util/long-lists.ts";
import type { Context, HistoryCopy } from "../log/context.ts";
import { IndexAudit } from "./index-audit.ts";
import { verifyLog, type Need } from "./verify-log.ts";
import { optional } from "../../util/optional.ts";

export interface CopyFindings {
  readonly problems: Problem[];
  readonly notes: string[];
  /** See `VerifyLogOptions.placesOf`. */
  readonly placesOf: ReadonlySet<Hash>;
  /** See `VerifyLogOptions.onRead`. */
  readonly onRead: (done: number, total: number) => void;
}

/**
 * Verifies a replica's copy of its origin's history in the same way as the replica's own history. Checks every line,
 * the chain of the lines' hashes, and every stated root. Adds the findings to `into`. Returns the contents that must be
 * present, without those that were left out on purpose.
 */
export async function verifyCopy(context: Context, into: CopyFindings): Promise<ReadonlyMap<Hash, Need>> {
  let copy: HistoryCopy | undefined;
  try {
    copy = await context.store.copy();
  } catch (error) {
    if (!(error instanceof ChronicleError)) throw error;
    into.problems.push({ kind: "copy-unreadable", where: "upstream/", detail: error.message });
  }
  if (copy === undefined) return new Map();
  await using opened = copy;
  return await verifyOpened(opened, into);
}

async function verifyOpened({ context, where }: HistoryCopy, into: CopyFindings): Promise<ReadonlyMap<Hash, Need>> {
  const problems: Problem[] = [];
  const notes: string[] = [];
  const audit = await IndexAudit.begin(context.index);
  const { placesOf, onRead } = into;
  const log = await verifyLog(context, {
    ...{ problems, notes, placesOf, audit, onRead },
    bound: audit.seq,
    seqsOfInterest: new Set(),
  });
  if (!log.broken) addAll(problems, await audit.finish());
  for (const fault of context.store.fileFaults()) {
    problems.push({ kind: "copy-contradicted", where: fault.where, detail: fault.fault });
  }
  addAll(
    into.problems,
    problems.map((problem) => ({ ...problem, where: `${where}${problem.where}` })),
  );
  into.notes.push(`${where}: ${log.events} events of workspace ${context.workspaceId}, up to event ${log.lastSeq}`);
  addAll(
    into.notes,
    notes.map((note) => `${where}: ${note}`),
  );
  const needed = [...(await presentOf(context, log.needed))];
  return new Map(needed.map(([hash, need]) => [hash, within(where, need)] as const));
}

function within(copy: string, need: Need): Need {
  const places = need.places?.map((place) => `${copy}${place}`);
  return { ...need, where: `${copy}${need.where}`, ...optional({ places }) };
}

/**
 * Returns the needed contents without the contents that may be missing:
 *
 * - A content that the origin withheld (`withheld`) may be missing in a copy. In any other history, such a content may
 *   be missing if only records of an origin's states need the content (`isUpstream`).
 * - A content that an imported archive left out (`leftOut`) may be missing in the imported history, unless the content
 *   is in the store again.
 */
export async function presentOf(context: Context, needed: ReadonlyMap<Hash, Need>): Promise<ReadonlyMap<Hash, Need>> {
  const { isCopy = false, store } = context;
  const [withheld, leftOut] = [store.withheld(), store.leftOut()];
  if (withheld.size === 0 && leftOut.size === 0) return needed;
  const back = await context.blobs.has([...leftOut].filter((hash) => needed.has(hash)));
  const mayMiss = (hash: Hash, { isUpstream }: Need): boolean =>
    (leftOut.has(hash) && !back.has(hash)) || ((isCopy || isUpstream) && withheld.has(hash));
  return new Map([...needed].filter(([hash, need]) => !mayMiss(hash, need)));
}
