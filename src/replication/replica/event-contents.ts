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

export interface ArrivedEvent<Event extends LogEvent = LogEvent> {
  readonly event: Event;
  /** The content, if it arrived together with the event. Its hash is already checked. */
  readonly inline: { readonly hash: Hash; readonly bytes: Uint8Array } | undefined;
}

type WantsPath = (path: WorkspacePath) => boolean;

/** The contents that events name and that this replica did not store. */
export interface NotTaken {
  /** The contents that the origin no longer has, or withholds. */
  readonly gone: readonly Hash[];
  /** The contents that the rules leave out or an erasure covers. */
  readonly unwanted: readonly Hash[];
}

/** The rules for storing the contents of events. Lines are always stored. */
export interface TakeRules {
  /** The paths whose contents are stored. Default: all. */
  readonly wants?: WantsPath | undefined;
  /**
   * Called with the number of entries of a base whose contents are stored (`done`), and with the number of all its
   * entries (`total`). Must not throw.
   */
  readonly onReceived?: ((done: number, total: number) => void) | undefined;
  /** Workers that write the files of a base early, while further contents are fetched. */
  readonly early?: EarlyFiles | undefined;
}

/**
 * The number of batches of a base (of at most 4,096 rows each) whose contents are stored together, as a group. Groups
 * are large for two reasons. Between two groups, no request is under way, and the connection is idle. A file whose
 * content came with an earlier group is not written early.
 */
const GROUP_BATCHES = 24;

/** Stores the contents that events name and the rules select. Runs before the lines of the events are stored. */
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
   * Stores the contents of events. Rejects as `ContentIntake.ensure` does. Rejects with `UNAVAILABLE` if the origin
   * does not have the base of an event, because the state after the event is unknown without the base. Only the base of
   * a compaction may be missing (see `refuseBaseless`).
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
   * Requests contents that were not stored with their events. Returns how many of these contents are stored now. The
   * caller must hold a lease.
   */
  async takeAgain(hashes: readonly Hash[]): Promise<number> {
    return hashes.length - (await this.#intake.ensure({ hashes })).length;
  }

  /**
   * Stores a content before the event that names it, if the rules select the path. Rejects as `ContentIntake.ensure`
   * does.
   */
  async takeAhead(path: WorkspacePath, { hash, bytes }: NonNullable<ArrivedEvent["inline"]>): Promise<void> {
    if (!this.#wants(path)) return;
    using _lease = await this.#blobs.lease();
    await this.#intake.ensure({ hashes: [hash], inline: new Map([[hash, bytes]]) });
  }

  /**
   * Stores the contents that the bases of the events name. Adds the contents that are not stored to `gone` or
   * `unwanted`.
   */
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

  /**
   * Returns functions that report the progress over the entries of a base. The total is in the event that names the
   * base.
   */
  #progressOf({ record }: Pick<LogEvent, "record">) {
    const total = typeof record["entries"] === "number" ? record["entries"] : 0;
    let before = 0;
    return {
      /**
       * Reports that this many `contents` of the next `rows` rows are stored. The number can stay below `rows`, because
       * folders have no content. Only `all` reports every row.
       */
      within: (contents: number, rows: number) => this.#onReceived?.(before + Math.min(contents, rows), total),
      all: (rows: number) => this.#onReceived?.((before += rows), total),
    };
  }

  /** Stores the contents of rows of a base. `event` is the event that names the base. */
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

/** Returns the erasures among these events. Erased contents are not requested. */
function erasuresAmong(arrived: readonly ArrivedEvent[]): Erasures {
  const erasures = new Erasures();
  for (const { event } of arrived)
    if (event.recordId.startsWith(ERASE)) erasures.add(event.recordId, event.seq, event.record);
  return erasures;
}

/**
 * Throws `UNAVAILABLE` if the origin does not have the base of an event. This happens if the origin, while it sends the
 * event, compacts the event away and frees its base. Over a new connection, this replica gets the history as it begins
 * after the compaction.
 *
 * The base of a compaction may be missing. This replica already holds the state that is in that base, or gets this
 * state by a full reconciliation.
 */
function refuseBaseless(arrived: readonly ArrivedEvent[], gone: readonly Hash[]): void {
  for (const { event } of arrived) {
    const base = event.op === "compact" ? undefined : baseNamedBy(event);
    if (base === undefined || !gone.includes(base)) continue;
    throw new ChronicleError("UNAVAILABLE", `the origin has freed the base of its event ${event.seq} by now`, {
      hint: "this replica asks again by itself; if that does not help, run `chronicle verify` at the origin",
      data: { seq: event.seq },
    });
  }
}

async function* together(batches: AsyncIterable<BaseBatch>): AsyncGenerator<readonly BaseBatch[], void> {
  let held: BaseBatch[] = [];
  for await (const batch of batches) {
    if (held.push(batch) < GROUP_BATCHES) continue;
    yield held;
    held = [];
  }
  if (held.length > 0) yield held;
}

/**
 * Returns the contents that an event needs: `verify` would report them as missing if the store lacked them. Leaves out
 * the contents that the rows of the event's base name (`contentsOfRows`). An event that withdraws an erasure needs the
 * contents that were erased.
 */
export function contentsOf(event: LogEvent): readonly Hash[] {
  if (!event.recordId.startsWith(ERASE)) return collect((needs) => needs.event(event, ""));
  const { state, contents } = decodeErase(event.record);
  return state === "withdrawn" ? contents : [];
}

function baseNamedBy(event: LogEvent): Hash | undefined {
  return baseOf(event);
}

/** Returns the contents that rows of a base need. `event` is the event that names the base. */
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
