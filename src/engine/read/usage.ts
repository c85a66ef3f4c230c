import type { DuGroupShape, DuShape } from "../../api/shapes.ts";
import { decodeBase } from "../../core/log/base.ts";
import type { LogEvent } from "../../core/values/event.ts";
import { type ClockJump, plausibleTime, type TimedEvent } from "../../core/values/clock-jumps.ts";
import { pathOfRecordId } from "../../core/values/file-record.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { actionById } from "../facts/actions.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";
import { HistoryNeeds } from "../log/history-needs.ts";
import { baseOf } from "../log/project.ts";
import { readUpTo } from "../log/read-events.ts";
import { pruningInForce } from "../facts/pruning.ts";
import { shownPath } from "../log/shape.ts";

export type UsageGrouping = "session" | "path" | "age";

const HOUR_MS = 3_600_000;
const AGES: readonly (readonly [ms: number, name: string])[] = [
  [HOUR_MS, "the last hour"],
  [24 * HOUR_MS, "the last day"],
  [7 * 24 * HOUR_MS, "the last week"],
  [30 * 24 * HOUR_MS, "the last 30 days"],
];
const OLDER = "older";
const NO_SESSION = "(no session)";

/**
 * Returns the space that the store takes. With `by`, also returns this workspace's contents in groups, largest first.
 */
export async function usageOf(context: Context, { by }: { readonly by?: UsageGrouping } = {}): Promise<DuShape> {
  const usage = await context.store.usage();
  return by === undefined ? usage : { ...usage, groups: await groupsOf(context, by) };
}

/**
 * Groups the contents that this workspace's history needs. Each content counts once, in the first group in which it
 * occurs. Reads the whole log.
 */
async function groupsOf(context: Context, by: UsageGrouping): Promise<DuGroupShape[]> {
  const groups = new Map<string, DuGroupShape>();
  const seen = new Set<Hash>();
  const givenUp = { pruning: await pruningInForce(context), erasures: await erasuresInForce(context) };
  const needs = new HistoryNeeds(givenUp, ({ hash, where, size }) => {
    if (size === undefined || seen.has(hash)) return;
    seen.add(hash);
    const group = groups.get(where) ?? { name: where, count: 0, content_bytes: 0 };
    groups.set(where, { name: where, count: group.count + 1, content_bytes: group.content_bytes + size });
  });
  const namer = new GroupNames(context, by);
  const { seq } = await context.index.head();
  for await (const event of readUpTo(context, seq)) {
    const name = await namer.ofEvent(event);
    needs.event(event, name);
    const base = baseOf(event);
    const reader = base === undefined ? undefined : await context.blobs.open(base);
    if (reader === undefined) continue;
    const ofEntry = (path: WorkspacePath): string => (by === "path" ? shownPath(path) : name);
    for await (const batch of decodeBase(reader.pieces())) needs.rows(batch, event, name, ofEntry);
  }
  needs.finish();
  return [...groups.values()].sort((a, b) => b.content_bytes - a.content_bytes || (a.name < b.name ? -1 : 1));
}

/** Finds the name of the group to which the contents of an event belong. */
class GroupNames {
  readonly #context: Context;
  readonly #by: UsageGrouping;
  readonly #sessions = new Map<string, string>();
  #jumps: readonly ClockJump[] | undefined;

  constructor(context: Context, by: UsageGrouping) {
    this.#context = context;
    this.#by = by;
  }

  async ofEvent({ seq, recordId, record, ts }: LogEvent): Promise<string> {
    if (this.#by === "age") return this.#age({ seq, ts });
    if (this.#by === "session") return this.#session(record);
    const path = pathOfRecordId(recordId);
    return path === undefined ? recordId : shownPath(path);
  }

  async #age(event: TimedEvent): Promise<string> {
    const now = this.#context.now();
    this.#jumps ??= await this.#context.index.clockJumps();
    const age = now - plausibleTime(event, this.#jumps, now);
    return AGES.find(([ms]) => age < ms)?.[1] ?? OLDER;
  }

  async #session({ session, action }: LogEvent["record"]): Promise<string> {
    if (typeof session === "string") return session;
    if (typeof action !== "string") return NO_SESSION;
    const known = this.#sessions.get(action) ?? (await actionById(this.#context, action))?.session ?? NO_SESSION;
    this.#sessions.set(action, known);
    return known;
  }
}
