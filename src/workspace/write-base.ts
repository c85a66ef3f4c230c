import { encodeBase, type BaseEntry, type BaseRecord } from "../core/base.ts";
import { ChronicleError } from "../core/errors.ts";
import { EMPTY_HASH, type Hash } from "../core/hash.ts";
import { manifestRoot } from "../core/merkle.ts";
import { pathInRoot, ROOT } from "../core/path.ts";
import type { IterationRow } from "../storage/index-store.ts";
import { checkBase, liveRecords } from "./check-base.ts";
import type { Context } from "./context.ts";
import { readEvent } from "./read-events.ts";
import { rootAtHead } from "./tree.ts";

/** How many paths are asked for at once. */
const BATCH = 10_000;

/** A base that is in the store, durable. */
export interface WrittenBase {
  readonly base: Hash;
  readonly root: Hash;
}

/**
 * Writes the state at `seq` (the head) as a base: every path that was ever recorded with its last iteration, and the last
 * event of every other record. It is read back and verified before it is given out. With the lock held.
 */
export async function writeBase(context: Context, seq: number): Promise<WrittenBase> {
  const entries = await lastIterations(context, seq);
  const records = await lastRecords(context);
  const ids = context.worktree.roots.map(({ id }) => id);
  const further = ids.flatMap((id) => id ?? []);
  const { root, folders } = manifestRoot(
    entries.flatMap(({ entry }) => entry ?? []),
    further,
  );
  if (root !== (await rootAtHead(context, seq))) throw indexWrong(seq);
  const roots = ids.map((id) => ({ id: id ?? "", hash: folders.get(pathInRoot(id, ROOT)) ?? EMPTY_HASH }));
  const counts = { entries: entries.length, records: records.length };
  const base = await store(
    context,
    encodeBase({ root, roots, entries: withFolders(entries, folders), records, counts }),
  );
  const faults = await checkBase(context.blobs, base, { root, against: context.index });
  const [fault] = faults ?? [{ where: base, detail: "it is not in the store" }];
  if (fault !== undefined) {
    throw new ChronicleError("INTEGRITY_VIOLATION", `the base could not be verified: ${fault.where}: ${fault.detail}`, {
      hint: "nothing was changed; run `chronicle verify`",
    });
  }
  return { base, root };
}

function indexWrong(seq: number): ChronicleError {
  return new ChronicleError("INTEGRITY_VIOLATION", `the index does not agree with itself at event ${seq}`, {
    hint: "run `chronicle rebuild`",
  });
}

async function lastIterations(context: Context, seq: number): Promise<IterationRow[]> {
  const paths = await context.index.touched(0, seq);
  const rows: IterationRow[] = [];
  for (let at = 0; at < paths.length; at += BATCH) {
    const batch = await context.index.iterationsAt(paths.slice(at, at + BATCH), seq);
    for (const row of batch) if (row !== undefined) rows.push(row);
  }
  return rows;
}

async function lastRecords(context: Context): Promise<BaseRecord[]> {
  const records: BaseRecord[] = [];
  for (const row of await liveRecords(context.index)) {
    const { seq, ts, op, recordId } = row;
    records.push({ seq, ts, op, recordId, record: (await readEvent(context, row)).record });
  }
  return records;
}

function* withFolders(rows: readonly IterationRow[], folders: ReadonlyMap<string, Hash>): Generator<BaseEntry> {
  for (const { path, iteration, seq, entry } of rows) {
    const folderHash = entry?.kind === "dir" ? folders.get(path) : undefined;
    yield { path, iteration, seq, entry, ...(folderHash === undefined ? {} : { folderHash }) };
  }
}

async function store(context: Context, pieces: Iterable<Uint8Array>): Promise<Hash> {
  const batch = await context.blobs.batch();
  try {
    const { hash } = await batch.putStream(pieces);
    await batch.commit();
    return hash;
  } catch (error) {
    await batch.abandon();
    throw error;
  }
}
