import type { WatchHandle, WatchHint, TrackedRoot } from "./worktree.ts";

export async function watchRoots(
  _roots: readonly TrackedRoot[],
  onHint: (hint: WatchHint) => void,
): Promise<WatchHandle> {
  const timer = setInterval(() => onHint({ paths: undefined }), 2000);
  timer.unref();
  return { degraded: true, close: async () => clearInterval(timer) };
}
