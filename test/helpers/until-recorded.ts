/**
 * Returns shell words that wait until a path of the store's only workspace is recorded so many times since its
 * baseline: a command that goes on, or is killed, after a while would depend on how busy the machine is.
 */
export function untilRecorded(store: string, path: string, times = 1): string {
  const lines = `cat '${store}'/workspaces/*/events.wal | grep -cF '"record_id":"file:${path}"'`;
  return `until [ "$(${lines})" -ge ${times} ]; do sleep 0.02; done`;
}
