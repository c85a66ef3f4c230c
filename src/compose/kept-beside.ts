import type { KeptBesideShape, PrivateBudgetShape } from "../api/shapes.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { Hash } from "../core/values/hash.ts";
import type { GivenUpPrivates } from "../core/records/prune-record.ts";
import type { PrivateKind } from "../engine/log/history-needs.ts";
import { aliveContents } from "../engine/upkeep/alive.ts";
import { retentionOf } from "../store/retention-files.ts";
import { optional } from "../util/optional.ts";
import type { StoreParts } from "./open-context.ts";
import { historiesOf, type MarkedHistory } from "./open-mirror.ts";
import { givenUpForGood, isThere, ofForgotten, workspaceIds } from "./store-tasks.ts";

interface Found {
  /** The contents that any history itself needs. Private contents are kept beside a history and do not belong to it. */
  readonly needed: Set<Hash>;
  readonly kinds: Map<Hash, PrivateKind>;
}

/** The private contents that one workspace keeps beside its history, and those that it has given up. */
interface OwnFound {
  readonly id: string;
  readonly contents: Set<Hash>;
  readonly budget: number;
  givenUp?: GivenUpPrivates;
}

/**
 * Returns the sizes of the private contents that are kept beside the histories of a store: prompts, states of git, and
 * files kept aside. Forgotten histories are included. Counts each content once, and does not count a content that a
 * history itself needs. Reads all logs. A history that cannot be read is only counted (`unread`).
 */
export async function keptBeside(parts: StoreParts): Promise<KeptBesideShape> {
  const found: Found = { needed: new Set(), kinds: new Map() };
  const owners: OwnFound[] = [];
  let unread = 0;
  for (const at of [parts, ofForgotten(parts)]) {
    for (const id of workspaceIds(at)) {
      try {
        const own = { id, contents: new Set<Hash>(), budget: await budgetOf(at, id) };
        for (const history of historiesOf(at, id)) await readHistory(parts, history, found, own);
        if (at === parts) owners.push(own);
      } catch (error) {
        if (!(error instanceof ChronicleError)) throw error;
        if (isThere(at, id)) unread += 1;
      }
    }
  }
  return { ...(await sizesOf(parts, found, owners)), ...(unread === 0 ? {} : { unread }) };
}

/**
 * Returns the budgets for private contents of which at least `share` (a fraction, such as 0.8) is used. Reads the logs
 * only if the whole store is large enough to use that share of a budget.
 */
export async function fullBudgets(parts: StoreParts, share: number): Promise<Pick<KeptBesideShape, "budgets">> {
  const isLarge = (budget: number): boolean => budget > 0 && parts.gauge.takes() >= share * budget;
  let isSome = false;
  for (const id of workspaceIds(parts)) isSome ||= isLarge(await budgetOf(parts, id));
  if (!isSome) return { budgets: [] };
  const { budgets } = await keptBeside(parts);
  return { budgets: budgets.filter((one) => one.budget_bytes > 0 && one.used_bytes >= share * one.budget_bytes) };
}

async function budgetOf({ backends, configFolder, retention }: StoreParts, id: string): Promise<number> {
  return (await retentionOf(backends.disk, configFolder, { id, ...retention })).limits.max_private_bytes;
}

async function readHistory(
  parts: StoreParts,
  history: MarkedHistory,
  { needed, kinds }: Found,
  own: OwnFound,
): Promise<void> {
  const log = await history.openLog();
  try {
    const workspaceId = await history.workspaceOf(log);
    if (workspaceId === undefined) return;
    const now = parts.backends.now();
    const onPrivate = (hash: Hash, kind: PrivateKind): void => {
      own.contents.add(hash);
      if (!kinds.has(hash)) kinds.set(hash, kind);
    };
    // Ignore the mirror of an origin: its record names what the origin has given up, not this workspace.
    const onGivenUp = (privates: GivenUpPrivates): void => {
      if (history.key === own.id) own.givenUp = privates;
    };
    const givenUp = await givenUpForGood(log, workspaceId, now);
    const options = { anchors: [], ...givenUp, anchor: history.anchor, now, onPrivate, onGivenUp };
    for await (const hash of aliveContents(log, parts.blobs, options)) needed.add(hash);
  } finally {
    await log.close();
  }
}

async function sizesOf(
  parts: StoreParts,
  { needed, kinds }: Found,
  owners: readonly OwnFound[],
): Promise<KeptBesideShape> {
  const sizes = { prompt: none(), git: none(), aside: none() };
  const stored = new Map<Hash, number>();
  for (const { hash, storedBytes } of await parts.blobs.infos(kinds.keys())) {
    const kind = needed.has(hash) ? undefined : kinds.get(hash);
    if (kind === undefined) continue;
    sizes[kind].count += 1;
    sizes[kind].stored_bytes += storedBytes;
    stored.set(hash, storedBytes);
  }
  // Round the sums, because a blob's share of its block is a fraction.
  for (const size of Object.values(sizes)) size.stored_bytes = Math.round(size.stored_bytes);
  return { prompts: sizes.prompt, git: sizes.git, aside: sizes.aside, budgets: budgetsOf(owners, stored) };
}

function budgetsOf(owners: readonly OwnFound[], stored: ReadonlyMap<Hash, number>): PrivateBudgetShape[] {
  const all = owners.map(({ id, contents, budget, givenUp }): PrivateBudgetShape => {
    const used = [...contents].reduce((sum, hash) => sum + (stored.get(hash) ?? 0), 0);
    const given = givenUp === undefined ? undefined : { records: givenUp.records, bytes: givenUp.bytes };
    return { workspace: id, used_bytes: Math.round(used), budget_bytes: budget, ...optional({ given_up: given }) };
  });
  return all
    .filter((one) => one.used_bytes > 0 || one.given_up !== undefined)
    .sort((a, b) => fullness(b) - fullness(a) || (a.workspace < b.workspace ? -1 : 1));
}

function fullness({ used_bytes: used, budget_bytes: budget }: PrivateBudgetShape): number {
  return budget === 0 ? 0 : used / budget;
}

function none(): KeptBesideShape["git"] {
  return { count: 0, stored_bytes: 0 };
}
