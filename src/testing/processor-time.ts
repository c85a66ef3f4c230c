/**
 * Starts a stopwatch that counts the processor time of this thread, in milliseconds. A test of a computation's cost
 * uses it instead of a clock, because other processes on the machine do not add to the processor time.
 */
export function processorTime(): () => number {
  const start = process.threadCpuUsage();
  return () => {
    const { user, system } = process.threadCpuUsage(start);
    return (user + system) / 1000;
  };
}
