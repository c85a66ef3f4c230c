import type { ErasureShape } from "../../api/action-shapes.ts";
import { encodeErase, ERASE } from "../../core/records/erase-record.ts";
import type { LoggedErasure } from "../../core/records/erasures.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { contentUses } from "../facts/content-uses.ts";
import { withCommit } from "../commit/commit.ts";
import type { Context } from "../log/context.ts";
import { erasuresInForce } from "../facts/erasures-in-force.ts";

/** Returns the erasures in force, oldest first. */
export async function listErasures(context: Context): Promise<ErasureShape[]> {
  return (await erasuresInForce(context)).all.map((one) => shapeOf(context, one));
}

/**
 * Takes an erasure back, by its id or the unique beginning of it: its contents are there again. Throws `NOT_FOUND`,
 * `AMBIGUOUS`, and `REFUSED` once its grace period is over, or if a content of it is gone.
 */
export async function unerase(context: Context, asked: string): Promise<ErasureShape> {
  // The lease keeps collectors out from the check of the contents until the event.
  using _lease = await context.blobs.lease();
  return withCommit(context, async (commit) => {
    const one = meantBy((await erasuresInForce(context)).all, asked);
    await refuseGone(context, one);
    const { recordId, seq: _, ...record } = one;
    const at = new Date(context.now()).toISOString();
    const withdrawn = encodeErase({ ...record, state: "withdrawn", actor: context.caller.actor, at });
    const [event] = await commit.append([{ op: "upsert", recordId, record: withdrawn }]);
    return { ...shapeOf(context, one), event: event?.seq ?? one.seq, can_be_withdrawn: false };
  });
}

function meantBy(all: readonly LoggedErasure[], asked: string): LoggedErasure {
  const matching = all.filter(({ recordId }) => asked !== "" && recordId.startsWith(`${ERASE}${asked}`));
  const [only, second] = matching;
  const hint = "`chronicle unerase` lists them";
  if (only === undefined)
    throw new ChronicleError("NOT_FOUND", `there is no erasure ${JSON.stringify(asked)}`, { hint });
  if (second === undefined) return only;
  throw new ChronicleError("AMBIGUOUS", `${JSON.stringify(asked)} stands for ${matching.length} erasures`, { hint });
}

async function refuseGone(context: Context, { until, contents }: LoggedErasure): Promise<void> {
  const hint = "what another copy of this store or a backup has can be put into the folder, and is then recorded again";
  if (isOver(context, until)) {
    throw new ChronicleError("REFUSED", `that could be brought back until ${until}`, { hint, data: { until } });
  }
  const stored = await context.store.stored(contents);
  const missing = new Set(contents.filter((hash) => !stored.has(hash)));
  // A content that an origin has erased may never have been here.
  const gone = missing.size === 0 ? [] : [...(await contentUses(context, (hash) => missing.has(hash))).keys()];
  if (gone.length === 0) return;
  throw new ChronicleError("REFUSED", `${gone.length} of ${contents.length} contents are gone from the store`, {
    hint,
    data: { contents: gone },
  });
}

function isOver({ now }: Context, until: string): boolean {
  return Date.parse(until) <= now();
}

function shapeOf(context: Context, one: LoggedErasure): ErasureShape {
  const { recordId, seq, contents, aside = [], asked, ...rest } = one;
  const { reason, actor, at, until } = rest;
  return {
    id: recordId.slice(ERASE.length),
    event: seq,
    total: contents.length,
    kept_aside: new Set(aside.flatMap(({ paths }) => paths)).size,
    asked: { ...asked },
    reason: reason ?? null,
    actor,
    at,
    until,
    can_be_withdrawn: !isOver(context, until),
  };
}
