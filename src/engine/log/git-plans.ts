import {
  blobsOfGit,
  blobsOfStates,
  decodeGitStates,
  encodeGitStates,
  type GitState,
} from "../../core/records/git-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { BlobBatch } from "../../storage/blob-store.ts";
import { RecentMap } from "../../util/recent-map.ts";
import type { HistoryContext } from "./context.ts";
import { memoKey } from "./memo.ts";

/**
 * The plans of git: blobs with the states of all repositories, or with changes. Records name these blobs. One action
 * needs the same plan several times, and a plan of a hundred repositories takes milliseconds to encode or to decode, so
 * the last plans are remembered. A blob never changes, so a remembered plan is right as long as the store has its blob.
 */

type Parts = Pick<HistoryContext, "memo" | "blobs">;

/** The number of plans that are remembered. */
const MOST_PLANS = 2;

const decoded = memoKey<RecentMap<Hash, readonly GitState[]>>("the states in plans of git");
const named = memoKey<RecentMap<Hash, readonly Hash[]>>("the contents that plans of git name");
const encoded = memoKey<{ readonly plan: Hash; readonly states: readonly GitState[] }>("the last plan of git");

/** Stores the states in a batch. Does not encode states that are the same objects as at the last call. */
export async function putGitStates(context: Parts, batch: BlobBatch, states: readonly GitState[]): Promise<Hash> {
  const { memo } = context;
  const last = memo.get(encoded);
  const isSame = last?.states.length === states.length && last.states.every((state, i) => state === states[i]);
  // A plan whose stored bytes are damaged is put again.
  if (isSame && (await context.blobs.sound([last.plan])).has(last.plan)) return last.plan;
  const plan = await batch.put(encodeGitStates(states));
  memo.set(encoded, { plan, states });
  recent(context, decoded).put(plan, states);
  recent(context, named).put(plan, blobsOfStates(states));
  return plan;
}

/** Returns the states in a plan; `undefined` if the store no longer has the plan. */
export async function gitStatesIn(context: Parts, plan: Hash): Promise<readonly GitState[] | undefined> {
  return remembered(context, { plan, key: decoded, decode: decodeGitStates });
}

/** Returns the hashes of the blobs that a plan names; an empty list if the store no longer has the plan. */
export async function blobsNamedByGit(context: Parts, plan: Hash): Promise<readonly Hash[]> {
  return (await remembered(context, { plan, key: named, decode: blobsOfGit })) ?? [];
}

interface Wanted<T> {
  readonly plan: Hash;
  readonly key: MemoOfPlans<T>;
  readonly decode: (bytes: Buffer) => T;
}

type MemoOfPlans<T> = ReturnType<typeof memoKey<RecentMap<Hash, T>>>;

async function remembered<T>(context: Parts, { plan, key, decode }: Wanted<T>): Promise<T | undefined> {
  const all = recent(context, key);
  const known = all.get(plan);
  if (known !== undefined && (await isStored(context, plan))) return known;
  const bytes = await context.blobs.get(plan);
  if (bytes === undefined) return undefined;
  const found = decode(bytes);
  all.put(plan, found);
  return found;
}

function recent<T>({ memo }: Parts, key: MemoOfPlans<T>): RecentMap<Hash, T> {
  const known = memo.get(key);
  if (known !== undefined) return known;
  const all = new RecentMap<Hash, T>(MOST_PLANS);
  memo.set(key, all);
  return all;
}

async function isStored({ blobs }: Parts, plan: Hash): Promise<boolean> {
  return (await blobs.has([plan])).has(plan);
}
