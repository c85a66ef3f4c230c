import { decodeAside, isKeptAt } from "../../core/records/aside.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { decodePlan } from "../../core/tree/plan.ts";
import { greatestOf } from "../../util/long-lists.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "./erasures-in-force.ts";
import { readEvents } from "../log/read-events.ts";

/** The contents kept aside for a path, which no line of the log names. */
export interface AsideUse {
  readonly plan: Hash;
  readonly path: WorkspacePath;
  readonly hashes: readonly Hash[];
  /** In bytes. */
  readonly size: number;
  /** The time until which it is kept. */
  readonly until: string;
}

/** The prefixes of the ids of records that name plans of files kept aside. */
const KEEPERS = ["session:", "action:", "intent:"];

/**
 * Returns what is kept aside now and holds a content for which `isMeant` is true at any path; not what is erased
 * already.
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
