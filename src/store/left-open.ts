import type { Disk } from "../disk/disk.ts";

/**
 * The longest write-ahead log that is left behind, in bytes. The next process must read the whole write-ahead log, so a
 * longer log is checkpointed and removed.
 */
const LONGEST_LEFT = 1024 * 1024;

/**
 * Makes `close` of a store do nothing if the write-ahead log of its SQLite database (at `path`) is short but not empty.
 * Changes `store` and returns it. Only for a process that ends right afterwards. A real close costs four syncs, and
 * removes two files that the next process makes again. Without a real close, the next process reads the write-ahead
 * log, as after a kill.
 */
export function leftOpen<Store extends { close(): void | Promise<void> }>(
  disk: Disk,
  path: string,
  store: Store,
): Store {
  const close = store.close.bind(store);
  store.close = () => {
    const { size = 0 } = disk.lstat(`${path}-wal`) ?? {};
    return size > LONGEST_LEFT || size === 0 ? close() : Promise.resolve();
  };
  return store;
}
