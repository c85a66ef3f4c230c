import { ChronicleError } from "../../core/values/errors.ts";
import type { Hash } from "../../core/values/hash.ts";
import { compareNames, type WorkspacePath } from "../../core/values/path.ts";
import { asFatal, type Channel } from "../channel.ts";
import { anyPathFromFields, pathToFields } from "../protocol/message-fields.ts";
import { MAX_FOLDERS, MAX_HEAD_BYTES } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { nameFromFields, nameToFields } from "../protocol/tree-messages.ts";
import { Patience } from "../contents/patience.ts";
import { optional } from "../../util/optional.ts";

export interface WantedFolder {
  readonly path: WorkspacePath;
  readonly hash: Hash | undefined;
}

/**
 * The maximum total length, in bytes, of the folders in the head of one request. The other fields need the rest of the
 * head.
 */
const MOST_BYTES = MAX_HEAD_BYTES - 1024;

type WantedFields = MessageOf<"TreeRequest">["folders"][number];
type Page = MessageOf<"TreeResponse">["folders"][number];
export type TreeChild = Page["children"][number];

/**
 * A folder of the origin, with all of its children. `children` may be empty if the folder has the wanted hash and is
 * not `touched`. A folder is touched if something in the folder has an event after the replica's last event.
 */
export interface FetchedFolder {
  readonly path: WorkspacePath;
  readonly hash: Hash | null;
  readonly touched: boolean;
  readonly children: readonly TreeChild[];
}

interface Pending {
  readonly folder: WantedFolder;
  readonly children: TreeChild[];
  readonly resolve: (folder: FetchedFolder) => void;
  readonly reject: (error: ChronicleError) => void;
}

/**
 * Fetches folders of the origin's state during a full reconciliation. In a full reconciliation, a replica that cannot
 * follow the events any more takes over that state.
 */
export class TreeFetch {
  readonly #channel: Channel;
  readonly #state: { readonly sequence: number; readonly since: number };
  readonly #pending = new Map<WorkspacePath, Pending>();
  readonly #patience: Patience;
  #end: ChronicleError | undefined;

  /** The state after event `sequence` is requested. `since` is the last event that this replica holds. */
  constructor(channel: Channel, state: { readonly sequence: number; readonly since: number }) {
    this.#channel = channel;
    this.#patience = new Patience(channel);
    this.#state = state;
  }

  /** Returns the folders in the given order. Rejects with `UNAVAILABLE` if the session ends. */
  async get(folders: readonly WantedFolder[]): Promise<FetchedFolder[]> {
    if (this.#end !== undefined) throw this.#end;
    const answers = folders.map(
      (folder) =>
        new Promise<FetchedFolder>((resolve, reject) =>
          this.#pending.set(folder.path, { folder, children: [], resolve, reject }),
        ),
    );
    this.#ask(folders.map(({ path }) => path));
    return Promise.all(answers);
  }

  took({ sequence, folders }: MessageOf<"TreeResponse">): void {
    if (sequence !== this.#state.sequence) return;
    this.#patience.heard();
    for (const page of folders) this.#page(page);
  }

  /** Called with each heartbeat. Repeats overdue requests. */
  beat(): void {
    if (!this.#patience.isOver() || this.#pending.size === 0) return;
    this.#ask([...this.#pending.keys()]);
  }

  end(): void {
    this.#endWith(new ChronicleError("UNAVAILABLE", "the connection ended before all folders had come"));
  }

  #endWith(error: ChronicleError): void {
    this.#end ??= error;
    for (const { reject } of this.#pending.values()) reject(this.#end);
    this.#pending.clear();
  }

  #page(page: Page): void {
    const path = anyPathFromFields(page);
    const pending = this.#pending.get(path);
    // The page is a repetition, because no request waits for it.
    if (pending === undefined) return;
    const known = pending.children.length;
    for (const child of page.children) if (isBehind(child, pending.children.at(-1))) pending.children.push(child);
    if (page.more) {
      if (pending.children.length > known) this.#ask([path]);
      return;
    }
    this.#pending.delete(path);
    const { hash, touched } = page;
    pending.resolve({ path, hash, touched, children: pending.children });
  }

  #ask(paths: readonly WorkspacePath[]): void {
    const wanted = paths.flatMap((path) => this.#fieldsOf(path) ?? []);
    for (const folders of batchesOf(wanted)) {
      const request = { type: "TreeRequest", ...this.#state, folders } as const;
      // Reject the callers, because a request that cannot be sent is never answered.
      this.#channel.send(request).catch((error: unknown) => this.#endWith(asFatal(error)));
    }
  }

  #fieldsOf(path: WorkspacePath): WantedFields | undefined {
    const pending = this.#pending.get(path);
    if (pending === undefined) return undefined;
    const { hash } = pending.folder;
    const last = pending.children.at(-1);
    const { name: after, name_b64: after_b64 } = last === undefined ? {} : nameToFields(nameFromFields(last));
    return {
      ...pathToFields(path),
      ...optional({ after, after_b64, hash }),
    };
  }
}

/** Packs folders, in order, into as few requests as the limits of a frame allow. */
function* batchesOf(folders: readonly WantedFields[]): Generator<WantedFields[], void> {
  let batch: WantedFields[] = [];
  let bytes = 0;
  for (const folder of folders) {
    const own = Buffer.byteLength(JSON.stringify(folder)) + 1;
    if (batch.length === MAX_FOLDERS || (batch.length > 0 && bytes + own > MOST_BYTES)) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(folder);
    bytes += own;
  }
  if (batch.length > 0) yield batch;
}

/** True if the child comes after `last` in the order of names. False for a child that was sent twice. */
function isBehind(child: TreeChild, last: TreeChild | undefined): boolean {
  return last === undefined || compareNames(nameFromFields(child), nameFromFields(last)) > 0;
}
