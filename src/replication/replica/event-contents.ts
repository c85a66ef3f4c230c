import { type BaseBatch, decodeBase } from "../../core/log/base.ts";
import { decodeErase, ERASE } from "../../core/records/erase-record.ts";
import type { LogEvent } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import { HistoryNeeds } from "../../engine/log/history-needs.ts";
import { baseOf } from "../../engine/log/project.ts";
import { Erasures } from "../../core/records/erasures.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { Entry } from "../../core/values/entry.ts";
import { pathOfRecordId } from "../../core/values/file-record.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import { addAll } from "../../util/long-lists.ts";
import type { ContentIntake } from "./content-intake.ts";
import type { EarlyFiles } from "./early-files.ts";
import { optional } from "../../util/optional.ts";

/**
 * Returns the contents that an event names, by the rule of `verify`; those of its base's rows come with
 * `contentsOfRows`. An event that takes an erasure back names the contents that are there again.
 */
export function contentsOf(event: LogEvent): readonly Hash[] {
  if (!event.recordId.startsWith(ERASE)) return collect((needs) => needs.event(event, ""));
  const { state, contents } = decodeErase(event.record);
  return state === "withdrawn" ? contents : [];
}

/** Returns the base on which an event starts the history, or `undefined`. */
function baseNamedBy(event: LogEvent): Hash | undefined {
  return baseOf(event);
}

/** Returns the contents that some rows of that base name. */
function contentsOfRows(rows: BaseBatch, event: Pick<LogEvent, "seq">): Hash[] {
  return collect((needs) => needs.rows(rows, event, ""));
}

function collect(give: (needs: HistoryNeeds) => void): Hash[] {
  const hashes: Hash[] = [];
  const needs = new HistoryNeeds({}, ({ hash }) => hashes.push(hash));
  give(needs);
  needs.finish();
  return hashes;
}

/** An event that has arrived, with its content if that came along (and was checked). */
export interface ArrivedEvent<Event extends LogEvent = LogEvent> {
  readonly event: Event;
  readonly inline: { readonly hash: Hash; readonly bytes: Uint8Array } | undefined;
}

/** Returns whether the content of this path is wanted here. */
type WantsPath = (path: WorkspacePath) => boolean;

/** Contents that events name and that were not taken. */
export interface NotTaken {
  /** Contents that the origin does not have: it has freed them, or withholds them. */
  readonly gone: readonly Hash[];
  /** Contents that are not wanted here. */
  readonly unwanted: readonly Hash[];
}

/** Rules for taking the contents of events. Lines are always taken. */
export interface TakeRules {
  /** Selects the paths whose contents are taken. Default: all paths. */
  readonly wants?: WantsPath | undefined;
  /** Called with the number of a base's entries whose contents are here. Must not throw. */
  readonly onReceived?: ((done: number, total: number) => void) | undefined;
  /** Workers that write future files while their contents come. */
  readonly early?: EarlyFiles | undefined;
}

/**
 * Number of base batches (of at most 4,096 rows) whose contents are taken together. Between two such groups no request
 * is under way, and a file whose content came with an earlier group cannot be written early.
 */
const GROUP_BATCHES = 24;

/** Stores the wanted contents that events name in the replica's blobs, before the events' lines are taken. */
export class EventContents {
  readonly #blobs: BlobStore;
  readonly #intake: ContentIntake;
  readonly #wants: WantsPath;
  readonly #onReceived: TakeRules["onReceived"];
  readonly #early: EarlyFiles | undefined;

  constructor(blobs: BlobStore, intake: ContentIntake, { wants = () => true, onReceived, early }: TakeRules = {}) {
    this.#blobs = blobs;
    this.#intake = intake;
    this.#wants = wants;
    this.#onReceived = onReceived;
    this.#early = early;
  }

  /**
   * Resolves once all wanted and available contents are durable, as `ContentIntake.ensure`. Rejects with `UNAVAILABLE`
   * if an event's base is not available: the history cannot be known without it.
   */
  async take(arrived: readonly ArrivedEvent[]): Promise<NotTaken> {
    const inline = new Map<Hash, Uint8Array>();
    const [hashes, unwanted]: [Hash[], Hash[]] = [[], []];
    const erasures = erasuresAmong(arrived);
    for (const { event, inline: content } of arrived) {
      const path = pathOfRecordId(event.recordId);
      const isWanted = path === undefined || this.#wants(path);
      if (isWanted && content !== undefined) inline.set(content.hash, content.bytes);
      for (const hash of contentsOf(event))
        (isWanted && !erasures.license(hash, event.seq) ? hashes : unwanted).push(hash);
    }
    const gone = await this.#intake.ensure({ hashes, inline });
    refuseBaseless(arrived, gone);
    try {
      await this.#takeBases(arrived, { gone, unwanted });
    } finally {
      await this.#early?.rest();
    }
    return { gone, unwanted };
  }

  /**
   * Asks again for contents that were not taken with their events; returns how many have come. The caller holds a
   * lease.
   */
  async takeAgain(hashes: readonly Hash[]): Promise<number> {
    return hashes.length - (await this.#intake.ensure({ hashes })).length;
  }

  /** Stores the content of a path, if it is wanted, before an event names it. Rejects as `ContentIntake.ensure`. */
  async takeAhead(path: WorkspacePath, { hash, bytes }: NonNullable<ArrivedEvent["inline"]>): Promise<void> {
    if (!this.#wants(path)) return;
    using _lease = await this.#blobs.lease();
    await this.#intake.ensure({ hashes: [hash], inline: new Map([[hash, bytes]]) });
  }

  /** Takes the contents that the rows of bases name; adds to those that were not taken. */
  async #takeBases(
    arrived: readonly ArrivedEvent[],
    { gone, unwanted }: { readonly gone: Hash[]; readonly unwanted: Hash[] },
  ): Promise<void> {
    for (const { event } of arrived) {
      const base = baseNamedBy(event);
      const reader = base === undefined ? undefined : await this.#blobs.open(base);
      if (reader === undefined) continue;
      const received = this.#progressOf(event);
      for await (const some of together(decodeBase(reader.pieces()))) {
        const rows = some.reduce((sum, { entries = [] }) => sum + entries.length, 0);
        this.#early?.expect(some.flatMap(({ entries = [] }) => this.#wanted(entries)));
        const taken = await this.takeRows(some, event, (contents) => received.within(contents, rows));
        received.all(rows);
        addAll(gone, taken.gone);
        addAll(unwanted, taken.unwanted);
      }
    }
  }

  #wanted(entries: NonNullable<BaseBatch["entries"]>): Entry[] {
    return entries.flatMap(({ path, entry }) => (entry !== undefined && this.#wants(path) ? [entry] : []));
  }

  /** Counts the entries of a base, whose event states their total. */
  #progressOf({ record }: Pick<LogEvent, "record">) {
    const total = typeof record["entries"] === "number" ? record["entries"] : 0;
    let before = 0;
    return {
      /** Reports the contents that have come for the next rows. There are fewer than rows, since folders have none. */
      within: (contents: number, rows: number) => this.#onReceived?.(before + Math.min(contents, rows), total),
      all: (rows: number) => this.#onReceived?.((before += rows), total),
    };
  }

  /** Like `take`, for rows of a base that an event names. */
  async takeRows(
    batches: readonly BaseBatch[],
    event: Pick<LogEvent, "seq">,
    onTaken?: (contents: number) => void,
  ): Promise<NotTaken> {
    const unwanted: Hash[] = [];
    const hashes = batches.flatMap((rows) => {
      const entries = rows.entries?.filter(({ path, entry }) => {
        const isWanted = entry?.hash === undefined || this.#wants(path);
        if (!isWanted && entry?.hash !== undefined) unwanted.push(entry.hash);
        return isWanted;
      });
      return contentsOfRows({ ...rows, ...optional({ entries }) }, event);
    });
    return { gone: await this.#intake.ensure({ hashes, ...optional({ onTaken }) }), unwanted };
  }
}

/** Collects the erasures that came with these events, so that their contents are not asked for. */
function erasuresAmong(arrived: readonly ArrivedEvent[]): Erasures {
  const erasures = new Erasures();
  for (const { event } of arrived)
    if (event.recordId.startsWith(ERASE)) erasures.add(event.recordId, event.seq, event.record);
  return erasures;
}

/**
 * Throws if a base is not available. The origin has compacted the event away while it was on its way, and freed its
 * base: whoever connects again gets the origin's new beginning. The base of a compaction is exempt, because it repeats
 * what is held, or comes with a reconciliation.
 */
function refuseBaseless(arrived: readonly ArrivedEvent[], gone: readonly Hash[]): void {
  for (const { event } of arrived) {
    const base = event.op === "compact" ? undefined : baseNamedBy(event);
    if (base === undefined || !gone.includes(base)) continue;
    throw new ChronicleError("UNAVAILABLE", `the origin has freed the base of its event ${event.seq} by now`, {
      hint: "it is asked anew; if it does not end, `chronicle verify` at the origin says what is missing there",
      data: { seq: event.seq },
    });
  }
}

/** Groups the batches of a base: the contents of a group are asked for, and made durable, together. */
async function* together(batches: AsyncIterable<BaseBatch>): AsyncGenerator<readonly BaseBatch[], void> {
  let held: BaseBatch[] = [];
  for await (const batch of batches) {
    if (held.push(batch) < GROUP_BATCHES) continue;
    yield held;
    held = [];
  }
  if (held.length > 0) yield held;
}
