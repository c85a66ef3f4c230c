import type { BaseRecord } from "../../core/log/base.ts";
import type { Head } from "../../core/values/event.ts";
import type { Hash } from "../../core/values/hash.ts";
import type { WorkspacePath } from "../../core/values/path.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { asFatal, type Channel } from "../channel.ts";
import { anyPathFromFields, pathToFields } from "../protocol/message-fields.ts";
import { MAX_CHILDREN, MAX_HEAD_BYTES, MAX_PIECE_BYTES } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { nameFromFields, nameToFields } from "../protocol/tree-messages.ts";
import { optional } from "../../util/optional.ts";

type FoldersRequest = MessageOf<"TreeRequest">;
type Request = FoldersRequest | MessageOf<"ErasuresRequest">;
type Response = MessageOf<"TreeResponse"> | MessageOf<"ErasuresResponse">;
type Listing = MessageOf<"TreeResponse">["folders"][number];
type Child = Listing["children"][number];
type Anchor = NonNullable<MessageOf<"FullResyncRequired">["anchor"]>;

const MAX_WAITING = 64;

/**
 * The maximum number of counted bytes in one answer. An answer is the head (JSON) of a frame. 64 KiB of the head are
 * reserved for fields that are not counted.
 */
const MOST_BYTES = MAX_HEAD_BYTES - 64 * 1024;

/** The bytes that are counted for a folder in addition to its path and children. */
const FOLDER_BYTES = 256;

/**
 * Answers the requests of a replica that reconciles in full: instead of following the events, the replica compares its
 * folders with a present state of the origin. Answers one request at a time, so that at most one answer to a slow
 * replica is in memory.
 */
export class TreeServer {
  /** True if the capability `times` was agreed on. */
  sendsExactTimes = false;
  readonly #channel: Channel;
  readonly #trees: TreeSource;
  readonly #waiting: Request[] = [];
  #anchor: TreeAnchor | undefined;
  /** The seq of the last state that `end` has ended; -1 if no state has ended yet. */
  #ended = -1;
  #view: { readonly sequence: number; readonly since: number; readonly view: TreeView } | undefined;
  #isServing = false;

  constructor(channel: Channel, trees: TreeSource) {
    this.#channel = channel;
    this.#trees = trees;
  }

  /**
   * Begins a reconciliation, and returns the present state. Until `end` ends this state, further calls return the same
   * state, and requests about it are answered.
   */
  async begin(): Promise<{ readonly sequence: number; readonly anchor: Anchor }> {
    const { seq, hash, root, frontier, record } = (this.#anchor ??= await this.#trees.anchor());
    const { record: body, seq: sequence, ts } = record;
    return { sequence: seq, anchor: { event_hash: hash, root, frontier: [...frontier], record: body, sequence, ts } };
  }

  /**
   * Must be called when the replica holds the events up to `reached`. If these include the state that `begin` has
   * returned, ends this state. The next `begin` then returns a later state.
   */
  end(reached: number): void {
    if (this.#anchor === undefined || reached < this.#anchor.seq) return;
    this.#ended = this.#anchor.seq;
    this.#anchor = undefined;
    this.#view = undefined;
  }

  /**
   * Queues a request. Throws `LIMIT_EXCEEDED` if too many requests wait, and `USAGE` if the request is about a state
   * that `begin` has not returned.
   */
  ask(request: Request): void {
    // Requests about an ended state are ignored. A network can repeat a frame, even after another reconciliation has
    // begun.
    if (this.#anchor === undefined) return;
    if (request.sequence !== this.#anchor.seq) {
      if (request.sequence <= this.#ended) return;
      throw new ChronicleError(
        "USAGE",
        `the state after event ${request.sequence} is asked for, which was not offered`,
      );
    }
    if (this.#waiting.length >= MAX_WAITING) {
      throw new ChronicleError("LIMIT_EXCEEDED", `more than ${MAX_WAITING} requests about a state are waiting`);
    }
    this.#waiting.push(request);
    if (!this.#isServing) void this.#serve();
  }

  async #serve(): Promise<void> {
    this.#isServing = true;
    try {
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        for await (const answer of this.#answers(next)) await this.#channel.send(answer);
      }
    } catch (error) {
      this.#waiting.length = 0;
      this.#channel.close(asFatal(error));
    } finally {
      this.#isServing = false;
    }
  }

  readonly #childToFields = (child: ListedChild): Child => {
    const { mtimeRestNs = 0 } = child.row.entry ?? {};
    const fields = childToFields(child);
    return this.sendsExactTimes && mtimeRestNs !== 0 ? { ...fields, mtime_ns: mtimeRestNs } : fields;
  };

  async *#answers(request: Request): AsyncGenerator<Response, void> {
    if (request.type === "TreeRequest") yield* this.#listings(request);
    else yield* this.#erasures(request);
  }

  /** Yields a piece of the erasures (see `TreeAnchor.erasures`). Yields nothing if the reconciliation has ended. */
  *#erasures({ sequence, offset }: MessageOf<"ErasuresRequest">): Generator<MessageOf<"ErasuresResponse">, void> {
    if (this.#anchor?.seq !== sequence) return;
    const { erasures } = this.#anchor;
    if (offset > erasures.length) {
      throw new ChronicleError("USAGE", `erasures are asked for from byte ${offset} on, and end at ${erasures.length}`);
    }
    const rows = erasures.subarray(offset, offset + MAX_PIECE_BYTES);
    yield { type: "ErasuresResponse", sequence, offset, total: erasures.length, rows };
  }

  /**
   * Yields the listings of the requested folders, in one or more messages. A folder whose children do not all fit into
   * a message is the last folder of the message.
   */
  async *#listings({ sequence, since, folders }: FoldersRequest): AsyncGenerator<MessageOf<"TreeResponse">, void> {
    const view = await this.#viewSince(sequence, since);
    let answer = new Answer();
    for (const fields of folders) {
      const asked = askedFrom(fields);
      const { hash, touched, children } = await view.list(asked);
      const listing = { path: asked.path, hash: hash ?? null, touched, children: children.map(this.#childToFields) };
      if (!answer.hasRoom) {
        yield { type: "TreeResponse", sequence, folders: answer.folders };
        answer = new Answer();
      }
      answer.add(listing);
    }
    yield { type: "TreeResponse", sequence, folders: answer.folders };
  }

  async #viewSince(sequence: number, since: number): Promise<TreeView> {
    if (this.#view?.sequence !== sequence || this.#view.since !== since)
      this.#view = { sequence, since, view: await this.#trees.view(sequence, since) };
    return this.#view.view;
  }
}

class Answer {
  readonly folders: Listing[] = [];
  #children = 0;
  #bytes = 0;

  /** True while less than half of the answer is used, so that another folder can be added. */
  get hasRoom(): boolean {
    return this.#children < MAX_CHILDREN / 2 && this.#bytes < MOST_BYTES / 2;
  }

  /** Adds a folder with as many of its children as fit. */
  add({ path, children, ...rest }: Pick<Listing, "hash" | "touched" | "children"> & { readonly path: WorkspacePath }) {
    const fields = pathToFields(path);
    this.#bytes += FOLDER_BYTES + jsonBytes(fields);
    const taken: Child[] = [];
    for (const child of children) {
      const bytes = jsonBytes(child) + 1;
      if (this.#children >= MAX_CHILDREN || this.#bytes + bytes > MOST_BYTES) break;
      this.#children += 1;
      this.#bytes += bytes;
      taken.push(child);
    }
    this.folders.push({ ...fields, ...rest, children: taken, more: taken.length < children.length });
  }
}

function jsonBytes(value: object): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function askedFrom(fields: FoldersRequest["folders"][number]): AskedFolder {
  const { after, after_b64 } = fields;
  const isPaged = after !== undefined || after_b64 !== undefined;
  return {
    path: anyPathFromFields(fields),
    after: isPaged ? nameFromFields({ name: after, name_b64: after_b64 }) : undefined,
    hash: fields.hash,
  };
}

function childToFields({ name, row, hash, touched }: ListedChild): Child {
  const { entry, seq: sequence, iteration } = row;
  return {
    ...nameToFields(name),
    kind: entry?.kind ?? "absent",
    permissions: entry?.mode ?? 0,
    size: entry?.size ?? 0,
    mtime_ms: entry?.mtimeMs ?? 0,
    hash: hash ?? null,
    sequence,
    iteration,
    ...optional({ touched }),
    ...(entry?.class === undefined ? {} : { class: entry.class }),
  };
}

/** The state at which a full reconciliation ends: the origin's state at the beginning of the reconciliation. */
export interface TreeAnchor extends Head {
  readonly hash: Hash;
  readonly root: Hash;
  readonly frontier: readonly Hash[];
  readonly record: BaseRecord;
  /**
   * The last event of each `erase:` record up to the state, as record rows of a base. Because the size is limited
   * (`MAX_ERASURES_BYTES`), the earliest of these events can be missing.
   */
  readonly erasures: Buffer;
}

export interface AskedFolder {
  readonly path: WorkspacePath;
  /** The name after which the listing begins; `undefined` if the listing begins with the first name. */
  readonly after: string | undefined;
  /** The folder's Merkle hash at the replica. */
  readonly hash: Hash | undefined;
}

/**
 * A child of a listed folder. `row.entry` is `undefined` for a path that was deleted after the replica's last event.
 */
export interface ListedChild {
  readonly name: string;
  readonly row: IterationRow;
  /** The hash of the content, the link target, or the folder. */
  readonly hash: Hash | undefined;
  /**
   * True if something in the folder has an event after the replica's last event. Set only for folders, and for paths
   * that were folders.
   */
  readonly touched: boolean | undefined;
}

/** A listed folder. `hash` is undefined if the state has no such folder. */
export interface ListedFolder {
  readonly hash: Hash | undefined;
  /** True if something in the folder has an event after the replica's last event. */
  readonly touched: boolean;
  /** The children, sorted by name. Empty if the folder has the replica's hash and is not touched. */
  readonly children: readonly ListedChild[];
}

export interface TreeSource {
  /**
   * Returns the present state. `view` accepts the state's seq until the lines of the log up to the state are dropped.
   */
  anchor(): Promise<TreeAnchor>;
  /**
   * Returns the state after event `seq`, for a replica that holds the events up to `since`. If `since` is 0 (no event),
   * every deletion is new to the replica. This method and the returned view reject with `UNAVAILABLE` once the lines of
   * the log up to that state are dropped.
   */
  view(seq: number, since: number): Promise<TreeView>;
}

/** A view of a state, in which everything that has changed since an earlier event is marked as touched. */
export interface TreeView {
  list(folder: AskedFolder): Promise<ListedFolder>;
}
