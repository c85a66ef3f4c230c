import { closeSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { TwoSides } from "../helpers/two-sides.ts";

/** The number of events that the kernel keeps for a watcher that does not read them. It drops further events. */
const QUEUE = queueLength();

function queueLength(): number {
  try {
    return Number.parseInt(readFileSync("/proc/sys/fs/inotify/max_queued_events", "utf8"), 10);
  } catch {
    return Infinity;
  }
}

/** The kernel's own queue of events overflows while a real replica is stopped. */
describe.skipIf(process.platform !== "linux" || QUEUE > 1_000_000)(
  "a replica that is stopped while more happens than the kernel's queue holds",
  () => {
    it("finds all changes, also those whose events the kernel has dropped", async () => {
      await using sides = new TwoSides();
      sides.write("origin", "kept/file", "as it was\n");
      sides.write("origin", "gone/file", "to be deleted\n");
      const { child } = await sides.follow();
      await sides.becomes("desk", "kept/file", "as it was\n");
      await sides.becomes("desk", "gone/file", "to be deleted\n");
      sides.write("desk", "first", "before it sleeps\n");
      await sides.becomes("origin", "first", "before it sleeps\n");

      child.kill("SIGSTOP");
      fillQueue(sides);
      // The kernel drops the events of these changes.
      sides.write("desk", "kept/file", "edited behind its back\n");
      sides.write("desk", "new/deep/file", "made behind its back\n");
      rmSync(sides.path("desk", "gone"), { recursive: true });
      child.kill("SIGCONT");

      await sides.becomes("origin", "kept/file", "edited behind its back\n");
      await sides.becomes("origin", "new/deep/file", "made behind its back\n");
      await sides.becomes("origin", "gone/file", undefined);
      sides.write("origin", "last", "and on it goes\n");
      await sides.becomes("desk", "last", "and on it goes\n");
      expect(child.exitCode).toBeNull();
    });
  },
);

/** Writes to two files in turn, because the kernel keeps only one of two equal events in a row. */
function fillQueue(sides: TwoSides): void {
  const files = ["a", "b"].map((name) => openSync(sides.path("desk", `busy-${name}`), "w"));
  for (let i = 0; i <= QUEUE; i += 1) for (const fd of files) writeSync(fd, "x");
  for (const fd of files) closeSync(fd);
}
