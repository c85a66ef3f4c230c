import type { StoreOptions } from "../api/store-api.ts";
import { FileBlobStore } from "../storage/files/file-blob-store.ts";
import { storeLayout } from "../storage/files/layout.ts";
import { SyncDesk } from "../storage/files/sync-desk.ts";
import { Signal } from "../util/signal.ts";
import type { Backends } from "./backends.ts";
import { FileHeadKeeper, makeFolders } from "./file-head-keeper.ts";
import type { StoreParts } from "./open-context.ts";
import { StoreGauge } from "./store-gauge.ts";

const DEFAULT_WAIT_MS = 30_000;

/** Opens what all workspaces of a store share; makes its folders (0700) where they are missing. */
export async function openParts(options: StoreOptions, backends: Backends): Promise<StoreParts> {
  const { disk, now, processes } = backends;
  const { configFolder, waitMs = DEFAULT_WAIT_MS } = options;
  const layout = storeLayout(options.home);
  makeFolders(disk, layout.workspaces);
  const blobs = await FileBlobStore.open({
    disk,
    layout: layout.blobs,
    openIndex: backends.openBlobIndex(layout.blobs.index),
    lock: backends.lock,
    newPackId: backends.newPackId,
    lockWaitMs: waitMs,
  });
  const youngMs = backends.youngHeadMs ?? 0;
  return {
    backends,
    layout,
    blobs,
    syncs: new SyncDesk(disk),
    heads: new FileHeadKeeper(disk, configFolder, { pid: processes.pid, now, youngMs }),
    actor: options.actor ?? "human",
    onNote: options.onNote,
    onCommit: options.onCommit,
    recorded: new Signal(),
    decided: new Signal(),
    foreseen: new Signal(),
    waitMs,
    configFolder,
    retention: { given: options.retention ?? {}, defaults: options.retentionDefaults ?? {} },
    gauge: new StoreGauge(disk, layout.home, now),
    userHome: options.userHome,
  };
}
