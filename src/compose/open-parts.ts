import type { StoreApi, StoreOptions } from "../api/store-api.ts";
import { ChronicleError } from "../core/values/errors.ts";
import type { StoreParts } from "./open-context.ts";
import { nameOfRole } from "../core/records/actor-name.ts";
import type { Disk } from "../disk/disk.ts";
import { storeLayout } from "../storage/layout.ts";
import { takesNoWrites } from "../storage/io-trouble.ts";
import { Signal } from "../util/signal.ts";
import { HeadPace } from "../engine/commit/head-follower.ts";
import type { Backends } from "../store/backends.ts";
import { FileHeadKeeper, makeFolders } from "../store/file-head-keeper.ts";
import { RootsCache } from "../store/roots-cache.ts";
import { StoreGauge } from "../store/store-gauge.ts";
import { keepOwners } from "../store/store-owner.ts";

const DEFAULT_WAIT_MS = 30_000;

function refuseNoFolder(disk: Disk, home: string): void {
  const kind = disk.lstat(home)?.kind;
  if (kind === undefined || kind === "dir" || kind === "symlink") return;
  throw new ChronicleError("IO", `${home} is no folder, so it cannot hold a store`, {
    hint: "move that file away, or choose another place with --store or $CHRONICLE_HOME",
    data: { path: home },
  });
}

/**
 * Makes a folder and the missing folders above it. Does nothing if the disk takes no writes, because each later write
 * reports the problem.
 */
function makeWherePermitted(disk: Disk, folder: string): void {
  try {
    makeFolders(disk, folder);
  } catch (error) {
    if (!takesNoWrites(error)) throw error;
  }
}

/**
 * Returns a function that passes equal notes to `tell` only once. All indexes of a store are on one disk, so they send
 * the same note.
 */
function eachOnce(tell: ((note: string) => void) | undefined): (note: string) => void {
  const told = new Set<string>();
  return (note) => {
    if (told.has(note)) return;
    told.add(note);
    tell?.(note);
  };
}

/**
 * Opens the parts that the workspaces of a store share. Makes the store's missing folders (0700), unless these would
 * belong to another user than the store.
 */
export async function openParts(options: StoreOptions, backends: Backends): Promise<StoreParts> {
  const { disk, now, processes } = backends;
  const { configFolder, waitMs = DEFAULT_WAIT_MS } = options;
  const layout = storeLayout(options.home);
  const tellOfIndexes = eachOnce(options.onNote);
  refuseNoFolder(disk, options.home);
  if (keepOwners(disk, options)) makeWherePermitted(disk, layout.workspaces);
  const opened = await backends.openBlobs(layout, { tell: tellOfIndexes, lockWaitMs: waitMs });
  return {
    backends,
    layout,
    ...opened,
    roots: new RootsCache(backends, layout),
    heads: new FileHeadKeeper(disk, { configFolder, home: options.home, pid: processes.pid }),
    headPace: new HeadPace(now, backends.timers),
    actor: options.actor ?? nameOfRole(options.role),
    onNote: options.onNote,
    tellOfIndexes,
    onCommit: options.onCommit,
    onUnsigned: options.onUnsigned,
    openFolders: new Set(),
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

const PARTS = new WeakMap<StoreApi, StoreParts>();

export function notePartsOf(store: StoreApi, parts: StoreParts): void {
  PARTS.set(store, parts);
}

/** Returns the parts of a store. Throws `PLATFORM_UNSUPPORTED` for a store on a server. */
export function partsOf(store: StoreApi): StoreParts {
  const parts = PARTS.get(store);
  if (parts !== undefined) return parts;
  throw new ChronicleError(
    "PLATFORM_UNSUPPORTED",
    "replication runs where the store is, not in a client of its server",
  );
}
