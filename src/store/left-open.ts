import type { Disk } from "../disk/disk.ts";

/** In bytes. The next process must read the whole log, so a longer log is checkpointed and removed. */
const LONGEST_LEFT = 1024 * 1024;

/**
 * Makes `close` of a store in an SQLite file do nothing while its write-ahead log is short but not empty. `path`: the
 * path of the database. Only a process that ends right afterwards may use this. A real close costs four syncs, and
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
