import type { BaseRecord } from "../../core/log/base.ts";
import type { Entry } from "../../core/values/entry.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import type { HistoryAnchor } from "../../core/log/history-anchor.ts";
import { LogTree } from "../../core/log/log-tree.ts";
import {
  childOf,
  comparePaths,
  foldersAbove,
  parentOf,
  pathInRoot,
  ROOT,
  type WorkspacePath,
} from "../../core/values/path.ts";
import { decodeWorkspace } from "../../core/records/workspace-record.ts";
import type { BlobStore } from "../../storage/blob-store.ts";
import type { IterationRow } from "../../storage/index-store.ts";
import { ahead } from "../../util/ahead.ts";
import { addAll } from "../../util/long-lists.ts";
import { storeBase } from "../../engine/upkeep/write-base.ts";
import { MAX_FOLDERS } from "../protocol/limits.ts";
import type { MessageOf } from "../protocol/messages.ts";
import { nameFromFields } from "../protocol/tree-messages.ts";
import type { EventContents, NotTaken } from "./event-contents.ts";
import type { Mirror } from "./mirror.ts";
import type { FetchedFolder, TreeChild, TreeFetch, WantedFolder } from "./tree-fetch.ts";

/** The state at which a full reconciliation ends. */
export interface ResyncGoal {
  readonly workspace: string;
  readonly sequence: number;
  readonly anchor: NonNullable<MessageOf<"FullResyncRequired">["anchor"]>;
}

export interface ResyncParts {
  readonly mirror: Mirror;
  readonly blobs: BlobStore;
  readonly fetch: TreeFetch;
  /** The origin's erasures as of the goal, by seq. Omitted if the capability `erasures` was not agreed on. */
  readonly erasures?: (() => Promise<readonly BaseRecord[]>) | undefined;
  readonly contents: EventContents;
  /** Called with the contents that are not stored, before the new state is stored. */
  readonly note: (left: NotTaken) => void;
}

const PARALLEL = 4;
/** The number of rows whose contents are stored together. */
const ROWS = 20_000;

/**
 * A full reconciliation of a mirror that cannot follow the origin's events any more:
 *
 * 1. Compare the mirror with the origin's present state, folder by folder, from the roots on. Request only folders in
 *    which something differs, or was touched after the mirror's head.
 * 2. Fetch the contents.
 * 3. Store the state as a base. The base must have the Merkle root that the origin has named.
 * 4. Start the mirror anew on that base. Until then, the mirror is unchanged.
 */
export class TreeResync {
  readonly #parts: ResyncParts;
  readonly #goal: ResyncGoal;
  /**
   * Maps each path to its last iteration. At first, all rows come from the mirror. In the end, all rows come from the
   * origin.
   */
  readonly #rows = new Map<WorkspacePath, IterationRow>();
  /**
   * Maps each folder to some of its children in the mirror: those that exist, and those with an existing path beneath
   * them. A path beneath a deleted folder can exist if the mirror ends in the middle of a commit.
   */
  readonly #held = new Map<WorkspacePath, Set<WorkspacePath>>();
  /** The rows of paths whose content at the origin differs from their content in the mirror. */
  readonly #changed: IterationRow[] = [];

  constructor(parts: ResyncParts, goal: ResyncGoal) {
    this.#parts = parts;
    this.#goal = goal;
  }

  /**
   * Rejects with `INTEGRITY_VIOLATION` if the origin's listings do not add up to the root that the origin has named.
   */
  async run(): Promise<void> {
    const { mirror, blobs, note, contents } = this.#parts;
    const { anchor, sequence, workspace } = this.#goal;
    const { record, sequence: recordSeq, ts } = anchor;
    // Throws for a frontier that is impossible for this number of events.
    void new LogTree(anchor.frontier, sequence);
    const roots = decodeWorkspace(record).roots.map(({ id }) => id ?? undefined);
    using _lease = await blobs.lease();
    const erasures = (await this.#parts.erasures?.()) ?? [];
    await this.#readMirror();
    await this.#descend(roots.map((id) => pathInRoot(id, ROOT)));
    for (let at = 0; at < this.#changed.length; at += ROWS) {
      note(await contents.takeRows([{ entries: this.#changed.slice(at, at + ROWS) }], { seq: sequence }));
    }
    const rows = [...this.#rows.values()].sort((a, b) => comparePaths(a.path, b.path));
    const own = { recordId: `workspace:${workspace}`, seq: recordSeq, ts, op: "upsert" as const, record };
    const records = [own, ...erasures].sort((a, b) => a.seq - b.seq);
    const { base, root } = await storeBase(blobs, { rows, records, roots }, (computed) => {
      if (computed !== anchor.root)
        violated(`the state that the origin lists has the root ${computed}, not ${anchor.root}`);
    });
    const start: HistoryAnchor = {
      workspace,
      seq: sequence,
      hash: anchor.event_hash,
      ts,
      root,
      base,
      frontier: anchor.frontier,
    };
    await mirror.startAt(start);
  }

  /**
   * Reads the last iteration of each path of the mirror. Includes deleted paths, because the numbers of the iterations
   * go on if a deleted path is made again.
   */
  async #readMirror(): Promise<void> {
    const { mirror } = this.#parts;
    const { seq } = mirror.head;
    for (const row of await mirror.iterationsAt(await mirror.touched(0, seq), seq)) {
      if (row === undefined) continue;
      this.#rows.set(row.path, row);
      if (row.entry !== undefined) this.#hold(row.path);
    }
  }

  #hold(path: WorkspacePath): void {
    for (const at of [path, ...foldersAbove(path)]) {
      const siblings = this.#held.get(parentOf(at)) ?? new Set();
      if (siblings.has(at)) return;
      this.#held.set(parentOf(at), siblings.add(at));
    }
  }

  /** Compares the folders level by level, so that each level needs few requests. */
  async #descend(roots: readonly WorkspacePath[]): Promise<void> {
    const { fetch } = this.#parts;
    let level: WantedFolder[] = [];
    for (const path of roots) level.push(await this.#wanted(path));
    while (level.length > 0) {
      const next: WantedFolder[] = [];
      const batches: WantedFolder[][] = [];
      for (let at = 0; at < level.length; at += MAX_FOLDERS) batches.push(level.slice(at, at + MAX_FOLDERS));
      const asked = new Map(level.map(({ path, hash }) => [path, hash]));
      for await (const folders of ahead(batches, PARALLEL, (batch) => fetch.get(batch))) {
        for (const folder of folders) {
          const isSame = folder.hash !== null && folder.hash === asked.get(folder.path) && !folder.touched;
          if (!isSame) addAll(next, await this.#take(folder));
        }
      }
      level = next;
    }
  }

  async #wanted(path: WorkspacePath): Promise<WantedFolder> {
    return { path, hash: await this.#parts.mirror.treeHash(path) };
  }

  /** Takes the rows of a listed folder. Returns the subfolders that must be requested next. */
  async #take({ path: folder, children }: FetchedFolder): Promise<WantedFolder[]> {
    const next: WantedFolder[] = [];
    const gone = new Set(this.#held.get(folder));
    for (const child of children) {
      const path = childOf(folder, nameFromFields(child));
      gone.delete(path);
      const before = this.#rows.get(path)?.entry;
      const row = rowOf(path, child);
      this.#rows.set(path, row);
      if (row.entry?.hash !== undefined && row.entry.hash !== before?.hash) this.#changed.push(row);
      // A path that is not a folder at the origin is needed only in two cases: the mirror has a path beneath it, or
      // something beneath it was touched.
      if (child.kind !== "dir" && !this.#held.has(path) && child.touched !== true) continue;
      const wanted = await this.#wanted(path);
      if (child.kind !== "dir" || child.hash !== wanted.hash || child.touched !== false) next.push(wanted);
    }
    for (const path of gone) {
      // The origin did not list this child. If the child exists in the mirror, it never existed at the origin, because
      // the origin also lists deletions after the mirror's head. Otherwise, the child is deleted on both sides, and
      // only paths beneath it exist in the mirror.
      if (this.#rows.get(path)?.entry !== undefined) this.#rows.delete(path);
      if (this.#held.has(path)) next.push({ path, hash: undefined });
    }
    return next;
  }
}

function rowOf(path: WorkspacePath, child: TreeChild): IterationRow {
  const {
    kind,
    permissions: mode,
    size,
    mtime_ms: mtimeMs,
    mtime_ns: mtimeRestNs,
    hash,
    sequence: seq,
    iteration,
  } = child;
  if (kind === "absent") return { path, seq, iteration, entry: undefined };
  const isFolder = kind === "dir";
  const entry: Entry = {
    path,
    kind,
    mode,
    size: isFolder ? 0 : size,
    mtimeMs: isFolder ? 0 : mtimeMs,
    mtimeRestNs: isFolder ? 0 : mtimeRestNs,
    hash: isFolder ? undefined : (hash ?? undefined),
    ...(kind === "file" && child.class !== undefined ? { class: child.class } : {}),
  };
  return { path, seq, iteration, entry };
}

function violated(reason: string): never {
  throw new ChronicleError("INTEGRITY_VIOLATION", reason);
}
