import { type BaseRecord, encodeRecordRows } from "../../core/log/base.ts";
import { ERASE } from "../../core/records/erase-record.ts";
import { ChronicleError } from "../../core/values/errors.ts";
import { EMPTY_HASH, type Hash } from "../../core/values/hash.ts";
import { compareNames, foldersWith, isRoot, nameOf, parentOf, type WorkspacePath } from "../../core/values/path.ts";
import type { IndexStore, IterationRow } from "../../storage/index-store.ts";
import { catchUp } from "../../engine/log/catch-up.ts";
import { indexedFrom } from "../../engine/log/history-start.ts";
import { workspaceRecord } from "../../engine/log/own-record.ts";
import type { Context } from "../../engine/log/context.ts";
import { readEvent, readEvents } from "../../engine/log/read-events.ts";
import { rootToState } from "../../engine/state/root-to-state.ts";
import { rootAtHead } from "../../engine/log/tree.ts";
import { MAX_ERASURES_BYTES } from "../protocol/limits.ts";
import type { AskedFolder, ListedChild, ListedFolder, TreeAnchor, TreeSource, TreeView } from "./tree-server.ts";

/** Serves the states of one of the engine's workspaces, from its index. */
export class HistoryTrees implements TreeSource {
  readonly #context: Context;

  constructor(context: Context) {
    this.#context = context;
  }

  /**
   * Returns the anchor of the present state. Takes the workspace's lock, so that the state includes no event that
   * another process is still writing.
   */
  async anchor(): Promise<TreeAnchor> {
    const context = this.#context;
    const { index, workspaceId } = context;
    using _held = await context.lock.exclusive(context.waitMs);
    const { head, damage } = await catchUp(context, { recover: false, locked: true });
    if (damage !== undefined) throw damage;
    await workspaceRecord(context);
    const row = await index.record(`workspace:${workspaceId}`);
    if (row === undefined || head.hash === "") throw new Error("an open workspace must have its record");
    const { seq, ts, op, recordId, record } = await readEvent(context, row);
    // `rootAtHead` stores the hashes of the folders as of this event in the index. `treeHashAt` needs these hashes.
    await rootAtHead(context, head.seq);
    // The root is taken from the log, not from the index, because the replica accepts only a state with the log's root.
    const root = await rootToState(context, head.seq);
    const { hash, frontier } = head;
    const erasures = await erasureRows(context);
    return { seq: head.seq, hash, root, frontier, record: { recordId, seq, ts, op, record }, erasures };
  }

  async view(seq: number, since: number): Promise<TreeView> {
    const view = await IndexedView.since(this.#context.index, seq, since);
    await this.#refuseDropped(seq);
    return {
      list: async (folder) => {
        const listed = await view.list(folder);
        await this.#refuseDropped(seq);
        return listed;
      },
    };
  }

  /**
   * Throws `UNAVAILABLE` if the index no longer has the state after event `seq`. Must be called after each read of the
   * index. Once the log's lines up to an event are dropped, the index begins after that event, and its answers about
   * earlier states are wrong.
   */
  async #refuseDropped(seq: number): Promise<void> {
    const from = await indexedFrom(this.#context);
    if (from !== undefined && from <= seq) return;
    throw new ChronicleError("UNAVAILABLE", `the origin has dropped the state after its event ${seq} by now`, {
      hint: "this replica asks again by itself",
      data: { seq },
    });
  }
}

/**
 * Returns the last event of each `erase:` record, encoded as record rows of a base. If the rows are larger than
 * `MAX_ERASURES_BYTES` together, leaves out the earliest events.
 */
async function erasureRows(context: Context): Promise<Buffer> {
  const records = await readEvents(context, await context.index.records(ERASE));
  const kept: Buffer[] = [];
  let bytes = 0;
  for (const { seq, ts, op, recordId, record, recursionDepth } of records.toReversed()) {
    const one: BaseRecord = { seq, ts, op, recordId, record, recursionDepth };
    const row = encodeRecordRows([one]);
    bytes += row.length;
    if (bytes > MAX_ERASURES_BYTES) break;
    kept.push(row);
  }
  return Buffer.concat(kept.reverse());
}

interface Changes {
  /** The folders that contain a changed path, at any depth. */
  readonly folders: ReadonlySet<WorkspacePath>;
  /** Maps a folder to the changed paths directly in it that are deleted as of the view's event. */
  readonly deleted: ReadonlyMap<WorkspacePath, readonly IterationRow[]>;
}

class IndexedView implements TreeView {
  readonly #index: IndexStore;
  readonly #seq: number;
  readonly #changes: Changes;

  static async since(index: IndexStore, seq: number, since: number): Promise<IndexedView> {
    const touched = await index.touched(since, seq);
    const folders = new Set<WorkspacePath>();
    for (const path of touched) {
      for (const folder of foldersWith(path)) {
        if (folders.has(folder)) break;
        folders.add(folder);
      }
    }
    const deleted = new Map<WorkspacePath, IterationRow[]>();
    for (const row of await index.iterationsAt(touched, seq)) {
      if (row === undefined || row.entry !== undefined) continue;
      const siblings = deleted.get(parentOf(row.path)) ?? [];
      siblings.push(row);
      deleted.set(parentOf(row.path), siblings);
    }
    return new IndexedView(index, seq, { folders, deleted });
  }

  private constructor(index: IndexStore, seq: number, changes: Changes) {
    this.#index = index;
    this.#seq = seq;
    this.#changes = changes;
  }

  async list({ path, after, hash: asked }: AskedFolder): Promise<ListedFolder> {
    const hash = await this.#hashOf(path);
    const touched = this.#isTouched(path);
    if (hash !== undefined && hash === asked && !touched) return { hash, touched, children: [] };
    const live = hash === undefined ? [] : await this.#index.childrenAt(path, this.#seq);
    const rows = [...live, ...(this.#changes.deleted.get(path) ?? [])]
      .filter((row) => after === undefined || compareNames(nameOf(row.path), after) > 0)
      .sort((a, b) => compareNames(nameOf(a.path), nameOf(b.path)));
    const children: ListedChild[] = [];
    for (const row of rows) children.push(await this.#childOf(row));
    return { hash, touched, children };
  }

  async #childOf(row: IterationRow): Promise<ListedChild> {
    const { path, entry } = row;
    const isFolder = entry?.kind === "dir";
    return {
      name: nameOf(path),
      row,
      hash: isFolder ? await this.#treeHash(path) : entry?.hash,
      // A deleted folder is touched, too, because everything in the folder was deleted with it.
      touched: this.#isTouched(path) || (isFolder ? false : undefined),
    };
  }

  #isTouched(folder: WorkspacePath): boolean {
    return this.#changes.folders.has(folder);
  }

  /** Returns the hash of a folder; `undefined` if the path is not a folder as of the view's event. */
  async #hashOf(folder: WorkspacePath): Promise<Hash | undefined> {
    const isThere = isRoot(folder) || (await this.#index.iterationAt(folder, this.#seq))?.entry?.kind === "dir";
    return isThere ? this.#treeHash(folder) : undefined;
  }

  async #treeHash(folder: WorkspacePath): Promise<Hash> {
    return (await this.#index.treeHashAt(folder, this.#seq)) ?? EMPTY_HASH;
  }
}
