/**
 * Returns a function that loads something on its first call, and returns the same result on later calls. A failure is
 * not kept: the next call tries again, because the failure (a full disk, too many open files) may be temporary.
 */
export function lazily<T>(load: () => Promise<T>): () => Promise<T> {
  let loaded: Promise<T> | undefined;
  return () => {
    if (loaded !== undefined) return loaded;
    const loading = load();
    loaded = loading;
    loading.catch(() => {
      loaded = undefined;
    });
    return loading;
  };
}
