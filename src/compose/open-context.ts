import { ChronicleError } from "../core/errors.ts";
import type { RootRecord } from "../core/records.ts";
import type { FileBlobStore } from "../storage/files/file-blob-store.ts";
import { FileEventLog } from "../storage/files/file-event-log.ts";
import type { StoreLayout } from "../storage/files/layout.ts";
import { catchUp } from "../workspace/catch-up.ts";
import { workspaceRecord } from "../workspace/config.ts";
import type { Context, HeadKeeper, HistoryContext, StoreTasks } from "../workspace/context.ts";
import { DiskWorktree } from "../worktree/disk-worktree.ts";
import type { TrackedRoot } from "../worktree/worktree.ts";
import type { Backends } from "./backends.ts";
import { FileIngest } from "./file-ingest.ts";
import { refuseFutureFormat } from "./workspace-file.ts";

/** What all workspaces of one store share. */
export interface StoreParts {
  readonly backends: Backends;
  readonly layout: StoreLayout;
  readonly blobs: FileBlobStore;
  readonly heads: HeadKeeper;
  readonly actor: string;
  readonly waitMs: number;
}

/** A workspace's engine, opened; `close` closes all but what the store shares. */
export interface OpenedContext {
  readonly context: Context;
  readonly close: () => Promise<void>;
}

/** Opens the engine of a workspace. `roots` undefined: those that its log names. */
export async function openContext(
  parts: StoreParts,
  id: string,
  given: {
    readonly roots: readonly RootRecord[] | undefined;
    readonly tasks: (id: string) => StoreTasks;
    readonly readOnly: boolean;
    /** The first root lies here now; nobody has recorded that yet. */
    readonly movedTo?: string | undefined;
  },
): Promise<OpenedContext> {
  const { backends, layout, blobs, heads, actor, waitMs } = parts;
  const files = layout.workspace(id);
  refuseFutureFormat(backends.disk, files.workspaceJson);
  const log = new FileEventLog(backends.disk, { log: files.log, archive: files.archive, quarantine: files.quarantine });
  const index = backends.openIndex(files.index);
  const history: HistoryContext = {
    workspaceId: id,
    log,
    blobs,
    index,
    heads,
    now: backends.now,
    newId: backends.newId,
  };
  try {
    const recorded = given.roots ?? (await rootsOf(history));
    const roots = recorded.map((root, i) =>
      trackedRoot(i > 0 ? root : { ...root, folder: given.movedTo ?? root.folder }),
    );
    const lock = backends.lock(files.lock);
    const worktree = new DiskWorktree({
      disk: backends.disk,
      roots,
      cacheFile: files.statCache,
      staging: `${files.folder}/staging`,
      storeFolders: [layout.home],
      clock: backends.now,
    });
    const ingest = new FileIngest({
      disk: backends.disk,
      layout,
      blobs,
      roots,
      newPackId: backends.newPackId,
      threads: backends.threads,
    });
    const context: Context = {
      ...history,
      lock,
      worktree,
      ingest,
      store: given.tasks(id),
      processes: backends.processes,
      waitMs,
      actor,
      readOnly: given.readOnly,
    };
    const close = async (): Promise<void> => {
      await worktree.close();
      lock.close();
      await index.close();
      await log.close();
    };
    return { context, close };
  } catch (error) {
    await index.close();
    await log.close();
    throw error;
  }
}

async function rootsOf(history: HistoryContext): Promise<readonly RootRecord[]> {
  const { damage } = await catchUp(history, { recover: false });
  const { roots } = await workspaceRecord(history).catch((error: unknown) => {
    throw damage ?? error;
  });
  if (roots.length === 0) throw new ChronicleError("LOG_DAMAGED", "the workspace tracks no folder");
  return roots;
}

function trackedRoot(root: RootRecord): TrackedRoot {
  const { id, folder, only, filter, limits } = root;
  return { id: id ?? undefined, folder, ...(only === undefined ? {} : { only }), filter, limits };
}
