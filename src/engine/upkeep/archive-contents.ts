import { decodeBase, type BaseBatch } from "../../core/log/base.ts";
import { checkLine } from "../../core/log/chain.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HEAD, type Head, type LogEvent } from "../../core/values/event.ts";
import { type Hash, isHash } from "../../core/values/hash.ts";
import type { ProtectedNames } from "../../core/filter/protected-names.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import { pathOfOutsideId } from "../../core/records/outside-record.ts";
import type { RecordBody } from "../../core/values/canonical-json.ts";
import type { Context } from "../log/context.ts";
import { type GivenUp, HistoryNeeds, privateContentsLeft } from "../log/history-needs.ts";
import { baseOf } from "../log/project.ts";
import { givenUpIn } from "../log/recorded-prunings.ts";
import { protectedNames } from "../state/protected.ts";

/**
 * The class of a content in an archive. The class does not tell whether a content is protected. The export derives
 * this from the names of the files that have the content.
 */
type Class = "ordinary" | "private";

/** The lines of a history up to its head, and every content that it needs. */
export interface HistoryToArchive {
  readonly first: number;
  readonly head: Head;
  /** The length, in bytes, of all lines with their newlines. */
  readonly logBytes: number;
  /** The needed contents, in the order in which the history names them first. */
  readonly contents: ReadonlyMap<Hash, Class>;
  /** Contents that are protected because of the names of their paths, such as private contents of `.env`. */
  readonly secrets: ReadonlySet<Hash>;
  /** Contents that may be missing in this store, because only the origin of a sync has to keep them. */
  readonly upstream: ReadonlySet<Hash>;
  /**
   * The names of the files in quarantine that the history names, each once, in ascending order. Such a file has the
   * bytes that a recovery cut off the end of the log.
   */
  readonly quarantined: readonly string[];
}

/**
 * Reads a history from its first line up to `head`, and finds the contents that it needs, as `gc` and `verify` do.
 * Throws `LOG_DAMAGED` if a line is damaged, and `BLOB_MISSING` if a base is not in the store.
 */
export async function historyToArchive(context: Context, head: Head): Promise<HistoryToArchive> {
  const reading = new Reading(context, await protectedNames(context), await givenUpIn(context));
  let prev: Head | undefined;
  let first = 0;
  let logBytes = 0;
  for await (const bytes of linesUpTo(context, head)) {
    const event = nextEvent(bytes, prev);
    if (prev === undefined) first = event.seq;
    prev = event;
    logBytes += bytes.length + 1;
    await reading.event(event);
  }
  if (prev?.seq !== head.seq || prev.hash !== head.hash) {
    throw new ChronicleError("LOG_DAMAGED", `the log does not reach event ${head.seq}`, {
      hint: "run `chronicle verify`",
    });
  }
  return { first, head, logBytes, ...(await reading.finish()) };
}

/** Yields the lines of a history, without their newlines, from its oldest line up to the line of `head`. */
export async function* linesUpTo({ log }: Pick<Context, "log">, head: Head): AsyncGenerator<Buffer, void> {
  for await (const lines of log.read({ seq: 1, offset: 0 })) {
    for (const { bytes } of lines) {
      yield bytes;
      if (bytes.toString("latin1", HASH_AT, HASH_AT + head.hash.length) === head.hash) return;
    }
  }
}

/** The offset of an event's hash in its line: behind `{"hash":"`. */
const HASH_AT = 9;

function nextEvent(bytes: Uint8Array, prev: Head | undefined): LogEvent {
  const checked = checkLine(bytes, prev ?? EMPTY_HEAD);
  if ("event" in checked) return checked.event;
  const { event, detail } = checked.fault;
  if (prev === undefined && event?.op === "compact") return event;
  throw new ChronicleError("LOG_DAMAGED", `the log is damaged behind event ${prev?.seq ?? 0}: ${detail}`, {
    hint: "nothing was exported; run `chronicle verify` for the whole list",
  });
}

class Reading {
  readonly #context: Context;
  readonly #needs: HistoryNeeds;
  readonly #contents = new Map<Hash, Class>();
  readonly #upstream = new Set<Hash>();
  readonly #own = new Set<Hash>();
  readonly #outside = new Set<Hash>();
  readonly #secrets = new Set<Hash>();
  readonly #names: ProtectedNames;
  readonly #quarantined = new Set<string>();

  constructor(context: Context, names: ProtectedNames, givenUp: GivenUp) {
    this.#context = context;
    this.#names = names;
    this.#needs = new HistoryNeeds(givenUp, ({ hash, isUpstream }) => {
      if (!this.#contents.has(hash)) this.#contents.set(hash, "ordinary");
      (isUpstream ? this.#upstream : this.#own).add(hash);
    });
  }

  async event(event: LogEvent): Promise<void> {
    this.#note(event);
    this.#needs.event(event, "");
    const base = baseOf(event);
    if (base !== undefined) await this.#base(base, event);
  }

  async finish(): Promise<Pick<HistoryToArchive, "contents" | "secrets" | "upstream" | "quarantined">> {
    this.#needs.finish();
    await this.#setApartOutside();
    const { blobs } = this.#context;
    for await (const { hash, path } of privateContentsLeft(blobs, this.#needs, this.#context.now())) {
      if (!this.#contents.has(hash)) this.#contents.set(hash, "private");
      if (path !== undefined) this.#noteSecret(hash, path);
    }
    const upstream = new Set([...this.#upstream].filter((hash) => !this.#own.has(hash)));
    return { contents: this.#contents, secrets: this.#secrets, upstream, quarantined: [...this.#quarantined].sort() };
  }

  /**
   * Marks contents of files outside of the workspace as private, unless a file of the workspace has the same content.
   */
  async #setApartOutside(): Promise<void> {
    const hashes = [...this.#outside].filter((hash) => this.#contents.has(hash));
    const inside = await this.#context.index.withContents(hashes);
    for (const hash of hashes) if (!inside.has(hash)) this.#contents.set(hash, "private");
  }

  #note({ recordId, record }: { readonly recordId: string; readonly record: RecordBody }): void {
    const { hash, kept_as: keptAs } = record;
    const path = pathOfOutsideId(recordId);
    if (path !== undefined && typeof hash === "string" && isHash(hash)) {
      this.#outside.add(hash);
      this.#noteSecret(hash, path);
    }
    if (recordId.startsWith("recovery:") && typeof keptAs === "string") this.#quarantined.add(keptAs);
  }

  #noteSecret(hash: Hash, path: WorkspacePath): void {
    if (this.#names.holds(path)) this.#secrets.add(hash);
  }

  async #base(base: Hash, event: LogEvent): Promise<void> {
    const reader = await this.#context.blobs.open(base);
    if (reader === undefined) {
      throw new ChronicleError("BLOB_MISSING", `the base ${base} of event ${event.seq} is not in the store`, {
        hint: "run `chronicle verify` to see what else is missing",
        data: { hash: base },
      });
    }
    for await (const batch of decodeBase(reader.pieces())) this.#rows(batch, event);
  }

  #rows(batch: BaseBatch, event: LogEvent): void {
    for (const record of batch.records ?? []) this.#note(record);
    this.#needs.rows(batch, event, "");
  }
}
