import type { Disk } from "../disk/disk.ts";

/** A write-ahead log that has grown so long, in bytes, is worked in and removed: whoever opens it next would read it. */
const LONGEST_LEFT = 1024 * 1024;

/**
 * A store in an SQLite file for a process that ends at once. Closing it properly takes four syncs and two files away, and
 * the next process makes them again; a process that just ends leaves what one that was killed leaves: a whole write-ahead
 * log, which the next one reads. `path`: the database.
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
