/**
 * Returns shell words that wait until the log of the store's only workspace has at least `times` events of a path. The
 * baseline does not count. A fixed pause instead would make a test depend on how busy the machine is.
 */
export function untilRecorded(store: string, path: string, times = 1): string {
  const lines = `cat '${store}'/workspaces/*/events.wal | grep -cF '"record_id":"file:${path}"'`;
  return `until [ "$(${lines})" -ge ${times} ]; do sleep 0.02; done`;
}
