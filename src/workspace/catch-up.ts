import { checkLine } from "../core/chain.ts";
import { ChronicleError } from "../core/errors.ts";
import { EMPTY_HEAD, type EventDraft, type Head } from "../core/event.ts";
import type { IndexHead } from "../storage/index-store.ts";
import type { LogEnd, LogPosition, RawLine } from "../storage/event-log.ts";
import { sealEvents } from "../core/chain.ts";
import type { HistoryContext } from "./context.ts";
import { project, type PlacedEvent } from "./project.ts";

/** How many events are brought into the index at once. */
const BATCH = 20_000;

/** What a look at the log found. */
export interface CatchUp {
  readonly head: IndexHead;
  /** Why nothing may be written, if so. */
  readonly damage: ChronicleError | undefined;
}

/** One line that does not go on from the event before it. */
interface BadLine {
  readonly position: LogPosition;
  readonly lineNumber: number;
  readonly detail: string;
}

/**
 * Replays the events that the index does not know yet.
 *
 * `recover` (only with the lock held): a torn tail above the bound is moved to quarantine and recorded. The bound is the
 * greater of the kept head's size and the index's seq: what was acknowledged can only be damaged, never torn.
 * Damage at or below the bound throws with `recover`, and is reported otherwise.
 */
export async function catchUp(context: HistoryContext, options: { readonly recover: boolean }): Promise<CatchUp> {
  const end = await context.log.refresh();
  const before = await context.index.head();
  if (before.seq > end.seq) {
    return stop({ ...before, seq: end.seq, hash: end.hash }, shorter(end, before.seq), options);
  }
  if (before.seq > 0 && !(await stillHolds(context, before, end))) return stop(before, replaced(before.seq), options);
  const settled = before.seq === end.seq && end.tornBytes === 0;
  // What another process wrote and did not live to sync must be durable before the index vouches for it.
  if (!settled) await context.log.sync();
  const bad = settled ? undefined : await replay(context, before);
  const head = settled ? before : await context.index.head();
  const damage = await judge(context, { head, bad, indexed: before.seq });
  if (damage !== undefined) return stop(head, damage, options);
  if (options.recover && (bad !== undefined || end.tornBytes > 0)) {
    const position = bad?.position ?? { seq: head.seq + 1, offset: head.offset };
    const cut = await cutTail(context, position, bad?.detail ?? `${end.tornBytes} bytes without an end of line`);
    return { head: cut, damage: undefined };
  }
  return { head, damage: undefined };
}

function stop(head: IndexHead, damage: ChronicleError, options: { readonly recover: boolean }): CatchUp {
  if (options.recover) throw damage;
  return { head, damage };
}

/** Does the log still hold the very event up to which the index knows it? */
async function stillHolds(context: HistoryContext, head: IndexHead, end: Head): Promise<boolean> {
  return head.seq === end.seq ? head.hash === end.hash : holds(context, head);
}

async function holds(context: HistoryContext, head: IndexHead): Promise<boolean> {
  const row = await context.index.locate(head.seq);
  if (row === undefined) return false;
  for await (const lines of context.log.read({ seq: head.seq, offset: row.offset })) {
    const first = lines[0];
    if (first === undefined) continue;
    return first.bytes.includes(`"hash":"${head.hash}"`) && first.bytes.length === row.length;
  }
  return false;
}

async function replay(context: HistoryContext, start: IndexHead): Promise<BadLine | undefined> {
  let prev: Head = start.seq === 0 ? EMPTY_HEAD : { seq: start.seq, hash: start.hash };
  let pending: PlacedEvent[] = [];
  for await (const lines of context.log.read({ seq: start.seq + 1, offset: start.offset })) {
    for (const line of lines) {
      const checked = checkLine(line.bytes, prev);
      if ("fault" in checked) {
        if (pending.length > 0) await project(context, pending);
        return badLine(line, prev.seq + 1, checked.fault.detail);
      }
      pending.push({ event: checked.event, offset: line.offset, length: line.bytes.length });
      prev = checked.event;
    }
    if (pending.length >= BATCH) {
      await project(context, pending);
      pending = [];
    }
  }
  if (pending.length > 0) await project(context, pending);
  return undefined;
}

function badLine(line: RawLine, seq: number, detail: string): BadLine {
  return { position: { seq, offset: line.offset }, lineNumber: line.lineNumber, detail };
}

interface Findings {
  readonly head: IndexHead;
  readonly bad: BadLine | undefined;
  /** The index's seq before this look. */
  readonly indexed: number;
}

async function judge(context: HistoryContext, { head, bad, indexed }: Findings): Promise<ChronicleError | undefined> {
  const last = context.heads.last(context.workspaceId);
  const kept = last?.valid === true ? last : undefined;
  const bound = Math.max(indexed, kept?.seq ?? 0);
  if (head.seq < bound) return bad === undefined ? rolledBack(head.seq, bound) : damagedAt(bad);
  if (kept === undefined || kept.seq === 0) return undefined;
  const row = await context.index.locate(kept.seq);
  return row === undefined || row.hash === kept.hash ? undefined : replaced(kept.seq);
}

function damagedAt(bad: BadLine): ChronicleError {
  return new ChronicleError("LOG_DAMAGED", `the log is damaged at event ${bad.position.seq}: ${bad.detail}`, {
    hint: "nothing is written any more; run `chronicle verify` for the whole list, and restore the log from a copy",
    data: { seq: bad.position.seq, offset: bad.position.offset, line: bad.lineNumber },
  });
}

/** The index knows of more events than the log has lines: cut off, or the last ones are garbled. */
function shorter(end: LogEnd, bound: number): ChronicleError {
  if (end.tornBytes === 0) return rolledBack(end.seq, bound);
  return new ChronicleError(
    "LOG_DAMAGED",
    `the log is damaged behind event ${end.seq}: ${end.tornBytes} bytes there are no events`,
    {
      hint: "nothing is written any more; run `chronicle verify` for the whole list, and restore the log from a copy",
      data: { seq: end.seq + 1, bound },
    },
  );
}

function rolledBack(seq: number, bound: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `the log ends at event ${seq}, but event ${bound} was recorded before`,
    {
      hint: "the log was cut or replaced by an older copy; nothing is written until it is put back (see `chronicle verify`)",
      data: { seq, bound },
    },
  );
}

function replaced(seq: number): ChronicleError {
  return new ChronicleError(
    "ROLLBACK_DETECTED",
    `event ${seq} is not the one that was recorded: the log was replaced`,
    {
      hint: "nothing is written until the right log is put back (see `chronicle verify`)",
      data: { seq },
    },
  );
}

async function cutTail(context: HistoryContext, position: LogPosition, detail: string): Promise<IndexHead> {
  const name = await context.log.quarantine(position);
  const head = await context.index.head();
  const draft: EventDraft = {
    op: "upsert",
    recordId: `recovery:${context.newId()}`,
    record: {
      cut_from_seq: position.seq,
      cut_from_byte: position.offset,
      reason: detail.toWellFormed(),
      kept_as: name,
    },
  };
  // An empty log has no event to be recorded after: its torn beginning is only moved away.
  if (head.seq === 0) return head;
  const sealed = sealEvents({ seq: head.seq, hash: head.hash }, [draft], new Date(context.now()).toISOString());
  await context.log.append(sealed);
  const placed = sealed.map((event) => ({ event, offset: head.offset, length: Buffer.byteLength(event.line) }));
  return project(context, placed);
}
