import type { Disk } from "../disk/disk.ts";

/**
 * A longer write-ahead log, in bytes, is checkpointed and removed: otherwise the next process to open it would read it
 * all.
 */
const LONGEST_LEFT = 1024 * 1024;

/**
 * Returns a store in an SQLite file whose `close` leaves the file as it is, for a process that ends at once. Closing it
 * properly takes four syncs and two files away, and the next process makes them again. A process that just ends leaves
 * what a killed one leaves: a whole write-ahead log, which the next one reads. `path`: the database.
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
